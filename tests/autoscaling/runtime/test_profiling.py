"""Profiles of the running process, asked for over a real connection."""

from __future__ import annotations

import asyncio
import contextlib
import re
import threading
import time
import tracemalloc
from collections.abc import AsyncIterator
from datetime import timedelta

import pytest
from prometheus_client import CollectorRegistry

from autoscaling.runtime.bind_address import BindAddress
from autoscaling.runtime.health import Vitals
from autoscaling.runtime.profiling import profiling_routes
from autoscaling.runtime.telemetry import bind, bound_port, serve_http, telemetry_application

pytestmark = pytest.mark.anyio


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@contextlib.asynccontextmanager
async def served(*, profiling: bool = True) -> AsyncIterator[int]:
    listener = bind(BindAddress.parse("127.0.0.1:0"))
    vitals = Vitals(timedelta(minutes=1), lambda: 0.0)
    routes = profiling_routes() if profiling else ()
    serving = asyncio.ensure_future(serve_http(telemetry_application(CollectorRegistry(), vitals, routes), listener))
    yield bound_port(listener)
    serving.cancel()
    with contextlib.suppress(asyncio.CancelledError):
        await serving


async def answer(port: int, path: str) -> tuple[int, str]:
    """Ask for something under /debug/pprof/, and return status and text."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(f"GET /debug/pprof/{path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n".encode())
    head, _, body = (await reader.read()).decode().partition("\r\n\r\n")
    writer.close()
    await writer.wait_closed()
    return int(head.split()[1]), body


async def test_the_index_says_what_there_is() -> None:
    """Spec: updater:M-2."""
    async with served() as port:
        status, text = await answer(port, "")
        assert status == 200
        for path in re.findall(r"^/debug/pprof/(\w+)", text, re.MULTILINE):
            assert (await answer(port, f"{path}?seconds=0.01"))[0] == 200, path


async def test_nothing_is_there_unless_asked_for() -> None:
    async with served(profiling=False) as port:
        assert [(await answer(port, path))[0] for path in ("", "profile", "heap")] == [404] * 3


async def test_a_profile_shows_what_the_event_loop_does() -> None:
    async with served() as port:
        threads = threading.active_count()
        asking = asyncio.create_task(answer(port, "profile?seconds=0.3"))
        async with asyncio.timeout(60):
            while threading.active_count() == threads:  # noqa: ASYNC110 what is waited for is no event of the loop
                await asyncio.sleep(0)
        # From the start of the thread that looks on, this is all that there is to be seen.
        a_busy_function(time.monotonic() + 1.0)
        status, text = await asking
    assert status == 200
    lines = [re.fullmatch(r"(\S.*) (\d+)", line) for line in text.splitlines()]
    counts = [int(line[2]) for line in lines if line is not None]
    assert None not in lines
    assert counts == sorted(counts, reverse=True)
    busy = [line[1] for line in lines if line is not None and line[1].endswith(f"{__name__}:a_busy_function")]
    assert busy
    assert all("test_a_profile_shows_what_the_event_loop_does" in stack.split(";")[-2] for stack in busy)


def a_busy_function(until: float) -> None:
    while time.monotonic() < until:
        pass


@pytest.mark.parametrize("seconds", ["0", "-1", "60.001", "soon", "nan", ""])
async def test_a_profile_is_taken_for_a_minute_at_most(seconds: str) -> None:
    async with served() as port:
        status, text = await answer(port, f"profile?seconds={seconds}")
    assert (status, text) == (400, "seconds has to be a number above 0 and up to 60\n")


async def test_one_profile_is_taken_at_a_time_and_ends_with_the_server() -> None:
    async with served() as port:
        first = asyncio.create_task(answer(port, "profile?seconds=60"))
        # A question asked after it and answered means that it has begun.
        await answer(port, "")
        second = await answer(port, "profile?seconds=0.01")
        assert second == (409, "another profile is being taken; ask again when it is done\n")
    async with asyncio.timeout(10):
        assert (await first)[0] == 500, "cut short"
        await asyncio.get_running_loop().shutdown_default_executor()


async def test_the_heap_counts_objects_or_lines_of_code() -> None:
    async with served() as port:
        status, by_type = await answer(port, "heap")
        assert status == 200
        assert re.search(r"^\d+ builtins\.dict$", by_type, re.MULTILINE)
        tracemalloc.start()
        try:
            kept = [bytes(1000) for _ in range(1000)]
            status, by_line = await answer(port, "heap")
        finally:
            tracemalloc.stop()
    assert (status, len(kept)) == (200, 1000)
    assert re.search(rf"^\d+ bytes, \d+ blocks: .*{re.escape(__file__.rsplit('/', 1)[1])}:\d+$", by_line, re.MULTILINE)
