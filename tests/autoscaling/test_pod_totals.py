"""What a pod's containers come to."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import pytest

from autoscaling.placement import Placement
from autoscaling.pod import RESIZE_PENDING, ConditionStatus, ContainerStatus, Pod, PodCondition
from autoscaling.pod_totals import Basis, Side, in_start_order, pod_total
from autoscaling.quantity import NANO, Quantity
from autoscaling.resources import ContainerResources
from autoscaling.sidecars import with_sidecars
from tests.builders import amounts, container, pod, sidecar, with_init_containers

REQUESTS, LIMITS = Side.REQUESTS, Side.LIMITS
SPEC, CHARGED, CARRIED_OUT = Basis.SPEC, Basis.CHARGED, Basis.CARRIED_OUT


def nano(text: str) -> Mapping[str, int]:
    return {name: quantity.nano for name, quantity in amounts(text).items()}


def reporting(made: Pod, name: str, requests: str, limits: str = "-", allocated: str = "-") -> Pod:
    resources = ContainerResources(amounts(requests), amounts(limits))
    return replace(made, statuses=(ContainerStatus(name, resources=resources, allocated=amounts(allocated)),))


def refused(made: Pod, status: ConditionStatus = ConditionStatus.TRUE, reason: str = "Infeasible") -> Pod:
    return replace(made, conditions=(PodCondition(RESIZE_PENDING, status, reason),))


ASKING = pod(container("c", "300m/3Mi", "600m/6Mi"))
HAVING_LESS = reporting(ASKING, "c", "200m/2Mi", "400m/4Mi", "100m/1Mi")
HAVING_MORE = reporting(ASKING, "c", "400m/2Mi", "800m/4Mi", "100m/4Mi")


@pytest.mark.parametrize(
    ("row", "made", "basis", "requests", "limits"),
    [
        ("resize:2 spec only", ASKING, CHARGED, "300m/3Mi", "600m/6Mi"),
        ("resize:2 asked for", HAVING_LESS, CHARGED, "300m/3Mi", "600m/6Mi"),
        ("resize:2 actual and allocated", HAVING_MORE, CHARGED, "400m/4Mi", "800m/6Mi"),
        ("resize:2 spec only", HAVING_MORE, SPEC, "300m/3Mi", "600m/6Mi"),
        ("resize:2 Infeasible", refused(HAVING_LESS), CHARGED, "200m/2Mi", "400m/4Mi"),
        ("resize:2 Infeasible", refused(HAVING_LESS), CARRIED_OUT, "300m/3Mi", "600m/6Mi"),
        ("resize:2 Infeasible", refused(ASKING), CHARGED, "300m/3Mi", "600m/6Mi"),
        ("resize:2 Deferred", refused(HAVING_LESS, reason="Deferred"), CHARGED, "300m/3Mi", "600m/6Mi"),
        ("resize:2", refused(HAVING_LESS, ConditionStatus.FALSE), CHARGED, "300m/3Mi", "600m/6Mi"),
    ],
)
def test_what_a_container_counts_for(row: str, made: Pod, basis: Basis, requests: str, limits: str) -> None:
    assert pod_total(made, REQUESTS, basis) == nano(requests), row
    assert pod_total(made, LIMITS, basis) == nano(limits), row


MAIN = pod(container("a", "100m/1Mi"), container("b", "200m/-"))


@pytest.mark.parametrize(
    ("row", "made", "expected"),
    [
        ("resize:2", MAIN, "300m/1Mi"),
        ("resize:2 init is less", with_init_containers(MAIN, container("setup", "250m/1Mi")), "300m/1Mi"),
        ("resize:2 init is more", with_init_containers(MAIN, container("setup", "350m/512Ki")), "350m/1Mi"),
        ("resize:2 sidecar", with_init_containers(MAIN, sidecar("proxy", "50m/1Mi")), "350m/2Mi"),
        (
            "resize:2 sidecar before an init container",
            with_init_containers(MAIN, sidecar("proxy", "50m/1Mi"), container("setup", "400m/-")),
            "450m/2Mi",
        ),
        (
            "resize:2 sidecar after an init container",
            with_init_containers(MAIN, container("setup", "400m/-"), sidecar("proxy", "50m/1Mi")),
            "400m/2Mi",
        ),
    ],
)
def test_init_containers_count_where_they_need_more(row: str, made: Pod, expected: str) -> None:
    assert pod_total(made, REQUESTS, SPEC) == nano(expected), row
    assert pod_total(with_sidecars(made), REQUESTS, CHARGED) == nano(expected), row


def test_a_sidecar_counts_for_what_it_has_and_a_plain_init_container_for_its_spec() -> None:
    made = with_init_containers(MAIN, container("setup", "10m"), sidecar("proxy", "50m/1Mi"))
    assert [c.name for c in in_start_order(with_sidecars(made))] == ["setup", "proxy"]
    has = ContainerResources(amounts("1/1Gi"))
    made = replace(
        made, init_statuses=(ContainerStatus("setup", resources=has), ContainerStatus("proxy", resources=has))
    )
    for seen in (made, with_sidecars(made)):
        assert pod_total(seen, REQUESTS, CHARGED) == nano("1300m/1025Mi")
        assert pod_total(seen, REQUESTS, SPEC) == nano("350m/2Mi")


def test_what_a_pod_has_besides_its_containers() -> None:
    storage = ContainerResources({"ephemeral-storage": Quantity.parse("1")}, amounts("1"))
    made = replace(pod(replace(container("c"), resources=storage)), placement=Placement(overhead=amounts("10m/1Mi")))
    assert pod_total(made, REQUESTS, SPEC) == {"ephemeral-storage": NANO, **nano("10m/1Mi")}
    assert pod_total(made, LIMITS, SPEC) == nano("1010m")
    whole = Placement(has_pod_resources=True, requests=amounts("2"), overhead=amounts("10m"))
    made = replace(MAIN, placement=whole)
    assert pod_total(made, REQUESTS, SPEC) == nano("2010m/1Mi")
    limited = replace(whole, limits=amounts("4/-"))
    assert pod_total(replace(pod(container("c", "1", "1/1Mi")), placement=limited), LIMITS, SPEC) == nano("4010m/1Mi")
