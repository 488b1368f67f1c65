"""Changes that the updater has made, as its Events and its log tell of them (beyond:B-42).

Events are gone after an hour on most clusters; the log has the same as long as somebody keeps it. A change that both
tell of is one change.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import Enum
from typing import Final

from autoscaling.objectref import ObjectRef
from evenkeel.inspection.documents import Table

_SAME: Final = timedelta(seconds=5)
"""Difference of time within which an Event and a line of the log are about the same change."""

_NOTHING: Final = "-"


class Source(Enum):
    """Who told of a change."""

    EVENT = "event"
    LOG = "log"


ACTIONS: Final[Mapping[str, str]] = {"InPlaceResizedByVPA": "resize", "EvictedByVPA": "evict"}
"""What each of the updater's two reasons of Events stands for."""

_AUDIT: Final = re.compile(
    r"(?P<opening>[^:]+): (?P<changes>.*?)\. (?P<reason>.*?)(?: Digest (?P<digest>[0-9a-f]+)\.)?", re.DOTALL
)
_UNNAMED: Final = re.compile(r"(?P<opening>[^:]+): (?P<reason>.*)", re.DOTALL)


@dataclass(frozen=True, slots=True)
class PastChange:
    """One change of one pod.

    Args:
        at: When; the last time of several that one Event counts.
        pod: The pod.
        vpa: Name of the VPA on whose behalf, empty where that is not known.
        action: ``resize`` or ``evict``.
        changes: A text for each container, such as ``web cpu 100m→250m``.
        reason: Why, in words or by its name, as it was told.
        digest: The same for changes by the same recommendation and policies; empty where it was not told.
        count: How often, where one Event counts several.
        source: Who told of it.
    """

    at: datetime
    pod: ObjectRef
    vpa: str
    action: str
    changes: tuple[str, ...]
    reason: str
    digest: str
    count: int
    source: Source


@dataclass(frozen=True, slots=True)
class ToldEvent:
    """What counts of an Event."""

    at: datetime
    pod: ObjectRef
    reason: str
    message: str
    count: int


def of_event(event: ToldEvent, vpas: Mapping[ObjectRef, str]) -> PastChange | None:
    """Return the change that an Event tells of, None where it is about something else.

    Args:
        event: The Event.
        vpas: Names of the VPAs of pods that still live.
    """
    action = ACTIONS.get(event.reason)
    if action is None:
        return None
    found = _AUDIT.fullmatch(event.message) or _UNNAMED.fullmatch(event.message)
    parts = found.groupdict() if found else {"reason": event.message}
    changes = tuple(parts["changes"].split("; ")) if parts.get("changes") else ()
    return PastChange(
        at=event.at,
        pod=event.pod,
        vpa=vpas.get(event.pod, ""),
        action=action,
        changes=changes,
        reason=parts["reason"] or "",
        digest=parts.get("digest") or "",
        count=event.count,
        source=Source.EVENT,
    )


def of_log_entry(entry: Mapping[str, object]) -> PastChange | None:
    """Return the change that a line of the updater's log tells of, None where it is about something else.

    Args:
        entry: The line as JSON.
    """
    pod, at = _pod(entry.get("object")), _time(entry.get("timestamp"))
    if entry.get("event") != "pod changed" or pod is None or at is None:
        return None
    changes = entry.get("changes")
    vpa = _text(entry, "vpa").rpartition("/")[2]
    return PastChange(
        at=at,
        pod=pod,
        vpa=vpa,
        action=_text(entry, "action"),
        changes=tuple(map(str, changes)) if isinstance(changes, list) else (),
        reason=_text(entry, "reason"),
        digest=_text(entry, "digest"),
        count=1,
        source=Source.LOG,
    )


def history(changes: Iterable[PastChange], namespace: str = "") -> tuple[PastChange, ...]:
    """Return changes in the order of time, those told of twice once, by the log, which names the VPA.

    Args:
        changes: From Events and logs.
        namespace: Only this one; empty for all.
    """
    wanted = [change for change in changes if namespace in {"", change.pod.namespace}]
    logged = [change for change in wanted if change.source is Source.LOG]
    kept = [change for change in wanted if change.source is Source.LOG or not _is_told(change, logged)]
    return tuple(sorted(kept, key=lambda change: (change.at, change.pod, change.action)))


def _is_told(change: PastChange, logged: Sequence[PastChange]) -> bool:
    """Say whether the log tells of all that an Event tells of."""
    return change.count == 1 and any(
        each.pod == change.pod
        and each.action == change.action
        and each.digest == change.digest
        and abs(each.at - change.at) <= _SAME
        for each in logged
    )


def history_table(changes: Iterable[PastChange]) -> Table:
    """Return a row for each change."""
    return Table(
        "",
        ("TIME", "NAMESPACE", "POD", "VPA", "ACTION", "CHANGES", "REASON", "DIGEST"),
        tuple(
            (
                change.at.strftime("%Y-%m-%d %H:%M:%S"),
                change.pod.namespace,
                change.pod.name,
                change.vpa or _NOTHING,
                change.action if change.count == 1 else f"{change.action} ({change.count} times)",
                "; ".join(change.changes) or _NOTHING,
                change.reason or _NOTHING,
                change.digest or _NOTHING,
            )
            for change in changes
        ),
    )


def _pod(text: object) -> ObjectRef | None:
    """Read the name of a pod as logs print it."""
    kind, _, name = text.partition(" ") if isinstance(text, str) else ("", "", "")
    namespace, slash, own_name = name.partition("/")
    return ObjectRef(kind, namespace, own_name) if kind == "Pod" and slash else None


def _time(text: object) -> datetime | None:
    """Read a time as logs print it; one without a time zone is none."""
    try:
        at = datetime.fromisoformat(text) if isinstance(text, str) else None
    except ValueError:
        return None
    return at if at is not None and at.tzinfo is not None else None


def _text(entry: Mapping[str, object], name: str) -> str:
    value = entry.get(name)
    return value if isinstance(value, str) else ""
