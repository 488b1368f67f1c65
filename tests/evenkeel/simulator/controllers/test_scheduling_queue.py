"""In which order pods are tried, and when again."""

from __future__ import annotations

from datetime import timedelta

from evenkeel.simulator.clock import EPOCH
from evenkeel.simulator.controllers.scheduling_queue import SchedulingQueue

SECOND = timedelta(seconds=1)
A, B, C, D = (("d", name) for name in "abcd")
NOTHING: frozenset[str] = frozenset()


def test_priority_comes_first_then_time_then_order() -> None:
    queue = SchedulingQueue()
    queue.add(B, 0, EPOCH + SECOND)
    queue.add(A, 0, EPOCH + SECOND)
    queue.add(C, 0, EPOCH)
    queue.add(D, 5, EPOCH + 2 * SECOND)
    assert queue.ready(EPOCH) == [D, C, B, A]
    queue.remove(C)
    queue.remove(C)
    assert (queue.ready(EPOCH), C in queue, A in queue) == ([D, B, A], False, True)


def test_a_parked_pod_waits_for_something_to_happen() -> None:
    queue = SchedulingQueue()
    queue.add(A, 0, EPOCH)
    queue.park(A, frozenset({"cpu"}), EPOCH)
    assert queue.ready(EPOCH + 60 * SECOND) == []
    queue.wake(lambda waiting: "memory" in waiting.lacking)
    assert queue.ready(EPOCH + 60 * SECOND) == []
    queue.wake(lambda waiting: "cpu" in waiting.lacking)
    assert queue.ready(EPOCH + 60 * SECOND) == [A]


def test_and_at_least_for_its_back_off() -> None:
    queue = SchedulingQueue()
    queue.add(A, 0, EPOCH)
    moment, pauses = EPOCH, list[float]()
    for _ in range(6):
        queue.park(A, NOTHING, moment)
        queue.wake(lambda _: True)
        following = queue.next_moment()
        assert following is not None
        assert queue.ready(following - SECOND / 1000) == []
        assert queue.ready(following) == [A]
        pauses.append((following - moment).total_seconds())
        moment = following
    assert pauses == [1, 2, 4, 8, 10, 10]


def test_a_changed_pod_is_tried_again_and_keeps_what_it_has_failed() -> None:
    queue = SchedulingQueue()
    queue.add(A, 0, EPOCH)
    queue.park(A, NOTHING, EPOCH)
    queue.add(A, 7, EPOCH + SECOND / 2)
    queue.add(B, 0, EPOCH)
    assert queue.ready(EPOCH + SECOND / 2) == [B]
    assert queue.ready(EPOCH + SECOND) == [A, B]


def test_after_five_minutes_a_parked_pod_is_tried_anyway() -> None:
    queue = SchedulingQueue()
    queue.add(A, 0, EPOCH)
    queue.park(A, NOTHING, EPOCH)
    assert queue.next_moment() == EPOCH + 300 * SECOND
    assert queue.ready(EPOCH + 299 * SECOND) == []
    assert queue.ready(EPOCH + 300 * SECOND) == [A]


def test_an_empty_queue_waits_for_nothing() -> None:
    assert SchedulingQueue().next_moment() is None
