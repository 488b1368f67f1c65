"""One connection of a caller: HTTP/1.1 over httptools' parser, within limits of size and time.

What is asked is answered in the order in which it came and each in one write; nothing here waits for anything but the
caller, unless the service says so.
"""

from __future__ import annotations

import asyncio
import time
from collections import deque
from dataclasses import dataclass
from functools import partial
from http import HTTPStatus

import httptools
import structlog

from admission.shell.known_heads import KnownHeads
from admission.shell.service import Arrival, Reply, Request, Service

_HEAD = b"HEAD"
_CONTINUE = b"HTTP/1.1 100 Continue\r\n\r\n"
_READ_HEADERS = frozenset({b"content-type", b"content-length", b"expect"})

log = structlog.get_logger()


@dataclass(frozen=True, slots=True)
class Limits:
    """How much and how long a caller may send.

    Args:
        head_bytes: Of request line and headers, checked as often as something comes.
        body_bytes: Of a body.
        idle_seconds: Between two requests.
        head_seconds: From the first byte of a request until its headers are complete.
        linger_seconds: For the rest of a request that is answered already, so that the answer is not lost with it.
        closing_seconds: For requests under way when the service ends.
    """

    head_bytes: int
    body_bytes: int
    idle_seconds: float
    head_seconds: float = 10.0
    linger_seconds: float = 5.0
    closing_seconds: float = 5.0


_BAD_REQUEST = Reply(HTTPStatus.BAD_REQUEST, b"text/plain; charset=utf-8")
_HEAD_TOO_LARGE = Reply(HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE, b"text/plain; charset=utf-8")


class Connection(asyncio.Protocol):
    """One connection.

    Args:
        service: Answers requests.
        limits: For the caller.
        connections: All that are open, this one among them as long as it is.
        heads: Of requests on any of them, to be added to.
    """

    def __init__(self, service: Service, limits: Limits, connections: set[Connection], heads: KnownHeads) -> None:
        self._service = service
        self._limits = limits
        self._connections = connections
        self._heads = heads
        self._loop = asyncio.get_running_loop()
        self.ended: asyncio.Future[None] = self._loop.create_future()
        self._parser = httptools.HttpRequestParser(self)
        self._request: Request | None = None
        self._complete: deque[Request] = deque()
        self._later: asyncio.Task[None] | None = None
        self._is_clogged = False
        self._head_bytes = 0
        self._is_last = False
        self._is_over = False
        self._due = 0.0
        self._alarm: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Take in the transport, once the handshake is done."""
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport
        self._connections.add(self)
        self._allow(self._limits.idle_seconds)

    def connection_lost(self, exc: Exception | None) -> None:
        """Give up what did not come completely."""
        del exc
        self._connections.discard(self)
        if self._alarm is not None:
            self._alarm.cancel()
        if self._later is not None:
            self._later.cancel()
        self._give_up()
        # Parser and connection hold each other, and nobody should have to look for circles.
        del self._parser
        self.ended.set_result(None)

    def pause_writing(self) -> None:
        """Take in nothing from one who does not read the answers."""
        self._is_clogged = True
        self._transport.pause_reading()

    def resume_writing(self) -> None:
        """Go on."""
        self._is_clogged = False
        self._read_on()

    def end(self) -> None:
        """Close as soon as the request under way, if any, is answered."""
        self._is_last = True
        if self._later is None and (self._request is None or not self._request.has_head):
            self._close()

    def abort(self) -> None:
        """Close at once."""
        self._transport.abort()

    def data_received(self, data: bytes) -> None:
        """Answer what is complete by now, and look whether the rest is worth waiting for."""
        if self._is_over or self._transport.is_closing():
            return
        is_between = self._request is None and not self._complete and self._later is None
        known = self._heads.request(data) if is_between else None
        if known is not None:
            self._complete.append(known)
            self._go_on(None, len(data))
            return
        problem = self._parse(data)
        if is_between and problem is None and self._request is None and len(self._complete) == 1:
            self._heads.learn(data, self._complete[0])
        self._go_on(problem, len(data))

    def _parse(self, data: bytes) -> httptools.HttpParserError | None:
        """Have the parser look at what has come; returns why nothing more can be made out, None where all is well."""
        try:
            self._parser.feed_data(data)
        except httptools.HttpParserUpgrade:
            # The request before it is answered as any other and is the last one: what follows is not HTTP.
            return None
        except httptools.HttpParserError as error:
            return error
        return None

    def _go_on(self, problem: httptools.HttpParserError | None, received: int) -> None:
        """Answer what is complete, then see to what has come of the next request; where an answer waits, so does this.

        Args:
            problem: Why nothing more can be made out, None where all is well.
            received: Bytes that came last.
        """
        while self._complete and not self._transport.is_closing():
            self._answer_complete(self._complete.popleft())
            if self._later is not None:
                self._later.add_done_callback(lambda _: self._release(problem, received))
                return
        if self._transport.is_closing():
            return
        if problem is not None:
            self._refuse(problem)
        elif self._request is None:
            self._allow(self._limits.idle_seconds)
        elif not self._request.has_head:
            self._await_head(received)
        else:
            self._await_body(self._request)

    def on_message_begin(self) -> None:
        """Parser: a request begins."""
        self._request = Request()
        self._head_bytes = 0

    def on_url(self, url: bytes) -> None:
        """Parser: a piece of the request's target."""
        if self._request is not None:
            self._request.target += url

    def on_header(self, name: bytes, value: bytes) -> None:
        """Parser: a header, or a trailer, which changes nothing."""
        name = name.lower()
        if name in _READ_HEADERS and self._request is not None and not self._request.has_head:
            self._request.headers.setdefault(name, value)

    def on_headers_complete(self) -> None:
        """Parser: the head is complete."""
        request, parser = self._request, self._parser
        if request is not None:
            request.began = time.perf_counter()
            request.method = parser.get_method()
            request.keeps_alive = (
                parser.should_keep_alive() and parser.get_http_version() == "1.1" and not parser.should_upgrade()
            )

    def on_body(self, body: bytes) -> None:
        """Parser: a piece of the body."""
        request = self._request
        if request is None or request.is_answered:
            return
        request.size += len(body)
        if request.size > self._limits.body_bytes:
            request.parts.clear()
        else:
            request.parts.append(body)

    def on_message_complete(self) -> None:
        """Parser: the request is complete."""
        request, self._request = self._request, None
        if request is None:
            return
        if not request.is_answered:
            self._complete.append(request)
        elif not request.keeps_alive:
            self._close()

    def _answer_complete(self, request: Request) -> None:
        """Answer a request of which everything has come, or take in nothing until that is done."""
        is_too_large = request.size > self._limits.body_bytes
        self._later = self._answer(request, Arrival.TOO_LARGE if is_too_large else Arrival.WHOLE)
        if self._later is not None:
            self._transport.pause_reading()
            self._later.add_done_callback(lambda _: self._answered(request))

    def _release(self, problem: httptools.HttpParserError | None, received: int) -> None:
        """Go on after an answer that was waited for."""
        self._later = None
        if not self._transport.is_closing():
            self._read_on()
            self._go_on(problem, received)

    def _read_on(self) -> None:
        """Take in what comes, unless there is still a reason not to."""
        if self._later is None and not self._is_clogged:
            self._transport.resume_reading()

    def _await_head(self, received: int) -> None:
        """Wait for the rest of a head."""
        if not self._head_bytes:
            self._allow(self._limits.head_seconds)
        self._head_bytes += received
        if self._head_bytes > self._limits.head_bytes:
            body = b"a request's head may have at most %d bytes\n" % self._limits.head_bytes
            self._write(_HEAD_TOO_LARGE.closing_head, body)
            self._is_over = True
            self._linger()

    def _await_body(self, request: Request) -> None:
        """Wait for the rest of a body, unless the answer does not depend on it."""
        if request.is_answered:
            return
        if not self._service.wants_body(request):
            # One who waits for leave to send it may or may not do so now: what follows could not be told apart.
            request.keeps_alive &= b"expect" not in request.headers
            self._answer(request, Arrival.NOT_WANTED)
        elif max(request.size, request.stated_size) > self._limits.body_bytes:
            request.keeps_alive = False
            self._answer(request, Arrival.TOO_LARGE)
        elif not request.is_waited_for:
            request.is_waited_for = True
            if request.headers.get(b"expect", b"").lower() == b"100-continue":
                self._transport.write(_CONTINUE)
            self._allow(self._service.patience_seconds(request))

    def _answer(self, request: Request, arrival: Arrival) -> asyncio.Task[None] | None:
        """Have a request answered; returns what to wait for, None where it is done."""
        request.is_answered = True
        later = self._service.answer(request, arrival, partial(self._send, request))
        if later is None:
            self._answered(request)
        return later

    def _answered(self, request: Request) -> None:
        """Close the connection if a request was the last, once what comes of it has come."""
        if request is self._request:
            self._linger()
        elif not request.keeps_alive:
            self._close()

    def _send(self, request: Request, reply: Reply, body: bytes) -> None:
        """Send an answer."""
        request.keeps_alive &= not self._is_last
        head = reply.head if request.keeps_alive else reply.closing_head
        self._write(head, body, is_shown=request.method != _HEAD)

    def _write(self, head: bytes, body: bytes, *, is_shown: bool = True) -> None:
        """Send an answer in one piece; a body that is not shown is only measured."""
        if not self._transport.is_closing():
            self._transport.write(b"%b%d\r\n\r\n%b" % (head, len(body), body if is_shown else b""))

    def _refuse(self, problem: httptools.HttpParserError) -> None:
        """Say that this is no HTTP, and close."""
        log.warning("request is no HTTP", peer=str(self._transport.get_extra_info("peername")), problem=str(problem))
        if self._request is None or not self._request.is_answered:
            self._write(_BAD_REQUEST.closing_head, b"this is no HTTP request\n")
        self._close()
        self._give_up()

    def _close(self) -> None:
        """Close once what was written has been sent."""
        if not self._transport.is_closing():
            self._transport.close()

    def _give_up(self) -> None:
        """Have a request that will never be complete counted as such."""
        request, self._request = self._request, None
        if request is not None and request.has_head and not request.is_answered:
            request.keeps_alive = False
            self._answer(request, Arrival.BROKEN)

    def _linger(self) -> None:
        """Let the rest of a request come for a while, whatever it says."""
        self._allow(self._limits.linger_seconds)

    def _allow(self, seconds: float) -> None:
        """Let the caller have so much time from now.

        A timer that would ring too early is left alone until then, so that most requests set none.
        """
        self._due = self._loop.time() + seconds
        if self._alarm is not None:
            if self._alarm.when() <= self._due:
                return
            self._alarm.cancel()
        self._alarm = self._loop.call_at(self._due, self._ring)

    def _ring(self) -> None:
        """Look whether the caller's time has run out."""
        self._alarm = None
        if self._later is not None:
            # The caller has done its part; what comes next sets a new time.
            return
        if self._loop.time() < self._due:
            self._alarm = self._loop.call_at(self._due, self._ring)
            return
        request = self._request
        if request is None or not request.has_head:
            self._close()
        elif request.is_answered:
            self._transport.abort()
        else:
            request.keeps_alive = False
            self._answer(request, Arrival.LATE)
