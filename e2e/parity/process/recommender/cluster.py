"""A whole cluster for recommenders, made up from a seed, with what they are told round by round."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from e2e.parity.process.changes import Change, ChangeKind, partial
from e2e.parity.process.recommender.checkpoints import CheckpointMaker
from e2e.parity.process.recommender.external import External, make_external, marker_objects, marker_row
from e2e.parity.process.recommender.pods import Fate, LivePod, make_pod
from e2e.parity.process.recommender.usage import UsageMaker
from e2e.parity.process.world import surroundings
from e2e.parity.process.world.dice import Dice
from e2e.parity.process.world.recommendations import RecommendationMaker
from e2e.parity.process.world.scalers import Choices, ScalerMaker
from e2e.parity.process.world.workloads import Workload, WorkloadMaker, pod_names
from evenkeel.simulator.api.fields import JsonObject, child, ensure, text

_NAMESPACES = {surroundings.FREE: 0.7, surroundings.CONTAINER_LIMITED: 0.2, surroundings.IGNORED: 0.1}
_STEPS = (timedelta(minutes=1), timedelta(minutes=30), timedelta(hours=5), timedelta(hours=13), timedelta(hours=26))
Frame = tuple[JsonObject, ...]
RARE_FLAGS = (
    "--pod-recommendation-min-memory-mb=10",
    "--pod-recommendation-min-cpu-millicores=1",
    "--target-cpu-percentile=0.5",
    "--target-memory-percentile=0.99",
    "--recommendation-margin-fraction=0.333",
    "--recommendation-lower-bound-cpu-percentile=0.1",
    "--recommendation-upper-bound-memory-percentile=1",
    "--round-cpu-millicores=25",
    "--round-memory-bytes=1048576",
    "--humanize-memory",
    "--cpu-histogram-decay-half-life=6h",
    "--memory-histogram-decay-half-life=36h",
    "--memory-aggregation-interval=5h",
    "--memory-aggregation-interval-count=20",
    "--confidence-interval-cpu=2h",
    "--confidence-interval-memory=7h",
    "--oom-bump-up-ratio=1.7",
    "--oom-min-bump-up-bytes=1000",
    "--cpu-integer-post-processor-enabled",
    "--container-recommendation-max-allowed-cpu=700m",
    "--container-recommendation-max-allowed-memory=1Gi",
    "--memory-saver",
)
"""Flags that some recommenders are given."""


@dataclass(frozen=True, slots=True)
class RecommenderCluster:
    """A cluster.

    Args:
        seed: From which it was made up.
        flags: Flags of the recommenders.
        objects: Everything in it.
        frames: What is told of the use of pods, round by round.
        changes: What happens after the first round, after the second, and so on.
        external: Where among external metrics they find it; None where the metrics API tells.
    """

    seed: str
    flags: tuple[str, ...]
    objects: tuple[JsonObject, ...]
    frames: tuple[Frame, ...]
    changes: tuple[tuple[Change, ...], ...]
    external: External | None = None


@dataclass(slots=True)
class _Draft:
    """A cluster while it is made up."""

    objects: list[JsonObject] = field(default_factory=list)
    pods: list[LivePod] = field(default_factory=list)
    scalers: list[tuple[JsonObject, Workload]] = field(default_factory=list)


class ClusterMaker:
    """Makes a cluster up.

    Args:
        seed: From what.
        now: From when all ages in it count.
        size: How many workloads it has.
        rounds: How many rounds will be run on it.
    """

    def __init__(self, seed: str, now: datetime, size: int, rounds: int) -> None:
        self._dice = Dice(seed, "cluster")
        self._seed, self._size, self._rounds = seed, size, rounds
        self._step = self._dice.pick(_STEPS)
        # Never near a moment to which reference times are rounded: in which order samples come is left open.
        self._last = now.replace(minute=7, second=0, microsecond=0) - timedelta(hours=1)
        self._external = make_external(Dice(seed, "metrics"))
        # Upstream asks for external metrics of pods in random order, which shows where an aggregate expires within a
        # window, as it can only with intervals of a VPA's own.
        self._has_vpa_config = self._dice.chance(0.5) and self._external is None
        self._workloads = WorkloadMaker(Dice(seed, "workloads"), now)
        self._scalers = ScalerMaker(Dice(seed, "vpas"), now, Choices(oom_bumps=self._has_vpa_config))
        self._checkpoints = CheckpointMaker(Dice(seed, "checkpoints"), now)
        self._recommendations = RecommendationMaker(Dice(seed, "recommendations"))

    def make(self) -> RecommenderCluster:
        """Make it up."""
        draft = _Draft([surroundings.custom_definition(), *surroundings.namespaces()])
        for index in range(self._size):
            self._add_workload(draft, f"w{index}", self._dice.weighted(_NAMESPACES))
        objects = (*draft.objects, *(pod.body() for pod in draft.pods), *(marker_objects() if self._external else ()))
        fate, usage = Fate(Dice(self._seed, "fate"), draft.pods), UsageMaker(Dice(self._seed, "usage"))
        frames: list[Frame] = []
        changes: list[tuple[Change, ...]] = []
        for number in range(self._rounds):
            moment = self._last - (self._rounds - 1 - number) * self._step
            frames.append(self._frame(draft, usage, moment))
            changes.append((*fate.strike(moment + self._step / 2), *self._new_specs(draft)))
        flags = (*self._flags(), *(self._external.flags if self._external else ()))
        return RecommenderCluster(self._seed, flags, objects, tuple(frames), tuple(changes[:-1]), self._external)

    def _add_workload(self, draft: _Draft, name: str, namespace: str) -> None:
        """Make up a workload, its pods, its VPAs and their checkpoints."""
        dice = self._dice
        workload = self._workloads.make(name, namespace)
        draft.objects += workload.objects
        draft.pods += [make_pod(dice, workload, group, pod) for group, pod in pod_names(workload)]
        scaler = self._scaler(f"{name}-vpa", workload)
        rivals = [self._scalers.rival_of(scaler, workload)] if not self._has_vpa_config and dice.chance(0.1) else []
        for one in [scaler, *rivals]:
            draft.objects.append(one)
            draft.scalers.append((one, workload))
            draft.objects += self._stored(one, workload)

    def _scaler(self, name: str, workload: Workload) -> JsonObject:
        """Make a VPA up, perhaps one that aims at nothing, or that is another recommender's."""
        dice = self._dice
        scaler = self._scalers.make(name, workload)
        spec, metadata = ensure(scaler, "spec"), ensure(scaler, "metadata")
        if dice.chance(0.05):
            ensure(spec, "targetRef")["name"] = "nothing"
        elif workload.kind == "Deployment" and dice.chance(0.05):
            below = text(workload.objects[1], "metadata", "name")
            spec["targetRef"] = {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": below}
        if dice.chance(0.1):
            spec["recommenders"] = [{"name": dice.pick(("other", "default"))}]
        if dice.chance(0.15):
            key = f"vpa-post-processor.kubernetes.io/{workload.containers[0].name}_integerCPU"
            metadata["annotations"] = {key: dice.pick(("true", "true", "yes"))}
        if dice.chance(0.3):
            scaler["status"] = self._recommendations.status(workload.containers)
            if dice.chance(0.3):
                old = {"type": "ConfigDeprecated", "status": "True", "lastTransitionTime": "2026-01-01T00:00:00Z"}
                conditions = child(scaler, "status")["conditions"]
                assert isinstance(conditions, list)
                conditions.append(old)
        return scaler

    def _stored(self, scaler: JsonObject, workload: Workload) -> Iterator[JsonObject]:
        """Make up what an earlier recommender has stored for a VPA, and for one that is gone."""
        dice, name = self._dice, text(scaler, "metadata", "name")
        for container in [*workload.containers] if dice.chance(0.5) else []:
            if dice.chance(0.85):
                yield self._checkpoints.make(workload.namespace, name, container.name)
        if dice.chance(0.06):
            yield self._checkpoints.make(workload.namespace, name, "earlier")
        if dice.chance(0.06):
            yield self._checkpoints.make(workload.namespace, f"{name}-gone", "c0")

    def _frame(self, draft: _Draft, usage: UsageMaker, moment: datetime) -> Frame:
        """Make up what is told of the use of pods at a moment."""
        rows: list[JsonObject] = [marker_row(moment)] if self._external else []
        for pod in draft.pods:
            names = tuple(one.name for one in pod.containers) + (("init",) if pod.has_init else ())
            row = usage.row(pod.key, names, moment)
            if row is not None:
                ensure(row, "metadata")["labels"] = dict(pod.labels)
                rows.append(row)
        rows += [row for row in [usage.row((surroundings.FREE, "unknown"), ("c0",), moment)] if row is not None]
        return tuple(rows)

    def _new_specs(self, draft: _Draft) -> Iterator[Change]:
        """Make up VPAs that change, and some that go."""
        for scaler, workload in list(draft.scalers):
            if self._dice.chance(0.08):
                spec = self._scalers.make("any", workload)["spec"]
                assert isinstance(spec, dict)
                policies = {"resourcePolicy": spec.get("resourcePolicy"), "updatePolicy": spec.get("updatePolicy")}
                yield Change(ChangeKind.MERGE, partial(scaler, spec=policies))
            elif self._dice.chance(0.03):
                draft.scalers.remove((scaler, workload))
                yield Change(ChangeKind.DELETE, scaler)

    def _flags(self) -> tuple[str, ...]:
        dice = self._dice
        usual = [
            f"--feature-gates=PerVPAConfig={'true' if self._has_vpa_config else 'false'}",
            f"--checkpoints-gc-interval={dice.pick(('1s', '10m'))}",
            f"--update-worker-count={dice.pick((1, 10))}",
        ]
        only = dice.weighted(
            {"": 0.5, "--ignored-vpa-object-namespaces=ignored": 0.35, "--vpa-object-namespace=free": 0.15}
        )
        return (*usual, *dice.some(RARE_FLAGS, 0.2), *([only] if only else []))
