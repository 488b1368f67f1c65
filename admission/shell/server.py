"""The webhook's HTTPS endpoint: reads a review, answers it, counts and logs what became of it."""

from __future__ import annotations

import asyncio
import re
import socket
import ssl
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from http import HTTPStatus

import structlog
import uvicorn
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from admission.review import ReviewRules
from admission.shell.exchange import Question, read_question, verdict_on, write_answer
from admission.shell.measures import AdmissionMeasures
from admission.shell.metrics import AdmissionMetrics
from admission.verdict import Outcome, Reason, Subject, Verdict
from admission.vpa_matching import ClusterView
from autoscaling.ownership import ControllerKey
from autoscaling.runtime.telemetry import EmbeddedServer

LARGEST_BODY_BYTES = 5 * 1024 * 1024
KEEP_ALIVE_SECONDS = 120
"""Longer than API servers keep an idle connection, so that no request meets one that is just being closed."""

_JSON = b"application/json"
_TIMEOUT = re.compile(rb"(?:^|&)timeout=([0-9]{1,3})s(?:&|$)")
_SHARE_OF_TIMEOUT = 0.5
_CLOSING_SECONDS = 5

_TEXT_HEADERS = ((b"content-type", b"text/plain; charset=utf-8"),)
_JSON_HEADERS = ((b"content-type", _JSON),)

log = structlog.get_logger()


@dataclass(frozen=True, slots=True)
class Cluster:
    """What the endpoint knows of the cluster.

    Args:
        view: Returns the caches as they are now.
        look_up_later: Has a controller looked up for the next pod that belongs to it.
    """

    view: Callable[[], ClusterView]
    look_up_later: Callable[[ControllerKey], None]


class BodyTooLargeError(Exception):
    """A body of more bytes than are taken."""


class BodyUnreadableError(Exception):
    """The client went away before all of the body had come."""


@dataclass(frozen=True, slots=True)
class _Reply:
    """What is sent back."""

    status: HTTPStatus
    headers: tuple[tuple[bytes, bytes], ...]
    body: bytes


_NOTHING = _Reply(HTTPStatus.OK, (), b"")
_TOO_LARGE = _Reply(
    HTTPStatus.REQUEST_ENTITY_TOO_LARGE, _TEXT_HEADERS, b"a review may have at most %d bytes\n" % LARGEST_BODY_BYTES
)


@dataclass(slots=True)
class Endpoint:
    """The ASGI application behind every path of the webhook (spec: admission:4).

    Trouble of its own never keeps an object out: the answer is then "allowed", without a patch.

    Args:
        cluster: The caches.
        rules: What the process is set to do.
        metrics: Upstream's families.
        measures: Own families.
        timeout_seconds: How long a caller waits that does not say so itself.
    """

    cluster: Cluster
    rules: ReviewRules
    metrics: AdmissionMetrics
    measures: AdmissionMeasures
    timeout_seconds: float
    clock: Callable[[], float] = field(default=time.perf_counter)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        if scope["type"] != "http":
            return
        started = self.clock()
        reply, verdict = await self._reply(scope, receive)
        writing = self.clock()
        await _send(send, reply)
        ended = self.clock()
        if reply.headers is _JSON_HEADERS:
            self._step("write_response", ended - writing)
        self._step("total", ended - started)
        self.metrics.latency.labels(verdict.outcome.value, verdict.subject.value).observe(ended - started)
        self.measures.reviews.labels(verdict.subject.value, verdict.reason.value).inc()
        if verdict.subject is Subject.POD:
            self.metrics.pods.labels("true" if verdict.outcome is Outcome.APPLIED else "false").inc()
        if verdict.to_look_up is not None:
            self.cluster.look_up_later(verdict.to_look_up)

    async def _reply(self, scope: Scope, receive: Receive) -> tuple[_Reply, Verdict]:
        """Return what to send, and the verdict behind it."""
        content_type = _header(scope, b"content-type")
        if content_type != _JSON:
            return _NOTHING, _trouble(Reason.WRONG_CONTENT_TYPE, content_type.decode("latin-1"))
        started = self.clock()
        try:
            async with asyncio.timeout(self._deadline_seconds(scope)):
                body = await _body(scope, receive)
        except BodyTooLargeError:
            return _TOO_LARGE, _trouble(Reason.TOO_LARGE)
        except BodyUnreadableError:
            return _answer("", _trouble(Reason.BODY_NOT_READ))
        except TimeoutError:
            return _answer("", _trouble(Reason.DEADLINE_EXCEEDED))
        self._step("read_request", self.clock() - started)
        return self._review(body)

    def _review(self, body: bytes) -> tuple[_Reply, Verdict]:
        """Decide, and put the decision into words."""
        started = self.clock()
        question = Question("", None)
        try:
            question = read_question(body, self.rules)
            verdict = verdict_on(question, self.cluster.view(), self.rules)
            decided = self.clock()
            reply, _ = _answer(question.uid, verdict)
        except Exception as error:
            # Whatever is wrong in here must keep no pod from being created.
            log.exception("review failed", uid=question.uid)
            return _answer(question.uid, _trouble(Reason.INTERNAL_ERROR, repr(error)))
        self._step("admit", decided - started)
        self._step("build_response", self.clock() - decided)
        _log(question.uid, verdict)
        return reply, verdict

    def _deadline_seconds(self, scope: Scope) -> float:
        """Return how long to wait for a body: well below what the caller says it waits for an answer."""
        stated = _TIMEOUT.search(scope["query_string"])
        return _SHARE_OF_TIMEOUT * (float(stated[1]) if stated else self.timeout_seconds)

    def _step(self, name: str, seconds: float) -> None:
        """Record how long one step took."""
        self.metrics.execution_latency.labels(name).observe(seconds)


def _trouble(reason: Reason, detail: str = "") -> Verdict:
    """Return the verdict on a request that nothing can be told of."""
    return Verdict(Subject.UNKNOWN, Outcome.ERROR, reason, detail)


def _answer(uid: str, verdict: Verdict) -> tuple[_Reply, Verdict]:
    """Return a verdict as a reply, together with itself."""
    return _Reply(HTTPStatus.OK, _JSON_HEADERS, write_answer(uid, verdict)), verdict


def _log(uid: str, verdict: Verdict) -> None:
    """Say what became of a review: changes, refusals and errors always, everyday passing only in detail."""
    fields: dict[str, object] = {"uid": uid, "object": str(verdict.object or ""), "reason": verdict.reason.value}
    if verdict.vpa:
        fields["vpa"] = verdict.vpa
    if verdict.detail:
        fields["detail"] = verdict.detail
    if verdict.outcome is Outcome.ERROR or verdict.reason in _NEEDS_ATTENTION:
        log.warning("review decided", **fields)
    elif verdict.outcome is Outcome.APPLIED or not verdict.is_allowed:
        log.info("review decided", **fields)
    else:
        log.debug("review decided", **fields)


_NEEDS_ATTENTION = frozenset({Reason.UNREADABLE_POD, Reason.CANNOT_BE_CAPPED, Reason.CACHES_NOT_SYNCED})


def _header(scope: Scope, name: bytes) -> bytes:
    """Return a header's value, empty where it is absent."""
    headers: list[tuple[bytes, bytes]] = scope["headers"]
    return next((value for key, value in headers if key == name), b"")


async def _body(scope: Scope, receive: Receive) -> bytes:
    """Read a body of at most so many bytes (spec: admission:4.2).

    Raises:
        BodyTooLargeError: There is more.
        BodyUnreadableError: The connection ended first.
    """
    stated = _header(scope, b"content-length")
    if stated.isdigit() and int(stated) > LARGEST_BODY_BYTES:
        raise BodyTooLargeError
    parts: list[bytes] = []
    size = 0
    while True:
        message: Message = await receive()
        if message["type"] != "http.request":
            raise BodyUnreadableError
        part: bytes = message.get("body", b"")
        parts.append(part)
        size += len(part)
        if size > LARGEST_BODY_BYTES:
            raise BodyTooLargeError
        if not message.get("more_body", False):
            return b"".join(parts)


async def _send(send: Send, reply: _Reply) -> None:
    """Send a reply."""
    headers = [*reply.headers, (b"content-length", b"%d" % len(reply.body))]
    await send({"type": "http.response.start", "status": reply.status.value, "headers": headers})
    await send({"type": "http.response.body", "body": reply.body})


async def serve_webhook(application: ASGIApp, context: ssl.SSLContext, listener: socket.socket) -> None:
    """Serve an application over TLS on a listening socket until cancelled, then let open requests end."""
    settings = uvicorn.Config(
        application,
        ssl_context_factory=lambda _config, _default: context,
        log_config=None,
        access_log=False,
        lifespan="off",
        ws="none",
        server_header=False,
        date_header=False,
        proxy_headers=False,
        timeout_keep_alive=KEEP_ALIVE_SECONDS,
        timeout_graceful_shutdown=_CLOSING_SECONDS,
    )
    server = EmbeddedServer(settings)
    serving = asyncio.ensure_future(server.serve([listener]))
    try:
        await asyncio.shield(serving)
    finally:
        server.should_exit = True
        await serving
