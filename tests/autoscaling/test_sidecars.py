"""Native sidecars among a pod's containers, and what they and plain init containers mean for limits of whole pods."""

from __future__ import annotations

import sys
from dataclasses import replace
from types import FrameType

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


LATER = sidecar("later", "1", "1")


@pytest.mark.parametrize(
    ("row", "inits", "found"),
    [
        ("beyond:B-16 the second start is the tighter one", ("side", "6", "later", "7"), ["1500m", "1500m"]),
        ("beyond:B-16 the first start is the tighter one", ("side", "9", "later", "6"), ["1", "3"]),
        ("beyond:B-16 both are as tight", ("side", "8", "later", "6"), ["2", "2"]),
        ("beyond:B-16 only the first one binds", ("side", "9", "later", "1"), ["1", "4"]),
        ("beyond:B-16 only the second one binds", ("side", "1", "later", "4"), ["3", "3"]),
        ("beyond:B-16 two starts beside the same sidecars", ("side", "later", "4", "6"), ["2", "2"]),
        ("beyond:B-16 a start without room between others", ("side", "9", "10", "later", "6"), ["1", "3"]),
        ("beyond:B-16 nobody is beside the first one", ("9", "side", "later", "8"), ["1", "1"]),
    ],
)
def test_of_several_starts_the_tightest_is_kept_first(row: str, inits: tuple[str, ...], found: list[str]) -> None:
    made = {"side": SIDE, "later": LATER}
    placed = [made.get(each) or container(f"init{n}", each, each) for n, each in enumerate(inits)]
    subject = with_sidecars(with_init_containers(pod(container("app", "1m", "1m")), *placed))
    sized = limits_of(subject, limit_range(LimitType.POD, maximum="10"), "1m", "4", "4")
    assert sized == ["1m/1m", *(f"{amount}/{amount}" for amount in found)], row


@given(
    starts=st.lists(st.one_of(st.none(), st.integers(1, 120)), min_size=1, max_size=12),
    wanted=st.lists(st.integers(1, 100), min_size=12, max_size=12),
)
def test_every_start_fits_beside_its_sidecars_which_have_no_less_than_they_must(
    starts: list[int | None], wanted: list[int]
) -> None:
    """Spec: beyond:B-16: where there is room at all, and no sidecar could have more while nobody has less."""
    most = 100 * 1000
    inits = [
        sidecar(f"s{n}", "1", "1") if own is None else container(f"i{n}", str(own), str(own))
        for n, own in enumerate(starts)
    ]
    subject = with_sidecars(with_init_containers(pod(container("app", "1", "1")), *inits))
    sidecars = [each for each in subject.containers if each.is_sidecar]
    targets = ["1", *(str(amount) for amount, _ in zip(wanted, sidecars, strict=False))]
    sized = limits_of(subject, limit_range(LimitType.POD, maximum="100"), *targets)
    got = [Quantity.parse(each.partition("/")[2]).milli_value() for each in sized[1:]]
    # What the sum of all containers leaves comes first.
    share = min(1.0, most / (sum((1, *wanted[: len(sidecars)])) * 1000))
    asked = [amount * 1000 * share for amount in wanted[: len(sidecars)]]
    seen, sums = 0, list[tuple[int, int]]()
    for own in starts:
        if own is None:
            seen += 1
        elif own < 100:
            sums.append((seen, most - own * 1000))
    grain = len(sidecars) + 1
    assert all(sum(got[:count]) <= room + grain for count, room in sums)
    for index, (amount, most_of_it) in enumerate(zip(got, asked, strict=True)):
        is_held = any(count > index and sum(got[:count]) >= room - 2 * grain for count, room in sums)
        assert amount >= most_of_it - grain or is_held


def calls_of(size: int) -> int:
    """Count the calls of functions that it takes to size a pod of so many sidecars, each before an init container."""
    pairs = [(sidecar(f"s{n}", "1", "1"), container(f"i{n}", "1", "1")) for n in range(size)]
    inits = [each for pair in pairs for each in pair]
    subject = with_sidecars(with_init_containers(pod(container("app", "1", "1")), *inits))
    calls = 0

    def count(_frame: FrameType, event: str, _of: object) -> None:
        nonlocal calls
        calls += event == "call"

    earlier = sys.getprofile()
    sys.setprofile(count)
    try:
        limits_of(subject, limit_range(LimitType.POD, maximum=str(2 * size)), *["3"] * (size + 1))
    finally:
        sys.setprofile(earlier)
    return calls


def test_what_a_pod_takes_grows_with_its_containers_and_not_with_their_square() -> None:
    """Spec: beyond:B-32: nobody keeps the others waiting by a pod that is all sidecars and init containers."""
    assert calls_of(80) < 6 * calls_of(20)


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
