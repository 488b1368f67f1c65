"""What the kubelet reads of a pod."""

from __future__ import annotations

import pytest

from evenkeel.simulator.api.fields import JsonObject, ensure
from evenkeel.simulator.kubelet.podview import (
    CRITICAL_PRIORITY,
    MIRROR,
    Role,
    changed_resources,
    may_swap,
    read_pod,
    resources_json,
    same_compute,
    tolerates,
    untolerated,
    with_resource,
)
from evenkeel.simulator.kubelet.settings import Amounts, SwapBehaviour, Taint
from tests.evenkeel.simulator.kubelet.pods import GUARANTEED, Pair, container, held, pod, resources, view

RESTART = [{"resourceName": "memory", "restartPolicy": "RestartContainer"}]


def test_containers_are_read_in_order_with_their_roles() -> None:
    read = view(
        "a",
        container(resizePolicy=[*RESTART, {"resourceName": "cpu", "restartPolicy": "NotRequired"}]),
        initContainers=[container("setup"), container("proxy", restartPolicy="Always")],
    )
    assert [(c.name, c.role, c.resizable) for c in read.containers] == [
        ("setup", Role.INIT, False),
        ("proxy", Role.SIDECAR, True),
        ("app", Role.REGULAR, True),
    ]
    assert read.containers[2].restarts_for == ("memory",)
    assert [c.name for c in read.of_role(Role.SIDECAR, Role.REGULAR)] == ["proxy", "app"]


def test_defaults_of_a_plain_pod() -> None:
    read = view()
    assert (read.qos, read.priority, read.restart_policy, read.grace_seconds) == ("Burstable", 0, "Always", 30)
    assert not any((read.deleting, read.static, read.critical, read.own_resources, read.windows))
    assert read.key == ("default", "a")


def test_special_pods_are_recognised() -> None:
    body = pod("a", container("app", GUARANTEED), priority=CRITICAL_PRIORITY, os={"name": "windows"})
    ensure(body, "spec")["resources"] = resources("1")
    ensure(body, "spec")["overhead"] = {"cpu": "10m", "memory": "1Mi"}
    read = read_pod(body)
    assert read.qos == "Guaranteed"
    assert read.critical
    assert read.windows
    assert read.own_resources
    assert read.overhead == Amounts(10, 2**20)
    ensure(body, "metadata", "annotations")[MIRROR] = "x"
    ensure(body, "spec")["priority"] = 0
    assert read_pod(body).static
    assert read_pod(body).critical


def test_the_grace_of_a_deletion_counts_before_the_spec() -> None:
    body = pod("a", terminationGracePeriodSeconds=7)
    assert read_pod(body).grace_seconds == 7
    ensure(body, "metadata").update(deletionTimestamp="2026-01-01T00:00:00Z", deletionGracePeriodSeconds=2)
    assert read_pod(body).grace_seconds == 2
    assert read_pod(body).deleting


def test_a_status_decides_about_the_class() -> None:
    body = pod()
    ensure(body, "status")["qosClass"] = "Guaranteed"
    assert read_pod(body).qos == "Guaranteed"


CHANGES: list[tuple[str, tuple[Pair | str, Pair | str], tuple[Pair | str, Pair | str], tuple[str, ...]]] = [
    ("nothing", (("1", "2"), "1Mi"), (("1000m", "2"), "1024Ki"), ()),
    ("request", (("1", "2"), "1Mi"), (("2", "2"), "1Mi"), ("cpu",)),
    ("limit", (("1", "2"), "1Mi"), (("1", "3"), "1Mi"), ("cpu",)),
    ("limit added", (("1", "2"), "1Mi"), (("1", "2"), ("1Mi", "2Mi")), ("memory",)),
    ("zero is not absent", ("1", "0"), ("1", ""), ("memory",)),
    ("both", ("1", "1Mi"), ("2", "2Mi"), ("cpu", "memory")),
]


@pytest.mark.parametrize(("case", "new", "old", "changed"), CHANGES, ids=[row[0] for row in CHANGES])
def test_what_differs(
    case: str, new: tuple[Pair | str, Pair | str], old: tuple[Pair | str, Pair | str], changed: tuple[str, ...]
) -> None:
    assert changed_resources(held(*new), held(*old)) == changed
    assert same_compute(held(*new), held(*old)) == (not changed)


def test_a_pod_asks_for_its_allocation_whatever_its_init_containers_say() -> None:
    read = view("a", container(), initContainers=[container("setup")])
    assert read.is_asking_for(read.desired)
    assert read.is_asking_for({"app": read.desired["app"]})
    assert not read.is_asking_for({"setup": read.desired["setup"]})


def test_one_resource_is_taken_from_another() -> None:
    base, other = held(("1", "2"), ("1Mi", "2Mi")), held(("3", "4"), "3Mi")
    mixed = with_resource(base, other, "memory")
    assert resources_json(mixed) == resources(("1", "2"), "3Mi")
    assert with_resource(held(), held(), "cpu") == held()
    assert resources_json(with_resource(held(), other, "cpu")) == resources(("3", "4"))


def test_resources_print_limits_first_and_no_empty_maps() -> None:
    assert list(resources_json(held(("1", "2"), ""))) == ["limits", "requests"]
    assert resources_json(held()) == {}


TAINT = Taint("k", "NoExecute", "v")
TOLERATIONS: list[tuple[str, JsonObject, bool]] = [
    ("equal", {"key": "k", "operator": "Equal", "value": "v", "effect": "NoExecute"}, True),
    ("equal is the default", {"key": "k", "value": "v"}, True),
    ("other value", {"key": "k", "value": "w"}, False),
    ("exists", {"key": "k", "operator": "Exists"}, True),
    ("everything", {"operator": "Exists"}, True),
    ("other effect", {"key": "k", "operator": "Exists", "effect": "NoSchedule"}, False),
    ("other key", {"key": "l", "operator": "Exists"}, False),
    ("no key and no operator", {}, False),
]


@pytest.mark.parametrize(("case", "toleration", "covers"), TOLERATIONS, ids=[row[0] for row in TOLERATIONS])
def test_tolerations(case: str, toleration: JsonObject, covers: bool) -> None:
    read = view("a", tolerations=[toleration])
    assert tolerates(read, TAINT) == covers
    assert (untolerated(read, [Taint("x", "NoSchedule"), TAINT]) is None) == covers


LIMITED, NONE = SwapBehaviour.LIMITED_SWAP, SwapBehaviour.NO_SWAP
SWAP: list[tuple[str, tuple[SwapBehaviour, int], tuple[str, int], Pair | str, bool]] = [
    # id, node's swap behaviour and cgroup version, pod's class and priority, memory, result
    ("usual", (LIMITED, 2), ("Burstable", 0), ("1Mi", "2Mi"), True),
    ("no swap", (NONE, 2), ("Burstable", 0), ("1Mi", "2Mi"), False),
    ("cgroup v1", (LIMITED, 1), ("Burstable", 0), ("1Mi", "2Mi"), False),
    ("Guaranteed", (LIMITED, 2), ("Guaranteed", 0), ("1Mi", "2Mi"), False),
    ("critical", (LIMITED, 2), ("Burstable", CRITICAL_PRIORITY), ("1Mi", "2Mi"), False),
    ("request is limit", (LIMITED, 2), ("Burstable", 0), ("1Mi", "1Mi"), False),
    ("neither", (LIMITED, 2), ("Burstable", 0), "", False),
    ("request alone", (LIMITED, 2), ("Burstable", 0), "1Mi", True),
]


@pytest.mark.parametrize(("case", "node", "kind", "memory", "swaps"), SWAP)
def test_who_may_swap(
    case: str, node: tuple[SwapBehaviour, int], kind: tuple[str, int], memory: Pair | str, swaps: bool
) -> None:
    body = pod("a", priority=kind[1])
    ensure(body, "status")["qosClass"] = kind[0]
    assert may_swap(read_pod(body), held("1", memory), *node) == swaps
