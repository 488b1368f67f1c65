"""A whole process in simulated time, against a clock that jumps."""

from __future__ import annotations

import asyncio
import os
import signal
import threading
from collections.abc import Callable, Coroutine, Iterator
from datetime import datetime, timedelta
from functools import partial
from urllib.request import urlopen

import pytest
import structlog
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route
from structlog.typing import EventDict

from autoscaling.errors import ConfigurationError
from autoscaling.kube.traffic import Headers
from autoscaling.runtime.bind_address import BindAddress
from autoscaling.runtime.lockstep import Lockstep
from autoscaling.runtime.lockstep_channel import LockstepLostError, Report
from autoscaling.runtime.process import Process
from autoscaling.runtime.telemetry import bind, bound_port, serve_http
from tests.autoscaling.runtime.jumping_clock import T0, JumpingClock, jumping_clock, library_timer

SECOND, MINUTE, DAY = timedelta(seconds=1), timedelta(minutes=1), timedelta(days=1)
Start = Callable[[Process], Coroutine[object, object, None]]


@pytest.fixture
def clock() -> Iterator[JumpingClock]:
    with jumping_clock() as running:
        yield running


@pytest.fixture
def logged() -> Iterator[list[EventDict]]:
    with structlog.testing.capture_logs() as events:
        yield events


def run(clock: JumpingClock, start: Start) -> int:
    return Lockstep(clock.url).run(start)


def test_rounds_happen_at_exact_multiples_of_their_period(clock: JumpingClock) -> None:
    """Spec: recommender:6.1, updater:M-1."""
    rounds: list[tuple[str, datetime]] = []

    async def start(process: Process) -> None:
        async def round_of(name: str) -> None:
            rounds.append((name, process.driver.now()))
            if process.driver.now() >= T0 + DAY:
                process.stop()

        process.every("minutely", MINUTE, partial(round_of, "minutely"))
        process.every("tenths", 42.1 * SECOND, partial(round_of, "tenths"))

    assert run(clock, start) == 0
    minutely = [when for name, when in rounds if name == "minutely"]
    assert minutely == [T0 + n * MINUTE for n in range(1, 24 * 60 + 1)]
    tenths = [when for name, when in rounds if name == "tenths"]
    assert tenths == [T0 + n * (42.1 * SECOND) for n in range(1, int(DAY / (42.1 * SECOND)) + 1)]


def test_a_tick_that_falls_into_a_round_is_kept_once(clock: JumpingClock) -> None:
    """Spec: recommender:6.1, updater:M-1."""
    starts: list[datetime] = []

    async def start(process: Process) -> None:
        async def slow() -> None:
            starts.append(process.pacing.now())
            await process.pacing.sleep(150 if len(starts) == 1 else 1)
            if len(starts) == 3:
                process.stop()

        process.every("slow", MINUTE, slow)

    assert run(clock, start) == 0
    assert starts == [T0 + MINUTE, T0 + 3.5 * MINUTE, T0 + 4 * MINUTE]


def test_pauses_time_outs_and_timers_of_the_library_go_by_the_clock(clock: JumpingClock) -> None:
    seen: list[tuple[str, datetime, float]] = []

    async def start(process: Process) -> None:
        def see(what: str) -> None:
            seen.append((what, process.pacing.now(), process.pacing.monotonic()))

        see("begin")
        await process.pacing.sleep(0.25)
        see("pause")
        await library_timer(3600)
        see("timer")
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(DAY.total_seconds()):
                await asyncio.Event().wait()
        see("timeout")
        asyncio.get_running_loop().call_later(0.5, see, "callback")
        await asyncio.wait({asyncio.ensure_future(asyncio.Event().wait())}, timeout=60)
        see("wait")
        process.stop()

    assert run(clock, start) == 0
    hour = 3600.25
    assert seen == [
        ("begin", T0, 0.0),
        ("pause", T0 + 0.25 * SECOND, 0.25),
        ("timer", T0 + hour * SECOND, hour),
        ("timeout", T0 + hour * SECOND + DAY, hour + 86400),
        ("callback", T0 + (hour + 0.5) * SECOND + DAY, hour + 86400.5),
        ("wait", T0 + (hour + 60) * SECOND + DAY, hour + 86460),
    ]


def test_pauses_of_the_same_end_last_in_the_order_of_their_beginning(clock: JumpingClock) -> None:
    woken: list[int] = []

    async def start(process: Process) -> None:
        async def sleeper(number: int, seconds: float) -> None:
            await process.pacing.sleep(seconds)
            woken.append(number)

        await asyncio.gather(*(sleeper(number, seconds) for number, seconds in enumerate((2, 0, 2, 1, -1, 2))))
        process.stop()

    assert run(clock, start) == 0
    assert woken == [1, 4, 3, 0, 2, 5]


def test_a_pause_that_was_given_up_wakes_nobody(clock: JumpingClock) -> None:
    async def start(process: Process) -> None:
        sleeping = asyncio.ensure_future(process.pacing.sleep(5))
        await asyncio.sleep(0)
        sleeping.cancel()
        await process.pacing.sleep(60)
        process.stop()

    assert run(clock, start) == 0
    assert [report.until for report in clock.reports[1:]] == [T0 + MINUTE]


def test_dice_follow_the_clocks_seed(clock: JumpingClock) -> None:
    thrown: list[float] = []

    async def start(process: Process) -> None:
        thrown.append(process.pacing.random())
        process.stop()

    assert run(clock, start) == 0
    clock.now, clock.turns = T0, 0
    assert run(clock, start) == 0
    assert thrown[0] == thrown[1]
    assert 0 <= thrown[0] < 1


def test_a_process_rests_only_when_nothing_is_left_to_run(clock: JumpingClock) -> None:
    steps: list[int] = []

    async def start(process: Process) -> None:
        async def many_steps() -> None:
            for _ in range(1000):
                await asyncio.sleep(0)
            steps.append(len(clock.reports))

        await many_steps()
        await asyncio.gather(*(many_steps() for _ in range(3)))
        await process.pacing.sleep(1)
        steps.append(len(clock.reports))
        process.stop()

    assert run(clock, start) == 0
    # The first report is the one of joining.
    assert steps == [1, 1, 1, 1, 2]


def test_what_would_run_in_a_thread_runs_at_once(clock: JumpingClock) -> None:
    order: list[str] = []

    async def start(process: Process) -> None:
        reading = asyncio.ensure_future(asyncio.to_thread(order.append, "thread"))
        await asyncio.sleep(0)
        order.append("loop")
        await reading
        assert await asyncio.to_thread(threading.get_ident) == threading.get_ident()
        process.on_stop("really", at_the_end)
        process.stop()

    async def at_the_end() -> None:
        assert await asyncio.to_thread(threading.get_ident) != threading.get_ident()
        order.append("real thread")

    assert run(clock, start) == 0
    assert order == ["thread", "loop", "real thread"]


def test_what_it_waits_for_that_is_not_time_is_reported(clock: JumpingClock) -> None:
    async def start(process: Process) -> None:
        async def request() -> Headers:
            async with process.traffic.exchange() as headers:
                await process.pacing.sleep(30)
            return headers

        requests = [asyncio.ensure_future(request()) for _ in range(2)]
        headers = await asyncio.gather(*requests)
        assert [dict(each) for each in headers] == [{"X-Evenkeel-Call": f"me/{n}"} for n in (1, 2)]
        with process.traffic.following(headers[1]) as line:
            line()
            await process.pacing.sleep(1)
        await process.pacing.sleep(1)
        process.stop()

    assert run(clock, start) == 0
    told = [(report.until, report.calls, report.lines, report.ended) for report in clock.reports[1:]]
    assert told == [
        # The second request waits for the first, which is kept waiting by the clock: that is told to let it pass.
        (T0, 1, {}, ()),
        (T0 + 30 * SECOND, 2, {}, ()),
        (T0 + 31 * SECOND, 0, {"me/2": 1}, ()),
        (T0 + 32 * SECOND, 0, {}, ("me/2",)),
    ]


def test_what_comes_from_outside_is_told_before_it_is_looked_at(clock: JumpingClock) -> None:
    said_before: list[list[str]] = []
    times: list[datetime] = []

    async def start(process: Process) -> None:
        reader, writer = os.pipe()

        def readable() -> None:
            os.read(reader, 1)
            said_before.append(sorted(clock.said[2:]))
            times.append(process.pacing.now())
            process.stop()

        def knock(_report: Report) -> bool:
            clock.now = T0 + 7 * SECOND
            os.write(writer, b"x")
            return False

        clock.on_rest = knock
        asyncio.get_running_loop().add_reader(reader, readable)
        process.on_stop("close", partial(_close, reader, writer))
        await process.pacing.sleep(60)

    assert run(clock, start) == 0
    assert said_before == [["rest", "work"]]
    assert times == [T0 + 7 * SECOND]


async def _close(*descriptors: int) -> None:
    for descriptor in descriptors:
        asyncio.get_running_loop().remove_reader(descriptor)
        os.close(descriptor)


def test_what_is_due_waits_for_its_turn_when_something_else_wakes_the_process(clock: JumpingClock) -> None:
    events: list[str] = []

    async def start(process: Process) -> None:
        reader, writer = os.pipe()

        def readable() -> None:
            os.read(reader, 1)
            events.append(f"knock, {clock.turns} turns")

        def knock_once(report: Report) -> bool:
            if clock.count("work") == 0:
                assert report.until is not None
                clock.now = report.until
                os.write(writer, b"x")
                return False
            return True

        asyncio.get_running_loop().add_reader(reader, readable)
        process.on_stop("close", partial(_close, reader, writer))
        clock.on_rest = knock_once
        await process.pacing.sleep(60)
        events.append(f"due, {clock.turns} turns")
        process.stop()

    assert run(clock, start) == 0
    assert events == ["knock, 1 turns", "due, 2 turns"]
    assert [report.until for report in clock.reports[1:]] == [T0 + MINUTE, T0 + MINUTE]


def test_the_end_takes_real_time_at_the_date_where_it_began(clock: JumpingClock) -> None:
    ends: list[datetime] = []

    async def start(process: Process) -> None:
        async def end() -> None:
            before = process.pacing.monotonic()
            await process.pacing.sleep(0.05)
            assert 0.05 <= process.pacing.monotonic() - before < 5
            ends.append(process.pacing.now())

        process.on_stop("end", end)
        process.every("never again", SECOND, end)
        await process.pacing.sleep(0.5)
        os.kill(os.getpid(), signal.SIGTERM)
        await process.pacing.sleep(3600)

    # The signal handlers that the process has left behind are not the test's.
    before = signal.getsignal(signal.SIGTERM), signal.getsignal(signal.SIGINT)
    try:
        clock.on_rest = lambda report: report.until is not None and report.until < T0 + SECOND
        assert run(clock, start) == 0
    finally:
        signal.signal(signal.SIGTERM, before[0])
        signal.signal(signal.SIGINT, before[1])
    assert ends == [T0 + 0.5 * SECOND]
    assert clock.said[-1] == "leave"


def test_a_process_that_only_serves_waits_for_no_turn(clock: JumpingClock) -> None:
    visitors: list[threading.Thread] = []
    answers: list[bytes] = []

    async def start(process: Process) -> None:
        async def answer(_request: Request) -> Response:
            process.stop()
            return PlainTextResponse("OK")

        listener = bind(BindAddress("127.0.0.1", 0))
        url = f"http://127.0.0.1:{bound_port(listener)}/"

        def ask() -> None:
            with urlopen(url) as heard:
                answers.append(heard.read())

        def visit(_report: Report) -> bool:
            # Once: a second visitor may come while the server leaves, and is told nothing.
            if not visitors:
                visitors.append(threading.Thread(target=ask))
                visitors[0].start()
            return True

        clock.on_rest = visit
        process.run_in_background("server", serve_http(Starlette(routes=[Route("/", answer)]), listener))

    assert run(clock, start) == 0
    visitors[0].join(timeout=20)
    assert answers == [b"OK"]
    assert [report.until for report in clock.reports[1:2]] == [None]


def test_a_process_ends_with_its_clock(clock: JumpingClock, logged: list[EventDict]) -> None:
    def end(_report: Report) -> bool:
        clock.end()
        return False

    async def start(process: Process) -> None:
        clock.on_rest = end
        await process.pacing.sleep(1)

    assert run(clock, start) == 1
    assert [event["event"] for event in logged] == ["process failed"]
    assert "simulated clock http://127.0.0.1:" in str(logged[0]["error"])
    assert logged[0]["exc_info"] is None


def test_without_a_clock_there_is_no_process() -> None:
    with jumping_clock() as clock:
        url = clock.url
    with pytest.raises(LockstepLostError, match=r"Connection refused; a process lives and ends with its simulator"):
        Lockstep(url)


@pytest.mark.parametrize("url", ["here", "http://127.0.0.1/clock/me", "https://127.0.0.1:1/clock/me", "http://h:1/"])
def test_what_is_no_clock_is_refused(url: str) -> None:
    with pytest.raises(ConfigurationError, match=r"--clock=.*: write http://HOST:PORT/PATH/NAME"):
        Lockstep(url)
