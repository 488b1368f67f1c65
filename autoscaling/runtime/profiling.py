"""What ``--profiling`` serves under ``/debug/pprof/``: where the time goes, and what is held in memory.

Paths and the parameter ``seconds`` are upstream's; what is answered is text of our own, not Go's format.
"""

from __future__ import annotations

import asyncio
import gc
import sys
import threading
import time
import tracemalloc
from collections import Counter
from types import FrameType
from typing import Final

from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route

_LONGEST_SECONDS: Final = 60.0
_PERIOD_SECONDS: Final = 0.01
_ROWS: Final = 100

_INDEX: Final = """\
/debug/pprof/profile?seconds=N  where the event loop's thread is, looked at every 10 ms for N seconds (at most 60): one
                                line for each stack, outermost function first, with how often it was seen; flame graph
                                tools read it as folded stacks
/debug/pprof/heap               memory by line of code if the process runs with PYTHONTRACEMALLOC=1, else how many
                                objects of which type the garbage collector knows; arrays and plain records are not
                                among those
"""


def profiling_routes() -> list[Route]:
    """Return the routes; the thread in which they are made is the one that is profiled."""
    watched, busy = threading.get_ident(), asyncio.Lock()

    async def index(_request: Request) -> Response:
        return PlainTextResponse(_INDEX)

    async def profile(request: Request) -> Response:
        seconds = _seconds(request.query_params.get("seconds", "30"))
        if seconds is None:
            return PlainTextResponse("seconds has to be a number above 0 and up to 60\n", 400)
        if busy.locked():
            return PlainTextResponse("another profile is being taken; ask again when it is done\n", 409)
        ending = threading.Event()
        async with busy:
            try:
                return PlainTextResponse(await asyncio.to_thread(_folded_stacks, watched, seconds, ending))
            finally:
                # Whoever asked may be gone, or the process about to end.
                ending.set()

    async def heap(_request: Request) -> Response:
        return PlainTextResponse(await asyncio.to_thread(_heap))

    answers = {"": index, "profile": profile, "heap": heap}
    return [Route(f"/debug/pprof/{name}", answer) for name, answer in answers.items()]


def _seconds(text: str) -> float | None:
    """Return how long to look, None where that cannot be done."""
    try:
        seconds = float(text)
    except ValueError:
        return None
    return seconds if 0.0 < seconds <= _LONGEST_SECONDS else None


def _folded_stacks(thread: int, seconds: float, ending: threading.Event) -> str:
    """Look at a thread for so long, or until the end, and return its stacks, the most frequent first."""
    seen: Counter[str] = Counter()
    until = time.monotonic() + seconds
    while True:
        frame = sys._current_frames().get(thread)  # noqa: SLF001 the documented way, whatever its name
        if frame is not None:
            seen[_folded(frame)] += 1
        if ending.wait(_PERIOD_SECONDS) or time.monotonic() >= until:
            break
    return "".join(f"{stack} {count}\n" for stack, count in seen.most_common())


def _folded(frame: FrameType | None) -> str:
    """Return a stack as one line."""
    names: list[str] = []
    while frame is not None:
        names.append(f"{frame.f_globals.get('__name__', '?')}:{frame.f_code.co_qualname}")
        frame = frame.f_back
    return ";".join(reversed(names))


def _heap() -> str:
    """Return what takes most memory, as far as that is known."""
    if tracemalloc.is_tracing():
        found = tracemalloc.take_snapshot().statistics("lineno")[:_ROWS]
        return "".join(f"{entry.size} bytes, {entry.count} blocks: {entry.traceback}\n" for entry in found)
    types = Counter(f"{type(each).__module__}.{type(each).__qualname__}" for each in gc.get_objects())
    return "".join(f"{count} {name}\n" for name, count in types.most_common(_ROWS))
