"""The webhook: bytes of a connection to answers, and reviews to verdicts and patches."""

from __future__ import annotations

import asyncio
import json
import socket
from base64 import b64decode
from dataclasses import dataclass, replace
from functools import cache

import httptools
import jsonpatch
import msgspec
from prometheus_client import CollectorRegistry
from structlog.testing import capture_logs

from admission.boosting import BoostRules
from admission.review import ReviewRules
from admission.shell.connection import Connection, Limits
from admission.shell.exchange import Memory, read_question, verdict_on, write_answer
from admission.shell.known_heads import KnownHeads
from admission.shell.measures import AdmissionMeasures
from admission.shell.metrics import AdmissionMetrics
from admission.shell.server import Cluster, Endpoint
from admission.vpa_matching import ClusterView
from admission.vpa_validation import Gates
from autoscaling.behaviour import UPSTREAM, Behaviour
from autoscaling.limitrange import LimitRange, LimitType, merge
from autoscaling.matching import of_labels
from autoscaling.pod import Owner
from autoscaling.targets import KnownControllers
from autoscaling.vpa import TargetRef
from autoscaling.wire.objects import decode_vpa
from autoscaling.wire.unreadable import UNREADABLE_JSON
from autoscaling.workload import Workload
from tests.admission.shell.webhooks import eventually
from tests.builders import limit_range, recommended
from tests.fuzz import objects
from tests.fuzz.objects import text, words_in
from tests.fuzz.target import LawBrokenError, Target

_GROUP = "autoscaling.evenkeel.dev"
_LIMITS = Limits(head_bytes=4096, body_bytes=65536, idle_seconds=60.0, head_seconds=60.0, linger_seconds=0.0)
_POD_RESOURCE = {"group": "", "version": "v1", "resource": "pods"}
_VPA_RESOURCE = {"group": _GROUP, "version": "v1", "resource": "verticalpodautoscalers"}
_RULES = tuple(
    ReviewRules(_GROUP, Gates(True, True, True), behaviour, BoostRules(None)) for behaviour in (Behaviour(), UPSTREAM)
)
_STATUSES = {100, 200, 400, 413, 415, 431}


@cache
def view() -> ClusterView:
    """Return caches in which the pods of ReplicaSet ``web-rs`` have a VPA that sizes and boosts every container."""
    vpa = replace(decode_vpa(text(objects.VPA)), target_ref=TargetRef("Deployment", "web", "apps/v1"))
    entries = tuple(recommended(name, "400m/100Mi", "1m/1", "8/8Gi") for name in ("main", "side", "init", "c"))
    assert vpa.recommendation is not None
    served = replace(vpa, recommendation=replace(vpa.recommendation, containers=entries))
    selector = of_labels({"app": "web"})
    workloads = (
        Workload("ReplicaSet", "default", "web-rs", selector, owners=(Owner("apps/v1", "Deployment", "web", True),)),
        Workload("Deployment", "default", "web", selector),
    )
    items = (
        limit_range(LimitType.CONTAINER, maximum="6/4Gi", minimum="2m/2Mi"),
        limit_range(LimitType.POD, maximum="7/5Gi"),
    )
    limits = {"default": merge((LimitRange("default", "limits", items),))}
    return ClusterView(
        True, {"default": {("Deployment", "web"): (served,)}}, KnownControllers.of(workloads, {}), limits
    )


def reviewed(resource: object, operation: str = "CREATE", **fields: bytes) -> bytes:
    """Return a review of an object that is given as bytes, whatever they are."""
    request = {"uid": "u1", "namespace": "default", "resource": resource, "operation": operation}
    whole = {"kind": "AdmissionReview", "apiVersion": "admission.k8s.io/v1"}
    inner = b",".join((text(request)[1:-1], *(b'"%b":%b' % (name.encode(), raw) for name, raw in fields.items())))
    return b'%b,"request":{%b}}' % (text(whole)[:-1], inner)


def body_of(data: bytes) -> bytes:
    """Return the body that input stands for: the first byte says which part of it the rest is."""
    kind, rest = (data[0] % 4 if data else 0), data[1:]
    if kind == 1:
        return reviewed(_POD_RESOURCE, object=rest)
    if kind == 2:
        return reviewed(_VPA_RESOURCE, object=rest)
    if kind == 3:
        return reviewed(_VPA_RESOURCE, "UPDATE", object=text(objects.VPA), oldObject=rest)
    return rest


def _review(data: bytes) -> int:
    body, largest = body_of(data), 0
    for rules in _RULES:
        answers = set()
        for memory in (None, Memory.of(4)):
            question = read_question(body)
            verdict = verdict_on(question, view(), rules, memory)
            answers.add(write_answer(question.uid, verdict))
        if len(answers) != 1:
            raise LawBrokenError("what is remembered changes an answer")
        (answer,) = answers
        if rules is _RULES[0]:
            # Upstream's patch need not fit a pod that is submitted with a status, which no API server lets through.
            _look_at(body, answer)
        largest = max(largest, len(answer))
    return largest


def _look_at(body: bytes, answer: bytes) -> None:
    """See that an answer is a whole review, and that its patch fits the pod and touches nothing it must not."""
    response = json.loads(answer)["response"]
    if "patch" not in response:
        return
    patch = json.loads(b64decode(response["patch"], validate=True))
    try:
        submitted = msgspec.json.decode(body)["request"]["object"]
    except UNREADABLE_JSON:
        # What is not read need not be text; an API server sends nothing else.
        return
    if response["allowed"] is not True:
        raise LawBrokenError("a refused object has a patch")
    patched = jsonpatch.apply_patch(submitted, patch)
    if _bare(patched) != _bare(submitted):
        raise LawBrokenError(f"a patch changes more than resources and annotations: {patch}")


def _bare(value: object) -> object:
    """Return an object without what patches may change."""
    if isinstance(value, dict):
        return {
            key: _bare(inner) for key, inner in value.items() if key not in {"resources", "annotations", "updatePolicy"}
        }
    return [_bare(inner) for inner in value] if isinstance(value, list) else value


@dataclass
class _Answers:
    """What a caller hears, read by another parser than the one that read what it said."""

    statuses: list[int]
    parser: httptools.HttpResponseParser | None = None

    def on_headers_complete(self) -> None:
        assert self.parser is not None
        self.statuses.append(self.parser.get_status_code())


async def _converse(data: bytes) -> bytes:
    """Say something on a connection, then say no more, and return what was answered."""
    registry = CollectorRegistry()
    endpoint = Endpoint(
        Cluster(view, lambda _: None),
        _RULES[0],
        AdmissionMetrics.register(registry),
        AdmissionMeasures.register(registry),
        timeout_seconds=10.0,
    )
    ours, theirs = socket.socketpair()
    connections: set[Connection] = set()
    loop = asyncio.get_running_loop()
    await loop.create_connection(lambda: Connection(endpoint, _LIMITS, connections, KnownHeads(4)), sock=ours)
    reader, writer = await asyncio.open_connection(sock=theirs)
    try:
        writer.write(data)
        writer.write_eof()
        async with asyncio.timeout(10):
            heard = await reader.read()
    except ConnectionError:
        heard = b""
    finally:
        writer.transport.abort()
    if registry.get_sample_value(
        "evenkeel_admission_reviews_total", {"resource": "unknown", "reason": "InternalError"}
    ):
        raise LawBrokenError("a review failed for a reason of our own")
    await eventually(lambda: not connections)
    return heard


def _connection(data: bytes) -> int:
    with capture_logs() as logs:
        heard = asyncio.run(_converse(data))
    if any("exc_info" in line or "exception" in line for line in logs):
        raise LawBrokenError(f"a traceback is logged: {logs}")
    if b"HEAD" in data:
        # An answer to that has the length of a body that is not there, which only whoever asked can know.
        return len(heard)
    answers = _Answers([])
    answers.parser = httptools.HttpResponseParser(answers)
    answers.parser.feed_data(heard)
    if not set(answers.statuses) <= _STATUSES:
        raise LawBrokenError(f"answered with {answers.statuses}")
    return len(heard)


def _post(body: bytes, *headers: bytes) -> bytes:
    lines = (b"POST /?timeout=10s HTTP/1.1", b"Host: h", b"Content-Type: application/json", *headers)
    return b"\r\n".join((*lines, b"Content-Length: %d" % len(body), b"", body))


_POD_REVIEW = reviewed(_POD_RESOURCE, object=text(objects.SIDECARS))
_REVIEWS = (
    b"\x00" + _POD_REVIEW,
    b"\x01" + text(objects.SIDECARS),
    b"\x01" + text(objects.POD),
    b"\x02" + text(objects.VPA),
    b"\x03" + text(objects.VPA),
)
_CHUNKED = (
    b"POST / HTTP/1.1\r\nHost: h\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n"
    b"2\r\n{}\r\n0\r\n\r\n"
)
_HEADS = (
    b"\r\n", b"\r\n\r\n", b"Content-Length: ", b"Transfer-Encoding: chunked\r\n", b"Expect: 100-continue\r\n",
    b"HTTP/1.0", b"Connection: close\r\n", b"Upgrade: h2c\r\n", b"GET ", b"HEAD ", b"PRI * HTTP/2.0\r\n",
    b"99999999999999999999",
)  # fmt: skip

WEBHOOK = (
    Target("review", _review, (), _REVIEWS, words_in(seed[1:] for seed in _REVIEWS)),
    Target(
        "connection",
        _connection,
        (),
        (_post(_POD_REVIEW), _post(b"{}", b"Connection: close"), _CHUNKED, _post(b"{}", b"Expect: 100-continue") * 2),
        _HEADS,
    ),
)
"""The two halves of the webhook."""
