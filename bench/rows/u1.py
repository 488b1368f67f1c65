"""U-1: the decisions of one round of the updater."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from types import MappingProxyType

import msgspec

from autoscaling.behaviour import UPSTREAM
from autoscaling.kube.workloads import workload_decoder
from autoscaling.matching import SelectingVpa, of_labels
from autoscaling.wire.objects import decode_vpa
from autoscaling.wire.pods import decode_pod
from bench.cluster import (
    JsonObject,
    PodName,
    Shape,
    deployments,
    first_tick,
    pod_names,
    pod_object,
    replica_sets,
    timestamp,
    vpas,
)
from bench.errors import DisagreementError
from bench.figures import Bound, Figure, Run, Target
from bench.peer import Peer
from bench.row import Benchmark
from bench.stopwatch import Stopwatch
from updater.circumstances import Memory
from updater.decision import Outcome
from updater.plan import Plan
from updater.settings import Settings
from updater.snapshot import Snapshot

_ALIKE = Settings(behaviour=UPSTREAM)
_BELOW_EVERY = 10
"""One pod in so many asks for less than its lower bound."""


class PlanRound(Benchmark):
    """Matching, priorities, budgets and decisions about resizes, without a call."""

    name = "U-1"
    title = "plan of one round, 100,000 pods, 10,000 VPAs"
    turns = 3
    targets = MappingProxyType({"U-1": Target(Bound.RATIO_AT_LEAST, 20)})

    def set_up(self) -> None:
        """Make the cluster, for us as our caches hold it."""
        shape = self.setting.shape(Shape(10_000, 10), Shape(4_000, 2))
        created = first_tick(datetime.now(UTC))
        scene = {
            "vpas": list(vpas(shape, created)),
            "pods": list(some_small_pods(shape, created)),
            "replicaSets": list(replica_sets(shape, created)),
        }
        self.file = self.setting.folder / "updater.json"
        self.file.write_bytes(msgspec.json.encode(scene))
        read = {kind: workload_decoder(kind) for kind in ("Deployment", "ReplicaSet")}
        self.vpas = [SelectingVpa(v, of_labels({"app": v.name})) for v in map(decode_vpa, _raw(scene["vpas"]))]
        self.pods = [decode_pod(raw) for raw in _raw(scene["pods"])]
        self.workloads = [
            *(read["ReplicaSet"](raw)[2] for raw in _raw(scene["replicaSets"])),
            *(read["Deployment"](raw)[2] for raw in _raw(list(deployments(shape, created)))),
        ]
        self.memory = Memory()
        self.first: list[Run] = []
        self.own = [self._rounds(Settings(), 2)[-1]]
        self.peer = Peer()

    def run_ours(self, turn: int) -> Run:
        """Decide about every pod as upstream does, every action being agreed to."""
        plan, run = self._round(self.memory, _ALIKE)
        self.memory = plan.memory
        if turn == 0:
            self.first.append(run)
        return run

    def _rounds(self, settings: Settings, count: int) -> list[Run]:
        """Run some rounds, one after the other."""
        memory, runs = Memory(), []
        for _ in range(count):
            plan, run = self._round(memory, settings)
            memory = plan.memory
            runs.append(run)
        return runs

    def _round(self, memory: Memory, settings: Settings) -> tuple[Plan, Run]:
        """Run a round over what the caches hold: the same objects as in the round before, in a new snapshot."""
        snapshot = Snapshot.of(self.vpas, self.pods, self.workloads, {}, [])
        touched: set[str] = set()
        with Stopwatch() as watch:
            plan = Plan.of(snapshot, datetime.now(UTC), memory, settings)
            while (decision := plan.next()) is not None:
                if plan.quiet:
                    plan = plan.after_quiet()
                    continue
                touched.add(f"{decision.ref.namespace}/{decision.ref.name}")
                plan = plan.after(decision, Outcome.DONE)
        self.ours_touched = touched
        return plan, watch.run()

    def run_peer(self, turn: int) -> Run:
        """Decide about every pod."""
        del turn
        return self.peer.ask("plan", file=str(self.file), out=str(self.setting.folder / "touched.json")).run()

    def check(self) -> None:
        """Compare which pods were acted on."""
        theirs = set(msgspec.json.decode((self.setting.folder / "touched.json").read_bytes(), type=list[str]))
        if self.ours_touched != theirs or not theirs:
            raise DisagreementError(
                f"{len(theirs & self.ours_touched)} pods acted on by both, "
                f"{len(self.ours_touched - theirs)} only by us, {len(theirs - self.ours_touched)} only by the peer"
            )

    def report(self, ours: Sequence[Run], peer: Sequence[Run]) -> list[Figure]:
        """Report seconds per round."""
        note = f"{len(self.ours_touched)} pods acted on; the peer's look-ups of owners are answered from a map"
        every = self.seconds_figure(ours, peer, f"a round after another; {note}")
        first = self.seconds_figure(self.first, peer, "our first round, in which nothing is known yet")
        own = self.seconds_figure(self.own, [], "a round after another in profile evenkeel")
        return [every, replace(first, name=f"{self.name}/first"), replace(own, name=f"{self.name}/evenkeel")]

    def tear_down(self) -> None:
        """End the peer."""
        if hasattr(self, "peer"):
            self.peer.stop()


def some_small_pods(shape: Shape, created: datetime, below_every: int = _BELOW_EVERY) -> Iterator[JsonObject]:
    """Yield the pods, of which some ask for too little."""
    started = timestamp(created)
    for place, pod in enumerate(pod_names(shape)):
        yield _pod(pod, created, started, is_small=place % below_every == 0)


def _pod(pod: PodName, created: datetime, started: str, *, is_small: bool) -> JsonObject:
    return pod_object(pod, created, started, cpu="50m" if is_small else "100m")


def _raw(objects: Sequence[JsonObject]) -> Iterator[bytes]:
    return (msgspec.json.encode(each) for each in objects)
