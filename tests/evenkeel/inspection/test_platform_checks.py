"""Checks of what a cluster has to offer."""

from __future__ import annotations

import copy

import pytest

from autoscaling.runtime.api_group import ApiGroup
from evenkeel.crd.definitions import definitions
from evenkeel.inspection.documents import Json, document
from evenkeel.inspection.findings import Level
from evenkeel.inspection.platform_checks import (
    NodeFacts,
    ServerFacts,
    definition_findings,
    image_findings,
    metrics_finding,
    minor_of,
    node_findings,
    server_findings,
)

OK, NOTE, WARNING, PROBLEM = Level.OK, Level.NOTE, Level.WARNING, Level.PROBLEM
SERVED = frozenset({"pods", "pods/resize"})
GATE_ON = 'kubernetes_feature_enabled{name="InPlacePodVerticalScaling",stage=""} 1\n'
GATE_OFF = GATE_ON.replace("} 1", "} 0")

SERVERS = [
    ("beyond:B-39 1.35", ServerFacts("v1.35.4", SERVED, GATE_ON), [OK, OK, OK]),
    ("beyond:B-39 1.33", ServerFacts("v1.33.0", SERVED, GATE_ON), [OK, OK, OK]),
    ("beyond:B-39 1.32", ServerFacts("v1.32.9", SERVED, GATE_ON), [WARNING, OK, OK]),
    ("beyond:B-39 no version", ServerFacts("", SERVED, GATE_ON), [NOTE, OK, OK]),
    ("beyond:B-39 not served", ServerFacts("v1.35.4", frozenset({"pods"}), GATE_ON), [OK, PROBLEM, OK]),
    ("beyond:B-39 not told", ServerFacts("v1.35.4", None, None), [OK, NOTE, NOTE]),
    ("beyond:B-39 gate off", ServerFacts("v1.35.4", SERVED, GATE_OFF), [OK, OK, PROBLEM]),
    ("beyond:B-39 locked gate", ServerFacts("v1.40.0", SERVED, "other 1\n"), [OK, OK]),
]


@pytest.mark.parametrize(("row", "facts", "levels"), SERVERS, ids=[row[0] for row in SERVERS])
def test_servers(row: str, facts: ServerFacts, levels: list[Level]) -> None:
    found = list(server_findings(facts))
    assert [each.level for each in found] == levels
    assert all(each.remedy for each in found if each.level in {WARNING, PROBLEM})


@pytest.mark.parametrize(
    ("version", "minor"), [("v1.35.4", 35), ("1.9", 9), ("v1.33.0-gke.1", 33), ("v2.1", None), ("dev", None)]
)
def test_minor_versions(version: str, minor: int | None) -> None:
    assert minor_of(version) == minor


NEW, OLD = NodeFacts("a", "v1.35.4", "linux"), NodeFacts("b", "v1.32.1", "linux")
WINDOWS = NodeFacts("w", "v1.35.4", "windows")

NODES = [
    ("beyond:B-39", [NEW], [(OK, "1 of 1 nodes can resize pods")]),
    ("beyond:B-39 none", [], [(NOTE, "there is no node")]),
    ("beyond:B-39 old", [NEW, OLD], [(WARNING, "older than 1.33 do no resizes: b"), (OK, "1 of 2")]),
    ("beyond:B-39 windows", [WINDOWS], [(WARNING, "Windows nodes do no resizes: w"), (OK, "0 of 1")]),
    (
        "beyond:B-39 many",
        [NodeFacts(f"n{i}", "v1.30.0", "linux") for i in range(5)],
        [(WARNING, "n0, n1, n2 and 2 more"), (OK, "0 of 5")],
    ),
]


@pytest.mark.parametrize(("row", "nodes", "expected"), NODES, ids=[row[0] for row in NODES])
def test_nodes(row: str, nodes: list[NodeFacts], expected: list[tuple[Level, str]]) -> None:
    found = list(node_findings(nodes))
    assert [each.level for each in found] == [level for level, _ in expected]
    assert all(text in each.message for each, (_, text) in zip(found, expected, strict=True))


@pytest.mark.parametrize(("pods", "level"), [(None, PROBLEM), (0, WARNING), (1, OK)])
def test_metrics(pods: int | None, level: Level) -> None:
    """beyond:B-39."""
    assert metrics_finding(pods, "no answer").level is level


@pytest.mark.parametrize(
    ("images", "levels"),
    [({}, []), ({"a": "x:1"}, []), ({"a": "x:1", "b": "x:1"}, []), ({"a": "x:1", "b": "x:2"}, [WARNING])],
)
def test_images(images: dict[str, str], levels: list[Level]) -> None:
    """beyond:B-39."""
    assert [each.level for each in image_findings(images)] == levels


def ours(group: ApiGroup) -> dict[str, Json]:
    return {name: document(body) for name, body in definitions(group).items()}


def stored(group: ApiGroup) -> dict[str, Json]:
    """The definitions as a cluster has them."""
    found = copy.deepcopy(ours(group))
    for body in found.values():
        assert isinstance(body, dict)
        body["status"] = {"conditions": [{"type": "Established", "status": "True"}]}
    return found


def without_strategy(group: ApiGroup) -> dict[str, Json]:
    found = stored(group)
    for body in found.values():
        assert isinstance(body, dict)
        schema = body["spec"]["versions"][0]["schema"]["openAPIV3Schema"]  # type: ignore[index,call-overload]
        schema["properties"].pop("spec")  # type: ignore[index,union-attr,call-overload,arg-type]
    return found


@pytest.mark.parametrize("group", ApiGroup)
def test_definitions_as_shipped(group: ApiGroup) -> None:
    """beyond:B-39."""
    assert [each.level for each in definition_findings(group, ours(group), stored(group))] == [OK, OK]


STATES = [
    ("beyond:B-39 missing", ApiGroup.EVENKEEL, lambda group: dict.fromkeys(ours(group)), PROBLEM, "is not there"),
    ("beyond:B-39 not served", ApiGroup.EVENKEEL, ours, PROBLEM, "is not established"),
    ("beyond:B-39 older", ApiGroup.EVENKEEL, without_strategy, WARNING, "is older: it lacks spec"),
    ("beyond:B-39 upstream's own", ApiGroup.UPSTREAM, without_strategy, OK, "is established"),
]


@pytest.mark.parametrize(("row", "group", "present", "level", "said"), STATES, ids=[row[0] for row in STATES])
def test_definitions(row: str, group: ApiGroup, present: object, level: Level, said: str) -> None:
    assert callable(present)
    found = list(definition_findings(group, ours(group), present(group)))
    assert [each.level for each in found] == [level, level]
    assert all(said in each.message for each in found)
