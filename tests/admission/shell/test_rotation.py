"""A thousand reviews over TLS while serving certificate and authority are replaced (spec: admission:2, case:36)."""

from __future__ import annotations

import asyncio
import json
import ssl
from collections import Counter
from collections.abc import AsyncIterator, Iterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from datetime import timedelta
from itertools import product
from pathlib import Path

import aiohttp
import pytest
from prometheus_client import CollectorRegistry

from admission.certificate_plan import (
    AUTHORITY_LIFETIME,
    AUTHORITY_RENEWAL,
    PUBLICATION,
    RETIREMENT,
    SERVING_LIFETIME,
    SERVING_RENEWAL,
)
from admission.shell.certificate_store import CertificateFiles, CertificateSecret
from admission.shell.certificates import CertificateInUse, CertificateSource, OwnCertificates, ProvidedCertificates
from admission.shell.handover import OVERLAP
from admission.shell.issuing import CertificateSet, certificates_in
from admission.shell.measures import AdmissionMeasures
from admission.shell.registration import Registration
from admission.shell.upkeep import NEXT_LOOKS_SECONDS, ROUND_SECONDS, Upkeep
from admission.vpa_matching import ClusterView
from admission.webhook_configuration import NamespaceScope, RegistrationSettings, ServiceTarget
from autoscaling.kube.client import KubeClient
from autoscaling.runtime.dated_trust import trust_as_of
from autoscaling.targets import KnownControllers
from evenkeel.simulator.api.certificates import Authority
from evenkeel.simulator.api.server import ApiServer
from evenkeel.simulator.api.serving import serve
from tests.admission.shell.webhooks import GROUP, HOST, NAMES, Webhook, pod_review, running_webhook
from tests.autoscaling.kube.clocks import HeldPacing
from tests.autoscaling.kube.scripted import client_of

pytestmark = pytest.mark.anyio

REVIEWS = 1000
NAMESPACE = "ns"
SETTINGS = RegistrationSettings(
    name="evenkeel-webhook-config",
    webhook="pods.autoscaling.evenkeel.dev",
    group=GROUP,
    owner=NAMESPACE,
    target=ServiceTarget(NAMESPACE, "hook"),
    scope=NamespaceScope(),
)
ROUND = timedelta(seconds=ROUND_SECONDS)
DAY = timedelta(days=1)
LONGEST_LAG = PUBLICATION - ROUND
"""How far behind an API server may be: one round less than it is given to learn of an authority."""


def view() -> ClusterView:
    return ClusterView(True, {}, KnownControllers({}, {}), {})


class Replica:
    """A webhook, with its part in the certificates that all replicas share."""

    def __init__(
        self, client: KubeClient, held: HeldPacing, webhook: Webhook, files: CertificateFiles | None = None
    ) -> None:
        self.webhook, self.files = webhook, files
        self.registry = CollectorRegistry()
        measures = AdmissionMeasures.register(self.registry)
        in_use = CertificateInUse(webhook.context, measures, held.now)
        registration = Registration(client, SETTINGS, (), measures)
        secret = CertificateSecret(client, NAMESPACE, "evenkeel-tls-certs")
        source: CertificateSource = OwnCertificates(secret, NAMES, held.now, measures)
        if files is not None:
            source = ProvidedCertificates(files, follows_changes=True)
        self.upkeep = Upkeep(source, in_use, registration, held, overlaps=True)

    def put(self, certificates: CertificateSet) -> None:
        """Put certificates into its files, as whoever provides them does."""
        assert self.files is not None
        self.files.authorities.parent.mkdir(exist_ok=True)
        self.files.authorities.write_bytes(certificates.authorities)
        self.files.serving.write_bytes(certificates.serving)
        self.files.serving_key.write_bytes(certificates.serving_key)

    def steps(self) -> Counter[str]:
        """Return how often this one took each step."""
        name = "evenkeel_admission_certificate_steps_total"
        samples = [sample for family in self.registry.collect() for sample in family.samples if sample.name == name]
        return Counter({sample.labels["step"]: int(sample.value) for sample in samples})


class Caller:
    """An API server that trusts what is registered, as far as it has heard of it."""

    def __init__(self, held: HeldPacing, lag: timedelta) -> None:
        self._held, self._lag = held, lag.total_seconds()
        self._heard: list[tuple[float, bytes]] = []

    def hear(self, registered: bytes) -> None:
        """Take in what is registered now; it counts once the lag has passed."""
        if not self._heard or self._heard[-1][1] != registered:
            self._heard.append((self._held.seconds + (self._lag if self._heard else 0.0), registered))

    @property
    def trusted(self) -> bytes:
        """PEM text of the authorities that it goes by."""
        return next(bundle for due, bundle in reversed(self._heard) if due <= self._held.seconds)


class Traffic:
    """Connections to every replica, from callers that are up to date or behind, used once or for as long as may be."""

    def __init__(self, held: HeldPacing, replicas: tuple[Replica, ...]) -> None:
        self._held, self._replicas = held, replicas
        self.up_to_date, self.behind = Caller(held, timedelta(0)), Caller(held, LONGEST_LAG)
        self.counts: Counter[str] = Counter()
        self.bundles: set[bytes] = set()
        self.errors: list[str] = []
        self._sessions: tuple[aiohttp.ClientSession, ...] = ()

    async def open(self, stack: AsyncExitStack) -> None:
        """Open the sessions, which end with the stack."""
        self._sessions = tuple(
            [
                await stack.enter_async_context(
                    aiohttp.ClientSession(
                        connector=aiohttp.TCPConnector(force_close=not keeps_alive), trace_configs=[self._trace()]
                    )
                )
                for keeps_alive in (True, False)
            ]
        )

    async def ask(self, registered: bytes) -> None:
        """Have every caller ask every replica on a connection of each kind, all at the same time."""
        self.bundles.add(registered)
        for caller in (self.up_to_date, self.behind):
            caller.hear(registered)
        self.counts["behind"] += self.behind.trusted != registered
        await asyncio.gather(
            *(
                self._post(session, replica.webhook, caller.trusted)
                for session, replica, caller in product(self._sessions, self._replicas, (self.up_to_date, self.behind))
            )
        )

    async def _post(self, session: aiohttp.ClientSession, webhook: Webhook, trusted: bytes) -> None:
        number = self.counts["asked"]
        self.counts["asked"] += 1
        try:
            async with session.post(
                webhook.url,
                data=pod_review({"metadata": {"name": "p"}}, uid=str(number)),
                headers={"Content-Type": "application/json"},
                ssl=trust_as_of(self._held.now, trusted.decode()),
                server_hostname=HOST,
            ) as answer:
                response = json.loads(await answer.read())["response"]
        except (aiohttp.ClientError, ssl.SSLError) as error:
            self.errors.append(f"review {number} after {timedelta(seconds=self._held.seconds)}: {error}")
        else:
            assert response == {"uid": str(number), "allowed": True}
            self.counts["answered"] += 1

    def _trace(self) -> aiohttp.TraceConfig:
        """Count connections that are made, and requests on those that were there."""
        trace = aiohttp.TraceConfig()

        async def made(*_: object) -> None:
            self.counts["connections"] += 1

        async def used_again(*_: object) -> None:
            self.counts["used again"] += 1

        trace.on_connection_create_end.append(made)
        trace.on_connection_reuseconn.append(used_again)
        return trace


@asynccontextmanager
async def following(held: HeldPacing, replicas: tuple[Replica, ...]) -> AsyncIterator[None]:
    """Let every replica look for certificates while the context lasts."""
    tasks = [asyncio.create_task(replica.upkeep.follow()) for replica in replicas]
    try:
        await held.asleep(len(tasks))
        yield
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.wait(tasks)


def life() -> Iterator[timedelta]:
    """Yield pauses between two rounds: all of a life in which serving certificates and the authority are renewed."""
    yield from [ROUND] * 4
    yield SERVING_LIFETIME - SERVING_RENEWAL
    yield from [ROUND] * 6
    age = SERVING_LIFETIME - SERVING_RENEWAL + 10 * ROUND
    while age + 20 * DAY < AUTHORITY_LIFETIME - AUTHORITY_RENEWAL:
        age += 20 * DAY
        yield 20 * DAY
    yield AUTHORITY_LIFETIME - AUTHORITY_RENEWAL - age + ROUND
    yield from [ROUND] * (PUBLICATION // ROUND + 5)
    yield from [RETIREMENT / 14] * 15
    while True:
        yield ROUND


@dataclass
class Scene:
    """Two replicas, an API server to register at, and callers."""

    held: HeldPacing
    replicas: tuple[Replica, Replica]
    registration: Registration
    traffic: Traffic
    number: int = 0

    async def registered(self) -> bytes:
        return (await self.registration.read()).authorities

    async def round(self, pause: timedelta) -> None:
        """Let time pass, have the replicas look and one of them lead a round, and then everybody ask."""
        await self.held.advance(pause.total_seconds())
        await self.held.asleep(len(self.replicas))
        await self.replicas[self.number // 5 % 2].upkeep.round()
        self.number += 1
        await self.traffic.ask(await self.registered())

    async def is_believed(self, trusted: bytes) -> bool:
        """Say whether a caller that trusts these authorities alone believes every replica."""
        context = trust_as_of(self.held.now, trusted.decode())
        for replica in self.replicas:
            port = replica.webhook.port
            try:
                _, writer = await asyncio.open_connection("127.0.0.1", port, ssl=context, server_hostname=HOST)
            except ssl.SSLCertVerificationError:
                return False
            writer.close()
        return True


@asynccontextmanager
async def scene(folder: Path | None = None, first: CertificateSet | None = None) -> AsyncIterator[Scene]:
    """Set the scene, after a first round; in a folder, the replicas have files each with the first certificates."""
    held, cluster = HeldPacing(), ApiServer()
    cluster.create_namespaces(NAMESPACE)
    async with AsyncExitStack() as stack:
        endpoint = await stack.enter_async_context(serve(cluster, tls=False))
        client, _ = await stack.enter_async_context(client_of(endpoint.url, held))
        made: list[Replica] = []
        for name in ("one", "two"):
            webhook = await stack.enter_async_context(running_webhook(view, None))
            files = CertificateFiles(*(folder / name / each for each in ("ca", "cert", "key"))) if folder else None
            made.append(Replica(client, held, webhook, files))
            if first is not None:
                made[-1].put(first)
        registration = Registration(client, SETTINGS, (), AdmissionMeasures.register(CollectorRegistry()))
        replicas = (made[0], made[1])
        traffic = Traffic(held, replicas)
        await traffic.open(stack)
        await replicas[0].upkeep.round()
        await stack.enter_async_context(following(held, replicas))
        yield Scene(held, replicas, registration, traffic)


async def test_a_thousand_reviews_over_a_rotation_meet_no_tls_error() -> None:
    """Spec: case:36; leadership changes hands meanwhile, and whoever does not lead is a look behind."""
    assert NEXT_LOOKS_SECONDS <= ROUND_SECONDS
    async with scene() as played:
        traffic, (one, two) = played.traffic, played.replicas
        first = await played.registered()
        for pause in life():
            await played.round(pause)
            if traffic.counts["asked"] >= REVIEWS:
                break
        assert traffic.errors == []
        assert traffic.counts["answered"] == traffic.counts["asked"] >= REVIEWS
        assert traffic.counts["connections"] >= REVIEWS // 2
        assert traffic.counts["used again"] >= REVIEWS // 4
        assert traffic.counts["behind"] > PUBLICATION // ROUND - 2
        steps = one.steps() + two.steps()
        assert (steps["start over"], steps["add authority"], steps["retire authorities"]) == (1, 1, 1)
        assert steps["issue serving certificate"] > 2
        assert sorted(len(certificates_in(bundle)) for bundle in traffic.bundles) == [1, 1, 2]
        assert not await played.is_believed(first)


def provided() -> CertificateSet:
    """Return certificates as somebody else makes them."""
    authority = Authority()
    pair = authority.issue(*NAMES)
    return CertificateSet(authority.certificate_pem, b"", pair.certificate_pem, pair.key_pem)


async def test_an_authority_that_others_change_at_once_meets_no_tls_error(tmp_path: Path) -> None:
    """Spec: case:36, admission:2, admission:13 (9): files of one replica change before those of the other."""
    first, second = provided(), provided()
    async with scene(tmp_path, first) as played:
        for _ in range(3):
            await played.round(ROUND)
        assert await played.registered() == first.authorities
        played.replicas[0].put(second)
        for _ in range(3):
            await played.round(ROUND)
        played.replicas[1].put(second)
        for _ in range(PUBLICATION // ROUND + 12):
            await played.round(ROUND)
        assert played.traffic.errors == []
        assert played.traffic.counts["answered"] == played.traffic.counts["asked"] > REVIEWS // 4
        assert await played.is_believed(second.authorities)
        assert not await played.is_believed(first.authorities)
        assert len(certificates_in(await played.registered())) == 2
        for _ in range(4):
            await played.round(OVERLAP / 2)
        assert await played.registered() == second.authorities
