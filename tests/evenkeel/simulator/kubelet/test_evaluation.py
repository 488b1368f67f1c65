"""Decisions about resizes, step by step (in-place-resize 3.2)."""

from __future__ import annotations

from dataclasses import replace

import pytest

from evenkeel.simulator.api.fields import JsonObject, ensure
from evenkeel.simulator.kubelet.admission import NodeState
from evenkeel.simulator.kubelet.evaluation import (
    Accepted,
    Deferred,
    Infeasible,
    Outcome,
    Preempting,
    Unchanged,
    evaluate,
)
from evenkeel.simulator.kubelet.podview import CRITICAL_PRIORITY, MIRROR, PodView, read_pod, read_resources
from evenkeel.simulator.kubelet.settings import Amounts, CpuPolicy, MemoryPolicy, NodeSettings, SwapBehaviour
from tests.evenkeel.simulator.kubelet.pods import (
    BURSTABLE,
    GIBIBYTE,
    GUARANTEED,
    Pair,
    container,
    held,
    pod,
    resources,
)

USUAL = NodeSettings("n", Amounts(4000, 8 * GIBIBYTE))
STATIC_CPU = replace(USUAL, cpu_policy=CpuPolicy.STATIC)
STATIC_MEMORY = replace(USUAL, memory_policy=MemoryPolicy.STATIC)
SWAPPING = replace(USUAL, swap=SwapBehaviour.LIMITED_SWAP)
RESTART = [{"resourceName": "memory", "restartPolicy": "RestartContainer"}]


def wish(cpu: Pair | str = ("100m", "200m"), memory: Pair | str = ("128Mi", "256Mi"), **parts: object) -> JsonObject:
    """A pod whose spec asks for this."""
    policy = parts.pop("resizePolicy", [])
    return pod("a", container("app", resources(cpu, memory), resizePolicy=policy), **parts)


def static() -> JsonObject:
    body = wish(("1", "2"))
    ensure(body, "metadata", "annotations")[MIRROR] = "x"
    return body


G = GUARANTEED
OWN = {"requests": {"cpu": "1"}}
ROWS: list[tuple[str, JsonObject, JsonObject, NodeSettings, str]] = [
    # id, pod, what it was granted, node, outcome: a word, or the detail of an infeasible one with ! for an event
    ("1 as granted", wish(), BURSTABLE, USUAL, "unchanged"),
    ("resize:R01 fits", wish(("500m", "1")), BURSTABLE, USUAL, "accepted"),
    ("2 static pod", static(), BURSTABLE, USUAL, "static_pod"),
    ("2 windows", wish(("1", "2"), os={"name": "windows"}), BURSTABLE, USUAL, "windows"),
    ("resize:R47 3 swap", wish(memory=("200Mi", "256Mi")), BURSTABLE, SWAPPING, "swap_limitation"),
    ("3 swap, limit alone", wish(memory=("128Mi", "300Mi")), BURSTABLE, SWAPPING, "accepted"),
    ("3 swap, cpu alone", wish(("500m", "1")), BURSTABLE, SWAPPING, "accepted"),
    ("resize:R48 3 restart", wish(memory=("200Mi", "256Mi"), resizePolicy=RESTART), BURSTABLE, SWAPPING, "accepted"),
    ("3 swap by the old spec", wish(memory=("256Mi", "256Mi")), BURSTABLE, SWAPPING, "swap_limitation"),
    ("4 resources of its own", wish(("500m", "1"), resources=OWN), BURSTABLE, USUAL, "plr_feature_gate_off"),
    (
        "resize:R44 5 cpu",
        pod("a", container("app", resources(("1", "1"), ("256Mi", "256Mi")))),
        G,
        STATIC_CPU,
        "guaranteed_pod_cpu_manager_static_policy!",
    ),
    (
        "resize:R44 5 beyond the node",
        pod("a", container("app", resources(("9", "9"), ("256Mi", "256Mi")))),
        G,
        STATIC_CPU,
        "guaranteed_pod_cpu_manager_static_policy!",
    ),
    (
        "resize:R45 5 memory",
        pod("a", container("app", resources(("500m", "500m"), ("1Gi", "1Gi")))),
        G,
        STATIC_CPU,
        "accepted",
    ),
    ("resize:R46 5 Burstable", wish(("500m", "1")), BURSTABLE, STATIC_CPU, "accepted"),
    (
        "6 memory",
        pod("a", container("app", resources(("500m", "500m"), ("1Gi", "1Gi")))),
        G,
        STATIC_MEMORY,
        "guaranteed_pod_memory_manager_static_policy!",
    ),
    (
        "6 cpu",
        pod("a", container("app", resources(("1", "1"), ("256Mi", "256Mi")))),
        G,
        STATIC_MEMORY,
        "accepted",
    ),
    ("resize:R12 7 cpu", wish(("5", "5")), BURSTABLE, USUAL, "insufficient_node_allocatable!"),
    ("7 cpu exactly", wish(("4", "5")), BURSTABLE, USUAL, "accepted"),
    ("7 a limit is never compared", wish(("1", "50")), BURSTABLE, USUAL, "accepted"),
    ("7 memory", wish(memory=("9Gi", "9Gi")), BURSTABLE, USUAL, "insufficient_node_allocatable!"),
    ("resize:R19 7 between", wish(memory=("8142Mi", "8Gi")), BURSTABLE, USUAL, "deferred"),
    ("8 below allocatable", wish(memory=("8092Mi", "8Gi")), BURSTABLE, USUAL, "accepted"),
]


def word(outcome: Outcome) -> str:
    match outcome:
        case Infeasible(_, detail, with_event):
            return detail + "!" * with_event
        case _:
            return type(outcome).__name__.lower()


def judged(body: JsonObject, granted: JsonObject, node: NodeState) -> Outcome:
    view: PodView = read_pod(body)
    return evaluate(view, {"app": read_resources(granted)}, node)


@pytest.mark.parametrize(("case", "body", "granted", "settings", "expected"), ROWS, ids=[row[0] for row in ROWS])
def test_outcomes(case: str, body: JsonObject, granted: JsonObject, settings: NodeSettings, expected: str) -> None:
    assert word(judged(body, granted, NodeState(settings))) == expected


def test_messages() -> None:
    node = NodeState(USUAL)
    found = judged(wish(("5", "5")), BURSTABLE, node)
    assert found == Infeasible(
        "Node didn't have enough capacity: cpu, requested: 5000, capacity: 4000", "insufficient_node_allocatable"
    )
    both = judged(wish(("5", "5"), ("9Gi", "9Gi")), BURSTABLE, node)
    assert isinstance(both, Infeasible)
    assert both.message.startswith("Node didn't have enough capacity: memory, "), "of both, memory is named"
    full = NodeState(USUAL, occupied=Amounts(3500, 0))
    assert judged(wish(("1", "2")), BURSTABLE, full) == Deferred(
        "Node didn't have enough resource: cpu, requested: 1000, used: 3500, capacity: 4000"
    )


def test_any_refusal_defers_even_a_smaller_wish() -> None:
    pressed = NodeState(USUAL, pressures=("PIDPressure",))
    assert judged(wish(("50m", "100m")), BURSTABLE, pressed) == Deferred("The node had condition: [PIDPressure]. ")


def test_a_critical_pod_preempts_only_for_room() -> None:
    full = NodeState(USUAL, occupied=Amounts(3500, 0))
    critical = wish(("1", "2"), priority=CRITICAL_PRIORITY)
    found = judged(critical, BURSTABLE, full)
    assert isinstance(found, Preempting)
    assert found.shortage == Amounts(500, 0)
    elsewhere = wish(("1", "2"), priority=CRITICAL_PRIORITY, nodeSelector={"a": "b"})
    assert isinstance(judged(elsewhere, BURSTABLE, full), Deferred)


def test_a_container_without_grant_is_a_change() -> None:
    view = read_pod(wish())
    assert evaluate(view, {}, NodeState(USUAL)) == Accepted()
    assert evaluate(view, {"app": held(("100m", "200m"), ("128Mi", "256Mi"))}, NodeState(USUAL)) == Unchanged()
