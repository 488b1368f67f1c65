"""What a DaemonSet does next on each node."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from evenkeel.simulator.api.fields import JsonObject
from evenkeel.simulator.controllers.daemon_plan import (
    Allowance,
    DaemonPod,
    Moves,
    Place,
    bound_to,
    managed,
    suits,
    tolerations_for,
    updated,
)
from evenkeel.simulator.controllers.node_fit import accepts, target_node

START = datetime(2026, 1, 1, tzinfo=UTC)
NEW = DaemonPod("new", updated=True, created=START)
OLD = DaemonPod("old", updated=False, created=START - timedelta(hours=1))
NONE = Moves()


def place(*pods: DaemonPod, node: str = "n1", run: bool = True, stay: bool = True) -> Place:
    return Place(node, run, stay, pods)


def node(*taints: JsonObject, **labels: str) -> JsonObject:
    return {"metadata": {"name": "n1", "labels": dict(labels)}, "spec": {"taints": list(taints)}}


@pytest.mark.parametrize(
    ("row", "where", "suitable"),
    [
        ("plain", node(zone="a"), (True, True)),
        ("another label", node(zone="b"), (False, False)),
        ("a taint that keeps new pods away", node({"key": "x", "effect": "NoSchedule"}, zone="a"), (False, True)),
        ("a taint that drives pods out", node({"key": "x", "effect": "NoExecute"}, zone="a"), (False, False)),
        ("merely not preferred", node({"key": "x", "effect": "PreferNoSchedule"}, zone="a"), (True, True)),
        ("not ready", node({"key": "node.kubernetes.io/not-ready", "effect": "NoExecute"}, zone="a"), (True, True)),
        (
            "under pressure",
            node({"key": "node.kubernetes.io/disk-pressure", "effect": "NoSchedule"}, zone="a"),
            (True, True),
        ),
        (
            "without network",
            node({"key": "node.kubernetes.io/network-unavailable", "effect": "NoSchedule"}, zone="a"),
            (False, True),
        ),
    ],
)
def test_which_nodes_suit(row: str, where: JsonObject, suitable: tuple[bool, bool]) -> None:
    assert suits({"spec": {"nodeSelector": {"zone": "a"}}}, where) == suitable, row


def test_tolerations_are_added_to_the_pod_s_own() -> None:
    own = {"key": "mine", "operator": "Exists"}
    keys = [toleration["key"] for toleration in tolerations_for({"spec": {"tolerations": [own], "hostNetwork": True}})]
    assert keys == [
        "mine",
        *(
            f"node.kubernetes.io/{name}"
            for name in ("not-ready", "unreachable", "disk-pressure", "memory-pressure", "pid-pressure")
        ),
        "node.kubernetes.io/unschedulable",
        "node.kubernetes.io/network-unavailable",
    ]
    once = tolerations_for({"spec": {}})
    assert tolerations_for({"spec": {"tolerations": once}}) == once


def test_a_pod_is_bound_to_its_node_by_name() -> None:
    required = {"requiredDuringSchedulingIgnoredDuringExecution": bound_to("n1")}
    pod: JsonObject = {"spec": {"affinity": {"nodeAffinity": required}}}
    assert (target_node(pod), accepts(pod, node())) == ("n1", True)


@pytest.mark.parametrize(
    ("row", "where", "moves"),
    [
        ("none where one should be", place(), Moves(create=("n1",))),
        ("one where one should be", place(NEW), NONE),
        ("one that is going is waited for", place(replace(NEW, going=True)), NONE),
        ("one that has ended is deleted first", place(replace(NEW, finished=True)), Moves(delete=("new",))),
        ("of two the younger goes", place(NEW, OLD), Moves(delete=("new",))),
        ("it may stay though none is created", place(OLD, run=False), NONE),
        ("none is created where none should be", place(run=False), NONE),
        ("it may not stay", place(OLD, run=False, stay=False), Moves(delete=("old",))),
        (
            "an ended one may not stay either",
            place(replace(OLD, finished=True), run=False, stay=False),
            Moves(delete=("old",)),
        ),
        ("one that goes already is left", place(replace(OLD, going=True), run=False, stay=False), NONE),
    ],
)
def test_what_each_node_should_have(row: str, where: Place, moves: Moves) -> None:
    assert managed([where], surges=False) == moves, row


def test_with_surge_an_old_and_a_new_pod_may_run_together() -> None:
    second = replace(NEW, name="second", created=START + timedelta(seconds=1))
    assert managed([place(NEW, OLD)], surges=True) == NONE
    assert managed([place(NEW, OLD, second)], surges=True) == Moves(delete=("second",))


ILL = replace(OLD, name="ill", available=False)
STARTING = replace(NEW, available=False)


@pytest.mark.parametrize(
    ("row", "places", "allowance", "moves"),
    [
        (
            "one at a time",
            [place(OLD), place(replace(OLD, name="b"), node="n2")],
            Allowance(1, 0),
            Moves(delete=("old",)),
        ),
        (
            "two at a time",
            [place(OLD), place(replace(OLD, name="b"), node="n2")],
            Allowance(2, 0),
            Moves(delete=("old", "b")),
        ),
        ("a node without counts", [place(), place(OLD, node="n2")], Allowance(1, 0), NONE),
        ("one that starts counts", [place(STARTING), place(OLD, node="n2")], Allowance(1, 0), NONE),
        ("one that goes counts", [place(replace(OLD, going=True)), place(OLD, node="n2")], Allowance(1, 0), NONE),
        (
            "one that serves nobody goes at once",
            [place(STARTING), place(ILL, node="n2")],
            Allowance(1, 0),
            Moves(delete=("ill",)),
        ),
        ("all updated", [place(NEW)], Allowance(1, 0), NONE),
        ("where none should run nothing is updated", [place(OLD, run=False)], Allowance(1, 0), NONE),
        ("a second pod beside the first", [place(OLD), place(OLD, node="n2")], Allowance(0, 1), Moves(create=("n1",))),
        ("no third node", [place(OLD, STARTING), place(OLD, node="n2")], Allowance(0, 1), NONE),
        ("the first goes once the second serves", [place(OLD, NEW)], Allowance(0, 1), Moves(delete=("old",))),
        ("or when it serves nobody itself", [place(ILL, STARTING)], Allowance(0, 1), Moves(delete=("ill",))),
        (
            "one that serves nobody is surged at once",
            [place(OLD, STARTING), place(ILL, node="n2")],
            Allowance(0, 1),
            Moves(create=("n2",)),
        ),
    ],
)
def test_updates(row: str, places: list[Place], allowance: Allowance, moves: Moves) -> None:
    assert updated(places, allowance) == moves, row
