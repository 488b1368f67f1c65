"""Holding expectations against what a run came to; whatever does not hold is said with what was found instead."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta

from autoscaling.quantity import Quantity
from autoscaling.runtime.go_literals import format_duration
from evenkeel.simulator.api.fields import JsonObject, as_object, child, number, quantity, rows, text
from evenkeel.simulator.scenarios.evidence import Evidence
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
from evenkeel.simulator.scenarios.happenings import Decided, Told
from evenkeel.simulator.scenarios.syntax import AmountRange
from evenkeel.simulator.scenarios.wording import in_words

Problems = Iterator[str]


@dataclass(frozen=True, slots=True)
class Outcome:
    """What came of one expectation.

    Args:
        text: The expectation in words.
        problems: What does not hold, with what was found; empty when all of it holds.
    """

    text: str
    problems: tuple[str, ...]

    @property
    def holds(self) -> bool:
        """Whether the expectation is met."""
        return not self.problems


def examine(check: Check, evidence: Evidence) -> Outcome:
    """Hold one expectation against a run."""
    return Outcome(in_words(check), tuple(_problems(check, evidence)))


def _problems(check: Check, evidence: Evidence) -> Problems:
    match check:
        case PodsExpected():
            return _pods(check, evidence)
        case EventsExpected():
            return _events(check, evidence)
        case DecisionsExpected():
            return _decisions(check, evidence)
        case RequestsExpected():
            return _requests(check, evidence)
        case VpaExpected():
            return _vpa(check, evidence)
        case TargetsNear():
            return _near(check, evidence)
        case ObjectExpected():
            return _object(check, evidence)


def _pods(check: PodsExpected, evidence: Evidence) -> Problems:
    """Yield what is wrong with the pods of a workload."""
    pods = evidence.pods(check.pods)
    if not check.count.holds(len(pods)):
        yield f"{len(pods)} pods"
    if check.kept is not None:
        first = evidence.first_pods(check.pods)
        kept = sum(text(pod, "metadata", "uid") in first for pod in pods)
        if not check.kept.holds(kept):
            yield f"{kept} of the first pods are still there"
    for pod in pods:
        for problem in _pod(check, pod):
            yield f"{text(pod, 'metadata', 'name')}: {problem}"


def _pod(check: PodsExpected, pod: JsonObject) -> Problems:
    """Yield what is wrong with one pod."""
    phase, node = text(pod, "status", "phase"), text(pod, "spec", "nodeName")
    if check.phase and phase != check.phase:
        yield f"phase {phase}"
    if check.nodes and node not in check.nodes:
        yield f"on node {node or 'none'}"
    statuses = rows(pod, "status", "containerStatuses") + rows(pod, "status", "initContainerStatuses")
    restarts = sum(number(row, "restartCount") for row in statuses)
    if check.restarts is not None and not check.restarts.holds(restarts):
        yield f"{restarts} restarts"
    asked = _named(rows(pod, "spec", "containers") + rows(pod, "spec", "initContainers"), "name", check.container)
    status = _named(statuses, "name", text(asked, "name"))
    actual = child(status, "resources") or child(asked, "resources")
    yield from _amounts("requests", check.requests, child(actual, "requests"))
    yield from _amounts("limits", check.limits, child(actual, "limits"))
    yield from _amounts("requests in the spec", check.asked, child(asked, "resources", "requests"))
    true = {
        text(row, "type"): text(row, "reason")
        for row in rows(pod, "status", "conditions")
        if row.get("status") == "True"
    }
    for condition, reason in (check.conditions or {}).items():
        if true.get(condition) != reason:
            yield f"condition {condition} {true.get(condition, 'is not there')}"
    for condition in check.without:
        if condition in true:
            yield f"condition {condition} {true[condition]} is there"


def _amounts(what: str, wanted: Mapping[str, AmountRange] | None, found: JsonObject) -> Problems:
    """Yield the amounts that are not as wanted."""
    for resource, amount in (wanted or {}).items():
        value = found.get(resource)
        if value is None or not amount.holds(quantity(value)):
            yield f"{what} {resource} {value if value is not None else 'is not there'}"


def _named(found: list[JsonObject], key: str, name: str) -> JsonObject:
    """Return the row of that name, the first one for an empty name, an empty one when there is none."""
    return next((row for row in found if name in {"", text(row, key)}), {})


def _events(check: EventsExpected, evidence: Evidence) -> Problems:
    """Yield what is wrong with how often an event was told."""
    told = [
        one
        for one in evidence.happenings
        if isinstance(one, Told)
        and one.reason == check.events
        and (not check.of or one.name == check.of or _is_of_workload(check.of, one.name, evidence))
    ]
    if not check.count.holds(len(told)):
        yield f"{len(told)} times"
    if check.message and not any(check.message in one.message for one in told):
        said = sorted({one.message for one in told})
        yield f"nothing said {check.message!r}" + (f", but {' and '.join(map(repr, said))}" if said else "")
    yield from _span(check.within, [one.at for one in told], evidence)


def _decisions(check: DecisionsExpected, evidence: Evidence) -> Problems:
    """Yield what is wrong with how often the updater decided something."""
    decided = [
        one
        for one in evidence.happenings
        if isinstance(one, Decided)
        and one.action == check.decisions
        and check.reason in {"", one.reason}
        and (not check.of or _is_of_workload(check.of, one.object.rpartition("/")[2], evidence))
    ]
    if not check.count.holds(len(decided)):
        yield f"{len(decided)} times"
    yield from _span(check.within, [one.at for one in decided], evidence)


def _is_of_workload(workload: str, name: str, evidence: Evidence) -> bool:
    return workload in evidence.scenario.workloads and evidence.is_about(workload, name)


def _span(span: Span | None, times: Sequence[timedelta], evidence: Evidence) -> Problems:
    """Yield a complaint when the first of some times is not within a span."""
    if span is None or not times:
        return
    origin = evidence.first_told(span.since) if span.since else timedelta(0)
    if origin is None:
        yield f"no event {span.since} to count from"
        return
    passed = times[0] - origin
    if passed < span.after or (span.before is not None and passed > span.before):
        yield f"first after {format_duration(passed)}"


def _requests(check: RequestsExpected, evidence: Evidence) -> Problems:
    """Yield the HTTP statuses that came too often or not often enough."""
    verb, resource = check.requests.split()
    codes = Counter(call.status for call in evidence.calls if (call.verb, call.resource) == (verb, resource))
    for code in sorted({*codes, *check.codes}):
        wanted = check.codes.get(code)
        if wanted is None or not wanted.holds(codes[code]):
            yield f"{code} {codes[code]} times"


def _vpa(check: VpaExpected, evidence: Evidence) -> Problems:
    """Yield what is wrong with what a VPA recommends."""
    entry = evidence.recommendation(check.vpa, check.container)
    if check.none and entry is not None:
        yield f"recommends {as_object(entry).get('target')}"
    vectors = {
        "target": check.target,
        "lowerBound": check.lower_bound,
        "upperBound": check.upper_bound,
        "uncappedTarget": check.uncapped_target,
    }
    for key, wanted in vectors.items():
        yield from _amounts(key, wanted, child(entry or {}, key))
    found = {text(row, "type"): text(row, "status") for row in rows(evidence.vpa(check.vpa), "status", "conditions")}
    for condition, status in (check.conditions or {}).items():
        if found.get(condition) != status:
            yield f"condition {condition} {found.get(condition, 'is not there')}"


def _near(check: TargetsNear, evidence: Evidence) -> Problems:
    """Yield the resources whose targets differ too much."""
    targets = {name: child(evidence.recommendation(name, "") or {}, "target") for name in check.near}
    for name, target in targets.items():
        if not target:
            yield f"{name} recommends nothing"
    for resource in sorted({resource for target in targets.values() for resource in target}):
        amounts = {name: _nano(target.get(resource)) for name, target in targets.items()}
        least, most = min(amounts.values()), max(amounts.values())
        if most - least > check.apart * least:
            yield f"{resource}: " + ", ".join(f"{name} {targets[name].get(resource)}" for name in targets)


def _nano(amount: object) -> int:
    return quantity(amount).nano if amount is not None else 0


def _object(check: ObjectExpected, evidence: Evidence) -> Problems:
    """Yield what is wrong with one object."""
    reference = check.object
    found = evidence.store.find(
        reference.api_version, reference.kind, reference.name, reference.namespace
    ) or evidence.store.find(reference.api_version, reference.kind, reference.name)
    if found is None:
        if not check.absent:
            yield "it does not exist"
        return
    if check.absent:
        yield "it exists"
    for path, wanted in (check.fields or {}).items():
        value = value_at_path(found, path)
        if value != wanted and not _same_amount(value, wanted):
            yield f"{path} is {value!r}"


def value_at_path(obj: object, path: str) -> object:
    """Return what lies at a path of keys and list indexes, None when nothing does."""
    for part in path.split("."):
        if isinstance(obj, dict):
            obj = obj.get(part)
        elif isinstance(obj, list) and part.isdecimal() and int(part) < len(obj):
            obj = obj[int(part)]
        else:
            return None
    return obj


def _same_amount(found: object, wanted: object) -> bool:
    """Say whether two texts are the same amount in two notations."""
    if not (isinstance(found, str) and isinstance(wanted, str)):
        return False
    try:
        return Quantity.parse(found) == Quantity.parse(wanted)
    except ValueError:
        return False
