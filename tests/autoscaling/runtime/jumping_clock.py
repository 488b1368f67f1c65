"""A simulated clock on a port of this machine, for one process: it jumps to whatever the process waits for."""

from __future__ import annotations

import asyncio
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import ClassVar

import msgspec

from autoscaling.runtime.lockstep_channel import Moment, Objection, Report, Welcome

T0 = datetime(2026, 1, 1, tzinfo=UTC)
_PATIENCE_SECONDS = 20.0


@dataclass
class JumpingClock:
    """What the clock has heard, and how it answers.

    Args:
        url: Value of ``--clock``.
        on_rest: Called with each report, in the clock's thread, before the process is answered; returns whether it gets
            its turn. Without a turn it stays at rest until it goes on by itself.
    """

    url: str = ""
    now: datetime = T0
    turns: int = 0
    on_rest: Callable[[Report], bool] = field(default=lambda _report: True)
    reports: list[Report] = field(default_factory=list)
    said: list[str] = field(default_factory=list)
    heard: threading.Condition = field(default_factory=threading.Condition)
    objection: int = -1
    ended: threading.Event = field(default_factory=threading.Event)

    def answer(self, report: Report) -> Moment:
        """Return when the process goes on."""
        with self.heard:
            self.reports.append(report)
        if self.on_rest(report) and report.until is not None:
            self.now = max(self.now, report.until)
            self.turns += 1
            return Moment(self.now, self.turns)
        with self.heard:
            self.heard.wait_for(lambda: self.objection == report.number or self.ended.is_set(), _PATIENCE_SECONDS)
            if self.objection != report.number and self.ended.is_set():
                # Left without an answer; one could be quicker than the end of the connection.
                raise ConnectionAbortedError("the clock hangs up")
        return Moment(self.now, self.turns)

    def object(self, objection: Objection) -> None:
        """Take in that a report no longer holds."""
        with self.heard:
            self.objection = objection.number
            self.heard.notify_all()

    def end(self) -> None:
        """Hang up on everybody."""
        self.ended.set()
        with self.heard:
            self.heard.notify_all()

    def count(self, verb: str) -> int:
        """Return how often something was said."""
        return self.said.count(verb)


class _Handler(BaseHTTPRequestHandler):
    """One connection of the process."""

    protocol_version = "HTTP/1.1"
    wbufsize = -1
    disable_nagle_algorithm = True
    clock: ClassVar[JumpingClock]

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        verb = self.path.rpartition("/")[2]
        self.clock.said.append(verb)
        match verb:
            case "rest":
                self._reply(msgspec.json.encode(self.clock.answer(msgspec.json.decode(body, type=Report))))
            case "work":
                self.clock.object(msgspec.json.decode(body, type=Objection))
                self._reply(b"")
            case "leave":
                self._reply(b"")
            case _:
                self._stay()

    def _reply(self, body: bytes) -> None:
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def _stay(self) -> None:
        """Say welcome, and nothing more until the clock ends."""
        self.send_response(200)
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        line = msgspec.json.encode(Welcome(T0, T0, 42)) + b"\n"
        self.wfile.write(b"%x\r\n%b\r\n" % (len(line), line))
        self.wfile.flush()
        self.clock.ended.wait(_PATIENCE_SECONDS)
        self.close_connection = True

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the library's name
        pass


class _Server(ThreadingHTTPServer):
    """A server that can hang up on everybody, also on those whose connections it takes only afterwards."""

    daemon_threads = True

    def __init__(self, handler: type[_Handler]) -> None:
        self._connections: list[socket.socket] = []
        self._has_hung_up = False
        self._lock = threading.Lock()
        super().__init__(("127.0.0.1", 0), handler)

    def process_request(self, request: socket.socket | tuple[bytes, socket.socket], client_address: object) -> None:
        assert isinstance(request, socket.socket)
        with self._lock:
            self._connections.append(request)
            if self._has_hung_up:
                _shut(request)
        super().process_request(request, client_address)

    def handle_error(self, request: object, client_address: object) -> None:
        """Say nothing about a process that hangs up."""

    def hang_up(self) -> None:
        with self._lock:
            self._has_hung_up = True
            for connection in self._connections:
                _shut(connection)


def _shut(connection: socket.socket) -> None:
    with suppress(OSError):
        connection.shutdown(socket.SHUT_RDWR)


@contextmanager
def jumping_clock(on_rest: Callable[[Report], bool] | None = None) -> Iterator[JumpingClock]:
    """Run a clock while the context lasts."""
    clock = JumpingClock()
    if on_rest is not None:
        clock.on_rest = on_rest
    handler = type("Handler", (_Handler,), {"clock": clock})
    server = _Server(handler)
    clock.url = f"http://127.0.0.1:{server.server_address[1]}/clock/me"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    ender = threading.Thread(target=_hang_up_at_the_end, args=(clock, server))
    ender.start()
    try:
        yield clock
    finally:
        clock.end()
        ender.join()
        server.shutdown()
        thread.join()
        server.server_close()


async def library_timer(seconds: float) -> None:
    """Wait for a timer of the event loop, as libraries do, instead of the process's own clock."""
    reached = asyncio.Event()
    asyncio.get_running_loop().call_later(seconds, reached.set)
    await reached.wait()


def _hang_up_at_the_end(clock: JumpingClock, server: _Server) -> None:
    clock.ended.wait(_PATIENCE_SECONDS * 2)
    server.hang_up()
