"""Containers in columns, looked at before they are judged (updater:P-5, updater:P-7, quality:Q-5)."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from autoscaling.behaviour import Behaviour, Profile
from autoscaling.limitrange import NO_LIMITS
from autoscaling.pod import ContainerStatus, Termination
from autoscaling.vpa import ContainerRecommendation, Recommendation
from tests.builders import T0, amounts, container, pod, vpa
from updater.acceptance import judge
from updater.circumstances import Circumstances, Memory
from updater.priority import score
from updater.screening import Standing, may_be_worthwhile
from updater.settings import Settings

NAN = float("nan")
HOUR = timedelta(hours=1)
SETTINGS = Settings(behaviour=Behaviour.of(Profile.UPSTREAM))
AMOUNTS = st.integers(1, 60)


def standing(request: float, target: float, lower: float, upper: float) -> Standing:
    """Return one container with one resource."""
    return Standing(*(np.array([[value]]) for value in (request, target, lower, upper)))


@pytest.mark.parametrize(
    ("row", "amount", "is_old", "is_quick", "expected"),
    [
        ("updater:P-5", (1.0, 1.0, 0.9, 1.1), True, True, False),
        ("updater:P-5", (0.9, 1.0, 0.9, 1.1), False, False, False),
        ("updater:P-5", (0.89, 1.0, 0.9, 1.1), False, False, True),
        ("updater:P-5", (1.1, 1.0, 0.9, 1.1), False, False, False),
        ("updater:P-5", (1.11, 1.0, 0.9, 1.1), False, False, True),
        ("updater:P-5", (NAN, 1.0, 0.9, 1.1), False, False, True),
        ("updater:P-5", (NAN, NAN, NAN, NAN), True, True, False),
        ("updater:P-7", (1.0, 1.1, 0.1, 9.0), True, False, True),
        ("updater:P-7", (1.0, 1.1, 0.1, 9.0), False, False, False),
        ("updater:P-7", (1.0, 1.0999, 0.1, 9.0), True, False, False),
        ("updater:P-7", (1.0, 1.0999, 0.1, 9.0), False, True, True),
    ],
)
def test_one_container(
    row: str, amount: tuple[float, float, float, float], is_old: bool, is_quick: bool, expected: bool
) -> None:
    found = may_be_worthwhile(standing(*amount), np.array([is_old]), np.array([is_quick]), 0.1)
    assert found.tolist() == [expected], row


@given(
    cpu=st.tuples(AMOUNTS, AMOUNTS, AMOUNTS, AMOUNTS),
    memory=st.tuples(AMOUNTS, AMOUNTS, AMOUNTS, AMOUNTS),
    hours=st.integers(0, 24),
    kill=st.none() | st.tuples(st.integers(0, 20), st.integers(0, 20)),
)
def test_what_is_left_out_is_turned_down(
    cpu: tuple[int, ...], memory: tuple[int, ...], hours: int, kill: tuple[int, int] | None
) -> None:
    """updater:P-7: and what is let through is accepted, as a container that stands alone has nothing else to it."""
    bounded = [(request, target, min(target, a), max(target, b)) for request, target, a, b in (cpu, memory)]
    texts = [f"{c}m/{m}Mi" for c, m in zip(*bounded, strict=True)]
    now = T0 + hours * HOUR
    minutes_ago, minutes_long = kill or (0, 0)
    finished = now - timedelta(minutes=minutes_ago)
    ended = Termination("OOMKilled", finished - timedelta(minutes=minutes_long), finished) if kill else None
    subject = replace(pod(container("c", texts[0])), statuses=(ContainerStatus("c", last_terminated=ended),))
    recommendation = Recommendation((ContainerRecommendation("c", *map(amounts, texts[1:])),))
    circumstances = Circumstances(vpa(), NO_LIMITS, now, SETTINGS, Memory())
    columns = np.array(bounded, dtype=np.float64).T[:, :, np.newaxis]
    is_quick = kill is not None and minutes_ago < 10 and minutes_long < 10
    found = may_be_worthwhile(Standing(*columns), np.array([hours >= 12]), np.array([is_quick]), 0.1)
    assert bool(found[0]) == judge(subject, recommendation, score(subject, recommendation), circumstances).is_given
