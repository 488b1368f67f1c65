"""Members of a metric family are looked up once (spec: performance A-2)."""

from __future__ import annotations

from prometheus_client import CollectorRegistry, Counter

from autoscaling.runtime.labelled import Labelled


def test_a_member_comes_into_being_when_it_is_asked_for_and_stays_the_same() -> None:
    registry = CollectorRegistry()
    family = Counter("seen", "Seen", ("kind", "reason"), registry=registry)
    members = Labelled(family)
    assert registry.get_sample_value("seen_total", {"kind": "a", "reason": "b"}) is None
    members["a", "b"].inc()
    members["a", "b"].inc()
    members["a", "c"].inc()
    assert members["a", "b"] is family.labels("a", "b")
    assert registry.get_sample_value("seen_total", {"kind": "a", "reason": "b"}) == 2
    assert registry.get_sample_value("seen_total", {"kind": "a", "reason": "c"}) == 1
