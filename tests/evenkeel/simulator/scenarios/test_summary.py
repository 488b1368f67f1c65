"""Counting what happened."""

from __future__ import annotations

from datetime import timedelta

from evenkeel.simulator.scenarios.happenings import Complained, PodChange, PodHappening, Restarted
from evenkeel.simulator.scenarios.summary import summary
from tests.evenkeel.simulator.scenarios.scene import created, decided, told

AT = timedelta(0)


def test_what_happened_is_counted_and_the_rest_left_out() -> None:
    happenings = (
        created("a"),
        PodHappening(AT, "a", PodChange.GONE, "u", "web", "n"),
        decided(1, "a"),
        decided(2, "a", "resize"),
        decided(3, "a", "skip"),
        told(1, "EvictedByVPA", "a"),
        told(1, "Pulled", "a"),
        Restarted(AT, "a", "main", 1, "OOMKilled"),
        Restarted(AT, "a", "main", 2, ""),
        Complained(AT, "updater", "warning", "slow", ""),
    )
    assert summary(happenings) == [
        ("decisions to resize", 1),
        ("decisions to evict", 1),
        ("pods evicted by the updater", 1),
        ("restarts of containers", 2),
        ("restarts after OOMKilled", 1),
        ("pods created", 1),
        ("pods gone", 1),
        ("warnings and errors of the processes", 1),
    ]
    assert summary(()) == []
