"""HTTP/1.1 as the webhook speaks it: framing, order, limits of size and time, and how connections end."""

from __future__ import annotations

import asyncio
import gc
import weakref
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from http import HTTPStatus

import pytest
from structlog.testing import capture_logs

from admission.shell.connection import Connection, Limits
from admission.shell.known_heads import KnownHeads
from admission.shell.service import Arrival, Reply, Request, Send
from tests.admission.shell.webhooks import eventually

pytestmark = pytest.mark.anyio

LIMITS = Limits(head_bytes=4096, body_bytes=64, idle_seconds=60.0, head_seconds=60.0, linger_seconds=60.0)
TEXT = Reply(HTTPStatus.OK, b"text/plain")
POST = b"POST /%b HTTP/1.1\r\ncontent-type: application/json\r\n"


@dataclass
class Echo:
    """Answers with what came of a request, and remembers that."""

    wanted: bool = True
    patience: float = 60.0
    seen: list[tuple[bytes, Arrival, bytes]] = field(default_factory=list)

    def wants_body(self, request: Request) -> bool:
        del request
        return self.wanted

    def patience_seconds(self, request: Request) -> float:
        del request
        return self.patience

    def answer(self, request: Request, arrival: Arrival, send: Send) -> None:
        self.seen.append((request.target, arrival, request.body))
        send(TEXT, b"%b %b %b" % (request.target, arrival.name.encode(), request.body))


@dataclass
class Caller:
    """One end of a connection, and what is behind the other."""

    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter
    service: Echo
    connections: set[Connection]

    async def tell(self, data: bytes) -> None:
        self.writer.write(data)
        await self.writer.drain()

    async def hear(self) -> tuple[bytes, bytes]:
        """Return head and body of one answer."""
        head = await self.reader.readuntil(b"\r\n\r\n")
        length = next(
            line.partition(b": ")[2] for line in head.lower().split(b"\r\n") if line.startswith(b"content-length")
        )
        return head, await self.reader.readexactly(int(length))

    async def ask(self, data: bytes) -> bytes:
        """Send a request and return the body of its answer."""
        await self.tell(data)
        return (await self.hear())[1]

    async def is_cut(self) -> bool:
        """Wait for the connection to be closed, without another answer."""
        try:
            return await self.reader.read() == b""
        except ConnectionResetError:
            # What one sends to a closed connection is answered by the machine itself.
            return True


@asynccontextmanager
async def caller(service: Echo | None = None, limits: Limits = LIMITS) -> AsyncIterator[Caller]:
    """Connect to a service over a real socket."""
    service = service or Echo()
    connections: set[Connection] = set()
    heads = KnownHeads(2)
    server = await asyncio.get_running_loop().create_server(
        lambda: Connection(service, limits, connections, heads), "127.0.0.1", 0
    )
    reader, writer = await asyncio.open_connection(*server.sockets[0].getsockname())
    try:
        async with asyncio.timeout(20):
            yield Caller(reader, writer, service, connections)
    finally:
        writer.transport.abort()
        server.close()
        await eventually(lambda: not connections)


def request(path: bytes = b"", body: bytes = b"", headers: bytes = b"") -> bytes:
    return POST % path + headers + b"content-length: %d\r\n\r\n%b" % (len(body), body)


async def test_one_connection_serves_many_requests() -> None:
    """Spec: performance A-1, keep-alive."""
    async with caller() as one:
        for number in (b"1", b"2", b"3"):
            assert await one.ask(request(number, b"b" + number)) == b"/%b WHOLE b%b" % (number, number)
        await one.tell(request(b"4"))
        head, _ = await one.hear()
    assert b"connection: close" not in head


async def test_requests_sent_together_are_answered_in_order() -> None:
    async with caller() as one:
        await one.tell(b"".join(request(b"%d" % number, b"x") for number in range(5)))
        assert [(await one.hear())[1] for _ in range(5)] == [b"/%d WHOLE x" % number for number in range(5)]


CHUNKED = (
    POST % b""
    + b"transfer-encoding: chunked\r\n\r\n3\r\nabc\r\n2;note=x\r\nde\r\n0\r\ncontent-type: text/plain\r\n\r\n"
)


@pytest.mark.parametrize("sent", [request(b"", b"abcde"), CHUNKED], ids=["stated length", "chunked with a trailer"])
@pytest.mark.parametrize("piece", [1, 7, 1000])
async def test_a_body_may_come_in_pieces(sent: bytes, piece: int) -> None:
    async with caller() as one:
        for start in range(0, len(sent), piece):
            await one.tell(sent[start : start + piece])
            await asyncio.sleep(0)
        assert (await one.hear())[1] == b"/ WHOLE abcde"
        assert await one.ask(request(b"next")) == b"/next WHOLE "


async def test_head_gets_the_head_only() -> None:
    async with caller() as one:
        await one.tell(b"HEAD /h HTTP/1.1\r\n\r\n" + request(b"next"))
        head = await one.reader.readuntil(b"\r\n\r\n")
        assert b"content-length: %d\r\n" % len(b"/h WHOLE ") in head
        assert (await one.hear())[1] == b"/next WHOLE "


@pytest.mark.parametrize(
    "last",
    [
        b"GET /g HTTP/1.0\r\n\r\n",
        b"GET /g HTTP/1.0\r\nconnection: keep-alive\r\n\r\n",
        b"GET /g HTTP/1.1\r\nconnection: close\r\n\r\n",
        b"GET /g HTTP/1.1\r\nconnection: upgrade\r\nupgrade: websocket\r\n\r\n",
    ],
)
async def test_some_requests_are_the_last_of_their_connection(last: bytes) -> None:
    async with caller() as one:
        await one.tell(last + request(b"more"))
        head, body = await one.hear()
        assert (b"connection: close\r\n" in head, body) == (True, b"/g WHOLE ")
        assert await one.is_cut()
    assert len(one.service.seen) == 1


async def test_one_who_asks_for_leave_gets_it() -> None:
    async with caller() as one:
        await one.tell(POST % b"" + b"expect: 100-Continue\r\ncontent-length: 2\r\n\r\n")
        assert await one.reader.readuntil(b"\r\n\r\n") == b"HTTP/1.1 100 Continue\r\n\r\n"
        assert await one.ask(b"ok") == b"/ WHOLE ok"


async def test_one_whose_body_nobody_wants_gets_the_answer_at_once() -> None:
    """Spec: admission:4.1; the rest of the body is thrown away."""
    async with caller(Echo(wanted=False)) as one:
        assert await one.ask(POST % b"" + b"content-length: 3\r\n\r\na") == b"/ NOT_WANTED a"
        assert await one.ask(b"bc" + request(b"next")) == b"/next WHOLE "


async def test_one_whose_body_nobody_wants_gets_no_leave_to_send_it() -> None:
    """It may send it or not, so what follows could not be told apart."""
    async with caller(Echo(wanted=False)) as one:
        await one.tell(POST % b"" + b"expect: 100-continue\r\ncontent-length: 3\r\n\r\n")
        head, body = await one.hear()
        assert (b"connection: close\r\n" in head, body) == (True, b"/ NOT_WANTED ")
        await one.tell(b"abc")
        assert await one.is_cut()


@pytest.mark.parametrize(
    "bad",
    [
        b"\x16\x03\x01\x00\xa5\x01\x00\x00",
        b"nonsense\r\n\r\n",
        b"POST / HTTP/1.1\r\ncontent-length: 3\r\ntransfer-encoding: chunked\r\n\r\n",
        b"POST / HTTP/1.1\r\ncontent-length: 3\r\ncontent-length: 4\r\n\r\nabcd",
        b"POST / HTTP/1.1\r\ncontent-length: -1\r\n\r\n",
        b"POST / HTTP/1.1\r\nbroken header\r\n\r\n",
    ],
)
async def test_what_is_no_http_is_refused(bad: bytes) -> None:
    with capture_logs() as logs:
        async with caller() as one:
            await one.tell(request(b"good") + bad)
            assert (await one.hear())[1] == b"/good WHOLE "
            head, _ = await one.hear()
            assert head.startswith(b"HTTP/1.1 400 ")
            assert b"connection: close\r\n" in head
            assert await one.is_cut()
    assert [entry["event"] for entry in logs] == ["request is no HTTP"]


async def test_a_body_that_turns_out_to_be_no_http_counts_as_not_read() -> None:
    """Spec: admission:4.2."""
    async with caller() as one:
        await one.tell(POST % b"" + b"transfer-encoding: chunked\r\n\r\n3\r\nabc\r\nzz\r\n")
        assert (await one.hear())[0].startswith(b"HTTP/1.1 400 ")
        assert await one.is_cut()
    assert [arrival for _, arrival, _ in one.service.seen] == [Arrival.BROKEN]


async def test_a_head_without_end_is_cut_short() -> None:
    async with caller() as one:
        await one.tell(b"GET / HTTP/1.1\r\nx: ")
        for _ in range(LIMITS.head_bytes // 64 + 1):
            await one.tell(b"y" * 64)
        head, _ = await one.hear()
        assert head.startswith(b"HTTP/1.1 431 ")
        assert b"connection: close\r\n" in head
        await one.tell(b"\r\n\r\n" + request(b"next"))
        (connection,) = one.connections
        connection.end()
        assert await one.is_cut()
    assert one.service.seen == []


async def test_the_rest_of_a_head_is_not_waited_for_for_ever() -> None:
    async with caller(limits=replace(LIMITS, linger_seconds=0.0)) as one:
        await one.tell(b"GET / HTTP/1.1\r\nx: " + b"y" * LIMITS.head_bytes)
        assert (await one.hear())[0].startswith(b"HTTP/1.1 431 ")
        assert await one.is_cut()


SIZES = [
    ("admission:4.2", 64, Arrival.WHOLE),
    ("admission:4.2", 65, Arrival.TOO_LARGE),
]


@pytest.mark.parametrize(("row", "size", "arrival"), SIZES)
async def test_the_largest_body_passes(row: str, size: int, arrival: Arrival) -> None:
    async with caller() as one:
        await one.ask(request(b"", b"x" * size))
        chunk = b"%x\r\n%b\r\n" % (size, b"x" * size)
        await one.ask(POST % b"" + b"transfer-encoding: chunked\r\n\r\n" + chunk + b"0\r\n\r\n")
    assert [each for _, each, _ in one.service.seen] == [arrival, arrival], row
    assert [len(body) for _, _, body in one.service.seen] == [size if arrival is Arrival.WHOLE else 0] * 2


@pytest.mark.parametrize(
    "begun",
    [
        b"content-length: 65\r\n\r\n",
        b"transfer-encoding: chunked\r\n\r\n41\r\n" + b"x" * 65,
    ],
    ids=["by its stated length", "by what came"],
)
async def test_a_body_that_is_too_large_is_answered_before_its_end(begun: bytes) -> None:
    """Spec: admission:4.2; the rest is read, as the caller may look at the answer only after it."""
    async with caller() as one:
        await one.tell(POST % b"" + begun)
        head, body = await one.hear()
        assert (b"connection: close\r\n" in head, body) == (True, b"/ TOO_LARGE ")
        await one.tell(b"x" * 65 if b"length" in begun else b"\r\n0\r\n\r\n")
        assert await one.is_cut()
    assert len(one.service.seen) == 1


async def test_one_who_says_nothing_is_cut() -> None:
    async with caller(limits=replace(LIMITS, idle_seconds=0.0)) as one:
        assert await one.is_cut()
    assert one.service.seen == []


async def test_one_who_does_not_end_a_head_is_cut() -> None:
    async with caller(limits=replace(LIMITS, head_seconds=0.0)) as one:
        assert await one.ask(request()) == b"/ WHOLE "
        await one.tell(b"POST / HT")
        assert await one.is_cut()
    assert len(one.service.seen) == 1


async def test_one_who_does_not_end_a_body_is_answered_and_may_send_the_rest() -> None:
    """Spec: case:36."""
    async with caller(Echo(patience=0.0)) as one:
        await one.tell(POST % b"" + b"content-length: 3\r\n\r\na")
        head, body = await one.hear()
        assert (b"connection: close\r\n" in head, body) == (True, b"/ LATE a")
        await one.tell(b"bc")
        assert await one.is_cut()
    assert len(one.service.seen) == 1


async def test_the_rest_of_a_body_is_not_waited_for_for_ever() -> None:
    async with caller(Echo(patience=0.0), replace(LIMITS, linger_seconds=0.0)) as one:
        assert await one.ask(POST % b"" + b"content-length: 3\r\n\r\na") == b"/ LATE a"
        assert await one.is_cut()


async def test_the_time_of_rest_begins_with_the_last_answer() -> None:
    """The timer that was set when the connection was made has nothing to say any more when it rings."""
    loop, limits = asyncio.get_running_loop(), replace(LIMITS, idle_seconds=0.2)
    async with caller(limits=limits) as one:
        await one.ask(request())
        answered = loop.time()
        assert await one.is_cut()
    assert loop.time() - answered > limits.idle_seconds / 2


async def test_one_who_leaves_half_way_is_counted() -> None:
    """Spec: admission:4.2, other read errors."""
    async with caller() as one:
        await one.tell(POST % b"" + b"content-length: 3\r\n\r\na")
        await eventually(lambda: bool(one.connections))
        one.writer.transport.abort()
        await eventually(lambda: bool(one.service.seen))
    assert one.service.seen == [(b"/", Arrival.BROKEN, b"a")]


async def test_one_who_leaves_between_requests_is_not() -> None:
    async with caller() as one:
        assert await one.ask(request()) == b"/ WHOLE "
        await one.tell(b"POST / HTTP/1.1\r\n")
        one.writer.transport.abort()
        await eventually(lambda: not one.connections)
    assert len(one.service.seen) == 1


async def test_nothing_is_taken_from_one_who_does_not_read() -> None:
    async with caller() as one:
        assert await one.ask(request(b"first")) == b"/first WHOLE "
        (connection,) = one.connections
        connection.pause_writing()
        await one.tell(request(b"second"))
        async with caller(one.service) as other:
            assert await other.ask(request(b"other")) == b"/other WHOLE "
        assert [target for target, _, _ in one.service.seen] == [b"/first", b"/other"]
        connection.resume_writing()
        assert (await one.hear())[1] == b"/second WHOLE "


async def test_a_connection_that_has_ended_is_held_by_nobody() -> None:
    """Nobody has to look for circles (spec: performance A-3)."""
    gc.disable()
    try:
        async with caller() as one:
            assert await one.ask(request()) == b"/ WHOLE "
            held = weakref.ref(next(iter(one.connections)))
        await eventually(lambda: held() is None)
    finally:
        gc.enable()


async def test_an_end_waits_for_the_request_under_way() -> None:
    async with caller() as one:
        await one.tell(POST % b"" + b"content-length: 2\r\n\r\na")
        async with caller(one.service) as other:
            await other.ask(request())
        (connection,) = one.connections
        connection.end()
        await one.tell(b"b")
        head, body = await one.hear()
        assert (b"connection: close\r\n" in head, body) == (True, b"/ WHOLE ab")
        assert await one.is_cut()
        await connection.ended


async def test_an_end_cuts_connections_at_rest_at_once() -> None:
    async with caller() as one:
        await one.ask(request())
        (connection,) = one.connections
        connection.end()
        connection.end()
        assert await one.is_cut()
        await connection.ended
