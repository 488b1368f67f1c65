"""A VPA with its pods and controllers, and a round of the updater over them, in a few words."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta

from autoscaling.behaviour import Behaviour, Profile
from autoscaling.limitrange import NO_LIMITS, LimitRange, LimitRangeItem
from autoscaling.matching import SelectingVpa, Selector, of_labels
from autoscaling.pod import (
    RESIZE_IN_PROGRESS,
    RESIZE_PENDING,
    ConditionStatus,
    ContainerStatus,
    Owner,
    Pod,
    PodCondition,
    PodPhase,
    ResizePolicy,
    Termination,
)
from autoscaling.resources import ContainerResources
from autoscaling.vpa import (
    ContainerPolicy,
    ContainerRecommendation,
    EvictionRequirement,
    StartupBoost,
    UpdateMode,
    UpdatePolicy,
    Vpa,
)
from autoscaling.workload import Workload
from tests.builders import T0, amounts, container, pod, recommended, vpa
from updater.circumstances import Circumstances, Memory
from updater.decision import Action, Decision, Outcome
from updater.group import Group
from updater.patches import Patch
from updater.plan import Plan
from updater.settings import Settings
from updater.snapshot import Snapshot
from updater.surroundings import UNKNOWN, Surroundings

SECOND = timedelta(seconds=1)
MINUTE = timedelta(minutes=1)
HOUR = timedelta(hours=1)

OFF, INITIAL = UpdateMode.OFF, UpdateMode.INITIAL
RECREATE, AUTO = UpdateMode.RECREATE, UpdateMode.AUTO
IPOR, IN_PLACE = UpdateMode.IN_PLACE_OR_RECREATE, UpdateMode.IN_PLACE

SELECTOR = of_labels({"app": "a"})
NOW = T0 + 5 * MINUTE
BOOST = StartupBoost()

UPSTREAM = Behaviour.of(Profile.UPSTREAM)
GATES_ON = Settings(is_in_place_on=True, behaviour=UPSTREAM)
SKIPPING = replace(GATES_ON, skips_disruption_budget=True)
GUARDED = replace(GATES_ON, behaviour=replace(UPSTREAM, uid_preconditions=True))
EVENKEEL = Settings(is_in_place_on=True)
"""Profile evenkeel; those before decide as upstream does, but for what their names say."""

OUT_OF_BOUNDS = recommended("c", "250m/300Mi", lower="150m/250Mi", upper="400m/500Mi")
"""What every pod made by ``small`` falls short of (updater W-1)."""


def small(name: str = "p0", requests: str = "100m/200Mi", limits: str = "-") -> Pod:
    """Return a running pod five minutes old whose requests lie below their bounds."""
    return pod(container("c", requests, limits), name=name)


def several(count: int) -> tuple[Pod, ...]:
    """Return so many pods that are alike."""
    return tuple(small(f"p{number}") for number in range(count))


def pending(subject: Pod) -> Pod:
    """Return a pod that has a node but has not started."""
    return replace(subject, phase=PodPhase.PENDING)


def restarting(subject: Pod) -> Pod:
    """Return a pod whose container restarts for a resize of memory."""
    policies = (ResizePolicy("cpu", restarts_container=False), ResizePolicy("memory", restarts_container=True))
    return replace(subject, containers=tuple(replace(c, resize_policy=policies) for c in subject.containers))


def annotated(subject: Pod, **annotations: str) -> Pod:
    """Return a pod with annotations; ``boost`` stands for that of a start-up boost."""
    names = {"boost": "vpaCpuStartupBoost/c"}
    return replace(subject, annotations={names.get(key, key): value for key, value in annotations.items()})


def waiting(reason: str, status: ConditionStatus = ConditionStatus.TRUE) -> PodCondition:
    """Return the condition of a resize that the node has not accepted."""
    return PodCondition(RESIZE_PENDING, status, reason)


def progressing(reason: str = "", message: str = "", status: ConditionStatus = ConditionStatus.TRUE) -> PodCondition:
    """Return the condition of a resize that the node is carrying out."""
    return PodCondition(RESIZE_IN_PROGRESS, status, reason, message)


def resizing(subject: Pod, *conditions: PodCondition) -> Pod:
    """Return a pod with these resize conditions, in this order."""
    return replace(subject, conditions=conditions)


def about(condition: PodCondition, generation: int, changed: datetime | None = None) -> PodCondition:
    """Return a condition about one generation of the spec."""
    return replace(condition, observed_generation=generation, last_transition_time=changed)


DEFERRED, INFEASIBLE = waiting("Deferred"), waiting("Infeasible")
IN_PROGRESS, ERROR = progressing(), progressing("Error", "cannot shrink")


def killed(subject: Pod, ran: timedelta, ago: timedelta, now: datetime = NOW, reason: str = "OOMKilled") -> Pod:
    """Return a pod whose container ended after a run, so long ago, and runs again."""
    finished = now - ago
    ended = Termination(reason, started_at=finished - ran, finished_at=finished)
    return replace(subject, statuses=(ContainerStatus("c", is_running=True, last_terminated=ended),))


def reporting(subject: Pod, requests: str, limits: str = "-") -> Pod:
    """Return a pod whose node reports these resources as in force."""
    resources = ContainerResources(amounts(requests), amounts(limits) or None)
    return replace(subject, statuses=(ContainerStatus("c", resources=resources),))


def policy(
    mode: UpdateMode | None,
    minimum: int | None = None,
    requirements: tuple[EvictionRequirement, ...] = (),
    oom_seconds: int | None = None,
) -> UpdatePolicy:
    """Return an update policy."""
    return UpdatePolicy(mode, minimum, requirements, oom_seconds)


def vpa_of(
    mode: UpdateMode | None,
    *recommendations: ContainerRecommendation,
    minimum: int | None = None,
    requirements: tuple[EvictionRequirement, ...] = (),
    policies: tuple[ContainerPolicy, ...] | None = None,
) -> Vpa:
    """Return a VPA for Deployment ``d``; without recommendations it has that of ``OUT_OF_BOUNDS``."""
    made = vpa(*(recommendations or (OUT_OF_BOUNDS,)), policies=policies)
    return replace(made, update_policy=policy(mode, minimum, requirements))


def without_recommendation(subject: Vpa) -> Vpa:
    """Return a VPA that the recommender has not served yet."""
    return replace(subject, recommendation=None)


def owned(subject: Pod, kind: str, name: str, api_version: str = "apps/v1") -> Pod:
    """Return a pod of another direct controller."""
    return replace(subject, owners=(Owner(api_version, kind, name, controller=True),))


def replica_set(replicas: int | None, name: str = "rs", selector: Selector = SELECTOR) -> Workload:
    """Return a ReplicaSet of Deployment ``d``."""
    owners = (Owner("apps/v1", "Deployment", "d", controller=True),)
    return Workload("ReplicaSet", "default", name, selector, "apps/v1", owners=owners, replicas=replicas)


DEPLOYMENT = Workload("Deployment", "default", "d", SELECTOR, "apps/v1", replicas=1)


def group(configured: int, running: int, tolerance: float = 0.5, disrupted: int = 0) -> Group:
    """Return a group with so many pods past Pending."""
    return Group(configured, int(configured * tolerance), running, disrupted=disrupted)


def circumstances(
    subject: Vpa,
    settings: Settings = GATES_ON,
    memory: Memory | None = None,
    now: datetime = NOW,
) -> Circumstances:
    """Return what judgements look at besides the pod."""
    return Circumstances(subject, NO_LIMITS, now, settings, memory or Memory())


def all_done(decision: Decision) -> Outcome:
    """Return the outcome of a cluster that refuses nothing."""
    return Outcome.FAILED if decision.action is Action.FAIL else Outcome.DONE


def refusing(*actions: Action, outcome: Outcome = Outcome.FAILED) -> Callable[[Decision], Outcome]:
    """Return the outcomes of a cluster that refuses some calls."""
    return lambda decision: outcome if decision.action in actions else all_done(decision)


@dataclass(frozen=True, slots=True)
class Played:
    """A whole round.

    Args:
        decisions: In order.
        memory: What the next round gets.
        outcomes: Of the decisions, in the same order.
    """

    decisions: tuple[Decision, ...]
    memory: Memory
    outcomes: tuple[Outcome, ...]

    @property
    def said(self) -> list[str]:
        """The decisions as ``name action reason``, sorted by name, those on one pod in order."""
        words = [(d.ref.name, f"{d.ref.name} {d.action.value} {d.reason.value}") for d in self.decisions]
        return [text for _, text in sorted(words, key=lambda word: word[0])]

    def count(self, action: Action) -> int:
        """Return how many of the attempts of a kind went through."""
        return sum(d.action is action and o is Outcome.DONE for d, o in zip(self.decisions, self.outcomes, strict=True))


@dataclass(frozen=True, slots=True)
class Scene:
    """One VPA, its pods, their ReplicaSet ``rs`` and what else a round looks at.

    Args:
        replicas: Of the ReplicaSet; as many as there are pods where not given.
        workloads: Further controllers.
        limits: Items of the namespace's LimitRange.
        surroundings: What else is known of the cluster.
    """

    vpa: Vpa
    pods: tuple[Pod, ...]
    replicas: int | None = None
    workloads: tuple[Workload, ...] = ()
    settings: Settings = GATES_ON
    memory: Memory = field(default_factory=Memory)
    now: datetime = NOW
    limits: tuple[LimitRangeItem, ...] = ()
    surroundings: Surroundings = UNKNOWN

    @property
    def snapshot(self) -> Snapshot:
        """The cluster as the round sees it."""
        replicas = len(self.pods) if self.replicas is None else self.replicas
        seen = Snapshot.of(
            vpas=(SelectingVpa(self.vpa, SELECTOR),),
            pods=self.pods,
            workloads=(DEPLOYMENT, replica_set(replicas), *self.workloads),
            scales={},
            limit_ranges=(LimitRange("default", "limits", self.limits),) if self.limits else (),
        )
        return replace(seen, surroundings=self.surroundings)

    @property
    def plan(self) -> Plan:
        """The round at its start."""
        return Plan.of(self.snapshot, self.now, self.memory, self.settings)

    def played(self, outcome: Callable[[Decision], Outcome] = all_done) -> Played:
        """Return the whole round with these outcomes."""
        return play(self.plan, outcome)


def play(plan: Plan, outcome: Callable[[Decision], Outcome] = all_done) -> Played:
    """Carry a plan out to its end."""
    decisions: list[Decision] = []
    outcomes: list[Outcome] = []
    while (decision := plan.next()) is not None:
        decisions.append(decision)
        outcomes.append(outcome(decision))
        plan = plan.after(decision, outcomes[-1])
    return Played(tuple(decisions), plan.memory, tuple(outcomes))


def sent(operations: Patch) -> list[Mapping[str, object]]:
    """Return the operations of a patch as they are sent."""
    return [dict(operation.as_json()) for operation in operations]
