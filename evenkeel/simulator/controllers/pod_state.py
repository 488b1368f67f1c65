"""What controllers want to know about a pod, read from its body."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from evenkeel.simulator.api.fields import JsonObject, number, rows, text
from evenkeel.simulator.clock import parse_rfc3339

LONG_AGO = datetime.min.replace(tzinfo=UTC)


def is_finished(pod: JsonObject) -> bool:
    """Say whether all containers have ended for good."""
    return text(pod, "status", "phase") in {"Succeeded", "Failed"}


def is_going(obj: JsonObject) -> bool:
    """Say whether an object is being deleted."""
    return bool(text(obj, "metadata", "deletionTimestamp"))


def is_active(pod: JsonObject) -> bool:
    """Say whether a pod is neither finished nor going."""
    return not is_finished(pod) and not is_going(pod)


def ready_condition(pod: JsonObject) -> JsonObject | None:
    """Return a pod's Ready condition when it holds."""
    conditions = rows(pod, "status", "conditions")
    return next((row for row in conditions if row.get("type") == "Ready" and row.get("status") == "True"), None)


def is_ready(pod: JsonObject) -> bool:
    """Say whether a pod's Ready condition holds."""
    return ready_condition(pod) is not None


def ready_since(pod: JsonObject) -> datetime | None:
    """Return since when a pod is ready, None when it is not; long ago when it does not say."""
    condition = ready_condition(pod)
    if condition is None:
        return None
    since = text(condition, "lastTransitionTime")
    return parse_rfc3339(since) if since else LONG_AGO


def available_from(pod: JsonObject, min_ready_seconds: int) -> datetime | None:
    """Return from when on a ready pod counts as available, None while it is not ready."""
    since = ready_since(pod)
    if since is None or since == LONG_AGO or not min_ready_seconds:
        return since
    return since + timedelta(seconds=min_ready_seconds)


def is_available(pod: JsonObject, min_ready_seconds: int, now: datetime) -> bool:
    """Say whether a pod has been ready for long enough."""
    moment = available_from(pod, min_ready_seconds)
    return moment is not None and moment <= now


def created(obj: JsonObject) -> datetime:
    """Return when an object was created."""
    given = text(obj, "metadata", "creationTimestamp")
    return parse_rfc3339(given) if given else LONG_AGO


def most_restarts(pod: JsonObject, group: str) -> int:
    """Return the restarts of the container of a group that restarted most."""
    return max((number(status, "restartCount") for status in rows(pod, "status", group)), default=0)


def next_availability(pods: list[JsonObject], min_ready_seconds: int, now: datetime) -> datetime | None:
    """Return the next moment at which a pod that is ready becomes available, None when none will."""
    moments = (available_from(pod, min_ready_seconds) for pod in pods)
    return min((moment for moment in moments if moment is not None and moment > now), default=None)
