"""Stored histograms as bars, and drawn."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from autoscaling.quantity import Quantity
from evenkeel.inspection.histogram import brief, drawn, histogram_of
from recommender.checkpoint import BUCKET_COUNT, HEAVIEST, HistogramCheckpoint
from tests.builders import T0


def stored(weights: dict[int, int]) -> HistogramCheckpoint:
    return HistogramCheckpoint(T0, weights, 1.0)


@pytest.mark.parametrize("empty", [None, HistogramCheckpoint(), stored({})])
def test_nothing_was_seen(empty: HistogramCheckpoint | None) -> None:
    """beyond:B-34."""
    histogram = histogram_of(empty, "cpu")
    assert histogram.bars == ()
    assert list(drawn(histogram, {})) == ["  nothing was seen"]


def test_bars_have_the_edges_of_the_buckets() -> None:
    """recommender:1.1."""
    cpu, memory = (histogram_of(stored({0: 10, 2: 30}), resource) for resource in ("cpu", "memory"))
    assert [(str(b.start), str(b.end), b.share) for b in cpu.bars] == [
        ("0", "10m", 0.25),
        ("10m", "20m", 0.0),
        ("20m", "31m", 0.75),
    ]
    assert [str(b.end) for b in memory.bars] == ["10000000", "20499999", "31524999"]


def test_a_drawing_marks_where_percentiles_fall() -> None:
    """beyond:B-34."""
    histogram = histogram_of(stored({0: 10, 2: 40}), "cpu")
    marks = {"lower": Quantity.parse("10m"), "target": Quantity.parse("31m"), "upper": Quantity.parse("2")}
    assert list(drawn(histogram, marks)) == [
        "    0 to 10m  20.0% ██████████ ← lower 10m",
        "  10m to 20m   0.0%",
        f"  20m to 31m  80.0% {'█' * 40} ← target 31m, upper 2",
    ]


@pytest.mark.parametrize(
    ("amount", "resource", "text"),
    [("0.35", "cpu", "350m"), ("2", "cpu", "2"), ("104857600", "memory", "100Mi"), ("1", "memory", "0Mi")],
)
def test_amounts_at_a_glance(amount: str, resource: str, text: str) -> None:
    assert brief(Quantity.parse(amount), resource) == text


@settings(max_examples=25)
@given(
    weights=st.dictionaries(st.integers(0, BUCKET_COUNT - 1), st.integers(1, int(HEAVIEST)), min_size=1),
    resource=st.sampled_from(["cpu", "memory"]),
)
def test_any_histogram_is_drawn_in_a_few_lines(weights: dict[int, int], resource: str) -> None:
    """beyond:B-34: the shares are all there, and every mark stands on one line."""
    histogram = histogram_of(stored(weights), resource)
    assert sum(bar.share for bar in histogram.bars) == pytest.approx(1.0)
    assert all(one.end == other.start for one, other in zip(histogram.bars, histogram.bars[1:], strict=False))
    lines = list(drawn(histogram, {"here": histogram.bars[-1].end}))
    assert 1 <= len(lines) <= 16
    assert sum("here" in line for line in lines) == 1
    assert max(line.count("█") for line in lines) == 40
