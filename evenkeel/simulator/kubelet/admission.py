"""Whether a node takes a pod, new or resized: pressure, room, placement, taints (spec: in-place-resize 3.2, step 8)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from evenkeel.simulator.api.fields import JsonObject, as_object, child, rows, text, texts
from evenkeel.simulator.kubelet.podview import PodView, tolerates, untolerated
from evenkeel.simulator.kubelet.settings import NOTHING_HELD, Amounts, NodeSettings, Taint

MEMORY_PRESSURE = "MemoryPressure"
_MEMORY_PRESSURE_TAINT = Taint("node.kubernetes.io/memory-pressure", "NoSchedule")


@dataclass(frozen=True, slots=True)
class NodeState:
    """What a node looks like while a pod is judged.

    Args:
        settings: The node.
        pressures: Its pressure conditions that are true, in order.
        taints: Its taints.
        labels: Its labels.
        occupied: What its other pods hold.
        pods: How many other pods it runs.
        shutting_down: Whether it is about to go.
    """

    settings: NodeSettings
    pressures: tuple[str, ...] = ()
    taints: tuple[Taint, ...] = ()
    labels: JsonObject | None = None
    occupied: Amounts = NOTHING_HELD
    pods: int = 0
    shutting_down: bool = False


@dataclass(frozen=True, slots=True)
class Refusal:
    """Why a node does not take a pod.

    Args:
        reason: One word, which becomes the reason of a new pod's failure.
        message: What is wrong.
        shortage: What is missing, when nothing else is wrong.
    """

    reason: str
    message: str
    shortage: Amounts | None = None


def refusal_of(view: PodView, requests: Amounts, node: NodeState) -> Refusal | None:
    """Return why a node does not take a pod with such requests; None when it does.

    For a critical pod on a node that only lacks room, the refusal names the shortage, for others to be preempted.
    """
    if node.shutting_down and not view.critical:
        return Refusal("NodeShutdown", "Pod was rejected as the node is shutting down.")
    pressed = _pressure(view, node)
    if pressed:
        return pressed
    short = list(_shortages(requests, node))
    misplaced = _misplacement(view, node)
    if not short:
        return misplaced
    reason, message = short[0]
    return Refusal(reason, message, None if misplaced else _missing(requests, node))


def _pressure(view: PodView, node: NodeState) -> Refusal | None:
    """Return the refusal for the node's conditions, which spare critical pods."""
    if not node.pressures or view.critical:
        return None
    if node.pressures == (MEMORY_PRESSURE,) and (view.qos != "BestEffort" or tolerates(view, _MEMORY_PRESSURE_TAINT)):
        return None
    return Refusal("Evicted", f"The node had condition: [{' '.join(node.pressures)}]. ")


def _shortages(requests: Amounts, node: NodeState) -> Iterator[tuple[str, str]]:
    """Yield reason and message for whatever a node has too little of."""
    allocatable = node.settings.allocatable
    if node.pods + 1 > node.settings.pods:
        yield "OutOfpods", short_of("pods", 1, node.pods, node.settings.pods)
    used = node.occupied
    if requests.cpu_millis and used.cpu_millis + requests.cpu_millis > allocatable.cpu_millis:
        yield "OutOfcpu", short_of("cpu", requests.cpu_millis, used.cpu_millis, allocatable.cpu_millis)
    if requests.memory_bytes and used.memory_bytes + requests.memory_bytes > allocatable.memory_bytes:
        yield "OutOfmemory", short_of("memory", requests.memory_bytes, used.memory_bytes, allocatable.memory_bytes)


def short_of(name: str, requested: int, used: int, capacity: int) -> str:
    """Return the message for too little room, in thousandths of a core or bytes; clients read it."""
    return f"Node didn't have enough resource: {name}, requested: {requested}, used: {used}, capacity: {capacity}"


def _missing(requests: Amounts, node: NodeState) -> Amounts:
    """Return how much must be freed for a pod to fit."""
    return node.occupied.plus(requests).minus(node.settings.allocatable).at_least(NOTHING_HELD)


def _misplacement(view: PodView, node: NodeState) -> Refusal | None:
    """Return the refusal for placement rules and taints."""
    spec = child(view.body, "spec")
    labels = node.labels or {}
    if text(spec, "nodeName") not in {"", node.settings.name}:
        return Refusal("NodeName", f"the pod belongs to node {text(spec, 'nodeName')}")
    if not _is_selected(spec, labels, node.settings.name):
        return Refusal("NodeAffinity", "the node does not fit the pod's node selector or affinity")
    taint = None if view.static else untolerated(view, node.taints)
    if taint:
        return Refusal("UntoleratedTaint", f"the pod does not tolerate the node's taint {taint.key}:{taint.effect}")
    return None


def _is_selected(spec: JsonObject, labels: JsonObject, name: str) -> bool:
    """Say whether a node fits a pod's node selector and required affinity."""
    if any(labels.get(key) != value for key, value in child(spec, "nodeSelector").items()):
        return False
    required = child(spec, "affinity", "nodeAffinity", "requiredDuringSchedulingIgnoredDuringExecution")
    terms = rows(required, "nodeSelectorTerms")
    return not terms or any(_fits_term(term, labels, name) for term in terms)


def _fits_term(term: JsonObject, labels: JsonObject, name: str) -> bool:
    """Say whether a node fits all expressions of one term; an empty term fits none."""
    expressions, fields = rows(term, "matchExpressions"), rows(term, "matchFields")
    if not expressions and not fields:
        return False
    by_label = all(_fits(expression, labels) for expression in expressions)
    return by_label and all(_fits(expression, {"metadata.name": name}) for expression in fields)


def _fits(expression: JsonObject, labels: JsonObject) -> bool:
    """Say whether labels fit one expression."""
    value, values = labels.get(text(expression, "key")), texts(expression, "values")
    match text(expression, "operator"):
        case "In":
            return value in values
        case "NotIn":
            return value not in values
        case "Exists":
            return value is not None
        case "DoesNotExist":
            return value is None
        case "Gt" | "Lt" as operator:
            return _compares(value, values, operator)
        case _:
            return False


def _compares(value: object, values: list[str], operator: str) -> bool:
    """Say whether a label is a number on the asked side of another."""
    if not isinstance(value, str) or len(values) != 1:
        return False
    try:
        difference = int(value) - int(values[0])
    except ValueError:
        return False
    return difference > 0 if operator == "Gt" else difference < 0


def taints_of(node: JsonObject) -> tuple[Taint, ...]:
    """Return the taints of a Node object."""
    return tuple(
        Taint(text(row, "key"), text(row, "effect"), text(row, "value")) for row in rows(node, "spec", "taints")
    )


def labels_of_node(node: JsonObject) -> JsonObject:
    """Return the labels of a Node object."""
    return as_object(child(node, "metadata", "labels"))


@dataclass(frozen=True, slots=True)
class Candidate:
    """A pod that may have to give way.

    Args:
        uid: Which.
        qos: Its QoS class.
        holds: What it gives back.
    """

    uid: str
    qos: str
    holds: Amounts


_GIVES_WAY = {"BestEffort": 0, "Burstable": 1, "Guaranteed": 2}


def victims_for(shortage: Amounts, candidates: Iterable[Candidate]) -> tuple[str, ...] | None:
    """Return the pods to preempt so that a shortage is met, lower QoS classes first; None when all would not do.

    Pods are taken until the shortage is met, by class and then the smallest that suffices alone, else the largest;
    what turns out not to be needed is spared again.
    """
    chosen: list[Candidate] = []
    left = sorted(candidates, key=lambda c: (_GIVES_WAY.get(c.qos, 1), c.uid))
    missing = shortage
    while NOTHING_HELD.is_below(missing):
        helpful = [c for c in left if _helps(c, missing)]
        if not helpful:
            return None
        lowest = min(_GIVES_WAY.get(c.qos, 1) for c in helpful)
        best = _best([c for c in helpful if _GIVES_WAY.get(c.qos, 1) == lowest], missing)
        left.remove(best)
        chosen.append(best)
        missing = missing.minus(best.holds)
    return tuple(c.uid for c in _without_needless(chosen, shortage))


def _helps(candidate: Candidate, missing: Amounts) -> bool:
    """Say whether a pod holds any of what is missing."""
    holds = candidate.holds
    return (missing.cpu_millis > 0 < holds.cpu_millis) or (missing.memory_bytes > 0 < holds.memory_bytes)


def _best(candidates: list[Candidate], missing: Amounts) -> Candidate:
    """Return the smallest pod that suffices, else the largest."""
    enough = [c for c in candidates if not c.holds.is_below(missing)]
    size = {c.uid: (c.holds.cpu_millis, c.holds.memory_bytes) for c in candidates}
    return min(enough, key=lambda c: size[c.uid]) if enough else max(candidates, key=lambda c: size[c.uid])


def _without_needless(chosen: list[Candidate], shortage: Amounts) -> list[Candidate]:
    """Spare pods whose share the others give as well."""
    kept = list(chosen)
    for candidate in reversed(chosen):
        others = NOTHING_HELD
        for other in kept:
            others = others.plus(other.holds) if other is not candidate else others
        if not others.is_below(shortage):
            kept.remove(candidate)
    return kept
