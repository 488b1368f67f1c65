"""Requests whose heads were seen before are taken for what a parser would make of them (spec: performance A-2)."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from http import HTTPStatus

import pytest
from hypothesis import given
from hypothesis import strategies as st

from admission.shell.connection import Connection, Limits
from admission.shell.known_heads import KnownHeads
from admission.shell.service import Arrival, Reply, Request, Send

LIMITS = Limits(head_bytes=4096, body_bytes=8, idle_seconds=60.0)
TEXT = Reply(HTTPStatus.OK, b"text/plain")
POST = b"POST /a?timeout=10s HTTP/1.1\r\nContent-Type: application/json\r\ncontent-length: %d\r\n%b\r\n%b"


def post(body: bytes, more: bytes = b"") -> bytes:
    return POST % (len(body), more, body)


def asked(method: bytes = b"POST", *, keeps_alive: bool = True, body: bytes = b"{}", stated: bytes = b"2") -> Request:
    return Request(b"/", {b"content-length": stated}, [body], len(body), method, began=1.0, keeps_alive=keeps_alive)


HEAD = b"POST / HTTP/1.1\r\ncontent-length: 2\r\n\r\n"


def test_a_head_that_was_learnt_stands_for_the_same_request_with_another_body() -> None:
    heads = KnownHeads(2)
    assert heads.request(HEAD + b"{}") is None
    heads.learn(HEAD + b"{}", asked())
    found = heads.request(HEAD + b"[]")
    assert found is not None
    assert (found.method, found.target, found.headers) == (b"POST", b"/", {b"content-length": b"2"})
    assert (found.body, found.size, found.keeps_alive, found.is_answered) == (b"[]", 2, True, False)
    assert found.has_head
    assert heads.request(HEAD + b"[]") is not found


@pytest.mark.parametrize(
    ("what", "data"),
    [
        ("less than the body", HEAD + b"["),
        ("more than the body", HEAD + b"[]P"),
        ("another head", HEAD.replace(b"/ ", b"/b ") + b"[]"),
        ("another notation", HEAD.replace(b"content", b"Content") + b"[]"),
        ("no head", b"[]"),
        ("nothing", b""),
    ],
)
def test_anything_else_is_left_to_the_parser(what: str, data: bytes) -> None:
    heads = KnownHeads(2)
    heads.learn(HEAD + b"{}", asked())
    assert heads.request(data) is None, what


@pytest.mark.parametrize(
    ("what", "data", "request_"),
    [
        ("the last request", HEAD + b"{}", asked(keeps_alive=False)),
        ("a body too large to be kept", HEAD + b"{}", Request(b"/", {b"content-length": b"2"}, [], 2, began=1.0)),
        ("a body in several parts", HEAD + b"{}", Request(b"/", {b"content-length": b"2"}, [b"{", b"}"], 2, began=1.0)),
        ("no stated size", HEAD + b"{}", asked(stated=b"")),
        ("a body that is sent otherwise", HEAD + b"2\r\n{}\r\n0\r\n\r\n", asked()),
        ("a long head", b"POST /%b HTTP/1.1\r\n\r\n{}" % (b"x" * 2048), asked()),
    ],
)
def test_what_is_more_than_a_head_and_a_body_is_not_learnt(what: str, data: bytes, request_: Request) -> None:
    heads = KnownHeads(2)
    heads.learn(data, request_)
    assert heads.request(data) is None, what


def test_the_oldest_head_makes_room() -> None:
    heads, pieces = KnownHeads(2), [HEAD.replace(b"/ ", b"/%d " % number) + b"{}" for number in range(3)]
    for data in (pieces[0], pieces[1], pieces[0], pieces[2]):
        heads.learn(data, asked())
    assert [heads.request(data) is not None for data in pieces] == [False, True, True]


class Wire(asyncio.Transport):
    """Takes what is written, and can be closed."""

    def __init__(self) -> None:
        super().__init__()
        self.written: list[bytes] = []
        self.is_closed = False

    def write(self, data: bytes | bytearray | memoryview) -> None:
        self.written.append(bytes(data))

    def is_closing(self) -> bool:
        return self.is_closed

    def close(self) -> None:
        self.is_closed = True

    def abort(self) -> None:
        self.is_closed = True

    def pause_reading(self) -> None:
        """What has come is handed over all the same."""

    def resume_reading(self) -> None:
        """Nothing was held back."""


@dataclass
class Recorder:
    """Answers with what came of each request, and remembers it."""

    seen: list[object] = field(default_factory=list)

    def wants_body(self, request: Request) -> bool:
        return request.headers.get(b"content-type") == b"application/json"

    def patience_seconds(self, request: Request) -> float:
        del request
        return 60.0

    def answer(self, request: Request, arrival: Arrival, send: Send) -> None:
        self.seen.append((request.method, request.target, request.headers, request.size, arrival, request.body))
        send(TEXT, request.body)


REQUESTS = [
    post(b"{}"),
    post(b"[]"),
    post(b"{1}"),
    post(b""),
    post(b"123456789"),
    post(b"{}", b"x: y\r\n"),
    post(b"{}", b"Expect: 100-continue\r\n"),
    post(b"{}", b"connection: close\r\n"),
    post(b"{}").replace(b"1.1", b"1.0"),
    post(b"{}").replace(b"POST", b"HEAD"),
    post(b"{}").replace(b"application/json", b"text/plain"),
    post(b"\r\n\r\n"),
    b"\r\n" + post(b"{}"),
    b"GET / HTTP/1.1\r\n\r\n",
    b"POST / HTTP/1.1\r\ncontent-type: application/json\r\ntransfer-encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n",
    b"POST / HTTP/1.1\r\ncontent-length: 2\r\nupgrade: x\r\nconnection: upgrade\r\n\r\n{}",
    b"\x00 no HTTP",
]


@st.composite
def pieces(draw: st.DrawFn) -> list[bytes]:
    """Draw requests, in most cases a piece for each, else cut and joined anywhere."""
    sent = draw(st.lists(st.sampled_from(REQUESTS), min_size=1, max_size=6))
    if draw(st.booleans()):
        return sent
    whole = b"".join(sent)
    cuts = sorted(draw(st.sets(st.integers(1, len(whole) - 1), max_size=4)))
    return [whole[start:end] for start, end in zip([0, *cuts], [*cuts, len(whole)], strict=True)]


async def outcome(callers: list[list[bytes]], size: int) -> list[object]:
    """Return what was asked, answered and closed, for callers who come one after the other."""
    heads, result = KnownHeads(size), list[object]()
    for sent in callers:
        service, wire, connections = Recorder(), Wire(), set[Connection]()
        connection = Connection(service, LIMITS, connections, heads)
        connection.connection_made(wire)
        for data in sent:
            connection.data_received(data)
        connection.connection_lost(None)
        result.append((service.seen, wire.written, wire.is_closed))
    return result


@given(callers=st.lists(pieces(), min_size=1, max_size=4), size=st.integers(1, 4))
def test_known_heads_change_nothing_that_anybody_sees(callers: list[list[bytes]], size: int) -> None:
    """Spec: performance A-2; with every head parsed each time, the same comes of it."""
    assert asyncio.run(outcome(callers, size)) == asyncio.run(outcome(callers, 0))
