"""An event loop in simulated time: its timers, its descriptors, its threads."""

from __future__ import annotations

import asyncio
import os
import select
import selectors
import socket
from collections.abc import Callable, Coroutine, Iterator
from datetime import timedelta

import pytest

from autoscaling.runtime.lockstep import Lockstep
from autoscaling.runtime.lockstep_channel import Channel, LockstepLostError
from autoscaling.runtime.lockstep_loop import LockstepLoop, LockstepSelector
from autoscaling.runtime.lockstep_timeline import Timeline
from autoscaling.runtime.lockstep_traffic import LockstepTraffic
from autoscaling.runtime.process import Process
from tests.autoscaling.runtime.jumping_clock import T0, JumpingClock, jumping_clock, library_timer

SECOND, DAY = timedelta(seconds=1), timedelta(days=1)
Start = Callable[[Process], Coroutine[object, object, None]]


@pytest.fixture
def clock() -> Iterator[JumpingClock]:
    with jumping_clock() as running:
        yield running


@pytest.fixture
def selector(clock: JumpingClock) -> Iterator[LockstepSelector]:
    channel = Channel(clock.url)
    channel.join()
    made = LockstepSelector(channel, Timeline(T0, T0), LockstepTraffic("me"))
    yield made
    made.close()
    channel.close()


def run(clock: JumpingClock, start: Start) -> int:
    return Lockstep(clock.url).run(start)


@pytest.mark.parametrize("days", [0, 1, 1000])
@pytest.mark.parametrize("seconds", [1e-7, 1e-6, 0.1, 1 / 3, 60, 59.9999999])
def test_timers_of_the_library_cost_no_more_turns_than_they_must(
    clock: JumpingClock, days: int, seconds: float
) -> None:
    """A timer between two microseconds is due at the nearer one, however far from the beginning."""

    async def start(process: Process) -> None:
        await process.pacing.sleep(days * 86400)
        loop, begun = asyncio.get_running_loop(), len(clock.reports)
        for _ in range(20):
            before, date = loop.time(), process.pacing.now()
            await library_timer(seconds)
            assert loop.time() - before == pytest.approx(seconds, abs=1e-6)
            assert process.pacing.now() - date == timedelta(seconds=seconds)
        assert len(clock.reports) - begun == (20 if seconds >= 1e-6 else 0)
        process.stop()

    assert run(clock, start) == 0


def test_a_timer_beyond_a_day_is_waited_for_in_pieces(clock: JumpingClock) -> None:
    async def start(process: Process) -> None:
        await library_timer(3 * 86400 + 1)
        assert process.pacing.now() == T0 + 3 * DAY + SECOND
        process.stop()

    assert run(clock, start) == 0
    assert [report.until for report in clock.reports[1:]] == [
        T0 + DAY,
        T0 + 2 * DAY,
        T0 + 3 * DAY,
        T0 + 3 * DAY + SECOND,
    ]


def test_a_failing_thread_is_over_too(clock: JumpingClock) -> None:
    def fail() -> None:
        raise ValueError("no")

    async def start(process: Process) -> None:
        for _ in range(3):
            with pytest.raises(ValueError, match="no"):
                await asyncio.to_thread(fail)
        await process.pacing.sleep(1)
        process.stop()

    assert run(clock, start) == 0
    assert [report.until for report in clock.reports[1:]] == [T0 + SECOND]


def test_servers_and_clients_on_one_loop_talk_without_the_clock(clock: JumpingClock) -> None:
    async def start(process: Process) -> None:
        async def echo(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            writer.write(await reader.readline())
            writer.close()

        async with await asyncio.start_server(echo, "127.0.0.1", 0) as server:
            for _ in range(5):
                async with process.traffic.exchange():
                    reader, writer = await asyncio.open_connection(*server.sockets[0].getsockname())
                    writer.write(b"hello\n")
                    assert await reader.readline() == b"hello\n"
                    writer.close()
                    await writer.wait_closed()
        process.stop()

    assert run(clock, start) == 0
    # Nothing but the joining was reported: the traffic told that there was more to come.
    assert [report.calls for report in clock.reports] == [0]


def test_it_looks_at_descriptors_as_any_selector_does(selector: LockstepSelector) -> None:
    reader, writer = os.pipe()
    key = selector.register(reader, selectors.EVENT_READ, "data")
    assert selector.get_map()[reader] == key == selector.get_key(reader)
    os.write(writer, b"x")
    assert selector.select() == [(key, selectors.EVENT_READ)]
    assert selector.select(0) == [(key, selectors.EVENT_READ)]
    changed = selector.modify(reader, selectors.EVENT_READ, "other")
    assert selector.select(5) == [(changed, selectors.EVENT_READ)]
    selector.unregister(reader)
    assert selector.select(0) == []
    os.close(reader)
    os.close(writer)


def test_after_leaving_it_waits_in_real_time(clock: JumpingClock, selector: LockstepSelector) -> None:
    selector.leave()
    selector.leave()
    reports = len(clock.reports)
    assert selector.select(0.01) == []
    assert (len(clock.reports), clock.count("leave")) == (reports, 1)


def test_a_word_from_the_clock_out_of_turn_is_the_end(clock: JumpingClock) -> None:
    """The clock may speak only to a process that rests."""
    here, there = socket.socketpair()
    lost: list[str] = []
    channel = Channel(clock.url)
    channel.join()
    timeline, traffic = Timeline(T0, T0), LockstepTraffic("me")
    selector = LockstepSelector(channel, timeline, traffic)
    loop = LockstepLoop(selector, timeline)

    def on_lost(error: LockstepLostError) -> None:
        lost.append(str(error))
        there.send(b"x")

    selector.on_lost = on_lost

    async def misbehave() -> None:
        async with traffic.exchange():
            clock.end()
            # The clock hangs up in a thread of its own.
            select.select([channel], [], [])
            await asyncio.get_running_loop().sock_recv(here, 1)

    here.setblocking(False)
    try:
        loop.run_until_complete(misbehave())
    finally:
        loop.close()
        here.close()
        there.close()
    assert lost == ["the simulated clock spoke to me, which does not rest"]
