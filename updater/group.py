"""Replica budget of a controller's pods, spent step by step (updater section 3)."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from autoscaling.objectref import ObjectRef
from autoscaling.pod import Pod, PodPhase
from autoscaling.startup_boost import BOOST_ANNOTATION_PREFIX
from autoscaling.vpa import UpdateMode, Vpa
from autoscaling.workload import Workload
from updater.decision import Reason
from updater.selection import Member
from updater.service import is_in_service
from updater.settings import Settings

_REPLICATED_KINDS = frozenset({"ReplicationController", "ReplicaSet", "StatefulSet"})
_IN_PLACE_MODES = frozenset({UpdateMode.IN_PLACE_OR_RECREATE, UpdateMode.IN_PLACE})


@dataclass(frozen=True, slots=True)
class Group:
    """The controlled pods of one VPA that have the same direct controller.

    Args:
        configured: Pods that the controller wants; 0 for kinds that do not say (R-4).
        tolerance: How many of those may be disrupted (R-5).
        running: Live pods that are past phase Pending (R-5).
        is_below_minimum: Whether the group has too few pods for an eviction, and is here for resizes only (R-3, B-26).
        disrupted: Pods evicted or resized in this round so far (R-6).
        out_of_service: UIDs of the running ones that do not serve; they count as disrupted already (beyond:B-25).
    """

    configured: int
    tolerance: int
    running: int
    is_below_minimum: bool = False
    disrupted: int = 0
    out_of_service: frozenset[str] = frozenset()

    @property
    def is_disruptable(self) -> bool:
        """Whether one more of the pods that serve may be disrupted (updater R-6)."""
        return self._bears_one_more(self.disrupted + len(self.out_of_service))

    def bears(self, pod: Pod) -> bool:
        """Say whether a pod may be disrupted; one that does not serve costs no service, so the others do not count."""
        return self._bears_one_more(self.disrupted) if pod.uid in self.out_of_service else self.is_disruptable

    @property
    def bears_a_pending_one(self) -> bool:
        """Whether a pod in phase Pending may go: as many in a round as may be disrupted, and one in any case (K-34)."""
        return self.disrupted < max(self.tolerance, 1)

    @property
    def shortage(self) -> Reason:
        """Why no more pods may be disrupted."""
        return Reason.BUDGET_USED_UP if self.disrupted else Reason.TOO_FEW_RUNNING

    def after_disruption(self) -> Group:
        """Return the group with one more pod evicted or resized."""
        return replace(self, disrupted=self.disrupted + 1)

    def _bears_one_more(self, disrupted: int) -> bool:
        """Say whether one more may be disrupted, with so many disrupted already."""
        if self.running - disrupted > self.configured - self.tolerance:
            return True
        return self.configured == self.running and self.tolerance == 0 and disrupted == 0

    def after_failure(self) -> Group:
        """Return the group with one pod fewer disrupted: an attempt that was counted on has failed."""
        return replace(self, disrupted=self.disrupted - 1)


@dataclass(frozen=True, slots=True)
class Groups:
    """All groups of one VPA.

    Args:
        known: Groups with a budget.
        left_out: Why the others have none.
    """

    known: Mapping[ObjectRef, Group]
    left_out: Mapping[ObjectRef, Reason]

    def of(self, group: ObjectRef) -> Group | Reason:
        """Return a group, or why it has no budget."""
        return self.known.get(group) or self.left_out[group]

    def after_disruption(self, group: ObjectRef) -> Groups:
        """Return the groups with one more pod of a group disrupted; evictions and resizes draw from one pot (R-6)."""
        return Groups({**self.known, group: self.known[group].after_disruption()}, self.left_out)

    def after_failure(self, group: ObjectRef) -> Groups:
        """Return the groups with one pod of a group fewer disrupted (updater R-6)."""
        return Groups({**self.known, group: self.known[group].after_failure()}, self.left_out)


def form_groups(
    members: Iterable[Member],
    vpa: Vpa,
    workloads: Mapping[ObjectRef, Workload],
    settings: Settings,
) -> Groups:
    """Sort a VPA's pods into groups and reckon each group's budget (updater R-1 to R-5, M-22)."""
    pods: defaultdict[ObjectRef, list[Pod]] = defaultdict(list)
    for member in members:
        pods[member.group].append(member.pod)
    required = vpa.update_policy.min_replicas if vpa.update_policy else None
    required = settings.min_replicas if required is None else required
    # Whether a resize needs minReplicas after all is told when it is known what it changes (beyond:B-26).
    is_judged_later = settings.skips_disruption_budget or settings.behaviour.single_replicas
    skips_minimum = is_judged_later and vpa.update_mode in _IN_PLACE_MODES
    known: dict[ObjectRef, Group] = {}
    left_out: dict[ObjectRef, Reason] = {}
    for key, live in pods.items():
        is_below = len(live) < required
        configured = _configured(key, len(live), workloads, settings)
        if is_below and not skips_minimum and not any(is_boosted(pod) for pod in live):
            left_out[key] = Reason.BELOW_MIN_REPLICAS
        elif configured is None:
            left_out[key] = Reason.REPLICAS_UNKNOWN
        else:
            running = [pod for pod in live if pod.phase is not PodPhase.PENDING]
            known[key] = Group(
                configured=configured,
                tolerance=int(configured * settings.eviction_tolerance),
                running=len(running),
                is_below_minimum=is_below and skips_minimum,
                out_of_service=_out_of_service(running, settings),
            )
    return Groups(known, left_out)


def _out_of_service(running: Iterable[Pod], settings: Settings) -> frozenset[str]:
    """Return the UIDs of running pods that do not serve; upstream does not ask (updater K-20)."""
    behaviour = settings.behaviour
    if not behaviour.eviction_only_when_it_helps:
        return frozenset()
    return frozenset(pod.uid for pod in running if not is_in_service(pod, behaviour))


def is_boosted(pod: Pod) -> bool:
    """Say whether a pod carries the annotation of a CPU startup boost, whoever wrote it (updater R-3, M-14)."""
    return any(key.startswith(BOOST_ANNOTATION_PREFIX) for key in pod.annotations or ())


def _configured(key: ObjectRef, live: int, workloads: Mapping[ObjectRef, Workload], settings: Settings) -> int | None:
    """Return how many pods a controller wants, None where its group has to be left out (updater R-4)."""
    if key.kind == "Job":
        return live
    workload = workloads.get(key)
    if key.kind in _REPLICATED_KINDS:
        return (workload.replicas or None) if workload else None
    if key.kind == "DaemonSet":
        return (workload.desired_scheduled or None) if workload else None
    if not settings.behaviour.custom_controllers:
        return 0
    return (workload.replicas if workload else None) or live
