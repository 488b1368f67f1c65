"""Pods made up by chance in every state that an updater looks at."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta

from e2e.parity.process.world.dice import MEBIBYTE, Dice, amounts_json
from e2e.parity.process.world.workloads import Amounts, Container, Group, Workload
from evenkeel.simulator.api.fields import JsonObject
from evenkeel.simulator.clock import rfc3339

_SECOND, _MINUTE, _HOUR = timedelta(seconds=1), timedelta(minutes=1), timedelta(hours=1)
# No age is near a threshold: a run takes its time, and the two sides need not look in the same second.
_AGES = {3 * _MINUTE: 0.1, 30 * _MINUTE: 0.25, 5 * _HOUR: 0.25, 20 * _HOUR: 0.25, 216 * _HOUR: 0.15}
_OOM_AGES = (-150 * _SECOND, 2 * _MINUTE, 2 * _MINUTE, 6 * _MINUTE, 11 * _MINUTE, 45 * _MINUTE, 5 * _HOUR)
# How long a container ran does not depend on when one looks, so here the thresholds themselves are wanted.
_OOM_RUNS = (30, 59, 60, 240, 299, 300, 599, 600, 601, 1799, 1800, 3600)
_RESIZES: Mapping[str, tuple[tuple[str, str, str, str], ...]] = {
    "deferred": (("PodResizePending", "True", "Deferred", "no room"),),
    "infeasible": (("PodResizePending", "True", "Infeasible", "too large"),),
    "pending for another reason": (("PodResizePending", "True", "Odd", ""),),
    "in progress": (("PodResizeInProgress", "True", "", ""),),
    "in error": (("PodResizeInProgress", "True", "Error", "it broke"),),
    "in progress with a message": (("PodResizeInProgress", "True", "", "something"),),
    "deferred behind one that is over": (
        ("PodResizeInProgress", "False", "", ""),
        ("PodResizePending", "True", "Deferred", "no room"),
    ),
    "deferred before one that is over": (
        ("PodResizePending", "True", "Deferred", "no room"),
        ("PodResizeInProgress", "False", "", ""),
    ),
    "both": (("PodResizeInProgress", "True", "", ""), ("PodResizePending", "True", "Infeasible", "too large")),
}
_ORIGINALS = {
    '{"requests":{"cpu":"10m"},"limits":{}}': 0.3,
    '{"requests":{"cpu":"150m","memory":"64Mi"},"limits":{"cpu":"300m","memory":"128Mi"}}': 0.5,
    "{}": 0.12,
    "not json": 0.08,
}
"""What a boosted container had before, as its annotation says."""

_SITUATIONS = {
    "usual": 0.5,
    "resizing": 0.22,
    "killed": 0.12,
    "pending": 0.05,
    "leaving": 0.02,
    "unscheduled": 0.02,
    "finished": 0.02,
    "not started": 0.03,
    "without statuses": 0.02,
}


@dataclass(frozen=True, slots=True)
class State:
    """Everything about a pod but its name and its owner.

    Args:
        containers: What its containers have now.
        asked: What its spec asks for instead, where a resize is under way.
        phase: Its phase.
        conditions: Its resize conditions.
        ready_since: Since when it is ready; empty where it does not say so.
        started: Its start time; empty for none.
        kills: By container, when it last began and ended before it was killed for lack of memory.
        annotations: Its annotations; None for no map at all.
        has_statuses: Whether its status names its containers.
        shows_resources: Whether that shows their resources.
        is_scheduled: Whether it has a node.
        leaving_since: When it was deleted; empty while it is not.
        further_owners: Owner references after the controller's.
    """

    containers: tuple[Container, ...]
    asked: tuple[Container, ...]
    phase: str = "Running"
    conditions: tuple[tuple[str, str, str, str], ...] = ()
    ready_since: str = ""
    started: str = ""
    kills: Mapping[str, tuple[str, str]] = field(default_factory=dict)
    annotations: Mapping[str, str] | None = None
    has_statuses: bool = True
    shows_resources: bool = True
    is_scheduled: bool = True
    leaving_since: str = ""
    further_owners: tuple[JsonObject, ...] = ()


class StateMaker:
    """Makes the states of pods up.

    Args:
        dice: Their chance.
        now: From when their ages count.
        boosted: Share of pods that carry the annotation of a start-up boost.
    """

    def __init__(self, dice: Dice, now: datetime, boosted: float) -> None:
        self._dice = dice
        self._now = now
        self._boosted = boosted

    def make(self, containers: tuple[Container, ...]) -> State:
        """Make a state up."""
        dice, now = self._dice, self._now
        age = dice.weighted(_AGES)
        started = dice.earlier(now, age, age + 30 * _SECOND)
        state = State(
            containers,
            containers,
            ready_since=started if dice.chance(0.97) else "",
            started=started,
            annotations=self._annotations(containers),
            shows_resources=dice.chance(0.85),
        )
        if dice.chance(0.05):
            state = replace(state, further_owners=({"apiVersion": "v1", "kind": "ConfigMap", "name": "x", "uid": "y"},))
        return self._placed(state, dice.weighted(_SITUATIONS))

    def moved(self, state: State, number: int) -> State:
        """Return a state whose amounts no pod of the workload with another number has."""
        return replace(
            state,
            containers=tuple(_moved(one, number) for one in state.containers),
            asked=tuple(_moved(one, number) for one in state.asked),
        )

    def _placed(self, state: State, situation: str) -> State:
        """Put a state into a situation."""
        dice, now = self._dice, self._now
        match situation:
            case "resizing":
                asked = tuple(_grown(one, dice.pick((0.5, 1.5, 2.0))) for one in state.containers)
                return replace(
                    state, asked=asked, conditions=_RESIZES[dice.pick(tuple(_RESIZES))], shows_resources=True
                )
            case "killed":
                return replace(state, kills={one.name: self._kill() for one in dice.some(state.containers, 0.8)})
            case "pending":
                return replace(state, phase="Pending", shows_resources=False)
            case "leaving":
                return replace(state, leaving_since=rfc3339(now))
            case "unscheduled":
                return replace(state, phase="Pending", is_scheduled=False, has_statuses=False, started="")
            case "finished":
                return replace(state, phase=dice.pick(("Succeeded", "Failed")))
            case "not started":
                return replace(state, started="")
            case "without statuses":
                return replace(state, has_statuses=False)
            case _:
                return state

    def _kill(self) -> tuple[str, str]:
        age = self._dice.pick(_OOM_AGES)
        ended = (self._now - age).replace(microsecond=0)
        return rfc3339(ended - timedelta(seconds=self._dice.pick(_OOM_RUNS))), rfc3339(ended)

    def _annotations(self, containers: tuple[Container, ...]) -> Mapping[str, str] | None:
        """Make up what the webhook left on a pod."""
        dice = self._dice
        if dice.chance(0.35):
            return None
        names = [one.name for one in containers]
        observed = dice.weighted(
            {None: 0.5, ", ".join(names): 0.3, names[0]: 0.1, ",".join(names): 0.04, "": 0.03, "Not A Name": 0.03}
        )
        found = {"example.org/note": "x"} if dice.chance(0.3) else {}
        if observed is not None:
            found["vpaObservedContainers"] = observed
        if dice.chance(self._boosted):
            boosted = dice.some(names, 0.7) + dice.some(["gone"], 0.05)
            found |= {f"vpaCpuStartupBoost/{name}": dice.weighted(_ORIGINALS) for name in boosted}
        return found


def _moved(container: Container, number: int) -> Container:
    """Return a container with a little more of everything it states."""
    more = {"cpu": 2 * number, "memory": 3 * number * MEBIBYTE}
    requests = {name: value + more[name] for name, value in container.requests.items()}
    return replace(container, requests=requests, limits={n: v + more[n] for n, v in container.limits.items()})


def _grown(container: Container, factor: float) -> Container:
    """Return a container with another share of everything it states."""

    def scaled(amounts: Amounts) -> Amounts:
        return {name: max(1, int(value * factor)) for name, value in amounts.items()}

    return replace(container, requests=scaled(container.requests), limits=scaled(container.limits))


def pod_body(workload: Workload, group: Group, name: str, uid: str, state: State) -> JsonObject:
    """Return a pod in a state."""
    metadata: JsonObject = {
        "name": name,
        "namespace": workload.namespace,
        "uid": uid,
        "labels": dict(group.labels),
        "creationTimestamp": state.started or "2026-01-01T00:00:00Z",
    }
    owners = [*([group.owner] if group.owner is not None else []), *state.further_owners]
    if owners:
        metadata["ownerReferences"] = owners
    if state.annotations is not None:
        metadata["annotations"] = dict(state.annotations)
    if state.leaving_since:
        metadata |= {"deletionTimestamp": state.leaving_since, "deletionGracePeriodSeconds": 30}
    spec: JsonObject = {"containers": [one.body() for one in state.asked]}
    if state.is_scheduled:
        spec["nodeName"] = "node-1"
    if workload.kind in {"Job", "CronJob"}:
        spec["restartPolicy"] = "OnFailure"
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec, "status": _status(state)}


def _status(state: State) -> JsonObject:
    status: JsonObject = {
        "phase": state.phase,
        "qosClass": _qos_class(state.asked),
        "conditions": conditions_json(state.conditions, state.ready_since, is_ready=state.phase == "Running"),
    }
    if state.started:
        status["startTime"] = state.started
    if state.has_statuses:
        status["containerStatuses"] = [_container_status(state, one) for one in state.containers]
    return status


def conditions_json(
    conditions: tuple[tuple[str, str, str, str], ...], ready_since: str, *, is_ready: bool = True
) -> list[object]:
    """Return conditions given by type, status, reason and message, behind the one that says whether a pod is ready."""
    ready: JsonObject = {"type": "Ready", "status": "True" if is_ready else "False"}
    if ready_since:
        ready["lastTransitionTime"] = ready_since
    return [
        ready,
        *(
            {"type": kind, "status": status}
            | ({"reason": reason} if reason else {})
            | ({"message": why} if why else {})
            for kind, status, reason, why in conditions
        ),
    ]


def _container_status(state: State, container: Container) -> JsonObject:
    waiting = state.phase == "Pending"
    found: JsonObject = {
        "name": container.name,
        "image": "made-up:1",
        "imageID": "",
        "ready": not waiting,
        "restartCount": int(container.name in state.kills),
        "state": {"waiting": {"reason": "ContainerCreating"}} if waiting else {"running": {}},
    }
    if container.name in state.kills:
        began, ended = state.kills[container.name]
        killed = {"reason": "OOMKilled", "exitCode": 137, "startedAt": began, "finishedAt": ended}
        found["lastState"] = {"terminated": killed}
    if state.shows_resources:
        found["resources"] = container.resources()
    return found


def _qos_class(containers: tuple[Container, ...]) -> str:
    """Return the QoS class of a pod with these containers (spec: in-place-resize V-rules on QoS)."""
    if not any(one.requests or one.limits for one in containers):
        return "BestEffort"
    full = all(set(one.limits) == {"cpu", "memory"} and one.requests == one.limits for one in containers)
    return "Guaranteed" if full else "Burstable"


def amounts_of(containers: tuple[Container, ...]) -> list[JsonObject]:
    """Return the requests of containers, for messages."""
    return [{one.name: amounts_json(one.requests)} for one in containers]
