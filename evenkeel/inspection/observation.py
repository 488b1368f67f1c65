"""What happens to the pods of a workload while they are resized, one line after the other.

Spec: resize 3.4, 3.11, 3.12; beyond:B-45.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from enum import Enum
from typing import Final

from autoscaling.pod import Pod
from autoscaling.quantity import Quantity
from autoscaling.workload import Workload
from evenkeel.inspection.history import ToldEvent
from evenkeel.inspection.resize_report import AmountStates, ResizeReport

EVENT_REASONS: Final = frozenset(
    {
        "ResizeStarted",
        "ResizeCompleted",
        "ResizeDeferred",
        "ResizeInfeasible",
        "ResizeError",
        "Preempting",
        "InPlaceResizedByVPA",
        "InPlaceResizeSkipped",
        "EvictedByVPA",
        "Evicted",
    }
)
"""Reasons of Events on pods that are about resizes, of the kubelet and of the updater."""

RESIZE_FAMILIES: Final = (
    "kubelet_container_requested_resizes_total",
    "kubelet_pod_resize_duration_milliseconds",
    "kubelet_pod_pending_resizes",
    "kubelet_pod_in_progress_resizes",
    "kubelet_pod_infeasible_resizes_total",
    "kubelet_pod_deferred_accepted_resizes_total",
)
"""The kubelet's series about resizes, as it spells them."""

_RESTARTING: Final = "resize requires restart"
_BUCKETS: Final = "_bucket"
_STATES: Final = ("desired", "allocated", "actual")


class What(Enum):
    """What a line is about."""

    POD = "pod"
    VERDICT = "verdict"
    AMOUNT = "amount"
    CONDITION = "condition"
    RESTART = "restart"
    EVENT = "event"
    METRIC = "metric"
    PROBLEM = "problem"


@dataclass(frozen=True, slots=True)
class Happening:
    """One line.

    Args:
        at: When it was seen; of an Event, when it says it was.
        subject: Name of the pod or node.
        what: What it is about.
        text: What happened.
    """

    at: datetime
    subject: str
    what: What
    text: str


def belongs(pod: Pod, kind: str, name: str, between: Mapping[tuple[str, str], Workload]) -> bool:
    """Say whether a pod is one of a workload's.

    Args:
        pod: The pod.
        kind: Of the workload, or ``Pod`` for a pod itself.
        name: Of the workload.
        between: ReplicaSets or Jobs by namespace and name, which Deployments and CronJobs have their pods by.
    """
    if kind == "Pod":
        return pod.name == name
    for owner in pod.owners:
        if not owner.controller:
            continue
        if (owner.kind, owner.name) == (kind, name):
            return True
        middle = between.get((pod.namespace, owner.name))
        if middle is not None and middle.kind == owner.kind:
            return any((each.kind, each.name) == (kind, name) for each in middle.owners if each.controller)
    return False


def pod_happenings(old: ResizeReport | None, new: ResizeReport | None, at: datetime) -> Iterator[Happening]:
    """Yield what is different about a pod.

    Args:
        old: As it was seen before, None for the first time.
        new: As it is, None where it is gone.
        at: When it was seen.
    """
    either = new or old
    if either is None:
        return
    name = either.pod.name
    if new is None:
        yield Happening(at, name, What.POD, "is gone")
        return
    if old is None or old.uid != new.uid:
        yield Happening(at, name, What.POD, f"is {new.verdict.value}: {new.meaning}")
        return
    for what, text in _differences(old, new):
        yield Happening(at, name, what, text)


def _differences(old: ResizeReport, new: ResizeReport) -> Iterator[tuple[What, str]]:
    """Yield what is different about a pod that was seen before."""
    before = {(each.container, each.resource, each.kind): each for each in old.amounts}
    for each in new.amounts:
        was = before.get((each.container, each.resource, each.kind))
        changes = [f"{state} {_text(old_one)}→{_text(new_one)}" for state, old_one, new_one in _states(was, each)]
        if changes:
            yield What.AMOUNT, f"{each.container} {each.resource} {each.kind}: {', '.join(changes)}"
    had = {each.type: each for each in old.conditions}
    for condition in new.conditions:
        earlier = had.pop(condition.type, None)
        if earlier is None or (earlier.reason, earlier.message) != (condition.reason, condition.message):
            words = " ".join(word for word in (condition.type, condition.reason, condition.message) if word)
            yield What.CONDITION, words
    for kind in had:
        yield What.CONDITION, f"{kind} is gone"
    restarts = {each.name: each.restart_count for each in old.containers}
    for container in new.containers:
        if container.restart_count > restarts.get(container.name, container.restart_count):
            yield What.RESTART, f"{container.name} was restarted, {container.restart_count} times so far"
    if new.verdict is not old.verdict:
        yield What.VERDICT, f"{old.verdict.value}→{new.verdict.value}: {new.meaning}"


def _states(old: AmountStates | None, new: AmountStates) -> Iterator[tuple[str, Quantity | None, Quantity | None]]:
    """Yield the states of an amount that are different, with the amounts before and now."""
    now = (new.desired, new.allocated, new.actual)
    before = (old.desired, old.allocated, old.actual) if old else (None, None, None)
    for state, was, amount in zip(_STATES, before, now, strict=True):
        if was != amount:
            yield state, was, amount


def _text(amount: Quantity | None) -> str:
    return "none" if amount is None else str(amount)


def event_happening(event: ToldEvent) -> Happening | None:
    """Return an Event about a resize, None for any other."""
    if event.reason not in EVENT_REASONS and _RESTARTING not in event.message:
        return None
    times = f" ({event.count} times)" if event.count > 1 else ""
    return Happening(event.at, event.pod.name, What.EVENT, f"{event.reason}{times}: {event.message}")


Samples = Mapping[tuple[str, tuple[tuple[str, str], ...]], float]
"""Values by name and labels."""


def is_of_resizes(series: str) -> bool:
    """Say whether a series, or a line of an exposition that begins with it, is one of those about resizes."""
    return series.startswith(RESIZE_FAMILIES) and not series.partition("{")[0].endswith(_BUCKETS)


def metric_happenings(node: str, old: Samples, new: Samples, at: datetime) -> Iterator[Happening]:
    """Yield the values of a kubelet's series that are different.

    Args:
        node: Name of the node.
        old: Values before; a series that was not there had none, which is zero.
        new: Values now; fewer than before where the kubelet was restarted.
        at: When they were read.
    """
    for series in sorted(old.keys() | new.keys()):
        before, now = old.get(series, 0.0), new.get(series, 0.0)
        if before != now:
            name, labels = series
            inner = ",".join(f'{key}="{value}"' for key, value in labels)
            yield Happening(at, node, What.METRIC, f"{name}{f'{{{inner}}}' if inner else ''} {before:g}→{now:g}")


def line_of(happening: Happening, width: int) -> str:
    """Return a happening as a line.

    Args:
        happening: What happened.
        width: Of the column of subjects.
    """
    return f"{happening.at:%H:%M:%S}  {happening.subject:<{width}}  {happening.what.value:<9}  {happening.text}"
