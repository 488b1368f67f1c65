"""What tables say about controllers of pods and about what scales them."""

from __future__ import annotations

from evenkeel.simulator.api.fields import JsonObject, child, number, rows, text, value_at
from evenkeel.simulator.api.selectors import selector_text
from evenkeel.simulator.api.tables import (
    AGE,
    NAME,
    NONE,
    UNKNOWN,
    Cell,
    Column,
    Shown,
    human_duration,
    labels_text,
    wide,
)
from evenkeel.simulator.clock import parse_rfc3339


def count(*path: str) -> Cell:
    """Return the maker of cells that show the number at a path."""
    return lambda shown: number(shown.body, *path)


def _template(body: JsonObject) -> JsonObject:
    """Return a workload's pod template, a CronJob's Jobs' included."""
    return child(body, "spec", "template") or child(body, "spec", "jobTemplate", "spec", "template")


def _containers(field: str) -> Cell:
    """Return the maker of cells that list one field of a template's containers."""
    return lambda shown: ",".join(text(c, field) for c in rows(_template(shown.body), "spec", "containers"))


def _selector(shown: Shown) -> str:
    """Return a workload's selector."""
    return selector_text(value_at(shown.body, "spec", "selector")) or NONE


_TEMPLATE_COLUMNS = (wide("Containers", _containers("name")), wide("Images", _containers("image")))
_SELECTED_COLUMNS = (*_TEMPLATE_COLUMNS, wide("Selector", _selector))


def _ready(shown: Shown) -> str:
    """Return how many replicas are ready of how many."""
    return f"{number(shown.body, 'status', 'readyReplicas')}/{number(shown.body, 'spec', 'replicas')}"


DEPLOYMENT_COLUMNS = (
    NAME,
    Column("Ready", _ready),
    Column("Up-to-date", count("status", "updatedReplicas")),
    Column("Available", count("status", "availableReplicas")),
    AGE,
    *_SELECTED_COLUMNS,
)
REPLICA_SET_COLUMNS = (
    NAME,
    Column("Desired", count("spec", "replicas"), "integer"),
    Column("Current", count("status", "replicas"), "integer"),
    Column("Ready", count("status", "readyReplicas"), "integer"),
    AGE,
    *_SELECTED_COLUMNS,
)
STATEFUL_SET_COLUMNS = (NAME, Column("Ready", _ready), AGE, *_TEMPLATE_COLUMNS)
DAEMON_SET_COLUMNS = (
    NAME,
    Column("Desired", count("status", "desiredNumberScheduled"), "integer"),
    Column("Current", count("status", "currentNumberScheduled"), "integer"),
    Column("Ready", count("status", "numberReady"), "integer"),
    Column("Up-to-date", count("status", "updatedNumberScheduled"), "integer"),
    Column("Available", count("status", "numberAvailable"), "integer"),
    Column("Node Selector", lambda shown: labels_text(child(_template(shown.body), "spec").get("nodeSelector"))),
    AGE,
    *_SELECTED_COLUMNS,
)


def _controller(shown: Shown) -> str:
    """Return who controls a revision."""
    owners = [o for o in rows(shown.body, "metadata", "ownerReferences") if o.get("controller") is True]
    if not owners:
        return NONE
    group = text(owners[0], "apiVersion").partition("/")[0] if "/" in text(owners[0], "apiVersion") else ""
    kind = text(owners[0], "kind").lower() + (f".{group}" if group else "")
    return f"{kind}/{text(owners[0], 'name')}"


REVISION_COLUMNS = (NAME, Column("Controller", _controller), Column("Revision", count("revision")), AGE)


def _job_state(shown: Shown) -> str:
    """Return what a Job has come to."""
    held = {text(c, "type") for c in rows(shown.body, "status", "conditions") if text(c, "status") == "True"}
    for condition, state in (("Complete", "Complete"), ("Failed", "Failed")):
        if condition in held:
            return state
    if text(shown.body, "metadata", "deletionTimestamp"):
        return "Terminating"
    later = ("Suspended", "FailureTarget", "SuccessCriteriaMet")
    return next((condition for condition in later if condition in held), "Running")


def _completions(shown: Shown) -> str:
    """Return how many pods of a Job have succeeded of how many."""
    succeeded, parallelism = number(shown.body, "status", "succeeded"), number(shown.body, "spec", "parallelism")
    if value_at(shown.body, "spec", "completions") is not None:
        return f"{succeeded}/{number(shown.body, 'spec', 'completions')}"
    return f"{succeeded}/1 of {parallelism}" if parallelism > 1 else f"{succeeded}/1"


def _job_duration(shown: Shown) -> str:
    """Return how long a Job took, or has taken so far."""
    start, end = text(shown.body, "status", "startTime"), text(shown.body, "status", "completionTime")
    if not start:
        return ""
    return human_duration((parse_rfc3339(end) if end else shown.now) - parse_rfc3339(start))


JOB_COLUMNS = (
    NAME,
    Column("Status", _job_state),
    Column("Completions", _completions),
    Column("Duration", _job_duration),
    AGE,
    *_SELECTED_COLUMNS,
)


def _last_schedule(shown: Shown) -> str:
    """Return how long ago a CronJob made a Job."""
    scheduled = text(shown.body, "status", "lastScheduleTime")
    return shown.age("status", "lastScheduleTime") if scheduled else NONE


CRON_JOB_COLUMNS = (
    NAME,
    Column("Schedule", lambda shown: text(shown.body, "spec", "schedule")),
    Column("Timezone", lambda shown: text(shown.body, "spec", "timeZone") or NONE),
    Column("Suspend", lambda shown: str(value_at(shown.body, "spec", "suspend") is True), "boolean"),
    Column("Active", lambda shown: len(rows(shown.body, "status", "active")), "integer"),
    Column("Last Schedule", _last_schedule),
    AGE,
    *_TEMPLATE_COLUMNS,
    wide("Selector", lambda _: NONE),
)


def _targets(shown: Shown) -> str:
    """Return a horizontal autoscaler's metrics, each as its present value and its aim."""
    current = rows(shown.body, "status", "currentMetrics")
    found = [
        f"{_metric_name(metric)}: {_metric_value(current, index)}/{_aim(metric)}"
        for index, metric in enumerate(rows(shown.body, "spec", "metrics"))
    ]
    return ", ".join(found) or NONE


def _metric_part(metric: JsonObject) -> JsonObject:
    """Return the part of a metric that its type is about."""
    kind = text(metric, "type")
    return child(metric, kind[:1].lower() + kind[1:])


def _metric_name(metric: JsonObject) -> str:
    """Return a metric's name."""
    part = _metric_part(metric)
    return text(part, "name") or text(part, "metric", "name")


def _metric_value(current: list[JsonObject], index: int) -> str:
    """Return the present value of a metric."""
    return _printed(child(_metric_part(current[index]), "current")) if index < len(current) else UNKNOWN


def _aim(metric: JsonObject) -> str:
    """Return what a metric should come to."""
    return _printed(child(_metric_part(metric), "target"))


def _printed(value: JsonObject) -> str:
    """Return a metric's value, as a share where it is one."""
    if isinstance(value.get("averageUtilization"), int):
        return f"{value['averageUtilization']}%"
    return text(value, "averageValue") or text(value, "value") or UNKNOWN


def _least(shown: Shown) -> str:
    """Return the fewest replicas a horizontal autoscaler sets."""
    least = value_at(shown.body, "spec", "minReplicas")
    return str(least) if least is not None else "<unset>"


AUTOSCALER_COLUMNS = (
    NAME,
    Column(
        "Reference",
        lambda shown: "/".join(text(shown.body, "spec", "scaleTargetRef", part) for part in ("kind", "name")),
    ),
    Column("Targets", _targets),
    Column("MinPods", _least),
    Column("MaxPods", count("spec", "maxReplicas")),
    Column("Replicas", count("status", "currentReplicas")),
    AGE,
)
