"""The webhook's HTTPS endpoint: reads a review, answers it, counts and logs what became of it."""

from __future__ import annotations

import asyncio
import logging
import re
import socket
import ssl
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field, replace
from http import HTTPStatus

import structlog
from prometheus_client import Counter

from admission.review import ReviewRules
from admission.shell.connection import Connection, Limits
from admission.shell.durations import Durations
from admission.shell.exchange import Memory, Question, read_question, verdict_on, write_answer
from admission.shell.known_heads import KnownHeads
from admission.shell.measures import AdmissionMeasures
from admission.shell.metrics import AdmissionMetrics
from admission.shell.service import Arrival, Reply, Request, Send, Service
from admission.verdict import Outcome, Reason, Subject, Verdict
from admission.vpa_matching import ClusterView
from autoscaling.ownership import ControllerKey

LARGEST_BODY_BYTES = 5 * 1024 * 1024
KEEP_ALIVE_SECONDS = 120
"""Longer than API servers keep an idle connection, so that no request meets one that is just being closed."""

LIMITS = Limits(head_bytes=1024 * 1024, body_bytes=LARGEST_BODY_BYTES, idle_seconds=KEEP_ALIVE_SECONDS)

_JSON = b"application/json"
_TEXT = b"text/plain; charset=utf-8"
_TIMEOUT = re.compile(rb"(?:^|&)timeout=([0-9]{1,3})s(?:&|$)")
_SHARE_OF_TIMEOUT = 0.5
_BACKLOG = 2048
_REMEMBERED = 2048
"""Templates of pods whose verdicts are remembered, and heads: as many as containers are (see ``wire.pod_parts``)."""

_NOTHING = Reply(HTTPStatus.OK)
_REVIEW = Reply(HTTPStatus.OK, _JSON)
_TOO_LARGE = Reply(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, _TEXT)
_TOO_LARGE_TEXT = b"a review may have at most %d bytes\n" % LARGEST_BODY_BYTES
_WRONG_TYPE = Reply(HTTPStatus.UNSUPPORTED_MEDIA_TYPE, _TEXT)
_WRONG_TYPE_TEXT = b"the content type must be application/json\n"
_NO_REVIEW = Reply(HTTPStatus.BAD_REQUEST, _TEXT)
_NO_REVIEWS = {Reason.UNREADABLE_REVIEW, Reason.NO_REQUEST}

_UNREAD = {Arrival.LATE: Reason.DEADLINE_EXCEEDED, Arrival.BROKEN: Reason.BODY_NOT_READ}

log = structlog.get_logger()


LookUp = Callable[[ControllerKey], Awaitable[None]]
"""Has a controller looked up, and ends once it is known."""


@dataclass(frozen=True, slots=True)
class Cluster:
    """What the endpoint knows of the cluster.

    Args:
        view: Returns the caches as they are now.
        look_up_later: Has a controller looked up for the next pod that belongs to it.
        look_up: Has a controller looked up for the pod at hand, which waits; None where no pod is to wait.
    """

    view: Callable[[], ClusterView]
    look_up_later: Callable[[ControllerKey], None]
    look_up: LookUp | None = None


@dataclass(frozen=True, slots=True)
class Decision:
    """A verdict, and when work on it began, by ``time.perf_counter``."""

    verdict: Verdict
    started: float


@dataclass(frozen=True, slots=True)
class Answer:
    """What is sent, and the verdict behind it."""

    reply: Reply
    body: bytes
    verdict: Verdict


@dataclass(frozen=True, slots=True)
class Kind:
    """What verdicts are counted by that differ in nothing that is counted.

    Args:
        latency: How long they took.
        reviews: How many there were.
        pods: Likewise; None where they are about something else.
    """

    latency: Durations
    reviews: Counter
    pods: Counter | None

    def count(self, seconds: float) -> None:
        """Count one that took so long."""
        self.latency.observe(seconds)
        self.reviews.inc()
        if self.pods is not None:
            self.pods.inc()


@dataclass(slots=True)
class Endpoint:
    """The service behind every path of the webhook (spec: admission:4).

    Trouble of its own never keeps an object out: the answer is then "allowed", without a patch. What is no review at
    all is refused where the behaviour says so; an API server, which never sends that, would go by its failure policy.

    Args:
        cluster: The caches.
        rules: What the process is set to do.
        metrics: Upstream's families.
        measures: Own families.
        timeout_seconds: How long a caller waits that does not say so itself.
        is_ending: Whether each answer is the last on its connection, so that callers go to another replica.
    """

    cluster: Cluster
    rules: ReviewRules
    metrics: AdmissionMetrics
    measures: AdmissionMeasures
    timeout_seconds: float
    is_ending: bool = False
    _memory: Memory = field(init=False, default_factory=lambda: Memory.of(_REMEMBERED))
    _kinds: dict[tuple[Subject, Outcome, Reason, bool], Kind] = field(init=False, default_factory=dict)

    def wants_body(self, request: Request) -> bool:
        """Say whether a request's body is read at all (spec: admission:4.1)."""
        return _content_type(request) == _JSON

    def patience_seconds(self, request: Request) -> float:
        """Return how long to wait for a body and for what is looked up: well below what the caller says it waits."""
        stated = _TIMEOUT.search(request.target.partition(b"?")[2])
        return _SHARE_OF_TIMEOUT * (float(stated[1]) if stated else self.timeout_seconds)

    def answer(self, request: Request, arrival: Arrival, send: Send) -> asyncio.Task[None] | None:
        """Answer one request, at once unless something has to be looked up for it."""
        request.keeps_alive &= not self.is_ending
        if not self.wants_body(request):
            verdict = _trouble(Reason.WRONG_CONTENT_TYPE, _content_type(request).decode("latin-1"))
            reply, text = (_WRONG_TYPE, _WRONG_TYPE_TEXT) if self._refuses else (_NOTHING, b"")
            self._send(request, send, Answer(reply, text, verdict))
        elif arrival is Arrival.TOO_LARGE:
            self._send(request, send, Answer(_TOO_LARGE, _TOO_LARGE_TEXT, _trouble(Reason.TOO_LARGE)))
        elif arrival in _UNREAD:
            verdict = _trouble(_UNREAD[arrival])
            self._send(request, send, Answer(_REVIEW, write_answer("", verdict), verdict))
        else:
            return self._review(request, send)
        return None

    @property
    def _refuses(self) -> bool:
        """Whether what is no review gets an error in place of an answer."""
        return self.rules.behaviour.only_reviews_are_answered

    def _review(self, request: Request, send: Send) -> asyncio.Task[None] | None:
        """Answer a review that has come completely."""
        started = time.perf_counter()
        self._step("read_request", started - request.began)
        question, verdict = self._decision(request.body)
        if verdict.to_look_up is not None and self.cluster.look_up is not None:
            return asyncio.create_task(self._answer_later(request, send, question, verdict))
        if verdict.reason in _NO_REVIEWS and self._refuses:
            _log("", verdict)
            self._send(request, send, Answer(_NO_REVIEW, _no_review_text(verdict), verdict))
            return None
        self._answer(request, send, question.uid, Decision(verdict, started))
        return None

    def _decision(self, body: bytes) -> tuple[Question, Verdict]:
        """Read a question and decide on it."""
        question = Question("", None)
        try:
            question = read_question(body)
            return question, self._verdict(question)
        except Exception as error:
            log.exception("review failed", uid=question.uid)
            return question, _failure(error)

    def _verdict(self, question: Question) -> Verdict:
        """Decide by what is known now."""
        return verdict_on(question, self.cluster.view(), self.rules, self._memory)

    async def _answer_later(self, request: Request, send: Send, question: Question, verdict: Verdict) -> None:
        """Answer a review once what its verdict lacks has been looked up, or the time for that is up."""
        left = self.patience_seconds(request) - (time.perf_counter() - request.began)
        try:
            async with asyncio.timeout(left):
                verdict = await self._completed(question, verdict)
        except TimeoutError:
            verdict = replace(verdict, reason=Reason.DEADLINE_EXCEEDED)
        except Exception as error:
            log.exception("review failed", uid=question.uid)
            verdict = _failure(error)
        self._answer(request, send, question.uid, Decision(verdict, request.began))

    async def _completed(self, question: Question, verdict: Verdict) -> Verdict:
        """Look up what a verdict lacks, then decide again, until it lacks nothing that has not been looked up."""
        known: set[ControllerKey] = set()
        while self.cluster.look_up is not None and verdict.to_look_up is not None and verdict.to_look_up not in known:
            known.add(verdict.to_look_up)
            await self.cluster.look_up(verdict.to_look_up)
            verdict = self._verdict(question)
        return verdict

    def _answer(self, request: Request, send: Send, uid: str, decision: Decision) -> None:
        """Put a decision into words and send it."""
        decided, verdict = time.perf_counter(), decision.verdict
        try:
            body = write_answer(uid, verdict, self._memory.texts)
        except Exception as error:
            log.exception("review failed", uid=uid)
            verdict = _failure(error)
            body = write_answer(uid, verdict)
        if verdict.reason is not Reason.INTERNAL_ERROR:
            self._step("admit", decided - decision.started)
            self._step("build_response", time.perf_counter() - decided)
            _log(uid, verdict)
        self._send(request, send, Answer(_REVIEW, body, verdict))

    def _send(self, request: Request, send: Send, answer: Answer) -> None:
        """Send an answer and count it."""
        writing, verdict = time.perf_counter(), answer.verdict
        send(answer.reply, answer.body)
        ended = time.perf_counter()
        if answer.reply is _REVIEW:
            self._step("write_response", ended - writing)
        self._step("total", ended - request.began)
        kind = self._kinds.get((verdict.subject, verdict.outcome, verdict.reason, verdict.is_dry_run))
        (kind or self._new_kind(verdict)).count(ended - request.began)
        if verdict.to_look_up is not None:
            self.cluster.look_up_later(verdict.to_look_up)

    def _step(self, name: str, seconds: float) -> None:
        """Record how long one step took."""
        self.metrics.execution_latency[(name,)].observe(seconds)

    def _new_kind(self, verdict: Verdict) -> Kind:
        """Look up what counts verdicts of a kind, once for all of them."""
        outcome, subject, reason = verdict.outcome, verdict.subject, verdict.reason
        reviews = self.measures.dry_runs if verdict.is_dry_run else self.measures.reviews
        is_applied = "true" if outcome is Outcome.APPLIED else "false"
        kind = self._kinds[subject, outcome, reason, verdict.is_dry_run] = Kind(
            self.metrics.latency[outcome.value, subject.value],
            reviews.labels(subject.value, reason.value),
            self.metrics.pods.labels(is_applied) if subject is Subject.POD else None,
        )
        return kind


def _content_type(request: Request) -> bytes:
    """Return a request's content type, empty where there is none."""
    return request.headers.get(b"content-type", b"")


def _trouble(reason: Reason, detail: str = "") -> Verdict:
    """Return the verdict on a request that nothing can be told of."""
    return Verdict(Subject.UNKNOWN, Outcome.ERROR, reason, detail)


def _no_review_text(verdict: Verdict) -> bytes:
    """Return what somebody is told who sent no review."""
    problem = verdict.detail or "it has no request"
    return f"this is no AdmissionReview of admission.k8s.io/v1: {problem}\n".encode()


def _failure(error: Exception) -> Verdict:
    """Return the verdict on a review that we failed on: whatever is wrong in here must keep no pod out."""
    return _trouble(Reason.INTERNAL_ERROR, repr(error))


def _log(uid: str, verdict: Verdict) -> None:
    """Say what became of a review: changes, refusals and errors always, everyday passing only in detail."""
    level = _level(verdict)
    if not log.is_enabled_for(level):
        return
    fields: dict[str, object] = {"uid": uid, "object": str(verdict.object or ""), "reason": verdict.reason.value}
    if verdict.vpa:
        fields["vpa"] = verdict.vpa
    if verdict.detail:
        fields["detail"] = verdict.detail
    if verdict.is_dry_run:
        fields["dry_run"] = True
    log.log(level, "review decided", **fields)


def _level(verdict: Verdict) -> int:
    """Return how much what became of a review matters."""
    if verdict.outcome is Outcome.ERROR or verdict.reason in _NEEDS_ATTENTION:
        return logging.WARNING
    is_told = verdict.outcome is Outcome.APPLIED or not verdict.is_allowed or verdict.reason is Reason.OWNER_NOT_CACHED
    return logging.INFO if is_told else logging.DEBUG


_NEEDS_ATTENTION = frozenset(
    {
        Reason.UNREADABLE_POD,
        Reason.CANNOT_BE_CAPPED,
        Reason.ANNOTATIONS_FULL,
        Reason.CACHES_NOT_SYNCED,
        Reason.DEADLINE_EXCEEDED,
    }
)


async def serve_webhook(
    service: Service, context: ssl.SSLContext, listener: socket.socket, limits: Limits = LIMITS
) -> None:
    """Serve over TLS on a listening socket until cancelled, then let open requests end."""
    loop = asyncio.get_running_loop()
    connections: set[Connection] = set()
    heads = KnownHeads(_REMEMBERED)
    server = await loop.create_server(
        lambda: Connection(service, limits, connections, heads), sock=listener, ssl=context, backlog=_BACKLOG
    )
    try:
        await loop.create_future()
    finally:
        server.close()
        await _end(connections, limits.closing_seconds)


async def _end(connections: set[Connection], seconds: float) -> None:
    """Let open requests end for a while, and cut what is left; each has ended when this returns."""
    left = tuple(connections)
    for connection in left:
        connection.end()
    if left:
        await asyncio.wait([connection.ended for connection in left], timeout=seconds)
    cut = tuple(connections)
    for connection in cut:
        connection.abort()
    await asyncio.gather(*(connection.ended for connection in cut))
