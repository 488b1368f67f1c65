"""The end state that a scenario must come to, as scenario files say it."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from typing import Annotated, TypeAlias

from pydantic import Discriminator, Tag

from autoscaling.behaviour import Profile
from evenkeel.simulator.api.fields import JsonObject
from evenkeel.simulator.scenarios.steps import Reference
from evenkeel.simulator.scenarios.syntax import AT_LEAST_ONE, Duration, Number, Part, Wanted


@dataclass(frozen=True, slots=True, kw_only=True)
class Expected(Part):
    """One thing that has to be so at the end.

    Args:
        profile: The only profile it is about; every profile where it names none.
        because: Why it should be so, for the reader of the outcome.
    """

    profile: Profile | None = None
    because: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class PodsExpected(Expected):
    """How the pods of a workload stand at the end, each of them.

    Args:
        pods: Name of the workload.
        count: How many there are, without those that are being deleted.
        kept: How many of them were there from the first on.
        phase: Phase.
        restarts: Restarts of all containers of a pod.
        container: Which container the amounts are of; the first one where it is empty.
        requests: Requests as the status reports them, those of the spec for a pod that has not started.
        limits: Limits likewise.
        asked: Requests in the spec, where they differ from what the status reports.
        conditions: Reason by type of the conditions that are True; those listed without a reason must have none.
        without: Types of conditions that must not be there.
        nodes: Nodes on which they may run.
    """

    pods: str
    count: Number = AT_LEAST_ONE
    kept: Number | None = None
    phase: str = ""
    restarts: Number | None = None
    container: str = ""
    requests: dict[str, Wanted] | None = None
    limits: dict[str, Wanted] | None = None
    asked: dict[str, Wanted] | None = None
    conditions: dict[str, str] | None = None
    without: tuple[str, ...] = ()
    nodes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Span(Part):
    """Between which times something happens.

    Args:
        after: Not before this time.
        before: Not after this time; None for any.
        since: Reason of an event; times count from its first occurrence instead of the scenario's start.
    """

    after: Duration = timedelta(0)
    before: Duration | None = None
    since: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class EventsExpected(Expected):
    """How often an event was told, counting repetitions.

    Args:
        events: Reason of the event.
        of: Workload whose pods it is about, or name of the object; everything where it is empty.
        count: How often.
        within: When the first of them came.
        message: Text that the message of at least one of them holds.
    """

    events: str
    of: str = ""
    count: Number = AT_LEAST_ONE
    within: Span | None = None
    message: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class DecisionsExpected(Expected):
    """How often the updater decided something, as its log says.

    Args:
        decisions: Action: resize, evict, wait or skip.
        reason: Reason of the decision; any where it is empty.
        of: Workload that it was about; any where it is empty.
        count: How often; the updater must run with ``--v=5`` for decisions that change nothing.
        within: When the first of them came.
    """

    decisions: str
    reason: str = ""
    of: str = ""
    count: Number = AT_LEAST_ONE
    within: Span | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestsExpected(Expected):
    """How the API server answered a kind of request of the three processes.

    Args:
        requests: Verb and resource, such as ``patch pods/resize`` or ``create pods/eviction``.
        codes: How often it answered with which HTTP status; every code that is not listed is unwanted.
    """

    requests: str
    codes: dict[int, Number]


@dataclass(frozen=True, slots=True, kw_only=True)
class VpaExpected(Expected):
    """What a VPA recommends at the end.

    Args:
        vpa: Its name.
        container: For which container; the first one where it is empty.
        target: Target by resource.
        lower_bound: Lower bound by resource.
        upper_bound: Upper bound by resource.
        uncapped_target: Target before caps by resource.
        conditions: Status by type.
        none: Whether there must be no recommendation at all.
    """

    vpa: str
    container: str = ""
    target: dict[str, Wanted] | None = None
    lower_bound: dict[str, Wanted] | None = None
    upper_bound: dict[str, Wanted] | None = None
    uncapped_target: dict[str, Wanted] | None = None
    conditions: dict[str, str] | None = None
    none: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class TargetsNear(Expected):
    """How far apart the recommendations of several VPAs are at the end.

    Args:
        near: Their names.
        apart: Largest difference of any target, as a share of the smaller one.
    """

    near: tuple[str, ...]
    apart: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class ObjectExpected(Expected):
    """What any object looks like at the end.

    Args:
        object: Which one.
        fields: Values of fields by path, such as ``status.disruptionsAllowed``; list elements by their index.
        absent: Whether it must not exist.
    """

    object: Reference
    fields: JsonObject | None = None
    absent: bool = False


CHECK_KEYS = ("pods", "events", "decisions", "requests", "vpa", "near", "object")


def check_key(value: object) -> str | None:
    """Return the key that says what a check is about; only as a text is ``requests`` one, for pods have them too."""
    if not isinstance(value, dict):
        return None
    return next((k for k in CHECK_KEYS if k in value and (k != "requests" or isinstance(value[k], str))), None)


Check: TypeAlias = Annotated[
    Annotated[PodsExpected, Tag("pods")]
    | Annotated[EventsExpected, Tag("events")]
    | Annotated[DecisionsExpected, Tag("decisions")]
    | Annotated[RequestsExpected, Tag("requests")]
    | Annotated[VpaExpected, Tag("vpa")]
    | Annotated[TargetsNear, Tag("near")]
    | Annotated[ObjectExpected, Tag("object")],
    Discriminator(check_key),
]
