"""What pods hold: sums over containers, and the largest of spec, actual and allocated (in-place-resize section 2)."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evenkeel.simulator.api.fields import JsonObject, ensure
from evenkeel.simulator.kubelet.accounting import (
    effective_requests,
    limits_of,
    requests_of,
    spec_requests,
)
from evenkeel.simulator.kubelet.podview import read_pod
from evenkeel.simulator.kubelet.settings import Amounts
from tests.evenkeel.simulator.kubelet.pods import container, held, pod, resources, view

MIB = 2**20


def with_status(
    body: JsonObject, actual: JsonObject | None, allocated: JsonObject | None = None, reason: str = ""
) -> JsonObject:
    """Give the pod's one container a status."""
    status: JsonObject = {"name": "app"}
    if actual is not None:
        status["resources"] = actual
    if allocated is not None:
        status["allocatedResources"] = allocated
    ensure(body, "status")["containerStatuses"] = [status]
    if reason:
        ensure(body, "status")["conditions"] = [{"type": "PodResizePending", "reason": reason}]
    return body


def asking(cpu: str) -> JsonObject:
    return pod("a", container("app", resources((cpu, cpu), ("128Mi", "128Mi"))))


REQUESTS: list[tuple[str, JsonObject, int]] = [
    ("no status", asking("300m"), 300),
    ("no actual resources", with_status(asking("300m"), None, {"cpu": "900m"}), 300),
    ("spec is largest", with_status(asking("900m"), resources("300m"), {"cpu": "500m"}), 900),
    ("actual is largest", with_status(asking("300m"), resources("900m"), {"cpu": "500m"}), 900),
    ("allocated is largest", with_status(asking("300m"), resources("500m"), {"cpu": "900m"}), 900),
    ("deferred counts the wish", with_status(asking("900m"), resources("300m"), {"cpu": "300m"}, "Deferred"), 900),
    ("infeasible does not", with_status(asking("900m"), resources("300m"), {"cpu": "400m"}, "Infeasible"), 400),
]


@pytest.mark.parametrize(("case", "body", "millis"), REQUESTS, ids=[row[0] for row in REQUESTS])
def test_effective_requests(case: str, body: JsonObject, millis: int) -> None:
    assert requests_of(body).cpu_millis == millis


LIMITS: list[tuple[str, JsonObject, int]] = [
    ("no status", asking("300m"), 300),
    ("spec is larger", with_status(asking("900m"), resources(("1m", "300m"))), 900),
    ("actual is larger", with_status(asking("300m"), resources(("1m", "900m"))), 900),
    ("infeasible", with_status(asking("900m"), resources(("1m", "300m")), None, "Infeasible"), 300),
]


@pytest.mark.parametrize(("case", "body", "millis"), LIMITS, ids=[row[0] for row in LIMITS])
def test_effective_limits(case: str, body: JsonObject, millis: int) -> None:
    assert limits_of(body).cpu_millis == millis


def test_an_allocation_stands_in_for_the_spec() -> None:
    read = read_pod(with_status(asking("900m"), resources("300m"), {"cpu": "300m"}, "Infeasible"))
    assert effective_requests(read, {"app": held("400m")}).cpu_millis == 400
    assert effective_requests(read, {}).cpu_millis == 300
    assert spec_requests(read, {"app": held("400m", "1Mi")}) == Amounts(400, MIB)


def test_the_status_of_a_plain_init_container_counts_for_nothing() -> None:
    body = pod("a", container("app", resources("100m")), initContainers=[container("setup", resources("200m"))])
    ensure(body, "status")["initContainerStatuses"] = [{"name": "setup", "resources": resources("900m")}]
    assert requests_of(body).cpu_millis == 200


SUMS = [
    # plain init, sidecar, plain init, regular, expected: max(sidecar + regular, first init, sidecar + second init)
    ("the others are larger", 1, 2, 3, 4, 6),
    ("the first init is largest", 9, 2, 3, 4, 9),
    ("the second runs beside the sidecar", 1, 2, 7, 4, 9),
]


@pytest.mark.parametrize(("case", "first", "sidecar", "second", "regular", "expected"), SUMS)
def test_init_containers_run_one_after_the_other(
    case: str, first: int, sidecar: int, second: int, regular: int, expected: int
) -> None:
    body = pod(
        "a",
        container("app", resources(f"{regular}m")),
        initContainers=[
            container("one", resources(f"{first}m")),
            container("proxy", resources(f"{sidecar}m"), restartPolicy="Always"),
            container("two", resources(f"{second}m")),
        ],
        overhead={"cpu": "10m"},
    )
    assert requests_of(body).cpu_millis == expected + 10


@given(st.integers(0, 1000), st.integers(0, 1000), st.integers(0, 1000))
def test_the_effective_request_is_the_largest(spec: int, actual: int, allocated: int) -> None:
    body = with_status(
        pod("a", container("app", resources(f"{spec}m"))), resources(f"{actual}m"), {"cpu": f"{allocated}m"}
    )
    assert requests_of(body).cpu_millis == max(spec, actual, allocated)


def test_memory_is_counted_in_bytes() -> None:
    assert spec_requests(view()) == Amounts(100, 128 * MIB)
