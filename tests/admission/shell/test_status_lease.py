"""The status Lease: renewed while the webhook is proven to work, and only then (spec: admission:9, case:36)."""

from __future__ import annotations

import base64
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial

import pytest
from prometheus_client import CollectorRegistry
from structlog.testing import capture_logs

from admission.shell.issuing import CertificateSet
from admission.shell.measures import AdmissionMeasures
from admission.shell.registration import Registration
from admission.shell.self_test import OwnAddress, handshake_problem
from admission.shell.status_lease import StatusLease, WebhookProof
from admission.vpa_matching import ClusterView
from admission.webhook_configuration import NamespaceScope, RegistrationSettings, ServiceTarget
from autoscaling.kube.client import KubeClient
from autoscaling.kube.liveness import HeartBeat, HeartBeatSettings
from autoscaling.targets import KnownControllers
from evenkeel.simulator.api.server import ApiServer
from evenkeel.simulator.faults import Fault, Refuse
from tests.admission.shell.webhooks import HOST, fresh_certificates, running_webhook
from tests.autoscaling.kube.clocks import InstantPacing

pytestmark = pytest.mark.anyio

PROVEN = "evenkeel_admission_webhook_proven"


@dataclass
class Situation:
    """What a proof answers next."""

    problem: str = ""

    async def __call__(self) -> str:
        return self.problem


def status_lease(
    client: KubeClient, pacing: InstantPacing, proof: Callable[[], Awaitable[str]], measures: AdmissionMeasures
) -> StatusLease:
    settings = HeartBeatSettings("kube-system", "vpa-admission-controller", "host-a")
    return StatusLease(HeartBeat(client, settings, pacing), proof, measures)


def lease(cluster: ApiServer) -> dict[str, object] | None:
    return cluster.store.find("coordination.k8s.io/v1", "Lease", "vpa-admission-controller", "kube-system")


async def test_a_proven_webhook_renews_the_lease(
    cluster: ApiServer,
    client: KubeClient,
    pacing: InstantPacing,
    measures: AdmissionMeasures,
    registry: CollectorRegistry,
) -> None:
    """Spec: admission:9.2, admission:9.3."""
    beating = status_lease(client, pacing, Situation(), measures)
    await beating.round()
    first = lease(cluster)
    assert first is not None
    assert first["spec"] == {"holderIdentity": "host-a", "leaseDurationSeconds": 10}
    pacing.seconds += 10
    await beating.round()
    second = lease(cluster)
    assert second is not None
    assert isinstance(second["spec"], dict)
    assert second["spec"]["renewTime"] == "2026-01-01T00:00:10.000000Z"
    assert registry.get_sample_value(PROVEN) == 1


async def test_an_unproven_webhook_lets_the_lease_grow_old(
    cluster: ApiServer,
    client: KubeClient,
    pacing: InstantPacing,
    measures: AdmissionMeasures,
    registry: CollectorRegistry,
) -> None:
    """Spec: case:36, beyond:B-25."""
    situation = Situation("the handshake failed")
    beating = status_lease(client, pacing, situation, measures)
    with capture_logs() as events:
        await beating.round()
        await beating.round()
        assert lease(cluster) is None
        assert registry.get_sample_value(PROVEN) == 0
        situation.problem = ""
        await beating.round()
    assert lease(cluster) is not None
    assert [event["log_level"] for event in events] == ["warning", "info"]


async def test_a_lease_that_cannot_be_written_ends_nothing(
    cluster: ApiServer, client: KubeClient, pacing: InstantPacing, measures: AdmissionMeasures
) -> None:
    cluster.faults.add(Fault(Refuse(403), path="/leases", count=None))
    with capture_logs() as events:
        await status_lease(client, pacing, Situation(), measures).round()
    assert [event["event"] for event in events] == ["status Lease not renewed"]


SERVICE, NAMESPACE, _ = HOST.split(".")
SETTINGS = RegistrationSettings(
    name="evenkeel-webhook-config",
    webhook="pods.autoscaling.evenkeel.dev",
    group="autoscaling.evenkeel.dev",
    owner=NAMESPACE,
    target=ServiceTarget(NAMESPACE, SERVICE),
    scope=NamespaceScope(),
)


@pytest.fixture(scope="module")
def certificates() -> CertificateSet:
    return fresh_certificates()


@pytest.fixture
async def port(certificates: CertificateSet, anyio_backend: str) -> AsyncIterator[int]:
    def view() -> ClusterView:
        return ClusterView(True, {}, KnownControllers({}, {}), {})

    async with running_webhook(view, certificates) as webhook:
        yield webhook.port


@pytest.fixture
def registration(client: KubeClient, measures: AdmissionMeasures) -> Registration:
    return Registration(client, SETTINGS, (), measures)


def proof_of(
    port: int, registration: Registration | None, *, ready: bool = True, authorities: bytes = b""
) -> WebhookProof:
    def real_time() -> datetime:
        return datetime.now(UTC)

    handshake = partial(handshake_problem, OwnAddress(port, HOST), real_time)
    return WebhookProof(lambda: ready, registration, handshake, lambda: authorities)


async def test_what_is_registered_and_believed_is_proven(
    port: int, registration: Registration, certificates: CertificateSet
) -> None:
    await registration.ensure(certificates.authorities)
    assert await proof_of(port, registration)() == ""
    assert "not there yet" in await proof_of(port, registration, ready=False)()


async def test_what_is_not_registered_is_not_proven(port: int, registration: Registration) -> None:
    assert "not registered" in await proof_of(port, registration)()


async def test_a_registration_that_trusts_somebody_else_proves_nothing(port: int, registration: Registration) -> None:
    await registration.ensure(fresh_certificates().authorities)
    assert "verify failed" in await proof_of(port, registration)()


async def test_another_registration_proves_as_much_when_it_reaches_us(
    cluster: ApiServer, port: int, registration: Registration, certificates: CertificateSet
) -> None:
    bundle = base64.b64encode(certificates.authorities).decode()
    hook = {
        "name": SETTINGS.webhook,
        "clientConfig": {"service": {"namespace": NAMESPACE, "name": SERVICE}, "caBundle": bundle},
    }
    cluster.store.create(
        {
            "apiVersion": "admissionregistration.k8s.io/v1",
            "kind": "MutatingWebhookConfiguration",
            "metadata": {"name": SETTINGS.name},
            "webhooks": [hook],
        }
    )
    assert await proof_of(port, registration)() == ""


async def test_a_registration_that_cannot_be_read_proves_nothing(
    cluster: ApiServer, port: int, registration: Registration
) -> None:
    cluster.faults.add(Fault(Refuse(403), verb="get"))
    assert "cannot be read" in await proof_of(port, registration)()


async def test_without_own_registration_the_own_authorities_count(port: int, certificates: CertificateSet) -> None:
    assert await proof_of(port, None, authorities=certificates.authorities)() == ""
    assert "verify failed" in await proof_of(port, None, authorities=fresh_certificates().authorities)()
