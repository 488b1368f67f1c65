"""Which nodes a pod may be scheduled to."""

from __future__ import annotations

from dataclasses import replace

import pytest

from autoscaling.node import Node, Taint
from autoscaling.placement import NodeRequirement, NodeTerm, Placement, Toleration
from autoscaling.scheduling import Demands, may_run_on, tolerates

NODE = Node("node1")
GPU = Taint("gpu", "yes", "NoSchedule")


@pytest.mark.parametrize(
    ("row", "toleration", "taint", "is_borne"),
    [
        ("beyond:B-25", Toleration("gpu", "Equal", "yes", "NoSchedule"), GPU, True),
        ("beyond:B-25", Toleration("gpu", "Equal", "no", "NoSchedule"), GPU, False),
        ("beyond:B-25", Toleration("gpu", "Equal", "yes", "NoExecute"), GPU, False),
        ("beyond:B-25", Toleration("gpu", "Equal", "yes"), GPU, True),
        ("beyond:B-25", Toleration("gpu", "Exists"), GPU, True),
        ("beyond:B-25", Toleration("disk", "Exists"), GPU, False),
        ("beyond:B-25", Toleration(operator="Exists"), GPU, True),
        ("beyond:B-25", Toleration(operator="Exists", effect="NoExecute"), GPU, False),
    ],
)
def test_tolerations(row: str, toleration: Toleration, taint: Taint, *, is_borne: bool) -> None:
    assert tolerates(toleration, taint) is is_borne, row


def term(key: str, operator: str, *values: str) -> Placement:
    return Placement(node_terms=(NodeTerm((NodeRequirement(key, operator, values),)),))


LABELLED = replace(NODE, labels={"zone": "a", "cores": "8"})
NAMED = NodeTerm(fields=(NodeRequirement("metadata.name", "In", ("node1",)),))


@pytest.mark.parametrize(
    ("row", "placement", "fits"),
    [
        ("beyond:B-25", Placement(), True),
        ("beyond:B-25", Placement(node_selector={"zone": "a"}), True),
        ("beyond:B-25", Placement(node_selector={"zone": "b"}), False),
        ("beyond:B-25", Placement(node_selector={"disk": "ssd"}), False),
        ("beyond:B-25", term("zone", "In", "b", "a"), True),
        ("beyond:B-25", term("zone", "In", "b"), False),
        ("beyond:B-25", term("zone", "NotIn", "a"), False),
        ("beyond:B-25", term("disk", "NotIn", "a"), True),
        ("beyond:B-25", term("zone", "Exists"), True),
        ("beyond:B-25", term("disk", "Exists"), False),
        ("beyond:B-25", term("zone", "DoesNotExist"), False),
        ("beyond:B-25", term("disk", "DoesNotExist"), True),
        ("beyond:B-25", term("cores", "Gt", "7"), True),
        ("beyond:B-25", term("cores", "Gt", "8"), False),
        ("beyond:B-25", term("cores", "Lt", "9"), True),
        ("beyond:B-25", term("cores", "Lt", "8"), False),
        ("beyond:B-25", term("zone", "Gt", "1"), False),
        ("beyond:B-25", term("cores", "Gt"), False),
        ("beyond:B-25", term("zone", "Near", "a"), False),
        # One term must hold whole, and one without expressions never does.
        ("beyond:B-25", Placement(node_terms=()), False),
        ("beyond:B-25", Placement(node_terms=(NodeTerm(),)), False),
        ("beyond:B-25", Placement(node_terms=(NodeTerm(), NAMED)), True),
        ("beyond:B-25", Placement(node_terms=(replace(NAMED, labels=(NodeRequirement("disk", "Exists"),)),)), False),
    ],
)
def test_selectors_and_affinity(row: str, placement: Placement, *, fits: bool) -> None:
    assert may_run_on(LABELLED, placement) is fits, row


CORDON = Toleration("node.kubernetes.io/unschedulable", "Exists", "", "NoSchedule")


@pytest.mark.parametrize(
    ("row", "subject", "tolerations", "fits"),
    [
        ("beyond:B-25", replace(NODE, taints=(GPU,)), (), False),
        ("beyond:B-25", replace(NODE, taints=(GPU,)), (Toleration("gpu", "Exists"),), True),
        ("beyond:B-25", replace(NODE, taints=(Taint("x", "", "NoExecute"),)), (), False),
        ("beyond:B-25", replace(NODE, taints=(Taint("x", "", "PreferNoSchedule"),)), (), True),
        ("beyond:B-25", replace(NODE, is_unschedulable=True), (), False),
        ("beyond:B-25", replace(NODE, is_unschedulable=True), (CORDON,), True),
    ],
)
def test_taints_and_cordons(row: str, subject: Node, tolerations: tuple[Toleration, ...], *, fits: bool) -> None:
    assert may_run_on(subject, Placement(tolerations=tolerations)) is fits, row


def test_demands_are_told_apart_by_value() -> None:
    placement = Placement({"zone": "a"}, (NAMED,), (CORDON,))
    one, same = Demands.of(placement), Demands.of(replace(placement, is_tied=True, priority=5))
    assert (one, hash(one), one.placement) == (same, hash(same), placement), "beyond:B-11"
    assert one != Demands.of(Placement({"zone": "b"}, (NAMED,), (CORDON,)))
