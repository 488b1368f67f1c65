"""How many replicas usage calls for: tolerance, young pods, pods of unknown usage."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from evenkeel.simulator.api.fields import JsonObject
from evenkeel.simulator.clock import EPOCH, rfc3339
from evenkeel.simulator.controllers.autoscaler_replicas import (
    Census,
    NoProposalError,
    Proposal,
    Sample,
    Scene,
    census,
    propose,
)
from evenkeel.simulator.controllers.autoscaler_spec import Aim, Metric, MetricType, Pace, Rules

SECOND, MINUTE = timedelta(seconds=1), timedelta(minutes=1)
NOW = EPOCH + 60 * MINUTE
WINDOW = 15 * SECOND
CPU = Metric(MetricType.RESOURCE, "cpu", aim=Aim(utilization=50))
AMOUNT = Metric(MetricType.RESOURCE, "cpu", aim=Aim(average_milli=100))
MEMORY = Metric(MetricType.RESOURCE, "memory", aim=Aim(average_milli=100))


def pod(name: str, **parts: object) -> JsonObject:
    """A pod that has been ready for long; parts are age and ready_for (timedeltas), ready, phase, going, request."""
    age, since = parts.get("age", 30 * MINUTE), parts.get("ready_for", 29 * MINUTE)
    assert isinstance(age, timedelta)
    assert isinstance(since, timedelta)
    metadata: JsonObject = {"name": name, "namespace": "default"}
    if parts.get("going"):
        metadata["deletionTimestamp"] = "x"
    condition = {"type": "Ready", "status": str(parts.get("ready", True)), "lastTransitionTime": rfc3339(NOW - since)}
    container: JsonObject = {"name": "app", "resources": {"requests": {"cpu": parts.get("request", "200m")}}}
    return {
        "metadata": metadata,
        "spec": {"containers": [container]},
        "status": {
            "phase": parts.get("phase", "Running"),
            "startTime": rfc3339(NOW - age),
            "conditions": [condition],
        },
    }


def samples(used: Mapping[str, int], at: timedelta = timedelta(0)) -> dict[str, Sample]:
    return {name: Sample(milli, NOW - at, WINDOW) for name, milli in used.items()}


def scene(pods: list[JsonObject], used: Mapping[str, int], replicas: int | None = None) -> Scene:
    return Scene(len(pods) if replicas is None else replicas, pods, samples(used), NOW)


CENSUS: list[tuple[str, JsonObject, timedelta | None, Metric, str]] = [
    ("works", pod("a"), 0 * SECOND, CPU, "ready"),
    ("goes", pod("a", going=True), 0 * SECOND, CPU, "-"),
    ("failed", pod("a", phase="Failed"), 0 * SECOND, CPU, "-"),
    ("pending counts before its usage", pod("a", phase="Pending"), None, CPU, "unready"),
    ("no usage", pod("a"), None, CPU, "missing"),
    ("young and not ready", pod("a", age=4 * MINUTE, ready_for=4 * MINUTE, ready=False), 0 * SECOND, CPU, "unready"),
    ("measured a whole window since", pod("a", age=4 * MINUTE, ready_for=15 * SECOND), 0 * SECOND, CPU, "ready"),
    ("measured partly before", pod("a", age=4 * MINUTE, ready_for=15 * SECOND), SECOND, CPU, "unready"),
    ("five minutes old", pod("a", age=5 * MINUTE, ready_for=15 * SECOND), SECOND, CPU, "ready"),
    ("never been ready", pod("a", ready_for=30 * MINUTE - 29 * SECOND, ready=False), 0 * SECOND, CPU, "unready"),
    ("not ready any more", pod("a", ready_for=30 * MINUTE - 30 * SECOND, ready=False), 0 * SECOND, CPU, "ready"),
    ("memory does not care", pod("a", age=SECOND, ready_for=SECOND, ready=False), SECOND, MEMORY, "ready"),
    ("has not started", {**pod("a"), "status": {"phase": "Running"}}, 0 * SECOND, CPU, "unready"),
]


@pytest.mark.parametrize(("row", "body", "measured", "metric", "where"), CENSUS, ids=[row[0] for row in CENSUS])
def test_who_counts(row: str, body: JsonObject, measured: timedelta | None, metric: Metric, where: str) -> None:
    known = {} if measured is None else samples({"a": 10}, at=measured)
    found = census(metric, Scene(1, [body], known, NOW))
    groups: dict[str, Census] = {
        "ready": Census(("a",), (), ()),
        "unready": Census((), ("a",), ()),
        "missing": Census((), (), ("a",)),
        "-": Census((), (), ()),
    }
    assert found == groups[where]


NEW = pod("new", phase="Pending")
SHAPES: list[tuple[str, Metric, list[JsonObject], dict[str, int], Proposal]] = [
    # Requests are 200m each, the aim is 50 %: 100m each.
    ("at its aim", CPU, [pod("a"), pod("b")], {"a": 100, "b": 100}, Proposal(2, 100, 50)),
    ("55 % is near enough", CPU, [pod("a"), pod("b")], {"a": 110, "b": 110}, Proposal(2, 110, 55)),
    ("56 % is not", CPU, [pod("a"), pod("b")], {"a": 112, "b": 112}, Proposal(3, 112, 56)),
    ("45 % is near enough", CPU, [pod("a"), pod("b")], {"a": 90, "b": 90}, Proposal(2, 90, 45)),
    ("44 % is not, but rounds up", CPU, [pod("a"), pod("b")], {"a": 88, "b": 88}, Proposal(2, 88, 44)),
    ("a quarter", CPU, [pod("a"), pod("b")], {"a": 50, "b": 50}, Proposal(1, 50, 25)),
    ("uneven", CPU, [pod("a"), pod("b")], {"a": 390, "b": 10}, Proposal(4, 200, 100)),
    ("requests differ", CPU, [pod("a", request="600m"), pod("b")], {"a": 600, "b": 200}, Proposal(4, 400, 100)),
    ("smaller requests, more replicas", CPU, [pod("a", request="100m")], {"a": 100}, Proposal(2, 100, 100)),
    ("share is cut off to whole percent", CPU, [pod("a")], {"a": 111}, Proposal(1, 111, 55)),
    ("amount", AMOUNT, [pod("a"), pod("b")], {"a": 150, "b": 150}, Proposal(3, 150)),
    ("amount near enough", AMOUNT, [pod("a"), pod("b")], {"a": 110, "b": 110}, Proposal(2, 110)),
    ("a new pod uses nothing yet", CPU, [pod("a"), NEW], {"a": 220}, Proposal(2, 220, 110)),
    ("and cannot make it shrink", CPU, [pod("a"), NEW], {"a": 120}, Proposal(2, 120, 60)),
    ("a new pod does not count when there are too many", CPU, [pod("a"), NEW], {"a": 50}, Proposal(1, 50, 25)),
    ("missing counts as nothing when growing", CPU, [pod("a"), pod("b")], {"a": 300}, Proposal(3, 300, 150)),
    ("missing counts as all its request when shrinking", CPU, [pod("a"), pod("b")], {"a": 20}, Proposal(2, 20, 10)),
    ("three of four missing", CPU, [pod(n) for n in "abcd"], {"a": 20}, Proposal(4, 20, 10)),
    ("missing counts as the aim of an amount", AMOUNT, [pod(n) for n in "abc"], {"a": 10, "b": 10}, Proposal(2, 10)),
    ("missing at the aim", CPU, [pod("a"), pod("b")], {"a": 100}, Proposal(2, 100, 50)),
    ("failed ones are left out", CPU, [pod("a"), pod("b", phase="Failed")], {"a": 200, "b": 0}, Proposal(2, 200, 100)),
]  # fmt: skip


@pytest.mark.parametrize(("row", "metric", "pods", "used", "expected"), SHAPES, ids=[row[0] for row in SHAPES])
def test_what_usage_calls_for(
    row: str, metric: Metric, pods: list[JsonObject], used: dict[str, int], expected: Proposal
) -> None:
    assert propose(metric, scene(pods, used), Pace()) == expected, row


def test_tolerances_may_differ_by_direction() -> None:
    pace = Pace(up=Rules(tolerance=0.0), down=Rules(tolerance=0.5))
    assert propose(CPU, scene([pod("a"), pod("b")], {"a": 102, "b": 102}), pace).replicas == 3
    assert propose(CPU, scene([pod("a"), pod("b")], {"a": 50, "b": 50}), pace).replicas == 2


def test_one_container_alone() -> None:
    metric = Metric(MetricType.CONTAINER_RESOURCE, "cpu", "app", Aim(utilization=50))
    body = pod("a")
    other: JsonObject = {"name": "proxy", "resources": {}}
    body["spec"] = {"containers": [{"name": "app", "resources": {"requests": {"cpu": "200m"}}}, other]}
    assert propose(metric, scene([body], {"a": 200}), Pace()) == Proposal(2, 200, 100)
    with pytest.raises(NoProposalError, match="container proxy of pod a requests no cpu"):
        propose(CPU, scene([body], {"a": 200}), Pace())


def test_sidecars_count_and_other_init_containers_do_not() -> None:
    body, resources = pod("a"), {"requests": {"cpu": "200m"}}
    body["spec"] = {
        "containers": [{"name": "app", "resources": resources}],
        "initContainers": [
            {"name": "proxy", "restartPolicy": "Always", "resources": resources},
            {"name": "prepare", "resources": {}},
        ],
    }
    assert propose(CPU, scene([body], {"a": 200}), Pace()) == Proposal(1, 200, 50)


def test_the_requests_of_a_whole_pod_go_before_those_of_its_containers() -> None:
    body = pod("a")
    body["spec"] = {"containers": [{"name": "app"}], "resources": {"requests": {"cpu": "400m"}}}
    assert propose(CPU, scene([body], {"a": 200}), Pace()) == Proposal(1, 200, 50)


@pytest.mark.parametrize(
    ("pods", "used", "said"),
    [
        ([], {}, "finds no pods"),
        ([pod("a")], {}, "nothing is known of what the pods use of cpu"),
        ([NEW], {"new": 5}, "nothing is known"),
        ([pod("a", request="0")], {"a": 5}, "request nothing"),
    ],
)
def test_where_nothing_can_be_said(pods: list[JsonObject], used: dict[str, int], said: str) -> None:
    with pytest.raises(NoProposalError, match=said):
        propose(CPU, scene(pods, used, 1), Pace())


@dataclass(frozen=True)
class Crowd:
    """Equal pods, of which some do not tell what they use."""

    count: int
    used: int
    request: int
    share: int
    silent: frozenset[int]

    def proposals(self, phase: str) -> tuple[int, int]:
        """What would be called for if all told, and what is as things are; the silent ones are in that phase."""
        metric = Metric(MetricType.RESOURCE, "cpu", aim=Aim(utilization=self.share))
        request = f"{self.request}m"
        known = {f"p{index}": self.used for index in range(self.count)}
        pods = [pod(name, request=request) for name in known]
        certain = propose(metric, scene(pods, known), Pace()).replicas
        for index in self.silent & frozenset(range(self.count)):
            pods[index] = pod(f"p{index}", request=request, phase=phase)
            del known[f"p{index}"]
        assume(known)
        return certain, propose(metric, scene(pods, known), Pace()).replicas


CROWDS = st.builds(
    Crowd,
    st.integers(1, 30),
    st.integers(1, 2000),
    st.integers(1, 2000),
    st.integers(1, 100),
    st.frozensets(st.integers(0, 29)),
)


@given(CROWDS)
def test_what_is_not_known_only_dampens_a_change(crowd: Crowd) -> None:
    """Law: pods of unknown usage leave the number between the present one and the one that all would call for."""
    certain, dampened = crowd.proposals("Running")
    low, high = sorted((crowd.count, certain))
    assert low <= dampened <= high


@given(CROWDS)
def test_pods_that_start_never_make_the_target_grow_more(crowd: Crowd) -> None:
    """Law: they dampen growth; when there are too many replicas they are simply not there."""
    certain, dampened = crowd.proposals("Pending")
    assert dampened <= max(crowd.count, certain)
    assert dampened >= crowd.count or certain <= crowd.count
