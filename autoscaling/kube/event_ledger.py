"""Which events were written already, and how many an object may have: decided with time as an argument."""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from enum import Enum
from typing import TypeVar

from autoscaling.kube.throttle import CallBudget
from autoscaling.objectref import ObjectRef

K = TypeVar("K")
V = TypeVar("V")
BURST_PER_OBJECT = 25
SECONDS_PER_FURTHER_EVENT = 300.0
_REMEMBERED = 4096
_NAMESPACE_OF_CLUSTER_WIDE = "default"


class EventKind(Enum):
    """Whether someone should look."""

    NORMAL = "Normal"
    WARNING = "Warning"


@dataclass(frozen=True, slots=True)
class InvolvedObject:
    """What an event is about.

    Args:
        ref: Kind, namespace and name.
        api_version: Of the object.
        uid: Of the object.
        resource_version: When the event was decided; may be empty.
        field_path: Such as ``spec.containers{web}``; may be empty.
    """

    ref: ObjectRef
    api_version: str
    uid: str
    resource_version: str = ""
    field_path: str = ""


@dataclass(frozen=True, slots=True)
class EventDraft:
    """An event as its author sees it.

    Args:
        involved: What it is about.
        kind: Normal or Warning.
        reason: One word that programs compare.
        message: One sentence for people.
    """

    involved: InvolvedObject
    kind: EventKind
    reason: str
    message: str

    @property
    def sameness(self) -> EventDraft:
        """What makes two events one: everything but the version of the object."""
        return replace(self, involved=replace(self.involved, resource_version=""))


@dataclass(frozen=True, slots=True)
class EventRecord:
    """An event as it is to be written.

    Args:
        draft: Content.
        name: Of the Event object.
        count: How often it happened; above 1 the object should be there already.
        first: When it happened first.
        last: When it happened last.
    """

    draft: EventDraft
    name: str
    count: int
    first: datetime
    last: datetime

    @property
    def namespace(self) -> str:
        """Of the Event object."""
        return self.draft.involved.ref.namespace or _NAMESPACE_OF_CLUSTER_WIDE

    @property
    def first_text(self) -> str:
        """First time as the API spells it."""
        return _seconds_text(self.first)

    @property
    def last_text(self) -> str:
        """Last time as the API spells it."""
        return _seconds_text(self.last)


class EventLedger:
    """Remembers recent events, so that the same one is counted and one object cannot flood the cluster.

    Args:
        remembered: Events and objects kept in mind; the longest unused go first.
    """

    def __init__(self, remembered: int = _REMEMBERED) -> None:
        self._records: OrderedDict[EventDraft, EventRecord] = OrderedDict()
        self._budgets: OrderedDict[tuple[ObjectRef, str], CallBudget] = OrderedDict()
        self._remembered = remembered
        self._sequence = 0

    def enter(self, draft: EventDraft, now: datetime, now_seconds: float) -> EventRecord | None:
        """Enter an event.

        Args:
            draft: Content.
            now: Wall clock.
            now_seconds: Monotonic time.

        Returns:
            What to write, or None when the object had too many events lately.
        """
        if not self._may_write(draft.involved, now_seconds):
            return None
        known = self._records.get(draft.sameness)
        if known is None:
            record = EventRecord(draft, self._fresh_name(draft, now), 1, now, now)
        else:
            record = replace(known, draft=draft, count=known.count + 1, last=now)
        _remember(self._records, draft.sameness, record, self._remembered)
        return record

    def forget(self, draft: EventDraft) -> None:
        """Take back an event that could not be written, so that the next one does not count on it."""
        self._records.pop(draft.sameness, None)

    def _may_write(self, involved: InvolvedObject, now_seconds: float) -> bool:
        key = (involved.ref, involved.uid)
        budget = self._budgets.get(key) or CallBudget(1.0 / SECONDS_PER_FURTHER_EVENT, BURST_PER_OBJECT)
        _remember(self._budgets, key, budget, self._remembered)
        return budget.try_take(now_seconds)

    def _fresh_name(self, draft: EventDraft, now: datetime) -> str:
        """A name nobody else chooses: the object's, the time, and a number for events of the same instant."""
        self._sequence = (self._sequence + 1) % 1000
        return f"{draft.involved.ref.name}.{int(now.timestamp() * 1_000_000) * 1000 + self._sequence:x}"


def _remember(memory: OrderedDict[K, V], key: K, value: V, limit: int) -> None:
    memory[key] = value
    memory.move_to_end(key)
    if len(memory) > limit:
        memory.popitem(last=False)


def _seconds_text(time: datetime) -> str:
    return time.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
