"""How far a pod's resize has come: what is asked for, what its node has accepted, and what is in force.

Spec: beyond:B-45; resize 0, 3.4, 6.6.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from enum import Enum
from typing import Self

from autoscaling.behaviour import Behaviour
from autoscaling.objectref import ObjectRef
from autoscaling.pod import RESIZE_IN_PROGRESS, RESIZE_PENDING, Container, ContainerStatus, Pod
from autoscaling.quantity import Quantity
from autoscaling.resources import CONTROLLED, ResourceList
from evenkeel.inspection.documents import Block, Table
from updater.convergence import is_over
from updater.resize_progress import resize_progress
from updater.resize_status import ResizeStatus

_RESIZE_CONDITIONS = (RESIZE_PENDING, RESIZE_IN_PROGRESS)
_NOTHING = "-"


class ResizeVerdict(Enum):
    """What a resize has come to, with the exit code and the words for it."""

    _value_: str
    exit_code: int
    meaning: str

    def __new__(cls, value: str, exit_code: int, meaning: str) -> Self:
        """Make a member whose value is its name in JSON."""
        member = object.__new__(cls)
        member._value_ = value
        member.exit_code = exit_code
        member.meaning = meaning
        return member

    CONVERGED = ("converged", 0, "The node has given all containers what the pod's spec asks for.")
    REQUESTED = ("requested", 3, "The node has not looked at the present spec yet; see whether its kubelet is alive.")
    IN_PROGRESS = (
        "inProgress",
        3,
        "The node has accepted the resize and is at it; wait, or look at its kubelet's log.",
    )
    DEFERRED = ("deferred", 4, "The node puts the resize off, mostly for lack of room; make room, or ask for less.")
    INFEASIBLE = ("infeasible", 5, "The node will never do this resize; ask for less, or replace the pod.")
    ERROR = ("error", 6, "The node met an error and tries again; the condition's message has the cause.")
    UNKNOWN = ("unknown", 6, "The node gives a reason that this version does not know; its condition has the words.")
    OVER = ("over", 7, "The pod is going or has ended, so its node does nothing more about it.")
    GONE = ("gone", 7, "The pod was deleted or replaced meanwhile.")

    @property
    def is_final(self) -> bool:
        """Whether waiting changes nothing: the kubelet never comes back to an infeasible resize by itself."""
        return self in {
            ResizeVerdict.CONVERGED,
            ResizeVerdict.INFEASIBLE,
            ResizeVerdict.OVER,
            ResizeVerdict.GONE,
        }


_OF_STATUS = {
    ResizeStatus.REQUESTED: ResizeVerdict.REQUESTED,
    ResizeStatus.IN_PROGRESS: ResizeVerdict.IN_PROGRESS,
    ResizeStatus.DEFERRED: ResizeVerdict.DEFERRED,
    ResizeStatus.INFEASIBLE: ResizeVerdict.INFEASIBLE,
    ResizeStatus.ERROR: ResizeVerdict.ERROR,
    ResizeStatus.UNKNOWN: ResizeVerdict.UNKNOWN,
}


@dataclass(frozen=True, slots=True)
class AmountStates:
    """One resource of one container in its states; None where an object does not have it.

    Args:
        container: Name of the container.
        resource: ``cpu`` or ``memory``.
        kind: ``request`` or ``limit``.
        desired: What the spec asks for.
        allocated: What the node has accepted; nodes publish that of requests only.
        actual: What is in force.
    """

    container: str
    resource: str
    kind: str
    desired: Quantity | None
    allocated: Quantity | None
    actual: Quantity | None


@dataclass(frozen=True, slots=True)
class ResizeCondition:
    """One of the pod's two conditions about resizes.

    Args:
        is_stale: Whether it is about an earlier spec than the present one.
    """

    type: str
    reason: str
    message: str
    since: datetime | None
    observed_generation: int
    is_stale: bool


@dataclass(frozen=True, slots=True)
class ContainerState:
    """A container as far as a resize changes it."""

    name: str
    restart_count: int
    is_running: bool


@dataclass(frozen=True, slots=True)
class ResizeReport:
    """All that a pod tells of its resize."""

    pod: ObjectRef
    uid: str
    verdict: ResizeVerdict
    meaning: str
    generation: int
    observed_generation: int
    containers: tuple[ContainerState, ...]
    amounts: tuple[AmountStates, ...]
    conditions: tuple[ResizeCondition, ...]


def resize_report(pod: Pod, behaviour: Behaviour, *, is_gone: bool = False) -> ResizeReport:
    """Return what a pod tells of its resize.

    Args:
        pod: The pod, with its sidecars among the containers.
        behaviour: How the updater reads a pod's conditions and amounts.
        is_gone: Whether there is no such pod any more, so that this is the last that was seen of it.
    """
    verdict = ResizeVerdict.GONE if is_gone else verdict_of(pod, behaviour)
    return ResizeReport(
        pod=pod.ref,
        uid=pod.uid,
        verdict=verdict,
        meaning=verdict.meaning,
        generation=pod.generation,
        observed_generation=pod.observed_generation,
        containers=tuple(_state(container, pod.status_of(container.name)) for container in pod.containers),
        amounts=tuple(
            states for container in pod.containers for states in _amounts(container, pod.status_of(container.name))
        ),
        conditions=tuple(
            ResizeCondition(
                c.type, c.reason, c.message, c.last_transition_time, c.observed_generation, pod.has_overtaken(c)
            )
            for c in pod.conditions
            if c.type in _RESIZE_CONDITIONS
        ),
    )


def verdict_of(pod: Pod, behaviour: Behaviour) -> ResizeVerdict:
    """Return what a pod's resize has come to, as the updater reads it."""
    if is_over(pod):
        return ResizeVerdict.OVER
    status = resize_progress(pod, behaviour)
    return ResizeVerdict.CONVERGED if status is None else _OF_STATUS[status]


def resize_blocks(report: ResizeReport) -> Iterator[Block]:
    """Yield what a terminal shows of a report."""
    seen = f"generation {report.generation}, of which the node has seen {report.observed_generation or _NOTHING}"
    yield f"{report.pod}: {report.verdict.value} ({seen})\n{report.meaning}"
    rows = tuple(
        (a.container, f"{a.resource} {a.kind}", _text(a.desired), _text(a.allocated), _text(a.actual))
        for a in report.amounts
    )
    yield Table("", ("CONTAINER", "AMOUNT", "DESIRED", "ALLOCATED", "ACTUAL"), rows)
    states = tuple((c.name, str(c.restart_count), "yes" if c.is_running else "no") for c in report.containers)
    yield Table("", ("CONTAINER", "RESTARTS", "RUNNING"), states)
    if report.conditions:
        yield Table("", ("CONDITION", "REASON", "SINCE", "MESSAGE"), tuple(map(_condition_row, report.conditions)))


def _state(container: Container, status: ContainerStatus | None) -> ContainerState:
    """Return a container's state; one without a status has not started."""
    return ContainerState(container.name, status.restart_count if status else 0, status.is_running if status else False)


def _amounts(container: Container, status: ContainerStatus | None) -> Iterator[AmountStates]:
    """Yield the amounts of a container that occur in any state."""
    wanted, actual = container.resources, status.resources if status else None
    allocated = status.allocated if status else None
    requests = (wanted.requests, allocated, actual.requests if actual else None)
    limits = (wanted.limits, None, actual.limits if actual else None)
    for resource in CONTROLLED:
        for kind, lists in (("request", requests), ("limit", limits)):
            desired, accepted, in_force = (_of(each, resource) for each in lists)
            if desired is not None or accepted is not None or in_force is not None:
                yield AmountStates(container.name, resource, kind, desired, accepted, in_force)


def _of(amounts: ResourceList | None, resource: str) -> Quantity | None:
    return (amounts or {}).get(resource)


def _text(amount: Quantity | None) -> str:
    return _NOTHING if amount is None else str(amount)


def _condition_row(condition: ResizeCondition) -> tuple[str, str, str, str]:
    """Return a condition as a row; one about an earlier spec says so."""
    stale = f" (about generation {condition.observed_generation})" if condition.is_stale else ""
    since = condition.since.strftime("%Y-%m-%d %H:%M:%S") if condition.since else _NOTHING
    return condition.type, (condition.reason or _NOTHING) + stale, since, condition.message or _NOTHING
