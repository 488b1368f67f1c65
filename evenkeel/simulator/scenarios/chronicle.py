"""Keeps what happens in a cluster, in order, from the writes in its store and the logs of the processes."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import datetime, timedelta

from autoscaling.quantity import Quantity
from autoscaling.runtime.api_group import ApiGroup
from evenkeel.simulator.api.builtin import EVENTS, PODS
from evenkeel.simulator.api.fields import JsonObject, child, number, quantity, rows, text
from evenkeel.simulator.api.kinds import GroupResource
from evenkeel.simulator.api.server import ApiServer
from evenkeel.simulator.api.store import Change, ChangeType
from evenkeel.simulator.processes.logs import LogLine
from evenkeel.simulator.scenarios.happenings import (
    Complained,
    Decided,
    Done,
    Happening,
    PodChange,
    PodHappening,
    Recommended,
    Resized,
    ResizeStatus,
    Restarted,
    Told,
    Used,
)
from evenkeel.simulator.scenarios.objects import WORKLOAD_LABEL

RESIZE_CONDITIONS = ("PodResizePending", "PodResizeInProgress")
_LOUD = ("warning", "error", "critical")


class Chronicle:
    """The happenings of one run.

    Args:
        server: The cluster's API server.
    """

    def __init__(self, server: ApiServer) -> None:
        self._server = server
        self._handed_out = 0
        self._collect_logs: Callable[[], None] = lambda: None
        self._start = server.clock.now()
        self._stops: list[Callable[[], None]] = []
        self.happenings: list[Happening] = []

    def begin(self, collect_logs: Callable[[], None]) -> None:
        """Let times count from now on, and follow pods, events and VPAs.

        Args:
            collect_logs: Hands over, by ``take_log``, what was logged so far.
        """
        self._start, self._collect_logs = self._server.clock.now(), collect_logs
        self._follow(PODS, pod_happenings)
        self._follow(EVENTS, event_happenings)
        for group in ApiGroup:
            self._follow(GroupResource(group.value, "verticalpodautoscalers"), vpa_happenings)

    def _follow(self, resource: GroupResource, read: Callable[[Change, timedelta], list[Happening]]) -> None:
        """Take in every write to a kind."""

        def observe(change: Change) -> None:
            found = read(change, self.now())
            if found:
                # A process logs before it acts: what led to this write has to stand before it.
                self._collect_logs()
                self._take(found)

        self._stops.append(self._server.store.versions.observe(resource, observe))

    def end(self) -> None:
        """Follow nothing any more."""
        for stop in self._stops:
            stop()
        self._stops.clear()

    def news(self) -> list[Happening]:
        """Return what has happened since the last call."""
        found = self.happenings[self._handed_out :]
        self._handed_out += len(found)
        return found

    def now(self) -> timedelta:
        """Return the time since the beginning."""
        return self._server.clock.now() - self._start

    @property
    def start(self) -> datetime:
        """The moment from which times count."""
        return self._start

    def take_log(self, process: str, line: LogLine) -> None:
        """Take in a line of a process's log."""
        self._take(log_happenings(process, line, self.now()))

    def take_usage(self) -> None:
        """Take in what the metrics API says of all pods."""
        self._take(usage_happenings(self._server.metrics.pods(), self.now()))

    def did(self, what: str) -> None:
        """Note something that the scenario did."""
        self._take([Done(self.now(), what)])

    def _take(self, happenings: list[Happening]) -> None:
        self.happenings += happenings


def pod_happenings(change: Change, at: timedelta) -> list[Happening]:
    """Return what a write to a pod means."""
    after = change.after.body
    pod = _name(after)
    before = change.before.body if change.before else {}
    identity = (change.after.uid, text(after, "metadata", "labels", WORKLOAD_LABEL), text(after, "spec", "nodeName"))
    changes = [PodChange.GONE] if change.type is ChangeType.DELETED else list(_pod_changes(before, after))
    found = [PodHappening(at, pod, what, *identity) for what in changes]
    if change.type is ChangeType.DELETED:
        return [*found]
    return [*found, *_container_happenings(pod, before, after, at), *_resize_happenings(pod, before, after, at)]


def _pod_changes(before: JsonObject, after: JsonObject) -> Iterator[PodChange]:
    """Yield what became of a pod that is still there."""
    if not before:
        yield PodChange.CREATED
    if text(after, "status", "phase") == "Running" != text(before, "status", "phase"):
        yield PodChange.STARTED
    if text(after, "metadata", "deletionTimestamp") and not text(before, "metadata", "deletionTimestamp"):
        yield PodChange.LEAVING


def _container_happenings(pod: str, before: JsonObject, after: JsonObject, at: timedelta) -> Iterator[Happening]:
    """Yield the restarts and new resources of containers."""
    earlier = {text(row, "name"): row for row in _statuses(before)}
    for status in _statuses(after):
        name = text(status, "name")
        old = earlier.get(name)
        if old is None:
            continue
        count = number(status, "restartCount")
        if count > number(old, "restartCount"):
            yield Restarted(at, pod, name, count, text(status, "lastState", "terminated", "reason"))
        resources = child(status, "resources")
        if resources and child(old, "resources") and resources != child(old, "resources"):
            yield Resized(at, pod, name, listed(child(resources, "requests")), listed(child(resources, "limits")))


def _statuses(pod: JsonObject) -> list[JsonObject]:
    """Return the statuses of all containers of a pod."""
    return rows(pod, "status", "containerStatuses") + rows(pod, "status", "initContainerStatuses")


def _resize_happenings(pod: str, before: JsonObject, after: JsonObject, at: timedelta) -> Iterator[Happening]:
    """Yield the resize conditions that came or changed, and once that all have gone."""
    old, new = _resize_conditions(before), _resize_conditions(after)
    for condition, (reason, message) in new.items():
        if old.get(condition) != (reason, message):
            yield ResizeStatus(at, pod, condition, reason, message)
    if old and not new:
        yield ResizeStatus(at, pod, "", "", "")


def _resize_conditions(pod: JsonObject) -> dict[str, tuple[str, str]]:
    """Return reason and message of a pod's resize conditions."""
    return {
        text(row, "type"): (text(row, "reason"), text(row, "message"))
        for row in rows(pod, "status", "conditions")
        if text(row, "type") in RESIZE_CONDITIONS and text(row, "status") == "True"
    }


def event_happenings(change: Change, at: timedelta) -> list[Happening]:
    """Return what a write to an event means: it was told again, as often as its count has grown."""
    if change.type is ChangeType.DELETED:
        return []
    event = change.after.body
    earlier = number(change.before.body, "count", default=1) if change.before else 0
    involved = child(event, "involvedObject")
    told = Told(
        at,
        text(event, "reason"),
        text(involved, "kind"),
        text(involved, "name"),
        text(involved, "namespace"),
        text(event, "message"),
        text(event, "source", "component") or text(event, "reportingComponent"),
    )
    return [told] * max(0, number(event, "count", default=1) - earlier)


def vpa_happenings(change: Change, at: timedelta) -> list[Happening]:
    """Return what a write to a VPA means: containers whose recommendation is another one."""
    if change.type is ChangeType.DELETED:
        return []
    before = {text(row, "containerName"): row for row in _recommendations(change.before.body if change.before else {})}
    return [
        Recommended(
            at,
            change.after.key[1],
            text(row, "containerName"),
            *(listed(child(row, key)) for key in ("target", "lowerBound", "upperBound", "uncappedTarget")),
        )
        for row in _recommendations(change.after.body)
        if row != before.get(text(row, "containerName"))
    ]


def _recommendations(vpa: JsonObject) -> list[JsonObject]:
    return rows(vpa, "status", "recommendation", "containerRecommendations")


def log_happenings(process: str, line: LogLine, at: timedelta) -> list[Happening]:
    """Return what a line of a log means: a decision, or a complaint."""
    if line.event == "pod decided":
        fields = line.fields
        return [Decided(at, *(str(fields.get(key, "")) for key in ("object", "action", "reason", "detail")))]
    if line.level in _LOUD:
        detail = ", ".join(f"{key} {value}" for key, value in sorted(line.fields.items()) if key != "exception")
        return [Complained(at, process, line.level, line.event, detail)]
    return []


def usage_happenings(metrics: list[JsonObject], at: timedelta) -> list[Happening]:
    """Return the usage of every container that the metrics API knows."""
    return [
        Used(at, _name(row), text(container, "name"), *(_short(container, key) for key in ("cpu", "memory")))
        for row in metrics
        for container in rows(row, "containers")
    ]


def _short(container: JsonObject, resource: str) -> str:
    """Return a usage in the notation of requests: thousandths of a core, MiB."""
    amount = quantity(child(container, "usage").get(resource, "0"))
    if resource == "cpu":
        return str(Quantity.of_milli(round(amount.nano / 10**6)))
    return f"{round(amount.nano / 10**9 / 2**20)}Mi"


def listed(amounts: JsonObject) -> str:
    """Return amounts by resource in one line, such as ``400m/100Mi``; other resources are named."""
    usual = [str(amounts[key]) if key in amounts else "-" for key in ("cpu", "memory")]
    others = [f"{key} {value}" for key, value in sorted(amounts.items()) if key not in {"cpu", "memory"}]
    return "/".join(usual) + "".join(f", {other}" for other in others)


def _name(body: JsonObject) -> str:
    """Return the name of an object, behind its namespace where that is not the usual one."""
    namespace, name = text(body, "metadata", "namespace"), text(body, "metadata", "name")
    return name if namespace in {"", "default"} else f"{namespace}/{name}"
