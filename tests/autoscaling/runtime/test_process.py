"""The life of a process: ticks, failures, and the orderly end."""

from __future__ import annotations

import asyncio
import signal
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path

import pytest
import structlog
from structlog.typing import EventDict

from autoscaling.errors import ConfigurationError
from autoscaling.runtime.process import FailureHandler, FatalError, Periodic, Process, Rounds, WallClockDriver, Work

pytestmark = pytest.mark.anyio

AT_ONCE = timedelta(0)
PATIENT = timedelta(minutes=1)


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture
def logged() -> Iterator[list[EventDict]]:
    with structlog.testing.capture_logs() as events:
        yield events


class ManualJob:
    """A job whose rounds end when the test says so."""

    def __init__(self) -> None:
        self.started = 0
        self.finished = 0
        self.cancelled = 0
        self.failures: list[Exception] = []
        self._release = asyncio.Event()

    async def run(self) -> None:
        self.started += 1
        try:
            await self._release.wait()
        except asyncio.CancelledError:
            self.cancelled += 1
            raise
        self._release.clear()
        self.finished += 1
        if self.failures:
            raise self.failures.pop()

    async def end_round(self) -> None:
        self._release.set()
        await _settle()


async def _settle() -> None:
    """Let everything that is due run."""
    for _ in range(10):
        await asyncio.sleep(0)


@dataclass
class ManualDriver:
    """A driver whose ticks the test gives."""

    rounds: dict[str, Rounds] = field(default_factory=dict)

    def now(self) -> datetime:
        return datetime(2026, 1, 1, tzinfo=UTC)

    def add(self, periodic: Periodic, on_failure: FailureHandler) -> None:
        self.rounds[periodic.name] = Rounds(periodic, on_failure)

    async def stop(self, grace: timedelta) -> None:
        for rounds in self.rounds.values():
            await rounds.stop(grace)


def _rounds(job: ManualJob, failures: list[Exception] | None = None) -> Rounds:
    return Rounds(
        Periodic("job", timedelta(minutes=1), job.run),
        lambda _periodic, error: failures.append(error) if failures is not None else None,
    )


async def test_a_tick_that_falls_into_a_round_is_kept_once() -> None:
    """Spec: recommender:6.1."""
    job = ManualJob()
    rounds = _rounds(job)
    for _ in range(4):
        rounds.tick()
        await _settle()
    assert (job.started, job.finished) == (1, 0)
    await job.end_round()
    assert (job.started, job.finished) == (2, 1), "the kept tick's round follows at once"
    await job.end_round()
    assert (job.started, job.finished) == (2, 2), "the other ticks are dropped"
    rounds.tick()
    await _settle()
    assert job.started == 3
    await rounds.stop(AT_ONCE)


async def test_a_failed_round_is_handed_over_and_the_next_one_comes() -> None:
    job, failures = ManualJob(), list[Exception]()
    rounds = _rounds(job, failures)
    job.failures.append(ValueError("bad round"))
    rounds.tick()
    rounds.tick()
    await _settle()
    await job.end_round()
    assert [str(error) for error in failures] == ["bad round"]
    assert job.started == 2
    await rounds.stop(AT_ONCE)


async def test_stopping_lets_a_round_end_within_the_grace_period() -> None:
    job = ManualJob()
    rounds = _rounds(job)
    rounds.tick()
    rounds.tick()
    await _settle()
    stopping = asyncio.ensure_future(rounds.stop(PATIENT))
    await _settle()
    await job.end_round()
    await stopping
    rounds.tick()
    await _settle()
    assert (job.started, job.finished, job.cancelled) == (1, 1, 0), "neither kept nor new ticks start a round"


async def test_stopping_cancels_a_round_that_outlasts_the_grace_period(logged: list[EventDict]) -> None:
    job = ManualJob()
    rounds = _rounds(job)
    rounds.tick()
    await _settle()
    await rounds.stop(AT_ONCE)
    assert (job.finished, job.cancelled) == (0, 1)
    assert [event["event"] for event in logged] == ["round cancelled"]


async def test_the_first_round_starts_one_full_period_after_the_job_was_added() -> None:
    """Spec: recommender:6.1, recommender:13.18."""
    loop, starts, twice = asyncio.get_running_loop(), list[float](), asyncio.Event()

    async def job() -> None:
        starts.append(loop.time())
        if len(starts) == 2:
            twice.set()

    driver, added = WallClockDriver(), loop.time()
    driver.add(Periodic("job", timedelta(milliseconds=50), job), _unexpected)
    async with asyncio.timeout(30):
        await twice.wait()
    await driver.stop(PATIENT)
    assert starts[0] - added >= 0.045


async def test_the_first_round_may_start_at_once_and_the_second_one_period_later() -> None:
    """Spec: performance:R-6, recommender:13.18."""
    loop, starts, twice = asyncio.get_running_loop(), list[float](), asyncio.Event()

    async def job() -> None:
        starts.append(loop.time())
        if len(starts) == 2:
            twice.set()

    driver, added = WallClockDriver(), loop.time()
    driver.add(Periodic("job", timedelta(milliseconds=50), job, starts_at_once=True), _unexpected)
    await _settle()
    assert len(starts) == 1
    async with asyncio.timeout(30):
        await twice.wait()
    await driver.stop(PATIENT)
    assert starts[1] - added >= 0.045


async def test_the_wall_clock_tells_the_real_time_in_utc(tmp_path: Path) -> None:
    tmp_path.joinpath("now").touch()
    written = datetime.fromtimestamp(tmp_path.joinpath("now").stat().st_mtime, UTC)
    now = WallClockDriver().now()
    assert now.tzinfo is UTC
    assert abs(now - written) < timedelta(minutes=1)


async def test_the_wall_clock_drives_several_jobs_and_stops_them() -> None:
    counts, all_ran = {"a": 0, "b": 0}, asyncio.Event()

    def job(name: str) -> Work:
        async def run() -> None:
            counts[name] += 1
            if min(counts.values()) >= 2:
                all_ran.set()

        return run

    driver = WallClockDriver()
    for name in counts:
        driver.add(Periodic(name, timedelta(milliseconds=10), job(name)), _unexpected)
    async with asyncio.timeout(30):
        await all_ran.wait()
    await driver.stop(PATIENT)
    before = dict(counts)
    await _settle()
    assert counts == before


async def test_a_driver_without_jobs_can_be_stopped() -> None:
    await WallClockDriver().stop(AT_ONCE)


def _unexpected(_periodic: Periodic, error: Exception) -> None:
    raise AssertionError(error)


async def test_the_end_comes_in_order() -> None:
    order: list[str] = []
    driver = ManualDriver()

    async def background(name: str) -> None:
        try:
            await asyncio.Event().wait()
        finally:
            order.append(f"{name} ended")

    async def job() -> None:
        try:
            await asyncio.Event().wait()
        finally:
            order.append("round ended")

    async def start(process: Process) -> None:
        for name in ("server", "watch"):
            process.run_in_background(name, background(name))
            process.on_stop(name, partial(_note, order, f"{name} told"))
        process.every("loop", timedelta(minutes=1), job)
        await _settle()
        driver.rounds["loop"].tick()
        await _settle()
        process.stop()

    assert await Process(driver, grace=AT_ONCE).run(start) == 0
    assert order == ["round ended", "watch told", "watch ended", "server told", "server ended"]


async def test_after_a_failure_no_round_goes_on() -> None:
    """Spec: updater:M-3, beyond:B-24. Somebody else may lead by now."""
    driver, job = ManualDriver(), ManualJob()

    async def start(process: Process) -> None:
        process.every("loop", timedelta(minutes=1), job.run)
        driver.rounds["loop"].tick()
        driver.rounds["loop"].tick()
        await _settle()
        process.fail(FatalError("the Lease is lost"))

    assert await Process(driver, grace=PATIENT).run(start) == 1
    assert (job.started, job.finished, job.cancelled) == (1, 0, 1)


async def _note(order: list[str], what: str) -> None:
    order.append(what)


async def test_a_failed_round_does_not_end_the_process(logged: list[EventDict]) -> None:
    driver = ManualDriver()

    async def job() -> None:
        raise ValueError("bad round")

    async def start(process: Process) -> None:
        process.every("loop", timedelta(minutes=1), job)
        driver.rounds["loop"].tick()
        await _settle()
        process.stop()

    assert await Process(driver).run(start) == 0
    (event,) = logged
    assert (event["event"], event["job"], event["error"]) == ("round failed", "loop", "bad round")
    assert isinstance(event["exc_info"], ValueError)


@pytest.mark.parametrize("place", ["start", "background", "round"])
async def test_a_fatal_error_ends_the_process_with_status_one_and_one_line(place: str, logged: list[EventDict]) -> None:
    driver = ManualDriver()
    error = FatalError("the Lease was lost; another replica leads now")

    async def fail() -> None:
        raise error

    async def start(process: Process) -> None:
        if place == "start":
            await fail()
        if place == "background":
            process.run_in_background("election", fail())
        process.every("loop", timedelta(minutes=1), fail)
        if place == "round":
            driver.rounds["loop"].tick()
        await asyncio.Event().wait()

    assert await Process(driver).run(start) == 1
    (event,) = logged
    assert (event["event"], event["error"], event["exc_info"]) == ("process failed", str(error), None)


async def test_a_bug_shows_its_traceback_and_an_error_of_ours_does_not(logged: list[EventDict]) -> None:
    async def bug(_process: Process) -> None:
        raise KeyError("nosuch")

    async def refusal(_process: Process) -> None:
        raise ConfigurationError("no such file")

    assert await Process(ManualDriver()).run(bug) == 1
    assert await Process(ManualDriver()).run(refusal) == 1
    assert [type(event["exc_info"]) for event in logged] == [KeyError, type(None)]


async def test_the_first_of_two_failures_is_reported(logged: list[EventDict]) -> None:
    async def start(process: Process) -> None:
        process.fail(FatalError("first"))
        process.fail(FatalError("second"))

    assert await Process(ManualDriver()).run(start) == 1
    assert [event["error"] for event in logged] == ["first"]


async def test_background_work_may_end_by_itself() -> None:
    async def start(process: Process) -> None:
        process.run_in_background("short", _settle())
        await _settle()
        await _settle()
        process.stop()

    assert await Process(ManualDriver()).run(start) == 0


async def test_a_stop_callback_that_fails_keeps_nothing_else_from_ending(logged: list[EventDict]) -> None:
    order: list[str] = []

    async def broken() -> None:
        raise ValueError("no")

    async def start(process: Process) -> None:
        process.on_stop("last", partial(_note, order, "last"))
        process.on_stop("broken", broken)
        process.stop()

    assert await Process(ManualDriver()).run(start) == 0
    assert order == ["last"]
    assert [(event["event"], event["callback"]) for event in logged] == [("stop callback failed", "broken")]


async def test_a_stop_callback_has_only_so_much_time(logged: list[EventDict]) -> None:
    async def start(process: Process) -> None:
        process.on_stop("slow", asyncio.Event().wait)  # type: ignore[arg-type]
        process.stop()

    assert await Process(ManualDriver(), callback_grace=AT_ONCE).run(start) == 0
    assert [(event["event"], event["callback"]) for event in logged] == [("stop callback took too long", "slow")]


async def test_start_is_cancelled_when_the_end_comes_first() -> None:
    ended: list[str] = []

    async def start(process: Process) -> None:
        process.stop()
        try:
            await asyncio.Event().wait()
        finally:
            ended.append("start")

    assert await Process(ManualDriver()).run(start) == 0
    assert ended == ["start"]


PROGRAM = """
import asyncio, sys
from datetime import timedelta
from autoscaling.errors import ConfigurationError
from autoscaling.runtime.logs import configure_logs
from autoscaling.runtime.process import run_process

def say(text):
    print(text, flush=True)

async def released():
    say("released")

async def stuck():
    await asyncio.Event().wait()

async def beat():
    say("beat")

async def start(process):
    process.every("beat", timedelta(milliseconds=20), beat)
    if sys.argv[1] == "stuck":
        process.on_stop("stuck", stuck)
    process.on_stop("lease", released)
    if sys.argv[1] == "fatal":
        raise ConfigurationError("no such file; create it")
    say("ready")

configure_logs(4, sys.stderr)
raise SystemExit(run_process(start))
"""


def _program(mode: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", PROGRAM, mode],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=Path(__file__).parents[3],
    )


def _wait_for(program: subprocess.Popen[str], text: str) -> None:
    assert program.stdout is not None
    for line in program.stdout:
        if line.strip() == text:
            return
    raise AssertionError(f"the program ended without saying {text!r}")


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_ends_the_process_in_order(number: signal.Signals) -> None:
    with _program("plain") as program:
        _wait_for(program, "ready")
        _wait_for(program, "beat")
        program.send_signal(number)
        out, err = program.communicate(timeout=30)
    assert program.returncode == 0
    assert out.splitlines()[-1] == "released"
    assert f'"signal": "{number.name}"' in err


def test_a_second_signal_ends_the_process_at_once() -> None:
    with _program("stuck") as program:
        _wait_for(program, "ready")
        program.send_signal(signal.SIGINT)
        _wait_for(program, "released")
        program.send_signal(signal.SIGTERM)
        program.communicate(timeout=30)
    assert program.returncode == -signal.SIGTERM


def test_a_fatal_error_at_start_is_one_line_and_status_one() -> None:
    with _program("fatal") as program:
        out, err = program.communicate(timeout=30)
    assert program.returncode == 1
    assert out.splitlines() == ["released"]
    assert len(err.splitlines()) == 1
    assert '"error": "no such file; create it"' in err
