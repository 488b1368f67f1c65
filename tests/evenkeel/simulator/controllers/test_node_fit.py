"""Taints, tolerations, node selectors and node affinity."""

from __future__ import annotations

import pytest

from evenkeel.simulator.api.fields import JsonObject
from evenkeel.simulator.controllers.node_fit import (
    Effect,
    accepts,
    preference,
    taints_of,
    target_node,
    tolerates,
    untolerated,
)

TAINT: JsonObject = {"key": "k", "value": "v", "effect": "NoSchedule"}
NODE: JsonObject = {"metadata": {"name": "n1", "labels": {"zone": "a", "cores": "8"}}, "spec": {"taints": [TAINT]}}


@pytest.mark.parametrize(
    ("row", "toleration", "met"),
    [
        ("equal", {"key": "k", "operator": "Equal", "value": "v", "effect": "NoSchedule"}, True),
        ("equal is the default", {"key": "k", "value": "v"}, True),
        ("another value", {"key": "k", "value": "w"}, False),
        ("another key", {"key": "l", "operator": "Exists"}, False),
        ("another effect", {"key": "k", "operator": "Exists", "effect": "NoExecute"}, False),
        ("any value", {"key": "k", "operator": "Exists"}, True),
        ("anything", {"operator": "Exists"}, True),
        ("no key needs Exists", {"value": "v"}, False),
    ],
)
def test_tolerations(row: str, toleration: JsonObject, met: bool) -> None:
    assert tolerates(toleration, TAINT) is met, row
    left = untolerated(taints_of(NODE), [toleration], Effect.NO_SCHEDULE, Effect.NO_EXECUTE)
    assert left == ([] if met else [TAINT]), row
    assert untolerated(taints_of(NODE), [toleration], Effect.NO_EXECUTE) == [], row


def test_a_cordoned_node_counts_as_tainted_once() -> None:
    cordoned: JsonObject = {"spec": {"unschedulable": True}}
    shown: JsonObject = {"key": "node.kubernetes.io/unschedulable", "effect": "NoSchedule"}
    assert taints_of(cordoned) == [shown]
    assert taints_of({"spec": {"unschedulable": True, "taints": [shown]}}) == [shown]
    assert taints_of({}) == []


def affinity(*terms: JsonObject) -> JsonObject:
    required = {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": list(terms)}}
    return {"spec": {"affinity": {"nodeAffinity": required}}}


def label(key: str, operator: str, *values: str) -> JsonObject:
    return {"matchExpressions": [{"key": key, "operator": operator, "values": list(values)}]}


@pytest.mark.parametrize(
    ("row", "pod", "accepted"),
    [
        ("asks for nothing", {}, True),
        ("selector", {"spec": {"nodeSelector": {"zone": "a"}}}, True),
        ("another value", {"spec": {"nodeSelector": {"zone": "b"}}}, False),
        ("in", affinity(label("zone", "In", "a", "b")), True),
        ("not in", affinity(label("zone", "NotIn", "a")), False),
        ("not in without the label", affinity(label("absent", "NotIn", "a")), True),
        ("exists", affinity(label("zone", "Exists")), True),
        ("does not exist", affinity(label("zone", "DoesNotExist")), False),
        ("greater", affinity(label("cores", "Gt", "7")), True),
        ("not greater", affinity(label("cores", "Gt", "8")), False),
        ("less", affinity(label("cores", "Lt", "9")), True),
        ("comparison without a value", affinity(label("cores", "Gt")), False),
        ("an unknown operator", affinity(label("zone", "Near", "a")), False),
        ("one of several terms", affinity(label("zone", "In", "b"), label("zone", "In", "a")), True),
        (
            "every condition of a term",
            affinity({"matchExpressions": [{"key": "zone", "operator": "Exists"}, {"key": "x", "operator": "Exists"}]}),
            False,
        ),
        ("by name", affinity({"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["n1"]}]}), True),
        (
            "by another name",
            affinity({"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["n2"]}]}),
            False,
        ),
        ("a term without conditions", affinity({}), False),
        ("no terms", affinity(), False),
        ("selector and affinity", affinity(label("zone", "In", "a")) | {"x": 1}, True),
    ],
)
def test_what_a_pod_asks_of_a_node(row: str, pod: JsonObject, accepted: bool) -> None:
    assert accepts(pod, NODE) is accepted, row


def test_preferences_add_up() -> None:
    terms = [
        {"weight": 3, "preference": label("zone", "In", "a")},
        {"weight": 4, "preference": label("zone", "In", "b")},
        {"weight": 5, "preference": label("cores", "Exists")},
    ]
    preferred = {"preferredDuringSchedulingIgnoredDuringExecution": terms}
    assert preference({"spec": {"affinity": {"nodeAffinity": preferred}}}, NODE) == 8
    assert preference({}, NODE) == 0


def test_the_node_that_a_pod_is_bound_to_by_name() -> None:
    assert (
        target_node(affinity({"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["n2"]}]})) == "n2"
    )
    assert (
        target_node(affinity({"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["a", "b"]}]})) == ""
    )
    assert target_node(affinity(label("zone", "In", "a"))) == ""
