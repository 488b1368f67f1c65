"""Replicas of the three processes on one simulated cluster, which can be killed, cut off and started again."""

from __future__ import annotations

import sys
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path
from typing import Final

from autoscaling.runtime.api_group import ApiGroup, cluster_names
from bench.hosting import resident_bytes
from evenkeel.simulator.api.fields import JsonObject, rows, text
from evenkeel.simulator.api.serving import Endpoint, serve
from evenkeel.simulator.cluster import ClusterSettings, SimulatedCluster
from evenkeel.simulator.faults import DropConnection, Fault
from evenkeel.simulator.kubelet.settings import Amounts, NodeSettings
from evenkeel.simulator.lockstep.coordinator import Lockstep, LockstepError, LockstepSettings
from evenkeel.simulator.lockstep.serving import serve_lockstep
from evenkeel.simulator.manifests import Manifests, read_manifests
from evenkeel.simulator.processes.program import Invocation, RunningProgram, Starter
from tests.forking import start_forked

RECOMMENDER: Final = "recommender"
UPDATER: Final = "updater"
ADMISSION: Final = "admission"
NAMES: Final = cluster_names(ApiGroup.EVENKEEL)
LEASES: Final = {RECOMMENDER: NAMES.recommender_lease, UPDATER: NAMES.updater_lease}
SECOND: Final = timedelta(seconds=1)
LEASE_SECONDS: Final = 15
"""Upstream's default: how long a silent leader is left alone."""

_REAL_SECONDS: Final = 90.0
"""For a process to start or to end, on a machine that has much else to do."""
_GIBIBYTE: Final = 1 << 30
_NODES: Final = tuple(NodeSettings(f"node-{n}", Amounts(8000, 16 * _GIBIBYTE)) for n in (1, 2, 3))


@dataclass(frozen=True, slots=True)
class PlantSettings:
    """What stands in a plant.

    Args:
        folder: Where kubeconfigs and logs go.
        replicas: How many of each program, by its import name.
        flags: Further flags by program.
        seed: Of everything that is left to chance.
        nodes: The nodes.
        starter: Starts a process.
    """

    folder: Path
    replicas: Mapping[str, int]
    flags: Mapping[str, Sequence[str]] = field(default_factory=dict)
    seed: int = 0
    nodes: tuple[NodeSettings, ...] = _NODES
    starter: Starter = start_forked


@dataclass
class Plant:
    """A cluster and the replicas that work on it, each named after its program: ``updater-a``, ``updater-b``.

    Attributes:
        statuses: Exit statuses of replicas that ended by themselves, in order.
        revives: Whether a replica that has ended is started again, as its Deployment would.
    """

    cluster: SimulatedCluster
    endpoint: Endpoint
    lockstep: Lockstep
    settings: PlantSettings
    manifests: Manifests
    running: dict[str, RunningProgram] = field(default_factory=dict)
    statuses: list[tuple[str, int]] = field(default_factory=list)
    revives: bool = True
    _replica_of: dict[str, str] = field(default_factory=dict)
    _ports: dict[str, int] = field(default_factory=dict)
    _exposed: int = 0
    _partitions: dict[str, Fault] = field(default_factory=dict)

    @property
    def names(self) -> tuple[str, ...]:
        """All replicas, whether they run or not."""
        count = self.settings.replicas
        return tuple(f"{program}-{letter}" for program in sorted(count) for letter in "abcd"[: count[program]])

    async def start(self, *names: str) -> None:
        """Start replicas, and wait until they live by the clock."""
        self.lockstep.expect(*names)
        for name in names:
            program = RunningProgram(self._invocation(name), self.settings.folder, self.settings.starter)
            self.running[name] = program
        try:
            # The clock stands still until all that are expected have joined.
            await self.lockstep.settle()
        except LockstepError as error:
            error.add_note("\n".join(map(self.last_words, names)))
            raise

    async def run(self, seconds: float, *, step_seconds: float = 1.0) -> None:
        """Let time pass, and after each step see to what has ended meanwhile."""
        end = self.cluster.clock.now() + timedelta(seconds=seconds)
        while (left := end - self.cluster.clock.now()) > timedelta(0):
            await self.lockstep.advance(min(left, timedelta(seconds=step_seconds)))
            await self.look()

    async def look(self) -> None:
        """Read the logs, lead the webhook's Service to a replica that runs, and start what has ended."""
        for name in list(self.running):
            self._read_log(name)
            if name not in self.lockstep.participants:
                await self._ended(name)
        live = [port for name, port in sorted(self._ports.items()) if name in self.running]
        if live and self._exposed not in live:
            self._exposed = live[0]
            await self.cluster.expose(NAMES.namespace, NAMES.webhook_service, self._exposed)
        # One that is cut off would end again and again at its start; a node pauses longer from time to time.
        gone = [name for name in self.names if name not in self.running and name not in self._partitions]
        if self.revives and gone:
            await self.start(*gone)

    def kill(self, name: str) -> None:
        """End a replica by SIGKILL, wherever it is; the others go on."""
        program = self.running.pop(name)
        program.kill()
        self.lockstep.dismiss(name)
        self._ports.pop(name, None)

    def cut_off(self, name: str) -> None:
        """Cut a replica off from the API server: every connection breaks, and none comes about any more."""
        if name not in self._partitions:
            fault = Fault(DropConnection(), count=None, caller=name)
            self._partitions[name] = self.cluster.server.faults.add(fault)
            self.cluster.server.watches.close(caller=name)

    def rejoin(self, name: str) -> None:
        """Let a replica reach the API server again."""
        if name in self._partitions:
            self.cluster.server.faults.remove(self._partitions.pop(name))

    def lease(self, program: str) -> JsonObject:
        """Return the Lease of a program's leader."""
        return self.cluster.server.store.read("coordination.k8s.io/v1", "Lease", LEASES[program], NAMES.namespace)

    def leader(self, program: str) -> str:
        """Return the replica that holds a Lease; empty where nobody does or whoever it is none of ours."""
        found = self.cluster.server.store.find("coordination.k8s.io/v1", "Lease", LEASES[program], NAMES.namespace)
        return self._replica_of.get(text(found or {}, "spec", "holderIdentity"), "")

    async def wait_for_leader(self, program: str, other_than: str = "", *, seconds: int = 60) -> str:
        """Let time pass until a replica leads, and return it."""
        for _ in range(seconds):
            if (leader := self.leader(program)) and leader != other_than:
                return leader
            await self.run(1)
        raise AssertionError(f"after {seconds} s {self.leader(program) or 'nobody'} leads {program}")

    async def wait_for_webhook(self, *, seconds: int = 120) -> None:
        """Let time pass until the webhook is registered and its Service leads somewhere."""
        store, kind = self.cluster.server.store, "MutatingWebhookConfiguration"
        for _ in range(seconds):
            found = store.find("admissionregistration.k8s.io/v1", kind, NAMES.webhook_configuration)
            if self._exposed and any(text(row, "clientConfig", "caBundle") for row in rows(found or {}, "webhooks")):
                return
            await self.run(1)
        raise AssertionError(f"no webhook after {seconds} s")

    def last_words(self, name: str) -> str:
        """Return the end of a replica's log."""
        return (self.settings.folder / f"{name}.log").read_text()[-4000:]

    def resident_bytes(self) -> dict[str, int]:
        """Return the resident memory of each replica that runs."""
        return {name: resident_bytes(program.pid) for name, program in self.running.items()}

    async def _ended(self, name: str) -> None:
        """Wait for the end of a replica that does not live by the clock any more."""
        self.statuses.append((name, await self.running[name].wait(_REAL_SECONDS)))
        self._read_log(name)
        del self.running[name]
        self._ports.pop(name, None)

    def _read_log(self, name: str) -> None:
        for line in self.running[name].log.new_lines():
            if line.event == "waiting for leadership":
                self._replica_of[str(line.fields["identity"])] = name
            if line.event == "webhook listens":
                self._ports[name] = int(str(line.fields["port"]))

    def _invocation(self, name: str) -> Invocation:
        """Return how a replica is started: as its Deployment says."""
        module = name.rpartition("-")[0]
        program = self.manifests.programs[module]
        token = self.cluster.token_of(program.namespace, program.service_account)
        kubeconfig = self.endpoint.write_kubeconfig(self.settings.folder / f"{name}.kubeconfig", token)
        words = (
            *(sys.executable, "-P", "-m", module),
            *program.arguments,
            f"--kubeconfig={kubeconfig}",
            "--address=127.0.0.1:0",
            *(("--port=0",) if module == ADMISSION else ()),
            f"--clock={self.lockstep.url(name)}",
            *self.settings.flags.get(module, ()),
        )
        return Invocation(name, words, {"NAMESPACE": program.namespace})


@asynccontextmanager
async def plant(settings: PlantSettings) -> AsyncIterator[Plant]:
    """Set a cluster up with everything installed on it; the replicas are not started yet."""
    manifests = read_manifests()
    cluster = SimulatedCluster(ClusterSettings(nodes=settings.nodes, seed=settings.seed))
    dice = LockstepSettings(seed=settings.seed, wall_limit_seconds=_REAL_SECONDS)
    async with AsyncExitStack() as stack:
        stack.push_async_callback(cluster.close)
        endpoint = await stack.enter_async_context(serve(cluster.server, tls=False))
        cluster.start()
        await cluster.install(manifests)
        lockstep = await stack.enter_async_context(serve_lockstep(cluster.server, dice))
        made = Plant(cluster, endpoint, lockstep, settings, manifests)
        try:
            yield made
        finally:
            for name in list(made.running):
                made.kill(name)
