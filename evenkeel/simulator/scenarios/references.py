"""What one part of a scenario says of another: names that lead nowhere are found before anything is started."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TypeAlias

from evenkeel.simulator.api.fields import JsonObject, text
from evenkeel.simulator.scenarios.document import Scenario, Time, VpaDocument, Workload
from evenkeel.simulator.scenarios.expectations import (
    Check,
    DecisionsExpected,
    EventsExpected,
    PodsExpected,
    RequestsExpected,
    TargetsNear,
    VpaExpected,
)
from evenkeel.simulator.scenarios.steps import Apply, Recommend, Step, Trouble, Use

Place: TypeAlias = tuple[str | int, ...]
"""Where something is in a scenario file: keys and indexes from the top."""

Fault: TypeAlias = tuple[Place, str]
_REQUEST_WORDS = 2


def dangling(scenario: Scenario) -> Iterator[Fault]:
    """Yield each place that names something which is not there, with what is wrong and the remedy."""
    if not scenario.nodes:
        yield ("nodes",), "nodes: nothing could run without a node; add one"
    if scenario.peer and scenario.time is Time.LOCKSTEP:
        yield ("peer",), "peer: upstream's programs know no simulated time; set time: real"
    if not scenario.expect:
        yield ("expect",), "expect: a scenario without an expectation shows nothing; say what must come of it"
    for name, vpa in scenario.vpas.items():
        yield from _of_vpa(scenario, name, vpa)
    for index, step in enumerate(scenario.steps):
        yield from _of_step(scenario, ("steps", index), step)
    for index, check in enumerate(scenario.expect):
        yield from _of_check(scenario, ("expect", index), check)
    yield from _of_objects(scenario)


def _of_vpa(scenario: Scenario, name: str, vpa: VpaDocument) -> Iterator[Fault]:
    """Yield what is wrong with the target of a VPA."""
    place: Place = ("vpas", name)
    if vpa.upstream and not scenario.peer:
        yield (
            (*place, "upstream"),
            f"vpas.{name}.upstream: nobody serves it; set peer: true, which runs upstream's programs",
        )
    if not vpa.target:
        yield from _among(name, scenario.workloads, place, "give it a target, or call it as its workload is called")
    elif len([part for part in vpa.target.split("/") if part]) != _REQUEST_WORDS:
        yield (*place, "target"), f"vpas.{name}.target: {vpa.target!r} is no kind and name; write Deployment/web"
    for container in vpa.recommendation or ():
        if not vpa.target and name in scenario.workloads:
            known = scenario.workloads[name].containers
            yield from _among(container, known, (*place, "recommendation", container), "name one of its containers")


def _of_step(scenario: Scenario, place: Place, step: Step) -> Iterator[Fault]:
    """Yield what is wrong with a step."""
    if step.at > scenario.duration:
        yield (*place, "at"), f"{_path(place)}.at: the scenario is over by then; raise duration or come earlier"
    if isinstance(step, Recommend):
        yield from _among(step.recommend.vpa, scenario.vpas, (*place, "recommend", "vpa"), "name a VPA under vpas")
    if isinstance(step, Trouble):
        yield from _among(step.node.name, scenario.nodes, (*place, "node", "name"), "name a node under nodes")
    if isinstance(step, Use):
        yield from _workload(scenario, (*place, "use"), step.use.workload, step.use.container)


def _of_check(scenario: Scenario, place: Place, check: Check) -> Iterator[Fault]:
    """Yield what is wrong with an expectation."""
    match check:
        case PodsExpected():
            yield from _workload(scenario, place, check.pods, check.container, key="pods")
            for node in check.nodes:
                yield from _among(node, scenario.nodes, (*place, "nodes"), "name a node under nodes")
        case VpaExpected():
            yield from _among(check.vpa, scenario.vpas, (*place, "vpa"), "name a VPA under vpas")
        case TargetsNear():
            for name in check.near:
                yield from _among(name, scenario.vpas, (*place, "near"), "name a VPA under vpas")
        case RequestsExpected() if len(check.requests.split()) != _REQUEST_WORDS:
            where = f"{_path(place)}.requests"
            yield (*place, "requests"), f"{where}: {check.requests!r} is no verb and resource; write patch pods/resize"
        case EventsExpected() | DecisionsExpected() if check.within is not None:
            limit = check.within.before
            if limit is not None and limit < check.within.after:
                yield (*place, "within"), f"{_path(place)}.within: before is earlier than after; exchange them"
        case _:
            return


def _of_objects(scenario: Scenario) -> Iterator[Fault]:
    """Yield objects that do not say what they are."""
    given: list[tuple[Place, JsonObject]] = [(("objects", index), one) for index, one in enumerate(scenario.objects)]
    for step_index, step in enumerate(scenario.steps):
        if isinstance(step, Apply):
            given += [(("steps", step_index, "apply", index), one) for index, one in enumerate(step.apply)]
    for place, one in given:
        for key in (("apiVersion",), ("kind",), ("metadata", "name")):
            if not text(one, *key):
                yield place, f"{_path(place)}: {'.'.join(key)} is missing; an object says its kind and name"


def _workload(scenario: Scenario, place: Place, name: str, container: str, *, key: str = "workload") -> Iterator[Fault]:
    """Yield what is wrong with the name of a workload and of one of its containers."""
    found: Workload | None = scenario.workloads.get(name)
    if found is None:
        yield from _among(name, scenario.workloads, (*place, key), "name a workload under workloads")
    elif container:
        yield from _among(container, found.containers, (*place, "container"), "name one of its containers")


def _among(name: str, known: Iterable[str], place: Place, remedy: str) -> Iterator[Fault]:
    """Yield a complaint unless a name is known."""
    names = sorted(known)
    if name not in names:
        there = f"there are {', '.join(names)}" if names else "there are none"
        yield place, f"{_path(place)}: {name!r} leads nowhere, {there}; {remedy}"


def _path(place: Place) -> str:
    return ".".join(str(part) for part in place)
