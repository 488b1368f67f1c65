"""Reviews that lack what is known of a controller: let in at once, or made to wait for it (spec: admission:13 (20))."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from dataclasses import dataclass
from datetime import timedelta
from functools import partial

import pytest
from structlog.testing import capture_logs

from admission.shell.caches import Caches
from admission.shell.issuing import CertificateSet
from autoscaling.kube.client import KubeClient
from autoscaling.ownership import ControllerKey
from autoscaling.runtime.api_group import ApiGroup
from evenkeel.crd.definitions import definitions
from evenkeel.simulator.api.server import ApiServer
from evenkeel.simulator.clock import ManualClock
from evenkeel.simulator.faults import Delay, Fault, Refuse
from tests.admission.shell.webhooks import (
    GROUP,
    HOST,
    Webhook,
    eventually,
    fresh_certificates,
    pod_review,
    running_webhook,
    trusting,
)
from tests.embedded import Json, recommended_status, scalable_definition

pytestmark = pytest.mark.anyio

REVIEWS = "evenkeel_admission_reviews_total"
STEPS = "vpa_admission_controller_execution_latency_seconds_count"
ROLLOUT = ControllerKey("default", "Rollout", "r", "example.com/v1")
SCALE = "/rollouts/r/scale$"
LONG = timedelta(hours=1)


def named(kind: str, name: str, **rest: object) -> Json:
    return {"kind": kind, "metadata": {"name": name, "namespace": "default"}, **rest}


def seed(cluster: ApiServer) -> None:
    """Put a VPA and its target, which is of a custom kind with a scale, into a cluster."""
    for definition in definitions(ApiGroup.EVENKEEL).values():
        cluster.store.create(dict(definition))
    cluster.store.create(scalable_definition("example.com", "Rollout", "rollouts"))
    rollout = named("Rollout", "r", spec={"replicas": 1}, status={"replicas": 1, "selector": "app=a"})
    cluster.store.create({"apiVersion": "example.com/v1", **rollout})
    target = {"apiVersion": "example.com/v1", "kind": "Rollout", "name": "r"}
    status = recommended_status("400m", "100Mi", "c")
    vpa = named("VerticalPodAutoscaler", "v", spec={"targetRef": target}, status=status)
    cluster.store.create({"apiVersion": f"{GROUP}/v1", **vpa})


@pytest.fixture(scope="module")
def certificates() -> CertificateSet:
    return fresh_certificates()


@pytest.fixture
async def caches(cluster: ApiServer, client: KubeClient) -> AsyncIterator[Caches]:
    """Caches that are full but for the target's scale, which the API server does not answer before its clock moves."""
    seed(cluster)
    slow = cluster.faults.add(Fault(Delay(LONG), path=SCALE))
    made = Caches(client, GROUP)
    made.start()
    await made.wait_synced(10)
    await eventually(lambda: slow.hits == 1)
    yield made
    clock_of(cluster).advance(LONG)
    await made.stop()


def clock_of(cluster: ApiServer) -> ManualClock:
    assert isinstance(cluster.clock, ManualClock)
    return cluster.clock


def review_of(uid: str) -> bytes:
    metadata = {
        "name": "p",
        "namespace": "default",
        "labels": {"app": "a"},
        "ownerReferences": [{"apiVersion": "example.com/v1", "kind": "Rollout", "name": "r", "controller": True}],
    }
    return pod_review({"metadata": metadata, "spec": {"containers": [{"name": "c", "resources": {}}]}}, uid=uid)


@dataclass
class Line:
    """A connection to a webhook on which requests may follow one another without waiting for answers."""

    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter

    def ask(self, body: bytes, timeout: str = "10s") -> None:
        head = f"POST /?timeout={timeout} HTTP/1.1\r\nhost: {HOST}\r\ncontent-type: application/json\r\n"
        self.writer.write(head.encode() + b"content-length: %d\r\n\r\n" % len(body) + body)

    async def answer(self) -> tuple[bytes, Json]:
        """Return the head and the response of the next answer."""
        head = await self.reader.readuntil(b"\r\n\r\n")
        length = int(head.rpartition(b"content-length: ")[2])
        return head, json.loads(await self.reader.readexactly(length))["response"]

    async def response(self) -> Json:
        return (await self.answer())[1]


async def line_to(webhook: Webhook, certificates: CertificateSet) -> Line:
    return Line(
        *await asyncio.open_connection(
            "127.0.0.1", webhook.port, ssl=trusting(certificates.authorities), server_hostname=HOST
        )
    )


def is_patched(response: Json) -> bool:
    assert response["allowed"] is True
    return "patch" in response


async def test_from_caches_alone_no_review_waits(
    cluster: ApiServer, caches: Caches, certificates: CertificateSet
) -> None:
    """Spec: admission:13 (8), admission:13 (20): the API server hangs, and answers come all the same."""
    async with running_webhook(caches.view, certificates) as webhook:
        line = await line_to(webhook, certificates)
        cluster.requests.clear()
        with capture_logs() as events:
            line.ask(review_of("first"))
            assert not is_patched(await line.response())
        assert cluster.requests.calls() == []
        assert [(event["reason"], event["log_level"]) for event in events] == [("OwnerNotCached", "info")]
        assert webhook.looked_up == [ROLLOUT]
        assert webhook.count(REVIEWS, resource="Pod", reason="OwnerNotCached") == 1
        clock_of(cluster).advance(LONG)
        await eventually(lambda: ROLLOUT in caches.view().controllers.scales)
        line.ask(review_of("second"))
        assert is_patched(await line.response())
        line.writer.close()


async def test_a_live_read_is_waited_for_and_shared(
    cluster: ApiServer, caches: Caches, certificates: CertificateSet
) -> None:
    """Spec: admission:13 (20), admission:6.4."""
    async with running_webhook(caches.view, certificates, look_up=caches.look_up) as webhook:
        lines = [await line_to(webhook, certificates) for _ in range(3)]
        for number, line in enumerate(lines):
            line.ask(review_of(str(number)))
        await eventually(lambda: webhook.count(STEPS, step="read_request") == 3)
        assert webhook.count(STEPS, step="total") == 0
        clock_of(cluster).advance(LONG)
        assert [is_patched(await line.response()) for line in lines] == [True, True, True]
        assert len(cluster.requests.calls(path=SCALE)) == 1
        for line in lines:
            line.writer.close()
        assert webhook.count(REVIEWS, resource="Pod", reason="Patched") == 3
        assert webhook.looked_up == []


async def test_a_live_read_has_a_deadline_of_our_own(
    cluster: ApiServer, caches: Caches, certificates: CertificateSet
) -> None:
    """Spec: admission:13 (20), case:36: of a caller that waits no time at all half of that is waited."""
    async with running_webhook(caches.view, certificates, look_up=caches.look_up) as webhook:
        line = await line_to(webhook, certificates)
        with capture_logs() as events:
            line.ask(review_of("first"), timeout="0s")
            assert not is_patched(await line.response())
        assert [(event["reason"], event["log_level"]) for event in events] == [("DeadlineExceeded", "warning")]
        assert webhook.count(REVIEWS, resource="Pod", reason="DeadlineExceeded") == 1
        assert webhook.looked_up == [ROLLOUT], "for the next pod"
        clock_of(cluster).advance(LONG)
        await eventually(lambda: ROLLOUT in caches.view().controllers.scales)
        line.ask(review_of("second"), timeout="0s")
        assert is_patched(await line.response())
        line.writer.close()


@pytest.mark.parametrize("code", [403, 404])
async def test_a_live_read_that_fails_lets_the_pod_in(
    cluster: ApiServer, client: KubeClient, certificates: CertificateSet, code: int
) -> None:
    """Spec: admission:6.4, admission:12."""
    seed(cluster)
    cluster.faults.add(Fault(Refuse(code), path=SCALE, count=None))
    caches = Caches(client, GROUP)
    caches.start()
    await caches.wait_synced(10)
    async with running_webhook(caches.view, certificates, look_up=caches.look_up) as webhook:
        line = await line_to(webhook, certificates)
        line.ask(review_of("first"))
        assert not is_patched(await line.response())
        line.writer.close()
    reason = "OwnerNotScalable" if code == 404 else "OwnerNotKnown"
    assert webhook.count(REVIEWS, resource="Pod", reason=reason) == 1
    await caches.stop()


async def test_trouble_with_a_live_read_keeps_nothing_out(caches: Caches, certificates: CertificateSet) -> None:
    """Spec: beyond:B-32."""

    async def broken(key: ControllerKey) -> None:
        raise RuntimeError(str(key))

    async with running_webhook(caches.view, certificates, look_up=broken) as webhook:
        line = await line_to(webhook, certificates)
        line.ask(review_of("first"))
        assert await line.response() == {"uid": "first", "allowed": True}
        line.writer.close()
    assert webhook.count(REVIEWS, resource="unknown", reason="InternalError") == 1


async def test_a_live_read_that_teaches_nothing_is_not_repeated(caches: Caches, certificates: CertificateSet) -> None:
    asked: list[ControllerKey] = []

    async def idle(key: ControllerKey) -> None:
        asked.append(key)

    async with running_webhook(caches.view, certificates, look_up=idle) as webhook:
        line = await line_to(webhook, certificates)
        line.ask(review_of("first"))
        assert not is_patched(await line.response())
        line.writer.close()
    assert asked == [ROLLOUT]
    assert webhook.count(REVIEWS, resource="Pod", reason="OwnerNotCached") == 1


class Gate:
    """A look-up that ends when it is told to."""

    def __init__(self) -> None:
        self.opened, self.waiting, self.given_up = asyncio.Event(), 0, 0

    async def look_up(self, key: ControllerKey) -> None:
        del key
        self.waiting += 1
        try:
            await self.opened.wait()
        except asyncio.CancelledError:
            self.given_up += 1
            raise


async def test_answers_keep_their_order_while_one_waits(caches: Caches, certificates: CertificateSet) -> None:
    """Spec: admission:4; a second request that needs nothing comes while the first waits, a third in two parts."""
    gate = Gate()
    plain = partial(pod_review, {"metadata": {"name": "q"}})
    async with running_webhook(caches.view, certificates, look_up=gate.look_up) as webhook:
        line = await line_to(webhook, certificates)
        line.ask(review_of("first"))
        line.ask(plain(uid="second"))
        await eventually(lambda: gate.waiting == 1)
        line.ask(plain(uid="third"))
        await line.writer.drain()
        assert webhook.count(STEPS, step="total") == 0
        gate.opened.set()
        assert [(await line.response())["uid"] for _ in range(3)] == ["first", "second", "third"]
        line.ask(plain(uid="fourth"))
        assert (await line.response())["uid"] == "fourth"
        line.writer.close()


async def test_a_caller_that_does_not_wait_harms_nobody(caches: Caches, certificates: CertificateSet) -> None:
    gate = Gate()
    async with running_webhook(caches.view, certificates, look_up=gate.look_up) as webhook:
        line = await line_to(webhook, certificates)
        line.ask(review_of("first"))
        await eventually(lambda: gate.waiting == 1)
        line.writer.transport.abort()
        await eventually(lambda: gate.given_up == 1)
        gate.opened.set()
        other = await line_to(webhook, certificates)
        other.ask(review_of("second"))
        assert not is_patched(await other.response())
        other.writer.close()


async def test_what_waits_at_the_end_is_answered(caches: Caches, certificates: CertificateSet) -> None:
    gate = Gate()
    running = running_webhook(caches.view, certificates, look_up=gate.look_up)
    webhook = await running.__aenter__()
    line = await line_to(webhook, certificates)
    line.ask(review_of("first"))
    await eventually(lambda: gate.waiting == 1)
    ending = asyncio.create_task(running.__aexit__(None, None, None))
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    gate.opened.set()
    head, response = await line.answer()
    await ending
    assert b"connection: close\r\n" in head
    assert response["uid"] == "first"
    assert await line.reader.read() == b""
    line.writer.close()
