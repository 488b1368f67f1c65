"""How long pods have lacked room, and when they are tried again."""

from __future__ import annotations

import pytest

from tests.builders import T0
from tests.updater.situations import HOUR, MINUTE, SECOND
from updater.room_watch import RoomWatch


def test_time_runs_from_the_first_round_that_saw_it() -> None:
    watch = RoomWatch()
    for minutes in range(7):
        watch = watch.seeing(["a"], [], T0 + minutes * MINUTE)
    assert watch.waited("a", T0 + 6 * MINUTE) == 6 * MINUTE, "beyond:B-24"
    assert watch.waited("b", T0) == 0 * MINUTE


def test_a_pod_that_had_room_in_between_waits_anew() -> None:
    watch = RoomWatch().seeing(["a"], [], T0)
    assert watch.waited("a", T0 + 5 * MINUTE) == 5 * MINUTE
    assert watch.waited("a", T0 + 5 * MINUTE + SECOND) == 0 * MINUTE
    late = watch.seeing(["a"], [], T0 + 6 * MINUTE)
    assert late.waited("a", T0 + 6 * MINUTE) == 0 * MINUTE
    assert watch.seeing([], [], T0 + 6 * MINUTE) == RoomWatch()


@pytest.mark.parametrize(
    ("row", "times", "minutes"),
    [
        ("beyond:B-24", 1, 5),
        ("beyond:B-24", 2, 10),
        ("beyond:B-24", 4, 40),
        ("beyond:B-24", 5, 60),
        ("beyond:B-24", 9, 60),
    ],
)
def test_pauses_double_up_to_an_hour(row: str, times: int, minutes: int) -> None:
    watch, now = RoomWatch(), T0
    for _ in range(times):
        now += HOUR
        watch = watch.seeing([], ["a"], now)
    assert watch.is_paused("a", now + minutes * MINUTE - SECOND), row
    assert not watch.is_paused("a", now + minutes * MINUTE), row
    assert not watch.is_paused("b", now)


def test_a_pod_that_did_well_for_an_hour_begins_anew() -> None:
    watch = RoomWatch().seeing([], ["a"], T0)
    over = T0 + 5 * MINUTE
    assert watch.seeing([], [], over + HOUR) == watch
    assert watch.seeing([], [], over + HOUR + SECOND) == RoomWatch()


def test_pods_that_are_gone_are_forgotten() -> None:
    watch = RoomWatch().seeing(["a", "b"], ["a", "c"], T0)
    kept = watch.keeping({"b", "c"})
    assert (set(kept.wants), set(kept.pauses)) == ({"b"}, {"c"})
