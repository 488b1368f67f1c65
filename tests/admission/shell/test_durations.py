"""Durations are counted as the Prometheus library's own histogram counts them (spec: admission:11, performance A-2)."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from prometheus_client import CollectorRegistry, Histogram

from admission.shell.durations import DurationFamily
from autoscaling.runtime.exposition import exposition

ENDS = (0.01, 0.02, 0.5, 1.0)
NAME, HELP, LABELS = "x_seconds", "Time of things", ("status", "resource")
SECONDS = st.one_of(st.sampled_from([0.0, *ENDS, 1.5]), st.floats(0, 10))
KINDS = st.sampled_from([("applied", "Pod"), ("skipped", "Pod"), ("applied", "VPA")])


@given(observed=st.lists(st.tuples(KINDS, SECONDS), max_size=30))
def test_what_is_shown_is_what_the_library_shows(observed: list[tuple[tuple[str, str], float]]) -> None:
    """Spec: admission:11; bounds of buckets included, and in the same order."""
    one, other = CollectorRegistry(), CollectorRegistry()
    library = Histogram(NAME, HELP, LABELS, buckets=ENDS, registry=one)
    family = DurationFamily(NAME, HELP, LABELS, ENDS)
    family.register(other)
    for labels, seconds in observed:
        library.labels(*labels).observe(seconds)
        family[labels].observe(seconds)
    assert exposition(other) == exposition(one)


def test_a_member_is_made_once() -> None:
    family = DurationFamily(NAME, HELP, LABELS, ENDS)
    assert family["a", "b"] is family["a", "b"]
    assert list(family) == [("a", "b")]


def test_a_name_cannot_be_registered_twice() -> None:
    """The library looks for clashes by what a family says it has, before there is any member."""
    registry = CollectorRegistry()
    DurationFamily(NAME, HELP, LABELS, ENDS).register(registry)
    with pytest.raises(ValueError, match=NAME):
        Histogram(NAME, HELP, LABELS, registry=registry)
