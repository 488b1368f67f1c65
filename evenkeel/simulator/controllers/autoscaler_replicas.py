"""How many replicas the use of a resource calls for: pure.

Pods whose usage is not known, or says nothing yet because they have just started, are reckoned with so that they can
only dampen a change and never turn it round.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from evenkeel.simulator.api.fields import JsonObject, child, quantity, rows, text
from evenkeel.simulator.api.pod_amounts import is_sidecar
from evenkeel.simulator.clock import parse_rfc3339
from evenkeel.simulator.controllers.autoscaler_spec import Aim, Metric, Pace
from evenkeel.simulator.controllers.pod_state import is_going

START_UP = timedelta(minutes=5)
"""For so long after a pod's start its CPU counts only where all of it was measured since it became ready."""

FIRST_READINESS = timedelta(seconds=30)
"""A pod that is not ready later than so long after its start is one that has been ready before."""

_WHOLE = 100


class NoProposalError(Exception):
    """The metrics do not say how many replicas there should be."""


@dataclass(frozen=True, slots=True)
class Sample:
    """What a pod used of a resource.

    Args:
        milli: Thousandths of a core or of a byte.
        at: End of the window in which it was measured.
        window: Length of that window.
    """

    milli: int
    at: datetime
    window: timedelta


@dataclass(frozen=True, slots=True)
class Census:
    """The names of pods, by how they are reckoned with.

    Args:
        ready: Their usage counts.
        unready: They have just started, or do not work.
        missing: Their usage is not known.
    """

    ready: tuple[str, ...]
    unready: tuple[str, ...]
    missing: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Proposal:
    """What a metric calls for.

    Args:
        replicas: How many replicas there should be.
        average_milli: What a pod uses, in thousandths.
        utilization: The same in percent of the requests; None for a metric that does not look at requests.
    """

    replicas: int
    average_milli: int
    utilization: int | None = None


@dataclass(frozen=True, slots=True)
class Scene:
    """What a number of replicas is judged by.

    Args:
        replicas: How many replicas the target asks for now.
        pods: The pods that the target's selector finds.
        samples: What they used of the metric's resource, by name.
        now: The present.
    """

    replicas: int
    pods: Sequence[JsonObject]
    samples: Mapping[str, Sample]
    now: datetime


def census(metric: Metric, scene: Scene) -> Census:
    """Sort pods by how they are reckoned with; those that go or have failed are left out.

    Args:
        metric: What is looked at; only for CPU does it matter how old a pod is.
        scene: The pods and their usage.
    """
    ready: list[str] = []
    unready: list[str] = []
    missing: list[str] = []
    for pod in sorted(scene.pods, key=lambda pod: text(pod, "metadata", "name")):
        name, phase = text(pod, "metadata", "name"), text(pod, "status", "phase")
        if is_going(pod) or phase == "Failed":
            continue
        sample = scene.samples.get(name)
        if phase == "Pending":
            unready.append(name)
        elif sample is None:
            missing.append(name)
        elif metric.resource == "cpu" and _says_nothing(pod, sample, scene.now):
            unready.append(name)
        else:
            ready.append(name)
    return Census(tuple(ready), tuple(unready), tuple(missing))


def _says_nothing(pod: JsonObject, sample: Sample, now: datetime) -> bool:
    """Say whether a pod's CPU is that of its start, or of a pod that does not work."""
    condition = next((row for row in rows(pod, "status", "conditions") if text(row, "type") == "Ready"), None)
    began = text(pod, "status", "startTime")
    if condition is None or not began:
        return True
    is_unready, changed = text(condition, "status") == "False", text(condition, "lastTransitionTime")
    started = parse_rfc3339(began)
    since = parse_rfc3339(changed) if changed else started
    if now < started + START_UP:
        return is_unready or sample.at < since + sample.window
    return is_unready and since < started + FIRST_READINESS


def propose(metric: Metric, scene: Scene, pace: Pace) -> Proposal:
    """Return what one metric of pods calls for (spec: case:43).

    Args:
        metric: A metric of a resource or of one container's.
        scene: The pods and their usage.
        pace: Gives the tolerances: usage that misses its aim by less changes nothing.

    Raises:
        NoProposalError: Usage or requests are not known.
    """
    if not scene.pods:
        raise NoProposalError("the target's selector finds no pods")
    sorted_pods = census(metric, scene)
    used = {name: scene.samples[name].milli for name in sorted_pods.ready}
    if not used:
        raise NoProposalError(f"nothing is known of what the pods use of {metric}; they may not be ready yet")
    requests = _requests(metric, scene.pods) if metric.aim.utilization is not None else {}
    scale = _Scale(metric.aim, requests)
    ratio, utilization = scale.ratio(used)
    average = sum(used.values()) // len(used)
    replicas = _replicas(scale, _Found(sorted_pods, used, ratio), scene.replicas, pace)
    return Proposal(replicas, average, utilization)


@dataclass(frozen=True, slots=True)
class _Scale:
    """What usage is held against.

    Args:
        aim: What it should come to.
        requests: Requests by pod in thousandths, where the aim is a share of them.
    """

    aim: Aim
    requests: Mapping[str, int]

    def ratio(self, used: Mapping[str, int]) -> tuple[float, int | None]:
        """Return by which factor usage misses its aim, and the utilization if there is such an aim."""
        if self.aim.utilization is None:
            assert self.aim.average_milli is not None
            return sum(used.values()) // len(used) / self.aim.average_milli, None
        requested = sum(self.requests[name] for name in used)
        if not requested:
            raise NoProposalError("the pods request nothing, and so no share of it can be in use")
        utilization = sum(used.values()) * _WHOLE // requested
        return utilization / self.aim.utilization, utilization

    def stand_in(self, name: str) -> int:
        """Return what a pod of unknown usage is taken to use where others use too little."""
        if self.aim.utilization is None:
            assert self.aim.average_milli is not None
            return self.aim.average_milli
        return self.requests[name] * max(_WHOLE, self.aim.utilization) // _WHOLE


@dataclass(frozen=True, slots=True)
class _Found:
    """What was found at first sight.

    Args:
        census: The pods.
        used: What those use whose usage counts.
        ratio: By which factor that misses its aim.
    """

    census: Census
    used: Mapping[str, int]
    ratio: float


def _replicas(scale: _Scale, found: _Found, current: int, pace: Pace) -> int:
    """Return how many replicas usage calls for, with the pods of unknown usage reckoned in."""
    reckons_unready = bool(found.census.unready) and found.ratio > 1.0
    if not reckons_unready and not found.census.missing:
        if _is_near(found.ratio, pace):
            return current
        return math.ceil(found.ratio * len(found.used))
    used = dict(found.used) | dict(_stand_ins(scale, found))
    ratio, _ = scale.ratio(used)
    if _is_near(ratio, pace) or _is_turned(found.ratio, ratio):
        return current
    replicas = math.ceil(ratio * len(used))
    return current if _is_turned(ratio, replicas / current) else replicas


def _stand_ins(scale: _Scale, found: _Found) -> Iterator[tuple[str, int]]:
    """Yield what pods of unknown usage are taken to use: against the direction in which the others point."""
    for name in found.census.missing:
        if found.ratio < 1.0:
            yield name, scale.stand_in(name)
        elif found.ratio > 1.0:
            yield name, 0
    if found.ratio > 1.0:
        yield from ((name, 0) for name in found.census.unready)


def _is_near(ratio: float, pace: Pace) -> bool:
    return 1.0 - pace.down.tolerance <= ratio <= 1.0 + pace.up.tolerance


def _is_turned(before: float, after: float) -> bool:
    """Say whether one factor calls for more and the other for less."""
    return (before < 1.0 < after) or (before > 1.0 > after)


def _requests(metric: Metric, pods: Sequence[JsonObject]) -> dict[str, int]:
    """Return what each pod requests of a metric's resource, in thousandths, by its spec."""
    return {text(pod, "metadata", "name"): _request(metric, pod) for pod in pods}


def _request(metric: Metric, pod: JsonObject) -> int:
    """Return what one pod requests.

    Raises:
        NoProposalError: A container that counts requests nothing of the resource.
    """
    whole = child(pod, "spec", "resources", "requests").get(metric.resource)
    if whole is not None and not metric.container:
        return quantity(whole).milli_value()
    total = 0
    for container in _lasting(pod):
        if metric.container not in {"", text(container, "name")}:
            continue
        amount = child(container, "resources", "requests").get(metric.resource)
        if amount is None:
            raise NoProposalError(
                f"container {text(container, 'name')} of pod {text(pod, 'metadata', 'name')} "
                f"requests no {metric.resource}, and so no share of it can be in use"
            )
        total += quantity(amount).milli_value()
    return total


def _lasting(pod: JsonObject) -> list[JsonObject]:
    """Return the containers that run as long as their pod does."""
    return [*rows(pod, "spec", "containers"), *filter(is_sidecar, rows(pod, "spec", "initContainers"))]
