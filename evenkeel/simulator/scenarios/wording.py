"""Expectations in words, for whoever reads what came of a run."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from autoscaling.runtime.go_literals import format_duration
from evenkeel.simulator.scenarios.expectations import (
    Check,
    DecisionsExpected,
    EventsExpected,
    ObjectExpected,
    PodsExpected,
    RequestsExpected,
    Span,
    TargetsNear,
    VpaExpected,
)
from evenkeel.simulator.scenarios.syntax import AmountRange, Count


def in_words(check: Check) -> str:
    """Return an expectation as a line of text."""
    text = ", ".join(_words(check))
    return f"{text} ({check.because})" if check.because else text


def _words(check: Check) -> Iterator[str]:
    match check:
        case PodsExpected():
            return _pods(check)
        case EventsExpected():
            about = f" on {check.of}" if check.of else ""
            return _timed(f"event {check.events}{about} {_times(check.count)}", check.within, check.message)
        case DecisionsExpected():
            why = f", {check.reason}" if check.reason else ""
            about = f" {check.of}" if check.of else ""
            return _timed(f"the updater decides to {check.decisions}{about}{why} {_times(check.count)}", check.within)
        case RequestsExpected():
            return _requests(check)
        case VpaExpected():
            return _vpa(check)
        case TargetsNear():
            apart = f" within {check.apart:.0%}" if check.apart else ""
            return iter([f"{' and '.join(check.near)} recommend the same{apart}"])
        case ObjectExpected():
            return _object(check)


def _times(count: Count) -> str:
    return {(0, 0): "never", (1, 1): "once"}.get(
        (count.min, count.max if count.max is not None else -1), f"{count} times"
    )


def _pods(check: PodsExpected) -> Iterator[str]:
    """Yield what is wanted of the pods of a workload."""
    yield f"{check.pods}: {check.count} pod{'' if str(check.count) in {'1', 'at least 1'} else 's'}"
    if check.kept is not None:
        yield f"{check.kept} of them from the start"
    if check.phase:
        yield check.phase
    if check.restarts is not None:
        yield f"{check.restarts} restarts each"
    yield from _amounts("requests", check.requests)
    yield from _amounts("limits", check.limits)
    yield from _amounts("requests in the spec", check.asked)
    for condition, reason in (check.conditions or {}).items():
        yield f"{condition} {reason}".rstrip()
    for condition in check.without:
        yield f"no {condition}"
    if check.nodes:
        yield f"on {' or '.join(check.nodes)}"


def _amounts(what: str, wanted: Mapping[str, AmountRange] | None) -> Iterator[str]:
    if wanted:
        yield f"{what} " + " ".join(f"{resource} {amount}" for resource, amount in wanted.items())


def _timed(text: str, span: Span | None, message: str = "") -> Iterator[str]:
    """Yield something that happens, and when."""
    yield text
    if message:
        yield f"saying {message!r}"
    if span is None:
        return
    since = f" since {span.since}" if span.since else ""
    if span.after:
        yield f"not before {format_duration(span.after)}{since}"
    if span.before is not None:
        yield f"by {format_duration(span.before)}{since}"


def _requests(check: RequestsExpected) -> Iterator[str]:
    """Yield how a kind of request is answered."""
    if not check.codes:
        yield f"{check.requests} is never asked"
    for code, count in check.codes.items():
        yield f"{check.requests} is answered {code} {_times(count)}"


def _vpa(check: VpaExpected) -> Iterator[str]:
    """Yield what is wanted of a VPA."""
    yield f"VPA {check.vpa}" + (f" for {check.container}" if check.container else "")
    if check.none:
        yield "recommends nothing"
    yield from _amounts("target", check.target)
    yield from _amounts("lower bound", check.lower_bound)
    yield from _amounts("upper bound", check.upper_bound)
    yield from _amounts("uncapped target", check.uncapped_target)
    for condition, status in (check.conditions or {}).items():
        yield f"{condition} {status}"


def _object(check: ObjectExpected) -> Iterator[str]:
    """Yield what is wanted of one object."""
    yield f"{check.object.kind} {check.object.name}" + (" does not exist" if check.absent else "")
    for path, value in (check.fields or {}).items():
        yield f"{path} is {value!r}"
