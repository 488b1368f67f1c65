"""The updater over a model cluster: rounds as the shell runs them, with what it writes down before it acts."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Final

from autoscaling.pod import Container, Pod
from autoscaling.quantity import Quantity
from autoscaling.resources import ContainerResources, ResourceList
from tests.updater.model_cluster import Cluster
from tests.updater.model_rules import Watch
from updater.circumstances import Memory
from updater.decision import Action, Decision, Outcome
from updater.patches import Patch, PatchOperation, PatchVerb
from updater.plan import Plan
from updater.resize_request import ResizeRequest, request_operation
from updater.settings import Settings
from updater.storm_levels import StormLevels
from updater.storm_text import levels_text, read_levels

CALLS: Final = frozenset({Action.RESIZE, Action.EVICT})
CHUNK: Final = 25

Server = Callable[[Decision], Outcome]
"""Carries a RESIZE or an EVICT out on the model and answers it."""


@dataclass(slots=True)
class ModelUpdater:
    """One process of the updater, or after a restart the next one.

    Args:
        written: What the Lease tells of storm budgets.
        decisions: Of the last round, in order.
    """

    settings: Settings
    memory: Memory = field(default_factory=Memory)
    written: str | None = None
    decisions: list[Decision] = field(default_factory=list)
    _reserved: int = 0

    def restart(self, cluster: Cluster) -> None:
        """Forget all but what the Lease tells."""
        levels = read_levels(self.written) if self.written is not None else StormLevels()
        assert levels is not None
        self.memory = Memory(storms=levels.known_at(cluster.now))

    def round(self, cluster: Cluster, server: Server, lanes: int = 1, cut_after: int | None = None) -> None:
        """Run one round.

        Args:
            lanes: How many calls may be on their way at a time; with one, each waits for the answer to the one before.
            cut_after: After how many calls the process ends, with all that it knows; another one starts then.
        """
        plan = Plan.of(cluster.snapshot(), cluster.now, self.memory, self.settings)
        flying: list[tuple[Decision, Outcome]] = []
        self.decisions, self._reserved, calls = [], 0, 0
        while (decision := plan.next()) is not None or flying:
            if decision is None or len(flying) >= max(lanes, 1):
                plan = plan.landed(*flying.pop(0))
                continue
            self.decisions.append(decision)
            if decision.action not in CALLS:
                plan = plan.after(decision, Outcome.FAILED if decision.action is Action.FAIL else Outcome.DONE)
                continue
            self._reserve(plan)
            outcome, calls = server(decision), calls + 1
            if calls == cut_after:
                self.restart(cluster)
                return
            if lanes > 1:
                plan = plan.sent(decision)
                flying.append((decision, outcome))
            else:
                plan = plan.after(decision, outcome)
        self.memory = plan.memory
        if self.memory.storms.at is not None:
            self.written = levels_text(self.memory.storms)

    def _reserve(self, plan: Plan) -> None:
        """Write down the tokens of the next calls before any is used."""
        if self._reserved == 0 and plan.round.storms is not None:
            self.written = levels_text(plan.storms.reserving(CHUNK, plan.round.storms, plan.round.now))
            self._reserved = CHUNK
        self._reserved -= 1


REFUSALS: Final = {
    "conflict": Outcome.UNTIMELY,
    "over quota": Outcome.OVER_QUOTA,
    "limit range": Outcome.OUTSIDE_LIMIT_RANGE,
    "policy": Outcome.FORBIDDEN,
    "not permitted": Outcome.NOT_PERMITTED,
    "invalid": Outcome.FAILED,
}
"""Answers of a server that carries nothing out."""


@dataclass(slots=True)
class ModelServer:
    """Answers calls, and has each of them checked first.

    Args:
        faults: What goes wrong with the calls to come, in order; an empty one goes well, as do all after the last.
    """

    cluster: Cluster
    watch: Watch
    faults: list[str] = field(default_factory=list)

    def __call__(self, decision: Decision) -> Outcome:
        """Carry a RESIZE or an EVICT out, unless something goes wrong."""
        fault = self.faults.pop(0) if self.faults else ""
        pod = self.cluster.pods.get(decision.uid)
        if pod is None or pod.is_terminating:
            return Outcome.GONE
        is_resize = decision.action is Action.RESIZE
        after = after_resize(pod, decision) if is_resize else self.cluster.new_pod(self.cluster.team_of(pod))
        self.watch.sent(decision, pod, after)
        if fault in REFUSALS:
            return REFUSALS[fault]
        if fault == "gone":
            self.cluster.pods[pod.uid] = replace(pod, is_terminating=True)
            return Outcome.GONE
        self.watch.carried_out(decision, pod, after)
        is_noted = is_resize and fault != "answer lost"
        changed = after if is_resize else replace(pod, is_terminating=True)
        self.cluster.pods[pod.uid] = noted(changed, decision, self.cluster) if is_noted else changed
        return Outcome.UNTIMELY if fault == "answer lost" else Outcome.DONE


def after_resize(pod: Pod, decision: Decision) -> Pod:
    """Return a pod as a RESIZE leaves it in the API server, its generation one more if that changed its spec."""
    assert decision.patches is not None
    after = _patched(pod, decision.patches.resize)
    return after if after.containers == pod.containers else replace(after, generation=pod.generation + 1)


def noted(pod: Pod, decision: Decision, cluster: Cluster) -> Pod:
    """Return a pod with the annotations that follow an accepted RESIZE."""
    assert decision.patches is not None
    patch = decision.patches.annotations
    if decision.restarts is not None:
        patch = (*patch, request_operation(ResizeRequest(pod.generation, cluster.now, decision.restarts)))
    return _patched(pod, patch)


def _patched(pod: Pod, patch: Patch) -> Pod:
    """Apply the operations of a JSON patch that the updater uses."""
    for operation in patch:
        step, *rest = operation.path.removeprefix("/").split("/", 2)
        if operation.verb is PatchVerb.TEST:
            assert _tested(pod, operation.path) == operation.value, operation
        elif step == "metadata":
            annotations = dict(pod.annotations or {})
            if len(rest) > 1 and isinstance(operation.value, str):
                annotations[rest[1].replace("~1", "/")] = operation.value
            pod = replace(pod, annotations=annotations)
        else:
            index, _, inner = rest[1].partition("/")
            containers = list(pod.containers)
            containers[int(index)] = _set(containers[int(index)], inner, operation)
            pod = replace(pod, containers=tuple(containers))
    return pod


def _tested(pod: Pod, path: str) -> str | int:
    if path.startswith("/metadata/"):
        return pod.uid if path == "/metadata/uid" else pod.generation
    return pod.containers[int(path.split("/")[3])].name


def _set(container: Container, path: str, operation: PatchOperation) -> Container:
    """Return a container with one map or one amount of its resources set."""
    _, *steps = path.split("/")
    resources = container.resources
    if not steps:
        return replace(container, resources=ContainerResources())
    before = resources.requests if steps[0] == "requests" else resources.limits
    if len(steps) == 1:
        changed: ResourceList = {}
    else:
        assert before is not None, "an amount is put into a map that is not there"
        assert isinstance(operation.value, str)
        changed = {**before, steps[1]: Quantity.parse(operation.value)}
    sides = (changed, resources.limits) if steps[0] == "requests" else (resources.requests, changed)
    return replace(container, resources=ContainerResources(*sides))
