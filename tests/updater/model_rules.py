"""What no change may do to a model cluster, stated anew in plain arithmetic and checked whenever a call is sent."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import Final

from autoscaling.pod import Container, Pod
from autoscaling.vpa import UpdateMode
from tests.updater.model_amounts import (
    NAMES,
    asked_of_node,
    charged,
    class_of,
    grows,
    held,
    in_force,
    is_live,
    is_ready,
    nano,
    out_of_limit_ranges,
    restarts_for,
    runs,
    waits_for,
)
from tests.updater.model_cluster import Cluster, Guard, Team, takes_pods
from updater.decision import Action, Decision

IN_PLACE: Final = frozenset({UpdateMode.IN_PLACE_OR_RECREATE, UpdateMode.IN_PLACE})
EVICTING: Final = frozenset({UpdateMode.IN_PLACE_OR_RECREATE, UpdateMode.RECREATE, UpdateMode.AUTO})
MIB: Final = 2**20
FRESH: Final = timedelta(minutes=5)
BILLION: Final = 10**9


@dataclass(slots=True)
class Tokens:
    """One storm budget: how much of it is used up at a time, and never more than all (beyond:B-24)."""

    burst: float
    used: float = 0.0
    at: datetime | None = None

    def take(self, now: datetime) -> bool:
        """Take one token and say whether it was there; the budget fills up again within a minute."""
        passed = (now - self.at).total_seconds() if self.at is not None else 0.0
        self.used, self.at = max(self.used - self.burst / 60 * passed, 0.0) + 1.0, now
        return self.used <= self.burst + 1e-6


@dataclass(slots=True)
class Watch:
    """Follows a whole run.

    Args:
        cluster: As it is before each change.
        tokens: Storm budgets by what shares them.
        acted: Pods that were changed in this round, by UID.
        disrupted: Changes of this round that took a pod of a team down.
        counted: What was done so far, by action and reason.
    """

    cluster: Cluster
    tokens: dict[str, Tokens] = field(default_factory=dict)
    acted: set[str] = field(default_factory=set)
    disrupted: Counter[str] = field(default_factory=Counter)
    counted: Counter[str] = field(default_factory=Counter)
    _live: Counter[str] = field(default_factory=Counter)
    _running: Counter[str] = field(default_factory=Counter)
    _serving: Counter[str] = field(default_factory=Counter)
    _stopped: Counter[str] = field(default_factory=Counter)

    def begin(self) -> None:
        """Begin a round."""
        self.acted, self.disrupted, self._stopped = set(), Counter(), Counter()
        pods = self.cluster.pods.values()
        self._live = Counter(pod.labels["team"] for pod in pods if is_live(pod))
        self._running = Counter(pod.labels["team"] for pod in pods if runs(pod))
        self._serving = Counter(pod.labels["team"] for pod in pods if serves(pod))

    def sent(self, decision: Decision, pod: Pod, after: Pod) -> None:
        """Check a call before it is carried out, whatever comes of it.

        Args:
            after: The pod as a RESIZE would leave it; of an EVICT the pod that would replace it.
        """
        is_resize = decision.action is Action.RESIZE
        problems = list(self._faults_of_resize(pod, after) if is_resize else self._faults_of_eviction(pod, after))
        takes_tokens = not is_resize or grows(pod, after) or bool(restarts_for(after))
        if takes_tokens:
            problems += [f"{name} has no token left" for name in self._short(pod)]
        if pod.uid in self.acted:
            problems.append("the pod was changed before in this round")
        self.counted[f"{decision.action.value} {decision.reason.value}"] += 1
        assert not problems, f"{decision.action.value} of {pod.ref} for {decision.reason.value}: {'; '.join(problems)}"

    def carried_out(self, decision: Decision, pod: Pod, after: Pod) -> None:
        """Fold in that a call was carried out, whether or not the updater was told."""
        self.acted.add(pod.uid)
        is_eviction = decision.action is Action.EVICT
        if is_eviction or self._will_restart(pod, after):
            self.disrupted[pod.labels["team"]] += runs(pod)
            self._stopped[pod.labels["team"]] += serves(pod)

    def _short(self, pod: Pod) -> Iterator[str]:
        """Yield the storm budgets without a token for one more change of a pod."""
        cluster = max(20, len(self.cluster.nodes) // 10)
        shares = {"cluster": cluster, f"namespace {pod.namespace}": cluster // 2, f"node {pod.node_name}": 10}
        for name, burst in shares.items():
            if not self.tokens.setdefault(name, Tokens(burst)).take(self.cluster.now):
                yield name

    def _faults_of_resize(self, pod: Pod, after: Pod) -> Iterator[str]:
        team = self.cluster.team_of(pod)
        if not runs(pod) or team.vpa.update_mode not in IN_PLACE:
            yield "such a pod is not to be resized"
        if after.containers == pod.containers:
            yield "its spec asks for that already"
        if class_of(after.containers) != pod.qos_class:
            yield f"its QoS class {pod.qos_class} would change"
        yield from out_of_limit_ranges(after, self.cluster.limit_ranges.get(pod.namespace, ()))
        yield from self._beyond_quota(pod, after)
        yield from self._beyond_node(pod, after)
        for before, now in zip(pod.containers, after.containers, strict=True):
            yield from self._below_use(pod, before, now)
        if self._will_restart(pod, after):
            yield from self._faults_of_disruption(pod, team)

    def _faults_of_eviction(self, pod: Pod, successor: Pod) -> Iterator[str]:
        team = self.cluster.team_of(pod)
        if not is_live(pod) or team.vpa.update_mode not in EVICTING:
            yield "such a pod is not to be evicted"
        if all(_has(pod, a, b) for a, b in zip(pod.containers, successor.containers, strict=True)):
            yield "its replacement would have what it has"
        in_place = team.vpa.update_mode is UpdateMode.IN_PLACE_OR_RECREATE
        if in_place and not any(_gains(pod, a, b) for a, b in zip(pod.containers, successor.containers, strict=True)):
            yield "its replacement would only have less"
        if not any(self._takes(node, pod, successor) for node in self.cluster.nodes):
            yield "its replacement fits nowhere"
        for name, hard in self.cluster.quotas.get(pod.namespace, {}).items():
            grown = charged(successor, name) - charged(pod, name)
            if grown > 0 and self.cluster.used(pod.namespace, name) + grown > hard:
                yield f"its replacement lacks {name}"
        if runs(pod):
            yield from self._faults_of_disruption(pod, team)

    def _takes(self, node: str, pod: Pod, successor: Pod) -> bool:
        """Say whether a node has room for a pod that is to come, its own one with what the pod gives back."""
        back = {n: held(pod, n) if node == pod.node_name else 0 for n in NAMES}
        fits = all(asked_of_node(successor, n) <= self.cluster.free(node, n) + back[n] for n in NAMES)
        return fits and takes_pods(self.cluster.nodes[node])

    def _faults_of_disruption(self, pod: Pod, team: Team) -> Iterator[str]:
        """Yield what keeps a pod from being taken down: minReplicas, the group's budget, disruption budgets."""
        policy = team.vpa.update_policy
        least = policy.min_replicas if policy is not None and policy.min_replicas is not None else 2
        if self._live[team.name] < least:
            yield f"{self._live[team.name]} live pods are fewer than minReplicas {least}"
        # A pod that serves nobody takes nothing away, but those of one round add up all the same.
        there, gone = self._running[team.name], self.disrupted[team.name]
        if serves(pod):
            there, gone = self._serving[team.name], self._stopped[team.name]
        bearable = team.replicas // 2
        is_lone = bearable == 0 and gone == 0 and there == team.replicas
        if there - gone <= team.replicas - bearable and not is_lone:
            yield f"of {team.replicas} pods there are {there}, and {gone} were disrupted"
        guards = self._guards(pod)
        if len(guards) > 1:
            yield "several disruption budgets protect it"
        for guard in guards:
            ready = self.cluster.healthy(guard)
            # Those that an earlier resize has yet to restart are Ready, and down before long.
            lasting, healthy = sum(other.uid != pod.uid and serves(other) for other in ready), len(ready)
            if is_ready(pod) and lasting < guard.least:
                yield f"{guard.name} needs {guard.least} healthy pods and would keep {lasting}"
            if not is_ready(pod) and not guard.spares_unhealthy and not healthy >= guard.least > 0:
                yield f"{guard.name} spares pods that are not Ready only while {guard.least} are healthy, not {healthy}"

    def _guards(self, pod: Pod) -> list[Guard]:
        return [g for g in self.cluster.guards if g.namespace == pod.namespace and g.selector.matches(pod.labels)]

    def _will_restart(self, pod: Pod, after: Pod) -> bool:
        """Say whether a container restarts for what a resize changes."""
        changed = {
            f"{a.name}/{name}"
            for a, b in zip(pod.containers, after.containers, strict=True)
            for name in NAMES
            for one, other in ((a.resources.requests, b.resources.requests), (a.resources.limits, b.resources.limits))
            if nano(one, name) != nano(other, name)
        }
        return any(name in changed for name in restarts_for(after))

    def _beyond_quota(self, pod: Pod, after: Pod) -> Iterator[str]:
        for name, hard in self.cluster.quotas.get(pod.namespace, {}).items():
            side, _, resource = name.partition(".")
            if any(resource not in (getattr(c.resources, side) or {}) for c in after.containers):
                yield f"the quota asks every container for {name}"
            grown = charged(_without_conditions(after), name) - charged(pod, name)
            if grown > 0 and self.cluster.used(pod.namespace, name) + grown > hard:
                yield f"the quota has no room for {grown} more {name}"

    def _beyond_node(self, pod: Pod, after: Pod) -> Iterator[str]:
        node = self.cluster.nodes.get(pod.node_name)
        for name in NAMES:
            grown = held(_without_conditions(after), name) - held(pod, name)
            if grown > 0 and (node is None or not node.is_ready):
                yield "its node is not Ready"
            elif grown > 0 and self.cluster.free(pod.node_name, name) < grown:
                yield f"its node has no room for {grown} more {name}"

    def _below_use(self, pod: Pod, before: Container, after: Container) -> Iterator[str]:
        limit = nano(after.resources.limits, "memory")
        has = nano(in_force(pod, before).limits, "memory")
        if not limit or limit == nano(before.resources.limits, "memory") or (has and limit >= has):
            return
        seen = self.cluster.measured.get((pod.uid, before.name))
        if seen is None or self.cluster.now - seen.measured > FRESH:
            yield f"{before.name}: its memory limit would fall although nobody knows what it uses"
        elif limit < (seen.bytes + max(seen.bytes / 10, 16 * MIB)) * BILLION:
            yield f"{before.name}: a memory limit of {limit} is too near to the {seen.bytes} bytes that it uses"


def serves(pod: Pod) -> bool:
    """Say whether a pod is Ready and stays so: no container of it is about to restart."""
    return runs(pod) and is_ready(pod) and (not restarts_for(pod) or waits_for(pod) == "Infeasible")


def _without_conditions(pod: Pod) -> Pod:
    """Return a pod of which the node has not said anything yet."""
    return replace(pod, conditions=())


def _has(pod: Pod, container: Container, wanted: Container) -> bool:
    """Say whether a container has the requests that another one would be made with."""
    has = in_force(pod, container).requests
    return all(nano(has, n) == nano(wanted.resources.requests, n) for n in NAMES)


def _gains(pod: Pod, container: Container, wanted: Container) -> bool:
    """Say whether the container that would replace one has a larger request of anything."""
    has = in_force(pod, container).requests
    return any(nano(has, n) < nano(wanted.resources.requests, n) for n in NAMES)
