"""Where a scenario is played: a simulated cluster, Evenkeel installed on it, its processes at work."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Protocol

from autoscaling.behaviour import Profile
from autoscaling.errors import EvenkeelError
from autoscaling.runtime.api_group import ApiGroup, cluster_names
from evenkeel.simulator.api.external_metrics import UsageAsExternalMetrics
from evenkeel.simulator.api.fields import rows, text
from evenkeel.simulator.api.serving import Endpoint, serve
from evenkeel.simulator.clock import SpeedClock
from evenkeel.simulator.cluster import ClusterSettings, SimulatedCluster
from evenkeel.simulator.lockstep.coordinator import Lockstep, LockstepError, LockstepSettings
from evenkeel.simulator.lockstep.serving import serve_lockstep
from evenkeel.simulator.manifests import DEFAULT_FOLDER, Manifests, read_manifests
from evenkeel.simulator.processes.installation import Installation, Launching, LogListener, ProcessEndedError
from evenkeel.simulator.processes.peer import Peer
from evenkeel.simulator.processes.program import Starter, start_program
from evenkeel.simulator.scenarios.document import Scenario, Time
from evenkeel.simulator.scenarios.steps import Program

NAMES, UPSTREAM_NAMES = cluster_names(ApiGroup.EVENKEEL), cluster_names(ApiGroup.UPSTREAM)
_READY_WITHIN = timedelta(minutes=2)
_STEP = timedelta(seconds=1)
_ROUND_START_SECONDS = 30
_POLL_SECONDS = 0.02
_WATCHES_LAST = timedelta(days=1)
_BOOKMARK_PERIOD = timedelta(seconds=150)
"""Less than the three minutes of silence after which clients take a watch for dead."""
_CALM: dict[Program, tuple[str, ...]] = {
    Program.RECOMMENDER: (
        "--leader-elect-lease-duration=5m",
        "--leader-elect-renew-deadline=4m",
        "--leader-elect-retry-period=1m",
    ),
    Program.ADMISSION: ("--status-lease-update-interval=20s",),
}
_CALM[Program.UPDATER] = _CALM[Program.RECOMMENDER]
"""Leases that are renewed less often: nothing competes for them here, and each renewal takes real time."""


class StageError(EvenkeelError):
    """The cluster or the processes did not come to the point where a scenario can begin."""


@dataclass(frozen=True, slots=True)
class StageSettings:
    """How a scenario is played.

    Args:
        profile: Profile of the three processes.
        folder: Where kubeconfigs and logs go.
        seed: Of everything that is left to chance.
        manifests: The installation; what is shipped where it is None.
        starter: Starts the processes.
    """

    profile: Profile
    folder: Path
    seed: int = 0
    manifests: Manifests | None = None
    starter: Starter = start_program


class Mover(Protocol):
    """Whoever lets the cluster's time pass."""

    async def run_until(self, moment: datetime) -> None:
        """Return once the cluster's clock has come to a moment, and all that was due by then is over."""


@dataclass(frozen=True, slots=True)
class _RealTime:
    """Time that passes by itself."""

    cluster: SimulatedCluster

    async def run_until(self, moment: datetime) -> None:
        """Wait for a moment."""
        remaining = (moment - self.cluster.clock.now()).total_seconds()
        await asyncio.sleep(max(0.0, remaining))
        await self.cluster.plane.turns.settled()


@dataclass(frozen=True, slots=True)
class Stage:
    """A cluster with the processes at work.

    Args:
        scenario: What it was set up for.
        cluster: The cluster.
        endpoint: Where its API server listens.
        installation: The processes.
        mover: Lets time pass.
        lockstep: The clock that the processes live by; None in real time.
        peer: Upstream's programs; None where they are not wanted.
    """

    scenario: Scenario
    cluster: SimulatedCluster
    endpoint: Endpoint
    installation: Installation
    mover: Mover
    lockstep: Lockstep | None
    peer: Peer | None = None

    async def pass_time(self, until: datetime) -> None:
        """Let time pass, and make sure that the processes live.

        Raises:
            EvenkeelError: One of them does not.
        """
        try:
            await self.mover.run_until(until)
        except LockstepError as error:
            self.installation.check()
            raise StageError(f"{error}; their last lines are\n{self.installation.last_words()}") from error
        await self.installation.look()
        if self.peer is not None and (problems := self.peer.problems()):
            raise ProcessEndedError("\n".join(problems))

    async def start_processes(self) -> None:
        """Start the processes, and let time pass until they work.

        Raises:
            EvenkeelError: They do not.
        """
        await self._start(self.installation.names)
        if self.peer is not None:
            await self.peer.start()
        deadline = self.cluster.clock.now() + _READY_WITHIN
        while missing := self._missing():
            if self.cluster.clock.now() > deadline:
                raise StageError(
                    f"not ready after {_READY_WITHIN.total_seconds():g} s: {', '.join(missing)} is missing; "
                    f"the last lines of the processes are\n{self.installation.last_words()}"
                )
            await self.pass_time(self.cluster.clock.now() + _STEP)

    async def restart(self, program: Program) -> None:
        """End one process in good order and start it again; simulated time stands still meanwhile."""
        await self.installation.end(program.value)
        await self._start((program.value,))

    async def _start(self, names: Sequence[str]) -> None:
        """Start processes, and wait until they live by the clock.

        Raises:
            ProcessEndedError: One of them ended before that.
        """
        if self.lockstep is not None:
            self.lockstep.expect(*names)
        self.installation.start(names)
        while self.lockstep is not None and not set(names) <= set(self.lockstep.participants):
            self.installation.check()
            await asyncio.sleep(_POLL_SECONDS)

    def round_moment(self) -> datetime:
        """Return the next moment that is a whole number of half minutes; real time is not waited for."""
        now = self.cluster.clock.now()
        if self.lockstep is None:
            return now
        passed = timedelta(seconds=now.timestamp() % _ROUND_START_SECONDS)
        return now - passed + timedelta(seconds=_ROUND_START_SECONDS) if passed else now

    def _missing(self) -> list[str]:
        """Say what is not there yet of what shows that the processes work."""
        leases = [NAMES.status_lease, NAMES.recommender_lease, NAMES.updater_lease]
        held = [(NAMES.namespace, name) for name in leases]
        webhooks = [NAMES.webhook_configuration]
        if self.peer is not None:
            held.append((UPSTREAM_NAMES.namespace, UPSTREAM_NAMES.status_lease))
            webhooks.append(UPSTREAM_NAMES.webhook_configuration)
        missing = [f"Lease {namespace}/{name}" for namespace, name in held if not self._is_held(namespace, name)]
        return missing + [f"MutatingWebhookConfiguration {name}" for name in webhooks if not self._is_registered(name)]

    def _is_held(self, namespace: str, name: str) -> bool:
        lease = self.cluster.server.store.find("coordination.k8s.io/v1", "Lease", name, namespace)
        return bool(text(lease or {}, "spec", "holderIdentity"))

    def _is_registered(self, name: str) -> bool:
        store, kind = self.cluster.server.store, "MutatingWebhookConfiguration"
        webhook = store.find("admissionregistration.k8s.io/v1", kind, name)
        return any(text(row, "clientConfig", "caBundle") for row in rows(webhook or {}, "webhooks"))


async def _serve_external_metrics(cluster: SimulatedCluster, scenario: Scenario) -> None:
    """Serve usage as external metrics where a scenario wants it, and let the recommender list them."""
    wanted = scenario.external_metrics
    if wanted is None:
        return
    metrics = {resource.value: metric for resource, metric in wanted.metrics.items()}
    cluster.server.serve_external(UsageAsExternalMetrics(cluster.nodes.metrics, metrics, wanted.container_label))
    await cluster.install(read_manifests(DEFAULT_FOLDER / "external-metrics"))


@asynccontextmanager
async def open_stage(scenario: Scenario, settings: StageSettings, on_log: LogListener) -> AsyncIterator[Stage]:
    """Set a cluster up for a scenario, and take everything down at the end; the processes are not started yet.

    Raises:
        EvenkeelError: The manifests cannot be read or applied.
    """
    manifests = settings.manifests or read_manifests()
    nodes = tuple(node.settings(name) for name, node in scenario.nodes.items())
    in_lockstep = scenario.time is Time.LOCKSTEP
    clock = None if in_lockstep else SpeedClock(datetime.now(UTC), 1.0)
    cluster = SimulatedCluster(ClusterSettings(nodes=nodes, seed=settings.seed), clock)
    # Watches that begin anew every few minutes would show nothing and take real time; a fault can still end them.
    cluster.server.watches.bookmark_period = _BOOKMARK_PERIOD
    cluster.server.watches.least_lifetime = _WATCHES_LAST
    async with AsyncExitStack() as stack:
        stack.push_async_callback(cluster.close)
        endpoint = await stack.enter_async_context(serve(cluster.server))
        cluster.start()
        await cluster.install(manifests)
        await _serve_external_metrics(cluster, scenario)
        lockstep = None
        if in_lockstep:
            dice = LockstepSettings(seed=settings.seed)
            lockstep = await stack.enter_async_context(serve_lockstep(cluster.server, dice))
        flags = {
            program.value: (f"--profile={settings.profile.value}", *_CALM[program], *scenario.flags.of(program))
            for program in Program
        }
        clock_of: Callable[[str], str] = lockstep.url if lockstep is not None else lambda _: ""
        launching = Launching(manifests, settings.folder, flags, clock_of, on_log, settings.starter)
        installation = Installation(cluster, endpoint, launching)
        stack.push_async_callback(installation.stop)
        peer = Peer(cluster, endpoint, settings.folder, scenario.flags.peer) if scenario.peer else None
        if peer is not None:
            stack.push_async_callback(peer.stop)
        yield Stage(scenario, cluster, endpoint, installation, lockstep or _RealTime(cluster), lockstep, peer)
