"""Events on objects that cannot be read."""

from __future__ import annotations

import pytest

from autoscaling.errors import InvalidObjectError
from autoscaling.kube.event_ledger import EventDraft, EventKind
from autoscaling.kube.events import LONGEST_MESSAGE
from autoscaling.kube.invalid_objects import event_of, telling
from autoscaling.objectref import ObjectRef

WEB = ObjectRef("VerticalPodAutoscaler", "shop", "web")


def invalid(problem: str, uid: str = "u1") -> InvalidObjectError:
    error = InvalidObjectError(WEB, problem, remedy="correct it")
    error.uid = uid
    return error


@pytest.mark.parametrize(
    ("row", "problem", "message"),
    [
        ("beyond:B-32", "field cpu: no quantity", "field cpu: no quantity; correct it"),
        ("beyond:B-32 just fits", "x" * (LONGEST_MESSAGE - 12), "x" * (LONGEST_MESSAGE - 12) + "; correct it"),
        ("beyond:B-32 too long", "x" * (LONGEST_MESSAGE - 11), "x" * (LONGEST_MESSAGE - 13) + "…; correct it"),
    ],
)
def test_what_is_wrong_and_the_way_out_fit_into_the_event(row: str, problem: str, message: str) -> None:
    event = event_of(invalid(problem), "autoscaling.evenkeel.dev/v1")
    assert (event.kind, event.reason, event.message) == (EventKind.WARNING, "InvalidObject", message), row
    assert (event.involved.ref, event.involved.uid) == (WEB, "u1")
    assert event.involved.api_version == "autoscaling.evenkeel.dev/v1"


@pytest.mark.parametrize(("uid", "events"), [("u1", 1), ("", 0)])
def test_only_an_object_that_can_be_named_gets_an_event(uid: str, events: int) -> None:
    """An event without a UID would be found by nobody who describes the object."""
    told: list[InvalidObjectError] = []
    recorded: list[EventDraft] = []
    error = invalid("odd", uid)
    telling(told.append, "v1", recorded.append)(error)
    telling(None, "v1", recorded.append)(error)
    assert (told, len(recorded)) == ([error], 2 * events)
