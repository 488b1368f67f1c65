"""A whole cluster for updaters, made up from a seed, with what changes in it between two rounds."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta

from e2e.parity.process.changes import Change, ChangeKind, partial
from e2e.parity.process.updater.pods import StateMaker, pod_body
from e2e.parity.process.world import surroundings
from e2e.parity.process.world.dice import Dice
from e2e.parity.process.world.recommendations import RecommendationMaker
from e2e.parity.process.world.scalers import Choices, ScalerMaker
from e2e.parity.process.world.workloads import Workload, WorkloadMaker, pod_names
from evenkeel.simulator.api.fields import JsonObject, child, copy_of, rows, text

_NAMESPACES = {
    surroundings.FREE: 0.6,
    surroundings.CONTAINER_LIMITED: 0.2,
    surroundings.POD_LIMITED: 0.12,
    surroundings.IGNORED: 0.08,
}
_FRESH, _STALE = timedelta(minutes=-10), timedelta(minutes=5)
PodKey = tuple[str, str]


@dataclass(frozen=True, slots=True)
class UpdaterCluster:
    """A cluster.

    Args:
        seed: From which it was made up.
        flags: Flags of the updaters.
        objects: Everything in it.
        changes: What happens to it after the first round, after the second, and so on.
        workloads: Namespace and name of the workload of each pod.
        twins: One name for all pods of a workload that differ in nothing but name and uid.
        boosted: Pods whose start-up boost the updater takes back whenever it can, round or no round.
        is_alive: Whether the admission controller seems to live.
        drawn: All workloads, whether they have pods or not.
    """

    seed: str
    flags: tuple[str, ...]
    objects: tuple[JsonObject, ...]
    changes: tuple[tuple[Change, ...], ...]
    workloads: Mapping[PodKey, str]
    twins: Mapping[PodKey, str]
    boosted: frozenset[PodKey]
    is_alive: bool
    drawn: tuple[Workload, ...] = field(default=(), repr=False)

    @property
    def scalers(self) -> list[JsonObject]:
        """Its VPAs."""
        return [one for one in self.objects if one["kind"] == "VerticalPodAutoscaler"]


@dataclass(slots=True)
class _Draft:
    """A cluster while it is made up."""

    objects: list[JsonObject] = field(default_factory=list)
    scalers: list[tuple[JsonObject, Workload]] = field(default_factory=list)
    boosted: set[PodKey] = field(default_factory=set)
    resizing: dict[str, list[JsonObject]] = field(default_factory=dict)
    workloads: dict[PodKey, str] = field(default_factory=dict)
    twins: dict[PodKey, str] = field(default_factory=dict)
    drawn: list[Workload] = field(default_factory=list)


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
        self._has_vpa_config = self._dice.chance(0.5)
        self._workloads = WorkloadMaker(Dice(seed, "workloads"), now)
        self._takes_boosts_back = self._dice.chance(0.4)
        self._states = StateMaker(Dice(seed, "pods"), now, 0.2 if self._takes_boosts_back else 0.03)
        choices = Choices(oom_seconds=self._has_vpa_config, boosts=self._takes_boosts_back)
        self._scalers = ScalerMaker(Dice(seed, "vpas"), now, choices)
        self._recommendations = RecommendationMaker(Dice(seed, "recommendations"))
        self._now = now

    def make(self) -> UpdaterCluster:
        """Make it up."""
        draft, dice = _Draft(), self._dice
        is_alive = dice.chance(0.93)
        draft.objects += [surroundings.custom_definition(), *surroundings.namespaces()]
        draft.objects += surroundings.limit_ranges(dice)
        draft.objects.append(surroundings.status_lease(self._now, _FRESH if is_alive else _STALE))
        for index in range(self._size):
            self._add_workload(draft, f"w{index}", dice.weighted(_NAMESPACES))
        draft.objects += [scaler for scaler, _ in draft.scalers]
        changes = tuple(tuple(self._change(draft)) for _ in range(self._rounds - 1))
        flags = self._flags()
        objects = tuple(draft.objects)
        boosted = frozenset(draft.boosted if self._takes_boosts_back else ())
        return UpdaterCluster(
            self._seed,
            flags,
            objects,
            changes,
            draft.workloads,
            draft.twins,
            boosted,
            is_alive,
            tuple(draft.drawn),
        )

    def _add_workload(self, draft: _Draft, name: str, namespace: str) -> None:
        """Make up a workload, its pods and its VPAs."""
        dice, complete = self._dice, namespace == surroundings.POD_LIMITED
        workload = self._workloads.make(name, namespace, complete=complete)
        draft.objects += workload.objects
        draft.drawn.append(workload)
        if dice.chance(0.15):
            draft.objects.append(surroundings.disruption_budget(workload, dice.pick((0, 0, 1, 2))))
        scalers: list[JsonObject] = []
        if dice.chance(0.95):
            scalers.append(self._scalers.make(f"{name}-vpa", workload))
        if scalers and dice.chance(0.1):
            scalers.append(self._scalers.rival_of(scalers[0], workload))
        for scaler in scalers:
            scaler["status"] = self._recommendations.status(workload.containers, complete=complete)
            draft.scalers.append((scaler, workload))
        self._add_pods(draft, workload, may_differ=_has_ranks(workload, scalers))

    def _add_pods(self, draft: _Draft, workload: Workload, *, may_differ: bool) -> None:
        """Make up the pods of a workload, no two of the same priority; all alike where that cannot be."""
        likeness = self._states.make(workload.containers)
        if not may_differ:
            likeness = replace(likeness, annotations=likeness.annotations or {"example.org/note": "x"})
        for number, (group, name) in enumerate(pod_names(workload)):
            if not may_differ and group is not workload.groups[0]:
                # Of equal pods of two groups it is left to chance which group's budget is used first.
                continue
            state = likeness
            if may_differ:
                fresh = self._dice.chance(0.45)
                state = self._states.moved(self._states.make(workload.containers) if fresh else likeness, number)
            pod = pod_body(workload, group, name, self._dice.uid(), state)
            draft.objects.append(pod)
            key = (workload.namespace, name)
            draft.workloads[key] = f"{workload.namespace}/{workload.name}"
            draft.twins[key] = _likeness(pod)
            if any(key.startswith("vpaCpuStartupBoost/") for key in state.annotations or ()):
                draft.boosted.add((workload.namespace, name))
            if state.conditions:
                draft.resizing.setdefault(draft.twins[key], []).append(pod)

    def _change(self, draft: _Draft) -> list[Change]:
        """Make up what changes between two rounds: recommendations, and resizes that come to their end."""
        changes: list[Change] = []
        for scaler, workload in draft.scalers:
            if self._dice.chance(0.35):
                complete = workload.namespace == surroundings.POD_LIMITED
                status = self._recommendations.status(workload.containers, complete=complete)
                # Merged into what is there, an absent recommendation would leave the old one.
                changes.append(Change(ChangeKind.MERGE, partial(scaler, status={"recommendation": None, **status})))
        for twins in draft.resizing.values():
            # All that are alike at once: which of them an updater has acted on before is left to chance.
            if self._dice.chance(0.25):
                over = {"conditions": [row for row in rows(twins[0], "status", "conditions") if row["type"] == "Ready"]}
                changes += [Change(ChangeKind.MERGE, partial(pod, status=over)) for pod in twins]
        return changes

    def _flags(self) -> tuple[str, ...]:
        dice = self._dice
        flags = [
            f"--min-replicas={dice.pick((1, 2, 2, 3))}",
            f"--eviction-tolerance={dice.pick((0.5, 0.5, 0.1, 0.3, 1, 0))}",
            f"--pod-update-threshold={dice.pick((0.1, 0.1, 0.5, 0.02))}",
            f"--in-recommendation-bounds-eviction-lifetime-threshold={dice.pick(('12h', '12h', '1h'))}",
            f"--evict-after-oom-threshold={dice.pick(('10m', '10m', '5m'))}",
            f"--in-place-skip-disruption-budget={'true' if dice.chance(0.4) else 'false'}",
            f"--feature-gates=InPlace={'true' if dice.chance(0.75) else 'false'}",
            f"--feature-gates=PerVPAConfig={'true' if self._has_vpa_config else 'false'}",
            f"--feature-gates=CPUStartupBoost={'true' if self._takes_boosts_back else 'false'}",
        ]
        only = dice.weighted(
            {"": 0.4, "--ignored-vpa-object-namespaces=ignored": 0.45, "--vpa-object-namespace=free": 0.15}
        )
        return (*flags, *([only] if only else []))


def _has_ranks(workload: Workload, scalers: list[JsonObject]) -> bool:
    """Say whether pods that differ in their amounts have different priorities, so that their order is defined.

    Pods that lack a request may all rank alike, as it counts as zero, and so may those whose target is capped to limits
    equal to their requests: for these nothing would change (updater P-2, P-5, P-8).
    """
    if not all({"cpu", "memory"} <= container.requests.keys() for container in workload.containers):
        return False
    policies = [policy for one in scalers for policy in rows(one, "spec", "resourcePolicy", "containerPolicies")]
    caps = any(text(policy, "controlledValues") == "RequestsOnly" for policy in policies)
    tight = any(one.limits.get(name) == value for one in workload.containers for name, value in one.requests.items())
    return not (caps and tight)


def _likeness(pod: JsonObject) -> str:
    """Return what a pod is like, apart from its name and uid."""
    body = copy_of(pod)
    metadata = child(body, "metadata")
    for key in ("name", "uid"):
        del metadata[key]
    return json.dumps(body, sort_keys=True)


def renamed(cluster: UpdaterCluster) -> UpdaterCluster:
    """Return a cluster whose names of twins are short ones."""
    short = {likeness: f"kind {number} of pod" for number, likeness in enumerate(dict.fromkeys(cluster.twins.values()))}
    return replace(cluster, twins={key: short[likeness] for key, likeness in cluster.twins.items()})
