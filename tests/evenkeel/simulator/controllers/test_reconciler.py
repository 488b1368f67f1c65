"""Marks, latency, back-off and the end of a controller."""

from __future__ import annotations

from datetime import timedelta
from typing import ClassVar

import pytest

from evenkeel.simulator.api.builtin import PODS
from evenkeel.simulator.api.server import ApiServer
from evenkeel.simulator.api.status import bad_request
from evenkeel.simulator.api.store import Key
from evenkeel.simulator.clock import EPOCH, ManualClock
from evenkeel.simulator.controllers.context import Context, Settings
from evenkeel.simulator.controllers.reconciler import LONGEST_RETRY, Reconciler
from tests.evenkeel.simulator.api.wire import pod

MILLISECOND = timedelta(milliseconds=1)
SECOND = timedelta(seconds=1)


class Noting(Reconciler):
    """Notes when it reconciles what, and fails as often as it is told."""

    component: ClassVar[str] = "noting"
    failures = 0

    def start(self) -> None:
        self.seen: list[tuple[timedelta, str]] = []
        self.follow_own(PODS)

    async def reconcile(self, key: Key) -> None:
        self.seen.append((self.context.now() - EPOCH, key[1]))
        if self.failures:
            self.failures -= 1
            raise bad_request("no")


def noting(latency: timedelta = 10 * MILLISECOND, *, failures: int = 0) -> tuple[ManualClock, Noting]:
    clock = ManualClock()
    context = Context(ApiServer(clock), Settings(latency=latency))
    context.objects.create(pod("first"))
    made = Noting(context)
    made.failures = failures
    made.start()
    return clock, made


def test_what_is_there_is_reconciled_after_the_latency() -> None:
    clock, made = noting()
    assert made.seen == []
    clock.advance(SECOND)
    assert made.seen == [(10 * MILLISECOND, "first")]


def test_several_changes_within_the_latency_are_one() -> None:
    clock, made = noting()
    clock.advance(SECOND)
    for value in ("a", "b"):
        made.context.objects.merge(
            {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "first", "labels": {"x": value}}}
        )
    clock.advance(SECOND)
    assert made.seen[1:] == [(1010 * MILLISECOND, "first")]


def test_the_earliest_mark_counts() -> None:
    clock, made = noting()
    clock.advance(SECOND)
    made.mark(("", "x"), 5 * SECOND)
    made.mark(("", "x"), 2 * SECOND)
    made.mark_at(("", "x"), EPOCH + 9 * SECOND)
    clock.advance(20 * SECOND)
    assert made.seen[1:] == [(3 * SECOND, "x")]
    made.mark_at(("", "past"), EPOCH)
    clock.advance(SECOND)
    assert made.seen[2:] == [(21010 * MILLISECOND, "past")]


def test_failures_are_repeated_ever_later_until_one_succeeds() -> None:
    clock, made = noting(MILLISECOND, failures=5)
    clock.advance(SECOND)
    assert [moment // MILLISECOND for moment, _ in made.seen] == [1, 6, 16, 36, 76, 156]
    made.failures = 1
    made.mark(("", "x"))
    clock.advance(SECOND)
    assert [moment // MILLISECOND for moment, name in made.seen if name == "x"] == [1001, 1006]


def test_the_time_between_tries_has_a_limit() -> None:
    clock, made = noting(MILLISECOND, failures=40)
    clock.advance(timedelta(hours=8))
    moments = [moment for moment, _ in made.seen]
    assert moments[-1] - moments[-2] == LONGEST_RETRY


def test_a_stopped_controller_acts_no_more() -> None:
    clock, made = noting()
    made.mark(("", "later"), SECOND)
    made.stop()
    made.context.objects.create(pod("second"))
    made.mark(("", "x"))
    clock.advance(10 * SECOND)
    assert made.seen == []


def test_a_step_whose_turn_comes_after_the_end_does_nothing() -> None:
    clock, made = noting()
    other = Noting(made.context)
    other.start()
    made.context.server.clock.call_at(EPOCH + 10 * MILLISECOND, other.stop)
    clock.advance(SECOND)
    assert (len(made.seen), len(other.seen)) == (1, 1)


def test_a_latency_of_nothing_is_refused() -> None:
    with pytest.raises(ValueError, match="above zero"):
        Settings(latency=timedelta(0))
