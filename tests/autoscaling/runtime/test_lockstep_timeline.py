"""The time of one process: standing still, jumping, and real at the end."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime, timedelta

import pytest

from autoscaling.runtime.lockstep_timeline import Timeline

pytestmark = pytest.mark.anyio

T0 = datetime(2026, 1, 1, tzinfo=UTC)
SECOND = timedelta(seconds=1)


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


class RealTime:
    """Real time as the test says."""

    def __init__(self) -> None:
        self.seconds = 1000.0

    def __call__(self) -> float:
        return self.seconds


def test_time_stands_still_until_it_is_shown() -> None:
    real = RealTime()
    timeline = Timeline(T0, T0 + 5 * SECOND, real)
    real.seconds += 10
    assert (timeline.now, timeline.seconds(), timeline.has_left) == (T0 + 5 * SECOND, 5.0, False)
    timeline.show(T0 + 90 * SECOND)
    assert (timeline.now, timeline.seconds()) == (T0 + 90 * SECOND, 90.0)


def test_alarms_are_due_in_order_of_their_time_and_then_of_their_setting() -> None:
    timeline, heard = Timeline(T0, T0), list[str]()
    for name, second in (("b", 2), ("c", 2), ("a", 1), ("d", 3)):
        timeline.set_alarm(T0 + second * SECOND, lambda name=name: heard.append(name))  # type: ignore[misc]
    assert timeline.next_alarm() == T0 + SECOND
    assert timeline.take_due() == []
    timeline.show(T0 + 2 * SECOND)
    for callback in timeline.take_due():
        callback()
    assert heard == ["a", "b", "c"]
    assert timeline.next_alarm() == T0 + 3 * SECOND


def test_alarms_that_are_off_are_as_if_they_had_never_been() -> None:
    timeline = Timeline(T0, T0)
    first, second = (timeline.set_alarm(T0 + n * SECOND, lambda: None) for n in (1, 2))
    first.is_off = True
    assert timeline.next_alarm() == T0 + 2 * SECOND
    second.is_off = True
    timeline.show(T0 + 5 * SECOND)
    assert (timeline.next_alarm(), timeline.take_due()) == (None, [])


async def test_after_leaving_the_date_stands_still_and_alarms_run_in_real_time() -> None:
    real, heard = RealTime(), list[str]()
    timeline = Timeline(T0, T0 + SECOND, real)
    timeline.set_alarm(T0 + SECOND, lambda: heard.append("due"))
    timeline.set_alarm(T0 + 2 * SECOND, lambda: heard.append("off")).is_off = True
    timeline.set_alarm(T0 + 3000 * SECOND, lambda: heard.append("late"))
    timeline.leave()
    timeline.leave()
    real.seconds += 2.5
    assert (timeline.now, timeline.seconds(), timeline.has_left) == (T0 + SECOND, 3.5, True)
    assert timeline.next_alarm() is None
    heard_last = asyncio.Event()
    timeline.set_alarm(T0, heard_last.set)
    async with asyncio.timeout(10):
        await heard_last.wait()
    assert heard == ["due"]
