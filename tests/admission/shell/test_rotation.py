"""A thousand reviews over TLS while serving certificate and authority are replaced (spec: admission:2, case:36)."""

from __future__ import annotations

import asyncio
import json
import ssl
from collections import Counter
from collections.abc import AsyncIterator, Iterator
from contextlib import AsyncExitStack, asynccontextmanager
from datetime import timedelta
from itertools import product

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
from admission.shell.certificate_store import CertificateSecret
from admission.shell.certificates import CertificateInUse, OwnCertificates
from admission.shell.issuing import certificates_in
from admission.shell.measures import AdmissionMeasures
from admission.shell.registration import Registration
from admission.shell.upkeep import NEXT_LOOKS_SECONDS, ROUND_SECONDS, Upkeep
from admission.vpa_matching import ClusterView
from admission.webhook_configuration import NamespaceScope, RegistrationSettings, ServiceTarget
from autoscaling.kube.client import KubeClient
from autoscaling.runtime.dated_trust import trust_as_of
from autoscaling.targets import KnownControllers
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

    def __init__(self, client: KubeClient, held: HeldPacing, webhook: Webhook) -> None:
        self.webhook = webhook
        self.registry = CollectorRegistry()
        measures = AdmissionMeasures.register(self.registry)
        in_use = CertificateInUse(webhook.context, measures, held.now)
        registration = Registration(client, SETTINGS, (), measures)
        own = OwnCertificates(CertificateSecret(client, NAMESPACE, "evenkeel-tls-certs"), NAMES, held.now, measures)
        self.upkeep = Upkeep(own, in_use, registration, held)

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


async def test_a_thousand_reviews_over_a_rotation_meet_no_tls_error() -> None:
    """Spec: case:36; leadership changes hands meanwhile, and whoever does not lead is a look behind."""
    assert NEXT_LOOKS_SECONDS <= ROUND_SECONDS
    held, cluster = HeldPacing(), ApiServer()
    cluster.create_namespaces(NAMESPACE)
    async with AsyncExitStack() as stack:
        endpoint = await stack.enter_async_context(serve(cluster, tls=False))
        client, _ = await stack.enter_async_context(client_of(endpoint.url, held))
        replicas = tuple(
            [Replica(client, held, await stack.enter_async_context(running_webhook(view, None))) for _ in range(2)]
        )
        registration = Registration(client, SETTINGS, (), AdmissionMeasures.register(CollectorRegistry()))
        traffic = Traffic(held, replicas)
        await traffic.open(stack)
        await replicas[0].upkeep.round()
        await stack.enter_async_context(following(held, replicas))
        first = (await registration.read()).authorities
        for number, pause in enumerate(life()):
            await held.advance(pause.total_seconds())
            await held.asleep(len(replicas))
            await replicas[number // 5 % 2].upkeep.round()
            await traffic.ask((await registration.read()).authorities)
            if traffic.counts["asked"] >= REVIEWS:
                break

        assert traffic.errors == []
        assert traffic.counts["answered"] == traffic.counts["asked"] >= REVIEWS
        assert traffic.counts["connections"] >= REVIEWS // 2
        assert traffic.counts["used again"] >= REVIEWS // 4
        assert traffic.counts["behind"] > PUBLICATION // ROUND - 2
        steps = replicas[0].steps() + replicas[1].steps()
        assert (steps["start over"], steps["add authority"], steps["retire authorities"]) == (1, 1, 1)
        assert steps["issue serving certificate"] > 2
        assert sorted(len(certificates_in(bundle)) for bundle in traffic.bundles) == [1, 1, 2]
        for replica in replicas:
            with pytest.raises(ssl.SSLCertVerificationError):
                await asyncio.open_connection(
                    "127.0.0.1",
                    replica.webhook.port,
                    ssl=trust_as_of(held.now, first.decode()),
                    server_hostname=HOST,
                )
