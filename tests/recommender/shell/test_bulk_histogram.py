"""Histograms that take many values at once."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from prometheus_client import CollectorRegistry, Histogram

from autoscaling.runtime.exposition import exposition
from recommender.shell.bulk_histogram import BulkHistogram

BOUNDS = (0.0, 0.5, 1.0, 2.0)
VALUES = st.lists(st.floats(0, 4) | st.sampled_from(BOUNDS), min_size=1, max_size=30)


def _bulk(bounds: tuple[float, ...] = BOUNDS) -> tuple[BulkHistogram, CollectorRegistry]:
    registry = CollectorRegistry()
    return BulkHistogram("h", "About", ("mode",), bounds, registry), registry


@given(VALUES, VALUES)
def test_it_counts_as_the_librarys_histogram_does(first: list[float], second: list[float]) -> None:
    bulk, registry = _bulk()
    reference = CollectorRegistry()
    one_by_one = Histogram("h", "About", ("mode",), buckets=BOUNDS, registry=reference).labels("Off")
    for values in (first, second):
        bulk.observe_all(("Off",), np.array(values))
        for value in values:
            one_by_one.observe(value)

    def counts(source: CollectorRegistry) -> list[str]:
        return [line for line in exposition(source).splitlines() if "_sum" not in line]

    assert sorted(counts(registry)) == sorted(counts(reference))
    total = registry.get_sample_value("h_sum", {"mode": "Off"})
    assert total == pytest.approx(sum(first) + sum(second))


def test_negative_ends_have_a_sum_as_well() -> None:
    bulk, registry = _bulk((-1.0, 0.0))
    bulk.observe_all(("Off",), np.array([-2.0, -0.5, -0.5, 7.0]))
    assert registry.get_sample_value("h_sum", {"mode": "Off"}) == 4.0
    ends = {end: registry.get_sample_value("h_bucket", {"mode": "Off", "le": end}) for end in ("-1", "0", "+Inf")}
    assert ends == {"-1": 1.0, "0": 3.0, "+Inf": 4.0}


def test_no_values_make_no_series() -> None:
    bulk, registry = _bulk()
    bulk.observe_all(("Off",), np.array([], dtype=np.float64))
    assert exposition(registry) == ""


def test_a_name_cannot_be_taken_twice() -> None:
    _, registry = _bulk()
    with pytest.raises(ValueError, match="Duplicated"):
        BulkHistogram("h", "About", ("mode",), BOUNDS, registry)
