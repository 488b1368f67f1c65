"""Templates, recommendations and LimitRanges of a namespace, drawn for laws about new pods."""

from __future__ import annotations

from hypothesis import strategies as st

from autoscaling.limitrange import LimitRangeItem, LimitType
from autoscaling.pod import Container
from autoscaling.vpa import ContainerRecommendation
from tests.builders import container, limit_range, recommended

SIZES = st.integers(1, 40).map(lambda n: 25 * n)
"""Thousandths of a core, or mebibytes."""


@st.composite
def containers(draw: st.DrawFn, name: str, *, asks: int = 1, asks_nothing: int = 0) -> Container:
    """Draw a container of a template; of so many some ask for something, and some for nothing."""
    cpu, memory, ratio = draw(SIZES), draw(SIZES), draw(st.integers(1, 3))
    requests = draw(st.sampled_from([f"{cpu}m/{memory}Mi"] * asks + ["-"] * asks_nothing))
    limits = draw(st.sampled_from(["-", f"{cpu * ratio}m/{memory * ratio}Mi", f"-/{memory}Mi"]))
    return container(name, requests, "-" if requests == "-" else limits)


@st.composite
def entries(draw: st.DrawFn, name: str) -> ContainerRecommendation:
    """Draw a recommendation with bounds of any width."""
    cpu, memory, low, high = draw(SIZES), draw(SIZES), draw(st.integers(1, 4)), draw(st.integers(1, 4))
    bounds = (f"{cpu // low}m/{memory // low}Mi", f"{cpu * high}m/{memory * high}Mi")
    return recommended(name, f"{cpu}m/{memory}Mi", *bounds)


@st.composite
def limit_ranges(draw: st.DrawFn, *, width: int = 1) -> tuple[LimitRangeItem, ...]:
    """Draw LimitRanges for pods and containers, their upper bounds so many times as high."""
    made: list[LimitRangeItem] = []
    for kind in draw(st.lists(st.sampled_from(LimitType), unique=True)):
        least, more = draw(st.integers(0, 200)), draw(SIZES)
        minimum = f"{least}m/{least}Mi" if least > 100 else None
        most = width * (least + more)
        maximum = f"{most}m/{most}Mi" if draw(st.booleans()) else None
        made.append(limit_range(kind, minimum=minimum, maximum=maximum))
    return tuple(made)
