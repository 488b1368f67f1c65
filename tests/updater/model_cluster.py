"""A small model of a cluster over time: nodes answer resizes, controllers replace pods, a scheduler places them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import Final

from autoscaling.capping import process
from autoscaling.disruption_budget import DisruptionBudget
from autoscaling.errors import InvalidObjectError
from autoscaling.limitrange import LimitRange, LimitRangeItem, merge
from autoscaling.matching import NOTHING, SelectingVpa, Selector, of_labels
from autoscaling.node import Node
from autoscaling.objectref import ObjectRef
from autoscaling.placement import Placement
from autoscaling.pod import (
    READY,
    RESIZE_IN_PROGRESS,
    RESIZE_PENDING,
    Container,
    ContainerStatus,
    Owner,
    Pod,
    PodPhase,
)
from autoscaling.quantity import Quantity
from autoscaling.quota import Quota
from autoscaling.resources import ContainerResources
from autoscaling.target_resources import container_targets
from autoscaling.vpa import UpdateMode, Vpa
from autoscaling.workload import Workload
from tests.builders import T0
from tests.updater.model_amounts import (
    BILLION,
    NAMES,
    as_given,
    asked_of_node,
    charged,
    class_of,
    held,
    in_force,
    is_live,
    is_ready,
    nano,
    out_of_limit_ranges,
    status,
)
from tests.updater.model_conditions import with_condition, without
from updater.snapshot import Snapshot
from updater.surroundings import MemoryUse, Surroundings

ANYWHERE: Final = Placement()


@dataclass(slots=True)
class Team:
    """A Deployment with its ReplicaSet and its VPA.

    Args:
        template: Containers as their author wrote them.
        is_resolved: Whether the selector of the VPA's target is known.
    """

    namespace: str
    name: str
    replicas: int
    template: tuple[Container, ...]
    vpa: Vpa
    is_resolved: bool = True

    @property
    def labels(self) -> dict[str, str]:
        """Labels of its pods."""
        return {"team": self.name}

    @property
    def selector(self) -> Selector:
        """What selects its pods."""
        return of_labels(self.labels)

    def workloads(self) -> tuple[Workload, Workload]:
        """Return both controllers."""
        owner = Owner("apps/v1", "Deployment", self.name, controller=True)
        top = Workload("Deployment", self.namespace, self.name, self.selector, "apps/v1", replicas=self.replicas)
        asked = {container.name: container.resources for container in self.template}
        direct = replace(top, kind="ReplicaSet", name=f"{self.name}-rs", owners=(owner,), template=asked)
        return top, direct


@dataclass(frozen=True, slots=True)
class Guard:
    """A PodDisruptionBudget: how many Ready pods with some labels there must be."""

    namespace: str
    name: str
    selector: Selector
    least: int
    spares_unhealthy: bool = False


@dataclass(slots=True)
class Cluster:
    """The whole model; time only moves by ``tick``.

    Args:
        pods: By UID, in the order in which they were made.
        quotas: By namespace, what its one quota holds, in billionths.
        fates: By UID, what a node makes of a pod's resizes: slow, deferred, infeasible or error; all else by room.
        use: By UID and container, the working set in bytes.
        measured: What the metrics API tells of it.
        is_blind: Whether the metrics API tells nothing new.
        sick: UIDs of pods that are not Ready.
    """

    now: datetime = T0
    nodes: dict[str, Node] = field(default_factory=dict)
    teams: dict[str, Team] = field(default_factory=dict)
    pods: dict[str, Pod] = field(default_factory=dict)
    limit_ranges: dict[str, tuple[LimitRangeItem, ...]] = field(default_factory=dict)
    quotas: dict[str, dict[str, int]] = field(default_factory=dict)
    guards: list[Guard] = field(default_factory=list)
    fates: dict[str, str] = field(default_factory=dict)
    use: dict[tuple[str, str], int] = field(default_factory=dict)
    measured: dict[tuple[str, str], MemoryUse] = field(default_factory=dict)
    is_blind: bool = False
    sick: set[str] = field(default_factory=set)
    _accepted: dict[str, tuple[ContainerResources, ...]] = field(default_factory=dict)
    _placed: defaultdict[str, dict[str, None]] = field(default_factory=lambda: defaultdict(dict))
    _made: int = 0

    def snapshot(self) -> Snapshot:
        """Return what a round of the updater sees now."""
        memory: defaultdict[ObjectRef, dict[str, MemoryUse]] = defaultdict(dict)
        for (uid, container), seen in self.measured.items():
            if uid in self.pods:
                memory[self.pods[uid].ref][container] = seen
        teams = self.teams.values()
        seen_by_round = Snapshot.of(
            vpas=[SelectingVpa(t.vpa, t.selector if t.is_resolved else NOTHING) for t in teams],
            pods=self.pods.values(),
            workloads=[workload for team in teams for workload in team.workloads()],
            scales={},
            limit_ranges=[LimitRange(namespace, "l", items) for namespace, items in self.limit_ranges.items()],
        )
        around = Surroundings(
            nodes=dict(self.nodes),
            budgets=self._budgets(),
            quotas=self._quotas(),
            memory=memory,
            is_webhook_proven=True,
        )
        return replace(seen_by_round, surroundings=around)

    def tick(self, passed: timedelta) -> None:
        """Let time pass: nodes act, controllers replace what is missing, the scheduler places it."""
        self.now += passed
        self._remove(
            [uid for uid, pod in self.pods.items() if pod.is_terminating or pod.node_name not in {"", *self.nodes}]
        )
        for uid in list(self.pods):
            self.pods[uid] = self._started(self.pods[uid])
            self._node_acts(uid)
        self._replace_pods()
        self._place_pods()
        if not self.is_blind:
            told = {key: MemoryUse(self.now, amount) for key, amount in self.use.items()}
            self.measured = told

    def of_team(self, team: Team) -> list[Pod]:
        """Return the pods of a team, those on their way out included."""
        return [p for p in self.pods.values() if p.namespace == team.namespace and p.labels == team.labels]

    def team_of(self, pod: Pod) -> Team:
        """Return the team of a pod."""
        return self.teams[pod.labels["team"]]

    def free(self, node: str, name: str) -> int:
        """Return what a node has left of a resource, in billionths."""
        return nano(self.nodes[node].allocatable, name) - sum(held(pod, name) for pod in self.on(node))

    def on(self, node: str) -> list[Pod]:
        """Return the pods of a node."""
        return [self.pods[uid] for uid in self._placed[node]]

    def used(self, namespace: str, quota_name: str) -> int:
        """Return what a namespace uses of a quota."""
        return sum(charged(pod, quota_name) for pod in self.pods.values() if pod.namespace == namespace)

    def healthy(self, guard: Guard) -> list[Pod]:
        """Return the Ready pods that a disruption budget protects and that are not on their way out."""
        return [p for p in self._protected(guard, self.pods.values()) if is_live(p) and is_ready(p)]

    def _protected(self, guard: Guard, pods: Iterable[Pod]) -> Iterator[Pod]:
        return (p for p in pods if p.namespace == guard.namespace and guard.selector.matches(p.labels))

    def admitted(self, team: Team, pod: Pod) -> Pod:
        """Return a new pod of a team as the admission controller leaves it."""
        limits = merge([LimitRange(team.namespace, "l", self.limit_ranges.get(team.namespace, ()))])
        if team.vpa.update_mode is UpdateMode.OFF:
            return pod
        try:
            targets = container_targets(pod, team.vpa, process(pod, team.vpa, limits), limits)
        except InvalidObjectError:
            return pod
        made: list[Container] = []
        for container, target in zip(pod.containers, targets, strict=True):
            asked = container.resources
            requests, bounds = {**(asked.requests or {}), **target.requests}, {**(asked.limits or {}), **target.limits}
            made.append(replace(container, resources=ContainerResources(requests or None, bounds or None)))
        told = {"vpaUpdates": "container 0: cpu request, memory request"} if any(t.requests for t in targets) else None
        return replace(pod, containers=tuple(made), annotations=told)

    def new_pod(self, team: Team) -> Pod:
        """Return one more pod of a team, as the API server would store it."""
        self._made += 1
        uid = f"{team.name}-{self._made}"
        owner = Owner("apps/v1", "ReplicaSet", f"{team.name}-rs", controller=True)
        pod = Pod(
            team.namespace,
            uid,
            uid,
            generation=1,
            labels=team.labels,
            owners=(owner,),
            phase=PodPhase.PENDING,
            containers=team.template,
            placement=ANYWHERE,
        )
        pod = self.admitted(team, pod)
        statuses = (ContainerStatus(c.name, c.resources, c.resources.requests, is_running=True) for c in pod.containers)
        return replace(pod, statuses=tuple(statuses), qos_class=class_of(pod.containers))

    def _remove(self, uids: list[str]) -> None:
        for uid in uids:
            self._placed[self.pods.pop(uid).node_name].pop(uid, None)
            self._accepted.pop(uid, None)
            self.fates.pop(uid, None)
            self.sick.discard(uid)
        if uids:
            self.use = {key: amount for key, amount in self.use.items() if key[0] in self.pods}

    def _started(self, pod: Pod) -> Pod:
        """Return a pod that runs and is Ready if nothing is wrong with it; a restarted container is ready by then."""
        if not pod.node_name or not self.nodes[pod.node_name].is_ready:
            return pod
        if pod.phase is PodPhase.PENDING:
            pod = replace(pod, phase=PodPhase.RUNNING, start_time=self.now, observed_generation=pod.generation)
            for container in pod.containers:
                self.use.setdefault((pod.uid, container.name), 64 * 2**20)
        return with_condition(pod, READY, "", self.now, is_true=pod.uid not in self.sick)

    def _node_acts(self, uid: str) -> None:
        """Let the node carry out what it accepted before, and then look at what the pod asks for now."""
        pod, fate = self.pods[uid], self.fates.get(uid, "")
        node = self.nodes.get(pod.node_name)
        if node is None or not node.is_ready or pod.phase is not PodPhase.RUNNING or fate == "slow":
            return
        pod = self.pods[uid] = self._carried_out(pod, fate)
        asked = tuple(container.resources for container in pod.containers)
        given = self._accepted.get(uid) or tuple(in_force(pod, container) for container in pod.containers)
        if asked == given:
            pod = without(pod, RESIZE_PENDING)
        elif fate == "infeasible" or any(asked_of_node(pod, n) > nano(node.allocatable, n) for n in NAMES):
            pod = with_condition(pod, RESIZE_PENDING, "Infeasible", self.now)
        elif fate == "deferred" or not self._fits(pod, node):
            pod = with_condition(pod, RESIZE_PENDING, "Deferred", self.now)
        else:
            self._accepted[uid] = asked
            statuses = (replace(status(pod, c), allocated=c.resources.requests) for c in pod.containers)
            pod = replace(without(pod, RESIZE_PENDING), statuses=tuple(statuses))
            pod = with_condition(pod, RESIZE_IN_PROGRESS, "", self.now)
        self.pods[uid] = replace(pod, observed_generation=pod.generation)

    def _fits(self, pod: Pod, node: Node) -> bool:
        """Say whether a node accepts a resize: what others were given leaves what this pod asks for."""
        others = [p for p in self.on(node.name) if p.uid != pod.uid]
        return all(
            sum(nano(status(p, c).allocated, n) for p in others for c in p.containers) + asked_of_node(pod, n)
            <= nano(node.allocatable, n)
            for n in NAMES
        )

    def _carried_out(self, pod: Pod, fate: str) -> Pod:
        """Return a pod whose node has done what it accepted, or reports that it could not."""
        accepted = self._accepted.get(pod.uid)
        if accepted is None:
            return pod
        is_too_small = any(
            self.use.get((pod.uid, c.name), 0) * BILLION > nano(given.limits, "memory") > 0
            and nano(given.limits, "memory") < nano(in_force(pod, c).limits, "memory")
            for c, given in zip(pod.containers, accepted, strict=True)
        )
        if fate == "error" or is_too_small:
            return with_condition(pod, RESIZE_IN_PROGRESS, "Error", self.now)
        del self._accepted[pod.uid]
        after = without(as_given(pod, accepted), RESIZE_IN_PROGRESS)
        restarted = {c.name for c in pod.containers if _restarts(pod, c, in_force(after, c))}
        if not restarted:
            return after
        statuses = (replace(s, restart_count=s.restart_count + (s.name in restarted)) for s in after.statuses)
        return with_condition(replace(after, statuses=tuple(statuses)), READY, "", self.now, is_true=False)

    def _replace_pods(self) -> None:
        """Make and delete pods until every team has its number of them."""
        counts: defaultdict[str, list[Pod]] = defaultdict(list)
        for pod in self.pods.values():
            if not pod.is_terminating:
                counts[pod.labels["team"]].append(pod)
        for team in self.teams.values():
            there = counts[team.name]
            for surplus in there[team.replicas :]:
                self.pods[surplus.uid] = replace(surplus, is_terminating=True)
            for _ in range(team.replicas - len(there)):
                made = self.new_pod(team)
                if self._is_taken_in(made):
                    self.pods[made.uid] = made

    def _is_taken_in(self, made: Pod) -> bool:
        """Say whether the API server lets a new pod in."""
        if any(out_of_limit_ranges(made, self.limit_ranges.get(made.namespace, ()))):
            return False
        quota = self.quotas.get(made.namespace, {})
        return all(self.used(made.namespace, name) + charged(made, name) <= hard for name, hard in quota.items())

    def _place_pods(self) -> None:
        """Put pods without a node on the one with most free cpu, if there is one with room."""
        waiting = [pod for pod in self.pods.values() if not pod.node_name]
        if not waiting:
            return
        free = {node: {n: self.free(node, n) for n in NAMES} for node in self.nodes}
        for pod in waiting:
            need = {n: asked_of_node(pod, n) for n in NAMES}
            fitting = [k for k in free if takes_pods(self.nodes[k]) and all(need[n] <= free[k][n] for n in NAMES)]
            if fitting:
                chosen = max(fitting, key=lambda k: (free[k]["cpu"], k))
                free[chosen] = {n: free[chosen][n] - need[n] for n in NAMES}
                self.pods[pod.uid] = replace(pod, node_name=chosen)
                self._placed[chosen][pod.uid] = None

    def _budgets(self) -> dict[str, tuple[DisruptionBudget, ...]]:
        found: defaultdict[str, tuple[DisruptionBudget, ...]] = defaultdict(tuple)
        healthy_pods: defaultdict[str, list[Pod]] = defaultdict(list)
        for pod in self.pods.values() if self.guards else ():
            if is_live(pod) and is_ready(pod):
                healthy_pods[pod.namespace].append(pod)
        for guard in self.guards:
            healthy = sum(1 for _ in self._protected(guard, healthy_pods[guard.namespace]))
            found[guard.namespace] += (
                DisruptionBudget(
                    guard.namespace,
                    guard.name,
                    guard.selector,
                    disruptions_allowed=max(healthy - guard.least, 0),
                    current_healthy=healthy,
                    desired_healthy=guard.least,
                    spares_unhealthy=guard.spares_unhealthy,
                ),
            )
        return dict(found)

    def _quotas(self) -> dict[str, tuple[Quota, ...]]:
        return {
            namespace: (
                Quota(
                    namespace,
                    "q",
                    {name: Quantity(amount) for name, amount in hard.items()},
                    {name: Quantity(self.used(namespace, name)) for name in hard},
                ),
            )
            for namespace, hard in self.quotas.items()
        }


def takes_pods(node: Node) -> bool:
    """Say whether a node takes new pods at all."""
    return node.is_ready and not node.is_unschedulable


def _restarts(before: Pod, container: Container, after: ContainerResources) -> bool:
    """Say whether a container restarts when it gets something else than it had."""
    had = in_force(before, container)
    return any(
        policy.restarts_container
        and (
            nano(had.requests, policy.resource) != nano(after.requests, policy.resource)
            or nano(had.limits, policy.resource) != nano(after.limits, policy.resource)
        )
        for policy in container.resize_policy
    )
