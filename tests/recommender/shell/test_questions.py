"""Asking again, and for less."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from autoscaling.kube.retry import Patience
from recommender.history.errors import HistoryError, Trouble
from recommender.history.pieces import Piece, Span
from recommender.shell.questions import Questions
from recommender.shell.worker_thread import WorkerThread
from tests.autoscaling.kube.clocks import InstantPacing
from tests.recommender.history.builders import HOUR, T0_NS

pytestmark = pytest.mark.anyio


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


def failing(times: int, trouble: Trouble) -> Callable[[], str]:
    """Return a call that fails so many times before it succeeds."""
    left = [times]

    def call() -> str:
        if left[0]:
            left[0] -= 1
            raise HistoryError("no", remedy="wait", trouble=trouble)
        return "yes"

    return call


def questions(pacing: InstantPacing, *, total_seconds: float = 600.0) -> Questions:
    patience = Patience(attempts=4, first_seconds=1.0, ceiling_seconds=3.0, jitter=0.0, total_seconds=total_seconds)
    return Questions(WorkerThread("questions"), pacing, patience)


@pytest.mark.parametrize(
    ("case", "failures", "trouble", "slept"),
    [
        ("at once", 0, Trouble.TRANSIENT, []),
        ("after some pauses", 3, Trouble.TRANSIENT, [1.0, 2.0, 3.0]),
    ],
)
async def test_what_may_pass_is_asked_again(case: str, failures: int, trouble: Trouble, slept: list[float]) -> None:
    pacing = InstantPacing()
    asking = questions(pacing)
    assert await asking.ask(failing(failures, trouble)) == "yes", case
    assert pacing.slept == slept
    asking.thread.shutdown()


@pytest.mark.parametrize(
    ("case", "failures", "trouble", "total", "slept"),
    [
        ("too often", 4, Trouble.TRANSIENT, 600.0, [1.0, 2.0, 3.0]),
        ("for too long", 4, Trouble.TRANSIENT, 2.5, [1.0]),
        ("for good", 1, Trouble.FINAL, 600.0, []),
        ("too much", 1, Trouble.TOO_MUCH, 600.0, []),
    ],
)
async def test_in_the_end_it_fails(
    case: str, failures: int, trouble: Trouble, total: float, slept: list[float]
) -> None:
    pacing = InstantPacing()
    asking = questions(pacing, total_seconds=total)
    with pytest.raises(HistoryError):
        await asking.ask(failing(failures, trouble))
    assert pacing.slept == slept, case
    asking.thread.shutdown()


async def test_parts_come_in_the_order_of_time_and_cover_the_whole() -> None:
    asking = questions(InstantPacing())

    def fetch(piece: Piece) -> Span:
        if piece.span.count > 3:
            raise HistoryError("no", remedy="ask for less", trouble=Trouble.TOO_MUCH)
        return piece.span

    parts = [part async for part in asking.in_parts(fetch, Piece((), Span(T0_NS, HOUR, 10)))]
    instants = [part.start + number * HOUR for part in parts for number in range(part.count)]
    assert instants == [T0_NS + number * HOUR for number in range(10)], "performance:R-7"
    asking.thread.shutdown()


async def test_a_part_that_cannot_be_cut_fails() -> None:
    asking = questions(InstantPacing())

    def fetch(_: Piece) -> Span:
        raise HistoryError("no", remedy="ask for less", trouble=Trouble.TOO_MUCH)

    with pytest.raises(HistoryError):
        _ = [part async for part in asking.in_parts(fetch, Piece((), Span(T0_NS, HOUR, 2)))]
    asking.thread.shutdown()
