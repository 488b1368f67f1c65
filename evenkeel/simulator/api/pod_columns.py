"""What a table says about a pod: how many containers are ready, what it is up to, how often it restarted."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from evenkeel.simulator.api.fields import JsonObject, child, number, rows, text
from evenkeel.simulator.api.tables import AGE, NAME, NONE, Cell, Column, Shown, human_duration, wide
from evenkeel.simulator.clock import parse_rfc3339

_FINISHED = ("Succeeded", "Failed")


@dataclass(slots=True)
class _Summary:
    """What the cells of one pod say."""

    reason: str
    total: int
    ready: int = 0
    restarts: int = 0
    last_restart: datetime | None = None

    def count(self, status: JsonObject) -> None:
        """Count the restarts of one container in."""
        self.restarts += number(status, "restartCount")
        finished = text(status, "lastState", "terminated", "finishedAt")
        if finished:
            moment = parse_rfc3339(finished)
            self.last_restart = max(self.last_restart or moment, moment)


def _summary(shown: Shown) -> _Summary:
    """Return what the cells of a pod say."""
    body = shown.body
    sidecars = {text(c, "name") for c in rows(body, "spec", "initContainers") if text(c, "restartPolicy") == "Always"}
    summary = _Summary(
        text(body, "status", "reason") or text(body, "status", "phase"),
        len(rows(body, "spec", "containers")) + len(sidecars),
    )
    if any(text(condition, "reason") == "SchedulingGated" for condition in rows(body, "status", "conditions")):
        summary.reason = "SchedulingGated"
    if not _initializing(body, sidecars, summary):
        _running(body, summary)
    if text(body, "metadata", "deletionTimestamp"):
        _going(body, summary)
    return summary


def _initializing(body: JsonObject, sidecars: set[str], summary: _Summary) -> bool:
    """Look at the init containers; True when one of them is still needed."""
    specs, waited_for = rows(body, "spec", "initContainers"), _Summary("", 0)
    for index, status in enumerate(rows(body, "status", "initContainerStatuses")):
        is_sidecar = text(status, "name") in sidecars
        waited_for.count(status)
        if is_sidecar:
            summary.count(status)
        terminated, waiting = child(status, "state", "terminated"), text(status, "state", "waiting", "reason")
        if terminated and number(terminated, "exitCode") == 0:
            continue
        if is_sidecar and status.get("started") is True:
            summary.ready += int(status.get("ready") is True)
            continue
        if terminated:
            summary.reason = "Init:" + _ended(terminated)
        elif waiting and waiting != "PodInitializing":
            summary.reason = f"Init:{waiting}"
        else:
            summary.reason = f"Init:{index}/{len(specs)}"
        summary.restarts, summary.last_restart = waited_for.restarts, waited_for.last_restart
        return True
    return False


def _running(body: JsonObject, summary: _Summary) -> None:
    """Look at the containers; the first one with something to say gives the pod's reason."""
    some_run = False
    for status in reversed(rows(body, "status", "containerStatuses")):
        summary.count(status)
        state = child(status, "state")
        terminated, waiting = child(state, "terminated"), text(state, "waiting", "reason")
        if waiting:
            summary.reason = waiting
        elif terminated:
            summary.reason = _ended(terminated)
        elif "running" in state and status.get("ready") is True:
            some_run = True
            summary.ready += 1
    if summary.reason == "Completed" and some_run:
        summary.reason = "Running" if _is_ready(body) else "NotReady"


def _is_ready(body: JsonObject) -> bool:
    """Say whether a pod's Ready condition holds."""
    conditions = rows(body, "status", "conditions")
    return any(text(row, "type") == "Ready" and text(row, "status") == "True" for row in conditions)


def _going(body: JsonObject, summary: _Summary) -> None:
    """Say that a pod is being deleted."""
    if text(body, "status", "reason") == "NodeLost":
        summary.reason = "Unknown"
    elif text(body, "status", "phase") not in _FINISHED:
        summary.reason = "Terminating"


def _ended(terminated: JsonObject) -> str:
    """Return why a container ended."""
    signal = number(terminated, "signal")
    own = f"Signal:{signal}" if signal else f"ExitCode:{number(terminated, 'exitCode')}"
    return text(terminated, "reason") or own


def _ready(shown: Shown) -> str:
    """Return how many containers are ready of how many."""
    summary = _summary(shown)
    return f"{summary.ready}/{summary.total}"


def _restarts(shown: Shown) -> str:
    """Return how often containers restarted, and when last."""
    summary = _summary(shown)
    if not summary.restarts or summary.last_restart is None:
        return str(summary.restarts)
    return f"{summary.restarts} ({human_duration(shown.now - summary.last_restart)} ago)"


def _gates(shown: Shown) -> str:
    """Return how many readiness gates are met of how many."""
    wanted = {text(gate, "conditionType") for gate in rows(shown.body, "spec", "readinessGates")}
    met = [
        row
        for row in rows(shown.body, "status", "conditions")
        if text(row, "type") in wanted and text(row, "status") == "True"
    ]
    return f"{len(met)}/{len(wanted)}" if wanted else NONE


def _or_none(*path: str) -> Cell:
    """Return the maker of cells that show the text at a path."""
    return lambda shown: text(shown.body, *path) or NONE


POD_COLUMNS = (
    NAME,
    Column("Ready", _ready),
    Column("Status", lambda shown: _summary(shown).reason),
    Column("Restarts", _restarts),
    AGE,
    wide("IP", _or_none("status", "podIP")),
    wide("Node", _or_none("spec", "nodeName")),
    wide("Nominated Node", _or_none("status", "nominatedNodeName")),
    wide("Readiness Gates", _gates),
)
