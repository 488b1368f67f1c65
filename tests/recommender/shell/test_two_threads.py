"""Two pieces of work at a time (performance:R-1)."""

from __future__ import annotations

import os
from functools import partial
from threading import Barrier, Event, Thread, get_ident

import pytest

from recommender.pair import Later, Pair, in_turn
from recommender.shell.two_threads import Elsewhere, TwoThreads

BOTH_WAYS = [("performance:R-1 in turn", in_turn), ("performance:R-1 at a time", TwoThreads())]
PATIENCE_SECONDS = 30.0


@pytest.mark.parametrize(("row", "both"), BOTH_WAYS)
def test_each_piece_gives_what_it_comes_to(row: str, both: Pair) -> None:
    assert both(lambda _: 1, lambda _: "a") == (1, "a"), row
    assert both(lambda _: 2, lambda _: "b") == (2, "b"), row


def test_both_run_at_a_time_and_the_second_one_in_the_same_thread_each_time() -> None:
    both, barrier = TwoThreads(), Barrier(2)

    def meet(_: Later) -> int:
        barrier.wait(PATIENCE_SECONDS)
        return get_ident()

    pairs = [both(meet, meet) for _ in range(3)]
    assert pairs == [pairs[0]] * 3
    assert pairs[0][0] == get_ident() != pairs[0][1]


@pytest.mark.parametrize(("row", "both"), BOTH_WAYS)
@pytest.mark.parametrize("leaves", [0, 1, 2, 30])
def test_all_that_is_left_for_later_is_done_once(row: str, both: Pair, leaves: int) -> None:
    done: list[int] = []

    def piece(later: Later, begin: int) -> int:
        for number in range(begin, begin + leaves):
            later(partial(done.append, number))
        return len(done)

    both(lambda later: piece(later, 0), lambda later: piece(later, leaves))
    assert sorted(done) == list(range(2 * leaves)), row


@pytest.mark.parametrize("leaver", ["first", "second"])
def test_what_one_leaves_the_other_one_does_once_it_is_done(leaver: str) -> None:
    both, is_left, is_done, found = TwoThreads(), Event(), Event(), []

    def rest() -> None:
        found.append(get_ident())
        is_done.set()

    def leave(later: Later) -> int:
        later(rest)
        is_left.set()
        assert is_done.wait(PATIENCE_SECONDS)
        return get_ident()

    def take(_: Later) -> int:
        assert is_left.wait(PATIENCE_SECONDS)
        return get_ident()

    pair = both(leave, take) if leaver == "first" else both(take, leave)
    assert found == [pair[1 if leaver == "first" else 0]]


@pytest.mark.parametrize(("row", "both"), BOTH_WAYS)
def test_a_failure_of_what_was_left_is_told(row: str, both: Pair) -> None:
    def fail() -> None:
        raise KeyError(row)

    for pieces in ((lambda later: later(fail), lambda _: None), (lambda _: None, lambda later: later(fail))):
        with pytest.raises(KeyError):
            both(*pieces)
    assert both(lambda _: 1, lambda _: 2) == (1, 2), row


def test_the_second_one_runs_on_another_processor_where_there_is_one() -> None:
    """Spec: performance:R-1."""
    allowed = os.sched_getaffinity(0)
    both = TwoThreads()
    for _ in range(3):
        _, second = both(lambda _: None, lambda _: os.sched_getaffinity(0))
        assert second < allowed if len(allowed) > 1 else second == allowed
        assert len(second) == max(len(allowed) - 1, 1)
    assert os.sched_getaffinity(0) == allowed


def test_with_one_processor_there_is_no_other_one() -> None:
    """Spec: performance:R-1."""
    allowed = os.sched_getaffinity(0)
    try:
        os.sched_setaffinity(0, {min(allowed)})
        both = TwoThreads()
        assert both(lambda _: 1, lambda _: os.sched_getaffinity(0)) == (1, {min(allowed)})
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
        both(lambda _: fail(KeyError(row)), lambda _: fail(ValueError(row)))
    with pytest.raises(ValueError, match=row):
        both(lambda _: None, lambda _: fail(ValueError(row)))
    assert both(lambda _: 1, lambda _: 2) == (1, 2), row


def test_no_piece_is_left_under_way_when_the_other_one_fails() -> None:
    both, begun, is_done = TwoThreads(), Event(), Event()

    def fail(_: Later) -> None:
        assert begun.wait(PATIENCE_SECONDS)
        raise KeyError

    def work(_: Later) -> None:
        begun.set()
        # Long enough for the failure to get away, were it not for the wait.
        sum(range(10**6))
        is_done.set()

    with pytest.raises(KeyError):
        both(fail, work)
    assert is_done.is_set()
