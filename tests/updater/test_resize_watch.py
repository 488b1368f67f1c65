"""Since when pods have been seen mid-resize."""

from __future__ import annotations

from datetime import timedelta

from tests.updater.situations import HOUR, MINUTE, NOW, small
from updater.resize_watch import ResizeWatch

POD, OTHER = small("p0").ref, small("p1").ref


def test_the_first_sight_stays() -> None:
    watch = ResizeWatch().seeing([POD], NOW)
    later = watch.seeing([POD, OTHER], NOW + HOUR)
    assert later.waited(POD, NOW + HOUR) == HOUR
    assert later.waited(OTHER, NOW + HOUR + MINUTE) == MINUTE
    assert watch.seeing([POD], NOW + HOUR) is watch


def test_a_pod_never_seen_has_not_waited() -> None:
    assert ResizeWatch().waited(POD, NOW) == timedelta(0)
