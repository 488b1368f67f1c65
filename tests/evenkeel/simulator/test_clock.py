"""The clocks of the simulator."""

from __future__ import annotations

import asyncio
import threading
from datetime import UTC, datetime, timedelta, timezone

import pytest

from evenkeel.simulator.clock import EPOCH, ManualClock, SpeedClock, WallClock, parse_rfc3339, rfc3339, wait_until

pytestmark = pytest.mark.anyio
SECOND = timedelta(seconds=1)


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


def test_a_manual_clock_stands_still_until_it_is_moved() -> None:
    clock = ManualClock()
    assert clock.now() == EPOCH
    assert clock.advance(SECOND) == EPOCH + SECOND
    clock.set(EPOCH - SECOND)
    assert clock.now() == EPOCH - SECOND


def test_timers_run_in_order_of_their_time_and_show_it() -> None:
    clock = ManualClock()
    seen: list[tuple[str, datetime]] = []
    clock.call_at(EPOCH + 2 * SECOND, lambda: seen.append(("late", clock.now())))
    clock.call_at(EPOCH + SECOND, lambda: seen.append(("early", clock.now())))
    clock.call_at(EPOCH + SECOND, lambda: seen.append(("second", clock.now())))
    clock.call_at(EPOCH + 4 * SECOND, lambda: seen.append(("never", clock.now())))
    clock.advance(3 * SECOND)
    assert seen == [("early", EPOCH + SECOND), ("second", EPOCH + SECOND), ("late", EPOCH + 2 * SECOND)]
    assert clock.now() == EPOCH + 3 * SECOND


def test_a_cancelled_timer_does_not_run() -> None:
    clock, seen = ManualClock(), list[str]()
    clock.call_at(EPOCH + SECOND, lambda: seen.append("x")).cancel()
    clock.advance(SECOND)
    assert seen == []


def test_a_timer_of_the_past_runs_at_once() -> None:
    clock, seen = ManualClock(), list[str]()
    clock.call_at(EPOCH, lambda: seen.append("x")).cancel()
    assert seen == ["x"]


def test_the_next_timer_is_the_earliest_that_is_not_called_off() -> None:
    clock = ManualClock()
    assert clock.next_timer() is None
    first = clock.call_at(EPOCH + SECOND, lambda: None)
    clock.call_at(EPOCH + 2 * SECOND, lambda: None)
    assert clock.next_timer() == EPOCH + SECOND
    first.cancel()
    assert clock.next_timer() == EPOCH + 2 * SECOND
    clock.advance(2 * SECOND)
    assert clock.next_timer() is None


async def test_waiting_ends_when_another_thread_moves_the_clock() -> None:
    clock = ManualClock()
    waiting = asyncio.ensure_future(wait_until(clock, EPOCH + SECOND))
    await asyncio.sleep(0)
    assert not waiting.done()
    await asyncio.to_thread(clock.advance, SECOND)
    await asyncio.wait_for(waiting, 10)


async def test_the_wall_clock_reaches_moments_of_the_past_and_of_the_near_future() -> None:
    clock = WallClock()
    await asyncio.wait_for(wait_until(clock, clock.now() - SECOND), 10)
    before = clock.now()
    await asyncio.wait_for(wait_until(clock, before + SECOND / 100), 10)
    assert clock.now() >= before + SECOND / 100


def test_the_wall_clock_calls_back_without_an_event_loop() -> None:
    called = threading.Event()
    clock = WallClock()
    late = clock.call_at(clock.now() + timedelta(hours=1), called.set)
    late.cancel()
    assert not called.is_set()
    clock.call_at(clock.now(), called.set)
    assert called.wait(10)


def test_times_are_written_in_utc_with_whole_seconds_and_read_with_fractions() -> None:
    moment = datetime(2026, 1, 1, 2, 0, 0, 999, tzinfo=timezone(timedelta(hours=2)))
    assert rfc3339(moment) == "2026-01-01T00:00:00Z"
    assert parse_rfc3339("2026-01-01T00:00:00.25Z") == datetime(2026, 1, 1, microsecond=250_000, tzinfo=UTC)


def test_a_step_passes_one_timer_alone() -> None:
    clock, seen = ManualClock(), list[str]()
    for name, second in (("b", 2), ("c", 2), ("a", 1)):
        clock.call_at(EPOCH + second * SECOND, lambda name=name: seen.append(name))  # type: ignore[misc]
    clock.call_at(EPOCH + SECOND, lambda: None).cancel()
    steps = []
    for _ in range(4):
        clock.step()
        steps.append((clock.now(), "".join(seen)))
    early, late = EPOCH + SECOND, EPOCH + 2 * SECOND
    assert steps == [(early, "a"), (late, "ab"), (late, "abc"), (late, "abc")]


def test_a_speed_clock_runs_as_many_times_as_fast() -> None:
    real = iter([100.0, 100.0, 101.5, 160.0])
    clock = SpeedClock(EPOCH, 60.0, lambda: next(real))
    assert [clock.now() - EPOCH for _ in range(3)] == [0 * SECOND, 90 * SECOND, 3600 * SECOND]


async def test_a_speed_clocks_timers_come_when_it_shows_their_time() -> None:
    clock, reached = SpeedClock(EPOCH, 100_000.0), asyncio.Event()
    clock.call_at(clock.now() + timedelta(hours=1), reached.set)
    never = clock.call_at(EPOCH + timedelta(days=365), lambda: pytest.fail("a year is five minutes"))
    async with asyncio.timeout(10):
        await reached.wait()
    assert clock.now() >= EPOCH + timedelta(hours=1)
    never.cancel()
    async with asyncio.timeout(10):
        await wait_until(clock, EPOCH)


@pytest.mark.parametrize("speed", [0.0, -1.0])
def test_a_clock_that_does_not_go_forward_is_refused(speed: float) -> None:
    with pytest.raises(ValueError, match="a clock must go forward"):
        SpeedClock(EPOCH, speed)
