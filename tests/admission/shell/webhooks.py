"""A webhook on a port of this machine, and clients that check whom they talk to."""

from __future__ import annotations

import asyncio
import io
import json
import ssl
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import cache

import aiohttp
from prometheus_client import CollectorRegistry

from admission.certificate_plan import Step
from admission.review import ReviewRules
from admission.shell.connection import Limits
from admission.shell.issuing import NO_SET, CertificateSet, carry_out
from admission.shell.measures import AdmissionMeasures
from admission.shell.metrics import AdmissionMetrics
from admission.shell.server import LIMITS, Cluster, Endpoint, LookUp, serve_webhook
from admission.shell.tls import ServingContext, tls_rules
from admission.vpa_matching import ClusterView
from admission.vpa_validation import Gates
from autoscaling.behaviour import Behaviour
from autoscaling.ownership import ControllerKey
from autoscaling.runtime.bind_address import BindAddress
from autoscaling.runtime.telemetry import bind, bound_port

HOST = "hook.ns.svc"
NAMES = frozenset({HOST, "127.0.0.1"})
GROUP = "autoscaling.evenkeel.dev"
RULES = ReviewRules(GROUP, Gates(), Behaviour())


def fresh_certificates() -> CertificateSet:
    """Return a set that is valid now, as TLS libraries judge it by the machine's own clock."""
    return carry_out(Step.START_OVER, NO_SET, NAMES, datetime.now(UTC))


@dataclass
class Webhook:
    """A running webhook."""

    port: int
    context: ServingContext
    registry: CollectorRegistry
    looked_up: list[ControllerKey] = field(default_factory=list)
    endpoint: Endpoint = field(init=False)

    @property
    def url(self) -> str:
        """Where it listens."""
        return f"https://127.0.0.1:{self.port}/"

    def count(self, name: str, **labels: str) -> float:
        """Return the value of a sample, 0 where there is none."""
        return self.registry.get_sample_value(name, labels) or 0.0


@asynccontextmanager
async def running_webhook(
    view: Callable[[], ClusterView],
    certificates: CertificateSet | None,
    rules: ReviewRules = RULES,
    limits: Limits = LIMITS,
    look_up: LookUp | None = None,
) -> AsyncIterator[Webhook]:
    """Serve while the context lasts; with a look-up, reviews wait for it."""
    registry = CollectorRegistry()
    context = ServingContext(tls_rules("", ""))
    if certificates is not None:
        context.use(certificates.serving, certificates.serving_key)
    listener = bind(BindAddress("127.0.0.1", 0))
    webhook = Webhook(bound_port(listener), context, registry)
    endpoint = webhook.endpoint = Endpoint(
        Cluster(view, webhook.looked_up.append, look_up),
        rules,
        AdmissionMetrics.register(registry),
        AdmissionMeasures.register(registry),
        timeout_seconds=10.0,
    )
    serving = asyncio.create_task(serve_webhook(endpoint, context.listening, listener, limits))
    try:
        yield webhook
    finally:
        serving.cancel()
        await asyncio.wait([serving])
        listener.close()


@cache
def trusting(authorities: bytes) -> ssl.SSLContext:
    """Return what a caller checks the webhook with; one for all calls, or no connection would be used again."""
    return ssl.create_default_context(cadata=authorities.decode())


@asynccontextmanager
async def session(*, keeps_alive: bool = True) -> AsyncIterator[aiohttp.ClientSession]:
    """Return a session, with or without connections that are used again."""
    connector = aiohttp.TCPConnector(force_close=not keeps_alive)
    async with aiohttp.ClientSession(connector=connector) as made:
        yield made


async def post(
    made: aiohttp.ClientSession,
    webhook: Webhook,
    body: bytes,
    authorities: bytes,
    content_type: str = "application/json",
) -> tuple[int, bytes]:
    """Post a body as an API server does, and return status and answer."""
    async with made.post(
        webhook.url,
        data=io.BytesIO(body),
        headers={"Content-Type": content_type},
        ssl=trusting(authorities),
        server_hostname=HOST,
    ) as answer:
        return answer.status, await answer.read()


def pod_review(pod: object, *, uid: str = "u1", **request: object) -> bytes:
    """Return the review of a pod that is being created."""
    resource = {"group": "", "version": "v1", "resource": "pods"}
    kind = {"group": "", "version": "v1", "kind": "Pod"}
    fields = {"uid": uid, "resource": resource, "requestKind": kind, "operation": "CREATE", "object": pod, **request}
    return json.dumps({"kind": "AdmissionReview", "apiVersion": "admission.k8s.io/v1", "request": fields}).encode()


async def eventually(condition: Callable[[], bool]) -> None:
    """Let other tasks run until a condition holds; fails when it does not within ten seconds."""
    async with asyncio.timeout(10):
        for _ in iter(condition, True):
            await asyncio.sleep(0)
