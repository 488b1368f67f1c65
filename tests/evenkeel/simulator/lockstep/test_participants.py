"""One process as the clock knows it."""

from __future__ import annotations

import pytest

from autoscaling.runtime.lockstep_channel import Moment, Report
from evenkeel.simulator.lockstep.participants import Participant, seed_of
from tests.evenkeel.simulator.lockstep.fakes import at

pytestmark = pytest.mark.anyio


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


async def test_what_it_says_at_rest_is_kept_and_added_up() -> None:
    process = Participant("a")
    assert process.is_resting is False
    resting = process.rest(Report(1, 0, at(5), 2, {"a/1": 0, "a/2": 7}))
    assert (process.is_resting, process.until, process.calls) == (True, at(5), 2)
    process.take_turn(at(5))
    assert (process.is_resting, process.turns, resting.result()) == (False, 1, Moment(at(5), 1))
    process.rest(Report(2, 1, None, 0, {"a/1": 3}, ("a/2", "a/9")))
    assert (process.until, process.calls, process.lines) == (None, 0, {"a/1": 3})


async def test_objections_count_for_their_own_report_only() -> None:
    process = Participant("a")
    first = process.rest(Report(1, 0, None))
    process.object(1, at(3))
    assert first.result() == Moment(at(3), 0)
    second = process.rest(Report(2, 0, None))
    process.object(1, at(4))
    assert not second.done()
    assert process.is_resting


async def test_going_on_twice_is_going_on_once() -> None:
    process = Participant("a")
    resting = process.rest(Report(1, 0, None))
    process.go_on(at(1))
    process.go_on(at(2))
    assert resting.result() == Moment(at(1), 0)


async def test_dismissal_ends_its_rest() -> None:
    process = Participant("a")
    resting = process.rest(Report(1, 0, None))
    process.dismiss()
    assert (resting.cancelled(), process.dismissed.is_set(), process.is_resting) == (True, True, False)
    process.dismiss()


def test_seeds_differ_by_name_and_seed() -> None:
    assert seed_of(0, "a") == seed_of(0, "a")
    assert len({seed_of(seed, name) for seed in (0, 1) for name in ("a", "b", "a/b")}) == 6
