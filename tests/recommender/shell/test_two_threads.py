"""Two pieces of work at a time (performance:R-1)."""

from __future__ import annotations

import os
from threading import Barrier, Event, Thread, get_ident

import pytest

from recommender.pair import Pair, in_turn
from recommender.shell.two_threads import Elsewhere, TwoThreads

BOTH_WAYS = [("performance:R-1 in turn", in_turn), ("performance:R-1 at a time", TwoThreads())]
PATIENCE_SECONDS = 30.0


@pytest.mark.parametrize(("row", "both"), BOTH_WAYS)
def test_each_piece_gives_what_it_comes_to(row: str, both: Pair) -> None:
    assert both(lambda: 1, lambda: "a") == (1, "a"), row
    assert both(lambda: 2, lambda: "b") == (2, "b"), row


def test_both_run_at_a_time_and_the_second_one_in_the_same_thread_each_time() -> None:
    both, barrier = TwoThreads(), Barrier(2)

    def meet() -> int:
        barrier.wait(PATIENCE_SECONDS)
        return get_ident()

    pairs = [both(meet, meet) for _ in range(3)]
    assert pairs == [pairs[0]] * 3
    assert pairs[0][0] == get_ident() != pairs[0][1]


def test_the_second_one_runs_on_another_processor_where_there_is_one() -> None:
    """Spec: performance:R-1."""
    allowed = os.sched_getaffinity(0)
    both = TwoThreads()
    for _ in range(3):
        _, second = both(lambda: None, lambda: os.sched_getaffinity(0))
        assert second < allowed if len(allowed) > 1 else second == allowed
        assert len(second) == max(len(allowed) - 1, 1)
    assert os.sched_getaffinity(0) == allowed


def test_with_one_processor_there_is_no_other_one() -> None:
    """Spec: performance:R-1."""
    allowed = os.sched_getaffinity(0)
    try:
        os.sched_setaffinity(0, {min(allowed)})
        both = TwoThreads()
        assert both(lambda: 1, lambda: os.sched_getaffinity(0)) == (1, {min(allowed)})
    finally:
        os.sched_setaffinity(0, allowed)


def test_a_thread_that_cannot_be_placed_is_left_where_it_is() -> None:
    """Spec: performance:R-1. The system refuses, here as the thread is gone."""
    gone = Thread()
    gone.start()
    gone.join()
    assert gone.native_id is not None
    allowed = os.sched_getaffinity(0)
    Elsewhere(lambda: min(allowed)).place(gone.native_id)
    assert os.sched_getaffinity(0) == allowed


@pytest.mark.parametrize(("row", "both"), BOTH_WAYS)
def test_a_failure_of_the_first_piece_comes_before_one_of_the_second(row: str, both: Pair) -> None:
    def fail(error: Exception) -> None:
        raise error

    with pytest.raises(KeyError):
        both(lambda: fail(KeyError(row)), lambda: fail(ValueError(row)))
    with pytest.raises(ValueError, match=row):
        both(lambda: None, lambda: fail(ValueError(row)))
    assert both(lambda: 1, lambda: 2) == (1, 2), row


def test_no_piece_is_left_under_way_when_the_other_one_fails() -> None:
    both, begun, is_done = TwoThreads(), Event(), Event()

    def fail() -> None:
        assert begun.wait(PATIENCE_SECONDS)
        raise KeyError

    def work() -> None:
        begun.set()
        # Long enough for the failure to get away, were it not for the wait.
        sum(range(10**6))
        is_done.set()

    with pytest.raises(KeyError):
        both(fail, work)
    assert is_done.is_set()
