"""Native sidecars among a pod's containers, and what they and plain init containers mean for limits of whole pods."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from autoscaling.capping import process
from autoscaling.limitrange import NO_LIMITS, LimitRangeItem, LimitType, NamespaceLimits
from autoscaling.pod import Container, ContainerStatus, Pod
from autoscaling.quantity import Quantity
from autoscaling.resources import CPU, MEMORY, ContainerResources, ResourceList
from autoscaling.sidecars import with_sidecars
from autoscaling.target_resources import container_targets
from autoscaling.vpa import ContainerPolicy, ControlledValues
from tests.builders import (
    amounts,
    container,
    limit_range,
    pod,
    printed,
    recommended,
    sidecar,
    vpa,
    with_init_containers,
)

SETUP, PROXY = container("setup", "1/1Gi", "1/1Gi"), sidecar("proxy", "100m/100Mi", "200m/200Mi")
CASE = with_init_containers(pod(container("app", "200m/200Mi", "400m/400Mi")), SETUP, PROXY)


def test_a_sidecar_joins_the_containers_and_a_plain_init_container_does_not() -> None:
    """Spec: beyond:B-16, case:26."""
    statuses = (ContainerStatus("setup"), ContainerStatus("proxy", restart_count=2))
    given_pod = replace(CASE, statuses=(ContainerStatus("app"),), init_statuses=statuses)
    got = with_sidecars(given_pod)
    assert [c.name for c in got.containers] == ["app", "proxy"]
    assert [got.path_of(index) for index in range(2)] == ["/spec/containers/0", "/spec/initContainers/1"]
    assert [c.name for c in got.init_containers] == ["setup"]
    assert [(s.name, s.restart_count) for s in got.statuses] == [("app", 0), ("proxy", 2)]
    assert got.status_of("setup") is None
    assert with_sidecars(got) is got


def test_a_pod_without_init_containers_is_not_copied() -> None:
    """Spec: beyond:B-16."""
    plain = pod(container("app"))
    assert with_sidecars(plain) is plain
    only_setup = with_sidecars(with_init_containers(plain, SETUP))
    assert (only_setup.containers, only_setup.counts_sidecars) == (plain.containers, True)


def test_what_the_status_reports_of_a_sidecar_counts() -> None:
    """Spec: beyond:B-16; updater P-3."""
    reported = ContainerResources(amounts("150m/150Mi"))
    got = with_sidecars(replace(CASE, init_statuses=(ContainerStatus("proxy", reported),)))
    assert got.actual_resources(got.containers[1]) == reported


QUANTITIES: st.SearchStrategy[ResourceList] = st.fixed_dictionaries(
    {},
    optional={CPU: st.integers(1, 9000).map(Quantity.of_milli), MEMORY: st.integers(1, 2**33).map(Quantity.of_units)},
)
RESOURCES = st.builds(ContainerResources, st.one_of(st.none(), QUANTITIES), st.one_of(st.none(), QUANTITIES))
PAIRS = st.fixed_dictionaries(
    {CPU: st.integers(1, 9000).map(Quantity.of_milli), MEMORY: st.integers(1, 2**33).map(Quantity.of_units)}
)
POLICIES = st.builds(
    ContainerPolicy,
    st.sampled_from(["proxy", "*"]),
    min_allowed=QUANTITIES,
    max_allowed=QUANTITIES,
    controlled_values=st.sampled_from(ControlledValues),
)


def items(kind: LimitType) -> st.SearchStrategy[LimitRangeItem | None]:
    bound = st.one_of(st.none(), QUANTITIES)
    return st.one_of(st.none(), st.builds(LimitRangeItem, st.just(kind), bound, bound, bound))


@given(
    app=RESOURCES,
    proxy=RESOURCES,
    targets=st.tuples(PAIRS, PAIRS),
    policies=st.lists(POLICIES, max_size=2),
    limits=st.builds(NamespaceLimits, items(LimitType.CONTAINER), items(LimitType.POD)),
)
def test_a_sidecar_gets_what_it_would_get_as_a_regular_container(
    app: ContainerResources,
    proxy: ContainerResources,
    targets: tuple[ResourceList, ResourceList],
    policies: list[ContainerPolicy],
    limits: NamespaceLimits,
) -> None:
    """Spec: beyond:B-16: the only init container being a sidecar, totals are the same, too."""
    entries = [
        replace(recommended(name, "-"), target=target, lower_bound=target, upper_bound=target)
        for name, target in zip(("app", "proxy"), targets, strict=True)
    ]
    beside = with_sidecars(with_init_containers(pod(Container("app", app)), replace(sidecar("proxy"), resources=proxy)))
    among = pod(Container("app", app), Container("proxy", proxy))
    the_vpa = vpa(*entries, policies=policies)
    results = [container_targets(each, the_vpa, process(each, the_vpa, limits), limits) for each in (beside, among)]
    assert results[0] == results[1]


def limits_of(given_pod: Pod, item: LimitRangeItem, *targets: str) -> list[str]:
    """Return the CPU requests and limits of all containers with these targets."""
    names = [each.name for each in given_pod.containers]
    the_vpa = vpa(*(recommended(name, target) for name, target in zip(names, targets, strict=True)))
    limits = NamespaceLimits(pod=item)
    found = container_targets(given_pod, the_vpa, process(given_pod, the_vpa, limits), limits)
    return [f"{printed(target.requests)['cpu']}/{printed(target.limits)['cpu']}" for target in found]


APP, SIDE = container("app", "1", "1"), sidecar("side", "1", "1")


@pytest.mark.parametrize(
    ("row", "inits", "item", "targets", "found"),
    [
        ("beyond:B-16 the sum fits", (SIDE,), {"maximum": "4"}, ("2", "2"), ["2/2", "2/2"]),
        ("beyond:B-16 the sum does not fit", (SIDE,), {"maximum": "4"}, ("4", "4"), ["2/2", "2/2"]),
        ("beyond:B-16 a start fits", (SIDE, container("init", "2", "2")), {"maximum": "4"}, ("2", "2"), ["2/2", "2/2"]),
        (
            "beyond:B-16 a start that does not fit shrinks the sidecars that run beside it",
            (SIDE, container("init", "3", "3")),
            {"maximum": "4"},
            ("2", "2"),
            ["2/2", "1/1"],
        ),
        (
            "beyond:B-16 sidecars that come later do not run beside it",
            (container("init", "3", "3"), SIDE),
            {"maximum": "4"},
            ("2", "2"),
            ["2/2", "2/2"],
        ),
        (
            "beyond:B-16 a start that leaves no room is not ours to mend",
            (SIDE, container("init", "4", "4")),
            {"maximum": "4"},
            ("2", "2"),
            ["2/2", "2/2"],
        ),
        (
            "beyond:B-16 first the sum, then the starts",
            (SIDE, container("init", "3", "3")),
            {"maximum": "4"},
            ("4", "4"),
            ["2/2", "1/1"],
        ),
        ("beyond:B-16 too little", (SIDE,), {"minimum": "4"}, ("1", "1"), ["2/2", "2/2"]),
        (
            "beyond:B-16 a start is enough for the minimum",
            (SIDE, container("init", "3", "3")),
            {"minimum": "4"},
            ("1", "1"),
            ["1/1", "1/1"],
        ),
        (
            "beyond:B-16 a start is not enough for the minimum",
            (container("init", "3", "3"), SIDE),
            {"minimum": "4"},
            ("1", "1"),
            ["2/2", "2/2"],
        ),
    ],
)
def test_totals_of_pods_are_those_of_the_api_server(
    row: str, inits: tuple[Container, ...], item: dict[str, str], targets: tuple[str, str], found: list[str]
) -> None:
    bounds = limit_range(LimitType.POD, maximum=item.get("maximum"), minimum=item.get("minimum"))
    subject = with_sidecars(with_init_containers(pod(APP), *inits))
    assert limits_of(subject, bounds, *targets) == found, row


def test_upstream_counts_no_init_container_in_the_totals_of_pods() -> None:
    """Spec: limits:S6; beyond:B-16 off."""
    subject = with_init_containers(pod(APP), SIDE, container("init", "3", "3"))
    assert limits_of(subject, limit_range(LimitType.POD, maximum="4"), "4") == ["4/4"]
    assert limits_of(subject, limit_range(LimitType.POD, minimum="4"), "1") == ["4/4"]


def test_nothing_is_recommended_to_a_plain_init_container() -> None:
    """Spec: case:26."""
    the_vpa = vpa(*(recommended(name, "1/1Gi") for name in ("app", "proxy", "setup")))
    processed = process(with_sidecars(CASE), the_vpa, NO_LIMITS)
    assert processed is not None
    assert [entry.container_name for entry in processed.recommendation.containers] == ["app", "proxy"]
    upstream = process(CASE, the_vpa, NO_LIMITS)
    assert upstream is not None
    assert [entry.container_name for entry in upstream.recommendation.containers] == ["app"]
