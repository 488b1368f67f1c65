"""What a DaemonSet does next on each node: pure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime

from evenkeel.simulator.api.fields import JsonObject, child, rows
from evenkeel.simulator.controllers.node_fit import NAME_FIELD, Effect, accepts, taints_of, untolerated

_CONDITIONS = {
    "not-ready": Effect.NO_EXECUTE,
    "unreachable": Effect.NO_EXECUTE,
    "disk-pressure": Effect.NO_SCHEDULE,
    "memory-pressure": Effect.NO_SCHEDULE,
    "pid-pressure": Effect.NO_SCHEDULE,
    "unschedulable": Effect.NO_SCHEDULE,
}
_HOST_NETWORK_CONDITION = "network-unavailable"


@dataclass(frozen=True, slots=True)
class DaemonPod:
    """One pod on one node.

    Args:
        name: Its name.
        updated: Whether it is from the present template.
        created: When it was created.
        finished: Whether it has ended.
        going: Whether it is being deleted.
        available: Whether it has been ready for long enough.
    """

    name: str
    updated: bool
    created: datetime
    finished: bool = False
    going: bool = False
    available: bool = True


@dataclass(frozen=True, slots=True)
class Place:
    """One node as a DaemonSet sees it.

    Args:
        node: Its name.
        run: Whether a pod should run there.
        stay: Whether a pod that runs there may stay.
        pods: The set's pods there, by name.
    """

    node: str
    run: bool
    stay: bool
    pods: tuple[DaemonPod, ...] = ()


@dataclass(frozen=True, slots=True)
class Allowance:
    """How far an update may go; None when pods are only updated once somebody deletes them.

    Args:
        unavailable: On how many nodes no pod may be available.
        surge: On how many nodes a second pod may run.
    """

    unavailable: int
    surge: int


@dataclass(frozen=True, slots=True)
class Moves:
    """What is to be done: on which nodes a pod is created, and which pods are deleted."""

    create: tuple[str, ...] = ()
    delete: tuple[str, ...] = ()


def tolerations_for(pod: JsonObject) -> list[JsonObject]:
    """Return the tolerations of a DaemonSet's pod: its own, and those that let it stay in any condition of a node."""
    added: list[JsonObject] = [
        {"key": f"node.kubernetes.io/{name}", "operator": "Exists", "effect": effect.value}
        for name, effect in _CONDITIONS.items()
    ]
    if child(pod, "spec").get("hostNetwork") is True:
        key = f"node.kubernetes.io/{_HOST_NETWORK_CONDITION}"
        added.append({"key": key, "operator": "Exists", "effect": Effect.NO_SCHEDULE.value})
    own = rows(pod, "spec", "tolerations")
    return own + [toleration for toleration in added if toleration not in own]


def bound_to(node: str) -> JsonObject:
    """Return the required node affinity that binds a pod to one node by name."""
    field = {"key": NAME_FIELD, "operator": "In", "values": [node]}
    return {"nodeSelectorTerms": [{"matchFields": [field]}]}


def suits(pod: JsonObject, node: JsonObject) -> tuple[bool, bool]:
    """Return whether a pod of a DaemonSet should run on a node, and whether one that runs there may stay."""
    tolerations = tolerations_for(pod)
    if not accepts(pod, node):
        return False, False
    taints = taints_of(node)
    stay = not untolerated(taints, tolerations, Effect.NO_EXECUTE)
    return stay and not untolerated(taints, tolerations, Effect.NO_SCHEDULE), stay


def managed(places: Iterable[Place], *, surges: bool) -> Moves:
    """Return what to do so that each node has what it should: one pod where one should run, none elsewhere.

    Args:
        places: The nodes.
        surges: Whether an updated pod may run beside the one it replaces.
    """
    create: list[str] = []
    delete: list[str] = []
    for place in places:
        ended = [pod.name for pod in place.pods if pod.finished and not pod.going]
        living = [pod for pod in place.pods if not pod.finished and not pod.going]
        if place.run and not place.pods:
            create.append(place.node)
        elif not place.stay:
            delete += [*ended, *(pod.name for pod in living)]
        else:
            delete += ended + _surplus(living, surges=surges)
    return Moves(tuple(create), tuple(delete))


def updated(places: Iterable[Place], allowance: Allowance) -> Moves:
    """Return what to do to bring every node to the present template as fast as it is allowed."""
    relevant = [place for place in places if place.run]
    return _surging(relevant, allowance.surge) if allowance.surge else _replacing(relevant, allowance.unavailable)


def _surplus(living: list[DaemonPod], *, surges: bool) -> list[str]:
    """Return the pods of one node that are too many: all but the oldest, or but the oldest of each kind."""
    groups: Sequence[list[DaemonPod]] = [living]
    if surges:
        groups = [[pod for pod in living if pod.updated], [pod for pod in living if not pod.updated]]
    extra = [sorted(group, key=lambda pod: (pod.created, pod.name))[1:] for group in groups]
    return [pod.name for group in extra for pod in group]


def _replacing(places: list[Place], most: int) -> Moves:
    """Delete earlier pods, those that serve nobody at once, the others as far as nodes may be without one."""
    useless: list[str] = []
    useful: list[str] = []
    without = 0
    for place in places:
        living = [pod for pod in place.pods if not pod.going]
        old = [pod for pod in living if not pod.updated]
        if not any(pod.available for pod in living):
            without += 1
            useless += [pod.name for pod in old]
        else:
            useful += [pod.name for pod in old]
    return Moves(delete=(*useless, *useful[: max(0, most - without)]))


def _surging(places: list[Place], most: int) -> Moves:
    """Create updated pods beside earlier ones, as many as may be, and delete those once they are not needed."""
    delete: list[str] = []
    at_once: list[str] = []
    later: list[str] = []
    surged = 0
    for place in places:
        living = [pod for pod in place.pods if not pod.going and not pod.finished]
        old, new = [pod for pod in living if not pod.updated], [pod for pod in living if pod.updated]
        if not old:
            continue
        if new:
            surged += 1
            if new[0].available or not old[0].available:
                delete += [pod.name for pod in old]
        elif old[0].available:
            later.append(place.node)
        else:
            at_once.append(place.node)
    return Moves((*at_once, *later[: max(0, most - surged)]), tuple(delete))
