"""Whether a node takes a pod, and who gives way for a critical one (in-place-resize 3.2, step 8)."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evenkeel.simulator.api.fields import JsonObject
from evenkeel.simulator.kubelet.accounting import spec_requests
from evenkeel.simulator.kubelet.admission import (
    Candidate,
    NodeState,
    Refusal,
    labels_of_node,
    refusal_of,
    taints_of,
    victims_for,
)
from evenkeel.simulator.kubelet.podview import CRITICAL_PRIORITY, PodView
from evenkeel.simulator.kubelet.settings import Amounts, NodeSettings, Taint
from tests.evenkeel.simulator.kubelet.pods import GIBIBYTE, MEBIBYTE, container, resources, view

SETTINGS = NodeSettings("n", Amounts(4000, 8 * GIBIBYTE), pods=10)
EMPTY = NodeState(SETTINGS)
CAPACITY = 8 * GIBIBYTE - 100 * MEBIBYTE
LABELS: JsonObject = {"zone": "a", "size": "5"}
NO_EXECUTE = (Taint("k", "NoExecute"),)


def asking(millis: int = 100, mebibytes: int = 128, **spec: object) -> PodView:
    return view("a", container("app", resources(f"{millis}m", f"{mebibytes}Mi")), **spec)


def best_effort(**spec: object) -> PodView:
    return view("a", {"name": "app", "image": "x", "resources": {}}, **spec)


def affinity(*expressions: JsonObject, field: str = "matchExpressions") -> JsonObject:
    terms = [{field: [expression]} for expression in expressions]
    required: JsonObject = {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": terms}}
    return {"nodeAffinity": required}


def expression(key: str, operator: str, *values: str) -> JsonObject:
    return {"key": key, "operator": operator, "values": list(values)}


PRESSED = replace(EMPTY, pressures=("DiskPressure",))
SHORT_OF_MEMORY = replace(EMPTY, pressures=("MemoryPressure",))
TOLERANT = {"key": "node.kubernetes.io/memory-pressure", "operator": "Exists"}

ROWS: list[tuple[str, PodView, NodeState, str]] = [
    ("fits", asking(), EMPTY, ""),
    ("fits exactly", asking(500), replace(EMPTY, occupied=Amounts(3500, 0)), ""),
    ("cpu", asking(501), replace(EMPTY, occupied=Amounts(3500, 0)), "OutOfcpu"),
    ("memory", asking(), replace(EMPTY, occupied=Amounts(0, CAPACITY - 128 * MEBIBYTE + 1)), "OutOfmemory"),
    ("memory fits exactly", asking(), replace(EMPTY, occupied=Amounts(0, CAPACITY - 128 * MEBIBYTE)), ""),
    ("cpu is named first", asking(9000, 9000), EMPTY, "OutOfcpu"),
    ("pods", asking(), replace(EMPTY, pods=10), "OutOfpods"),
    ("pods fit exactly", asking(), replace(EMPTY, pods=9), ""),
    ("nothing asked of an overfull node", best_effort(), replace(EMPTY, occupied=Amounts(9000, 9 * GIBIBYTE)), ""),
    ("pressure", asking(), PRESSED, "Evicted"),
    ("pressure spares the critical", asking(priority=CRITICAL_PRIORITY), PRESSED, ""),
    ("memory pressure spares Burstable", asking(), SHORT_OF_MEMORY, ""),
    ("memory pressure refuses BestEffort", best_effort(), SHORT_OF_MEMORY, "Evicted"),
    ("memory pressure is tolerated", best_effort(tolerations=[TOLERANT]), SHORT_OF_MEMORY, ""),
    ("two pressures", asking(), replace(EMPTY, pressures=("DiskPressure", "MemoryPressure")), "Evicted"),
    ("shutdown", asking(), replace(EMPTY, shutting_down=True), "NodeShutdown"),
    ("taint", asking(), replace(EMPTY, taints=NO_EXECUTE), "UntoleratedTaint"),
    ("taint tolerated", asking(tolerations=[{"operator": "Exists"}]), replace(EMPTY, taints=NO_EXECUTE), ""),
    ("taint that only steers scheduling", asking(), replace(EMPTY, taints=(Taint("k", "NoSchedule"),)), ""),
    ("another node", asking(nodeName="m"), EMPTY, "NodeName"),
    ("this node", asking(nodeName="n"), EMPTY, ""),
    ("selector", asking(nodeSelector={"zone": "b"}), replace(EMPTY, labels=LABELS), "NodeAffinity"),
    ("selector fits", asking(nodeSelector={"zone": "a"}), replace(EMPTY, labels=LABELS), ""),
    ("room before placement", asking(9000, nodeSelector={"zone": "b"}), EMPTY, "OutOfcpu"),
]


@pytest.mark.parametrize(("case", "pod", "node", "reason"), ROWS, ids=[row[0] for row in ROWS])
def test_refusals(case: str, pod: PodView, node: NodeState, reason: str) -> None:
    found = refusal_of(pod, spec_requests(pod), node)
    assert (found.reason if found else "") == reason


EXPRESSIONS: list[tuple[str, JsonObject, bool]] = [
    ("In", affinity(expression("zone", "In", "a", "b")), True),
    ("In without", affinity(expression("zone", "In", "b")), False),
    ("NotIn", affinity(expression("zone", "NotIn", "b")), True),
    ("NotIn without the label", affinity(expression("rack", "NotIn", "b")), True),
    ("NotIn with", affinity(expression("zone", "NotIn", "a")), False),
    ("Exists", affinity(expression("zone", "Exists")), True),
    ("Exists not", affinity(expression("rack", "Exists")), False),
    ("DoesNotExist", affinity(expression("rack", "DoesNotExist")), True),
    ("DoesNotExist but does", affinity(expression("zone", "DoesNotExist")), False),
    ("Gt", affinity(expression("size", "Gt", "4")), True),
    ("Gt equal", affinity(expression("size", "Gt", "5")), False),
    ("Lt", affinity(expression("size", "Lt", "6")), True),
    ("Lt equal", affinity(expression("size", "Lt", "5")), False),
    ("Gt of a word", affinity(expression("zone", "Gt", "4")), False),
    ("Gt without the label", affinity(expression("rack", "Gt", "4")), False),
    ("unknown operator", affinity(expression("zone", "Like", "a")), False),
    ("one of two terms", affinity(expression("zone", "In", "b"), expression("zone", "In", "a")), True),
    ("field", affinity(expression("metadata.name", "In", "n"), field="matchFields"), True),
    ("another field", affinity(expression("metadata.name", "In", "m"), field="matchFields"), False),
    ("empty term", affinity(expression("zone", "Exists"), field="other"), False),
]


@pytest.mark.parametrize(("case", "rules", "fits"), EXPRESSIONS, ids=[row[0] for row in EXPRESSIONS])
def test_node_affinity(case: str, rules: JsonObject, fits: bool) -> None:
    found = refusal_of(asking(affinity=rules), Amounts(), replace(EMPTY, labels=LABELS))
    assert (found is None) == fits


def test_messages_name_what_is_missing() -> None:
    node = replace(EMPTY, occupied=Amounts(3500, 0))
    assert refusal_of(asking(), Amounts(1000, 0), node) == Refusal(
        "OutOfcpu",
        "Node didn't have enough resource: cpu, requested: 1000, used: 3500, capacity: 4000",
        Amounts(500, 0),
    )
    both = replace(EMPTY, pressures=("DiskPressure", "PIDPressure"))
    found = refusal_of(asking(), Amounts(), both)
    assert found
    assert found.message == "The node had condition: [DiskPressure PIDPressure]. "


def test_a_shortage_is_named_only_when_nothing_else_is_wrong() -> None:
    node = replace(EMPTY, occupied=Amounts(3500, 0), taints=NO_EXECUTE)
    found = refusal_of(asking(), Amounts(1000, 0), node)
    assert found
    assert found.shortage is None


def test_a_node_object_is_read() -> None:
    node: JsonObject = {
        "metadata": {"labels": {"a": "b"}},
        "spec": {"taints": [{"key": "k", "effect": "NoExecute", "value": "v"}]},
    }
    assert taints_of(node) == (Taint("k", "NoExecute", "v"),)
    assert labels_of_node(node) == {"a": "b"}
    assert taints_of({}) == ()


def holder(uid: str, millis: int, qos: str = "Burstable", mebibytes: int = 0) -> Candidate:
    return Candidate(uid, qos, Amounts(millis, mebibytes))


VICTIMS: list[tuple[str, Amounts, list[Candidate], tuple[str, ...] | None]] = [
    ("the smallest that suffices", Amounts(300), [holder("a", 500), holder("b", 300), holder("c", 200)], ("b",)),
    ("several when none does", Amounts(600), [holder("a", 500), holder("b", 300), holder("c", 100)], ("a", "c")),
    (
        "a lower class first",
        Amounts(300),
        [holder("a", 300, "Guaranteed"), holder("b", 900), holder("c", 0, "BestEffort")],
        ("b",),
    ),
    ("BestEffort that helps", Amounts(0, 5), [holder("a", 0, "BestEffort", 9), holder("b", 0, mebibytes=5)], ("a",)),
    ("all would not do", Amounts(900), [holder("a", 500), holder("b", 300)], None),
    ("nobody there", Amounts(1), [], None),
    ("nothing missing", Amounts(), [holder("a", 1)], ()),
    (
        "the needless one is spared",
        Amounts(500),
        [holder("a", 400, "Burstable"), holder("b", 900, "Guaranteed")],
        ("b",),
    ),
    ("cpu and memory", Amounts(300, 5), [holder("a", 300), holder("b", 0, mebibytes=5)], ("a", "b")),
]


@pytest.mark.parametrize(("case", "shortage", "candidates", "chosen"), VICTIMS, ids=[row[0] for row in VICTIMS])
def test_who_gives_way(
    case: str, shortage: Amounts, candidates: list[Candidate], chosen: tuple[str, ...] | None
) -> None:
    assert victims_for(shortage, candidates) == chosen


@given(
    st.lists(st.tuples(st.integers(0, 50), st.integers(0, 50)), max_size=6), st.integers(1, 120), st.integers(0, 120)
)
def test_what_is_chosen_suffices_and_nothing_of_it_is_needless(
    sizes: list[tuple[int, int]], cpu: int, memory: int
) -> None:
    candidates = [Candidate(str(n), "Burstable", Amounts(*size)) for n, size in enumerate(sizes)]
    shortage = Amounts(cpu, memory)
    chosen = victims_for(shortage, candidates)
    total = Amounts(sum(s[0] for s in sizes), sum(s[1] for s in sizes))
    assert (chosen is None) == total.is_below(shortage)
    for spared in chosen or ():
        rest = [c.holds for c in candidates if c.uid in (chosen or ()) and c.uid != spared]
        assert Amounts(sum(r.cpu_millis for r in rest), sum(r.memory_bytes for r in rest)).is_below(shortage)
