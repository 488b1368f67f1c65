"""Telling the owner of an object that it cannot be read, on the object itself (beyond:B-32)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from autoscaling.errors import InvalidObjectError
from autoscaling.kube.event_ledger import EventDraft, EventKind, InvolvedObject
from autoscaling.kube.events import LONGEST_MESSAGE

REASON: Final = "InvalidObject"


def event_of(error: InvalidObjectError, api_version: str) -> EventDraft:
    """Return the event that says what is wrong and the way out; of a long problem the end is left out.

    Args:
        error: Names the object.
        api_version: Of the object.
    """
    ending = f"; {error.remedy}"
    room = max(LONGEST_MESSAGE - len(ending), 0)
    problem = error.problem if len(error.problem) <= room else f"{error.problem[: max(room - 1, 0)]}…"
    return EventDraft(InvolvedObject(error.ref, api_version, error.uid), EventKind.WARNING, REASON, problem + ending)


def telling(
    told: Callable[[InvalidObjectError], None] | None, api_version: str, record: Callable[[EventDraft], None]
) -> Callable[[InvalidObjectError], None]:
    """Return a callback for objects that cannot be read which also records an event on each that has a name.

    Args:
        told: Who is told besides.
        api_version: Of the objects.
        record: Takes the event.
    """

    def tell(error: InvalidObjectError) -> None:
        if told is not None:
            told(error)
        if error.uid:
            record(event_of(error, api_version))

    return tell
