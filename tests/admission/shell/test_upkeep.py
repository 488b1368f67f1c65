"""What one replica does for all: certificates and registration hand in hand (spec: admission:3, case:36)."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from prometheus_client import CollectorRegistry
from structlog.testing import capture_logs

from admission.certificate_plan import AUTHORITY_LIFETIME, AUTHORITY_RENEWAL, PUBLICATION
from admission.shell.certificate_store import CertificateFiles, CertificateSecret
from admission.shell.certificates import CertificateInUse, OwnCertificates, ProvidedCertificates
from admission.shell.issuing import CertificateSet, certificates_in, facts_of
from admission.shell.measures import AdmissionMeasures
from admission.shell.registration import Registration
from admission.shell.tls import ServingContext, tls_rules
from admission.shell.upkeep import NEXT_LOOKS_SECONDS, ROUND_SECONDS, Upkeep
from admission.webhook_configuration import NamespaceScope, RegistrationSettings, ServiceTarget
from autoscaling.kube.client import KubeClient
from autoscaling.kube.election import ElectionSettings
from autoscaling.kube.lease import LeaderElection
from evenkeel.simulator.api.server import ApiServer
from evenkeel.simulator.api.serving import serve
from evenkeel.simulator.faults import Fault, Refuse
from tests.admission.shell.webhooks import eventually, fresh_certificates
from tests.autoscaling.kube.clocks import HeldPacing
from tests.autoscaling.kube.scripted import client_of

pytestmark = pytest.mark.anyio

NAMESPACE = "evenkeel-system"
NAMES = frozenset({f"evenkeel-webhook.{NAMESPACE}.svc"})
SETTINGS = RegistrationSettings(
    name="evenkeel-webhook-config",
    webhook="pods.autoscaling.evenkeel.dev",
    group="autoscaling.evenkeel.dev",
    owner=NAMESPACE,
    target=ServiceTarget(NAMESPACE, "evenkeel-webhook"),
    scope=NamespaceScope(),
)


class Replica:
    """One replica's part in certificates and registration."""

    def __init__(self, client: KubeClient, held: HeldPacing, measures: AdmissionMeasures) -> None:
        self.in_use = CertificateInUse(ServingContext(tls_rules("", "")), measures, held.now)
        self.registration = Registration(client, SETTINGS, ("vpa-webhook-config",), measures)
        secret = CertificateSecret(client, NAMESPACE, "evenkeel-tls-certs")
        self.own = OwnCertificates(secret, NAMES, held.now, measures)
        self.upkeep = Upkeep(self.own, self.in_use, self.registration, held)
        self._client, self._held = client, held

    def candidate(self, identity: str) -> LeaderElection:
        return LeaderElection(
            self._client, ElectionSettings(NAMESPACE, "evenkeel-admission-certs", identity), self._held
        )

    async def registered(self) -> bytes:
        return (await self.registration.read()).authorities


@pytest.fixture
def held() -> HeldPacing:
    return HeldPacing()


@pytest.fixture
async def client(cluster: ApiServer, held: HeldPacing, anyio_backend: str) -> AsyncIterator[KubeClient]:
    cluster.create_namespaces(NAMESPACE)
    async with serve(cluster, tls=False) as endpoint, client_of(endpoint.url, held) as (made, _):
        yield made


@pytest.fixture
def replica(client: KubeClient, held: HeldPacing, measures: AdmissionMeasures) -> Replica:
    return Replica(client, held, measures)


async def test_the_first_round_makes_certificates_and_registers_them(replica: Replica) -> None:
    await replica.upkeep.round()
    assert replica.in_use.is_there
    assert await replica.registered() == replica.in_use.authorities


async def test_a_new_authority_is_registered_before_it_signs(replica: Replica, held: HeldPacing) -> None:
    await replica.upkeep.round()
    held.seconds += (AUTHORITY_LIFETIME - AUTHORITY_RENEWAL).total_seconds() + 1
    # The serving certificate ran out long ago; it is the first to be replaced, then the authority is due.
    await replica.upkeep.round()
    assert len(certificates_in(await replica.registered())) == 2
    assert _signer(await replica.own.load()) == 1
    held.seconds += ROUND_SECONDS
    await replica.upkeep.round()
    held.seconds += PUBLICATION.total_seconds() - 1
    await replica.upkeep.round()
    assert _signer(await replica.own.load()) == 1
    held.seconds += 1
    await replica.upkeep.round()
    assert _signer(await replica.own.load()) == 0
    assert len(certificates_in(await replica.registered())) == 2


async def test_an_authority_that_is_registered_late_signs_late(
    cluster: ApiServer, replica: Replica, held: HeldPacing
) -> None:
    """Spec: case:36; callers get their time to learn of it however long the registration was refused."""
    await replica.upkeep.round()
    held.seconds += (AUTHORITY_LIFETIME - AUTHORITY_RENEWAL).total_seconds() + 1
    refused = cluster.faults.add(Fault(Refuse(403), verb="patch", path="/mutatingwebhookconfigurations", count=None))
    await replica.upkeep.round()
    held.seconds += 2 * PUBLICATION.total_seconds()
    await replica.upkeep.round()
    cluster.faults.remove(refused)
    for _ in range(int(PUBLICATION.total_seconds() / ROUND_SECONDS) + 1):
        await replica.upkeep.round()
        assert _signer(await replica.own.load()) == 1
        held.seconds += ROUND_SECONDS
    assert len(certificates_in(await replica.registered())) == 2
    await replica.upkeep.round()
    assert _signer(await replica.own.load()) == 0


def _signer(certificates: CertificateSet | None) -> int | None:
    assert certificates is not None
    serving = facts_of(certificates).serving
    assert serving is not None
    return serving.signer


async def test_what_fails_is_tried_again_in_the_next_round(cluster: ApiServer, replica: Replica) -> None:
    cluster.faults.add(Fault(Refuse(403), verb="create", path="/mutatingwebhookconfigurations"))
    with capture_logs() as events:
        await replica.upkeep.round()
    assert [event["event"] for event in events if event["log_level"] == "error"] == ["upkeep of the webhook failed"]
    assert replica.in_use.is_there
    await replica.upkeep.round()
    assert await replica.registered() == replica.in_use.authorities


async def test_a_slower_replica_waits_for_the_next_round(cluster: ApiServer, replica: Replica) -> None:
    cluster.faults.add(Fault(Refuse(409, reason="AlreadyExists"), verb="create", path="/secrets"))
    await replica.upkeep.round()
    assert not replica.in_use.is_there
    assert await replica.registered() == b""


async def test_a_hand_deleted_registration_comes_back(cluster: ApiServer, replica: Replica) -> None:
    await replica.upkeep.round()
    cluster.store.delete("admissionregistration.k8s.io/v1", "MutatingWebhookConfiguration", SETTINGS.name)
    await replica.upkeep.round()
    assert await replica.registered() == replica.in_use.authorities


async def test_provided_authorities_are_registered_as_they_change(
    tmp_path: Path, replica: Replica, held: HeldPacing
) -> None:
    """Spec: admission:2, CA change."""
    files = CertificateFiles(tmp_path / "ca", tmp_path / "cert", tmp_path / "key")
    provided = Upkeep(ProvidedCertificates(files, follows_changes=True), replica.in_use, replica.registration, held)
    for given in (fresh_certificates(), fresh_certificates()):
        files.authorities.write_bytes(given.authorities)
        files.serving.write_bytes(given.serving)
        files.serving_key.write_bytes(given.serving_key)
        await provided.round()
        assert await replica.registered() == given.authorities


async def test_without_registration_only_certificates_are_looked_after(
    cluster: ApiServer, replica: Replica, held: HeldPacing
) -> None:
    await Upkeep(replica.own, replica.in_use, None, held).round()
    assert replica.in_use.is_there
    assert not cluster.requests.calls(resource="mutatingwebhookconfigurations")


async def test_one_leads_and_the_other_follows(
    cluster: ApiServer, client: KubeClient, held: HeldPacing, measures: AdmissionMeasures
) -> None:
    """Spec: product section 1."""
    leader, follower = Replica(client, held, measures), Replica(client, held, measures)
    tasks = [
        asyncio.create_task(follower.upkeep.follow()),
        asyncio.create_task(leader.upkeep.run(lambda: leader.candidate("leader"))),
    ]
    await eventually(lambda: leader.in_use.is_there)
    tasks.append(asyncio.create_task(follower.upkeep.run(lambda: follower.candidate("follower"))))
    await eventually(lambda: _has_pause(held, ROUND_SECONDS))
    cluster.requests.clear()
    await held.advance(1)
    await eventually(lambda: follower.in_use.is_there)
    assert follower.in_use.authorities == leader.in_use.authorities
    assert not cluster.requests.calls(verb="create")
    await eventually(lambda: _has_pause(held, NEXT_LOOKS_SECONDS))
    for task in tasks:
        task.cancel()
    await asyncio.wait(tasks)


async def test_the_leader_does_not_look_for_what_it_has_made(
    cluster: ApiServer, replica: Replica, held: HeldPacing
) -> None:
    leading = asyncio.create_task(replica.upkeep.run(lambda: replica.candidate("me")))
    await eventually(lambda: _has_pause(held, ROUND_SECONDS))
    cluster.requests.clear()
    following = asyncio.create_task(replica.upkeep.follow())
    await eventually(lambda: _has_pause(held, NEXT_LOOKS_SECONDS))
    assert not cluster.requests.calls(resource="secrets")
    leading.cancel()
    await asyncio.wait((leading,))
    await held.advance(NEXT_LOOKS_SECONDS)
    await eventually(lambda: bool(cluster.requests.calls(resource="secrets")))
    following.cancel()
    await asyncio.wait((following,))


def _has_pause(held: HeldPacing, seconds: float) -> bool:
    return seconds in held.slept


async def test_a_lost_lease_does_not_end_the_replica(cluster: ApiServer, replica: Replica, held: HeldPacing) -> None:
    elections: list[LeaderElection] = []

    def candidate() -> LeaderElection:
        elections.append(replica.candidate("me"))
        return elections[-1]

    running = asyncio.create_task(replica.upkeep.run(candidate))
    await eventually(lambda: _has_pause(held, ROUND_SECONDS))
    lease = cluster.store.read("coordination.k8s.io/v1", "Lease", "evenkeel-admission-certs", NAMESPACE)
    spec = lease["spec"]
    assert isinstance(spec, dict)
    cluster.store.update(lease | {"spec": spec | {"holderIdentity": "somebody else"}})
    with capture_logs() as events:
        async with asyncio.timeout(10):
            for _ in iter(lambda: len(elections) == 2, True):
                await held.advance(0.1)
    assert "certificate Lease lost" in [event["event"] for event in events]
    assert not running.done()
    running.cancel()
    await asyncio.wait([running])


async def test_a_follower_survives_what_it_cannot_read(
    cluster: ApiServer, replica: Replica, held: HeldPacing, registry: CollectorRegistry
) -> None:
    cluster.faults.add(Fault(Refuse(403), path="/secrets"))
    with capture_logs() as events:
        following = asyncio.create_task(replica.upkeep.follow())
        await held.asleep()
    assert not following.done()
    assert [(event["event"], event["log_level"]) for event in events] == [("certificates not looked at", "warning")]
    assert registry.get_sample_value("evenkeel_admission_certificate_problems_total", {"problem": "unreadable"}) == 1
    await replica.upkeep.round()
    following.cancel()
    await asyncio.wait([following])
