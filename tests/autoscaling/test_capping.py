"""Capping: its steps at their bounds, and laws; whole rows are in the table of target resources."""

from __future__ import annotations

from dataclasses import dataclass, replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from autoscaling.capping import Bounds, policy_bounds, process
from autoscaling.limitrange import NO_LIMITS, LimitRangeItem, LimitType, NamespaceLimits
from autoscaling.pod import ContainerStatus
from autoscaling.quantity import Quantity
from autoscaling.resources import CPU, MEMORY, ContainerResources, ResourceList, amount
from autoscaling.vpa import ContainerPolicy, ContainerRecommendation, ControlledValues
from tests.builders import amounts, container, limit_range, pod, printed, recommended, vpa

lists: st.SearchStrategy[ResourceList] = st.dictionaries(
    st.sampled_from([CPU, MEMORY]),
    st.integers(0, 5000).map(Quantity.of_milli),
)


def bounds(minimum: ResourceList, maximum: ResourceList) -> Bounds:
    return Bounds(minimum, maximum, "up", "down")


@given(given_amounts=lists, minimum=lists, maximum=lists)
def test_bounded_amounts_are_within_and_unchanged_when_already_so(
    given_amounts: ResourceList,
    minimum: ResourceList,
    maximum: ResourceList,
) -> None:
    once, notes = bounds(minimum, maximum).apply(given_amounts)
    assert set(once) == set(given_amounts)
    for name, value in once.items():
        highest = amount(maximum, name)
        assert highest.is_zero() or value <= highest
        if not notes:
            assert value == given_amounts[name]
    # The maximum wins over the minimum, so a second pass moves nothing either way.
    assert bounds(minimum, maximum).apply(once)[0] == once


@pytest.mark.parametrize(
    ("row", "minimum", "maximum", "given_amount", "bounded", "notes"),
    [
        ("limits:S4.1 below", "100m", "-", "99m", "100m", ("cpu up",)),
        ("limits:S4.1 at the lower bound", "100m", "-", "100m", "100m", ()),
        ("limits:S4.1 at the upper bound", "-", "200m", "200m", "200m", ()),
        ("limits:S4.1 above", "-", "200m", "200001u", "200m", ("cpu down",)),
        ("limits:S4.1 zero is no bound", "0", "0", "5m", "5m", ()),
        ("limits:S4.1 the maximum wins", "80m", "60m", "10m", "60m", ("cpu up", "cpu down")),
        ("limits:S4.1 the bound's own notation", "0.1", "-", "1m", "100m", ("cpu up",)),
        ("limits:S4.1 what is absent stays so", "-/64Mi", "-", "1m", "1m", ()),
        ("limits:S4.2 no bounds", "-", "-", "7m", "7m", ()),
    ],
)
def test_what_bounds_do(
    row: str, minimum: str, maximum: str, given_amount: str, bounded: str, notes: tuple[str, ...]
) -> None:
    found, said = bounds(amounts(minimum), amounts(maximum)).apply(amounts(given_amount))
    assert (printed(found), said) == ({"cpu": bounded}, notes), row


def test_without_a_policy_nothing_is_bounded() -> None:
    """Spec: limits:S4.2."""
    assert policy_bounds(None).apply(amounts("1/1Gi")) == (amounts("1/1Gi"), ())


ONLY_REQUESTS = ControlledValues.REQUESTS_ONLY
NOTE_FOR_LIMIT = "cpu capped to container limit"
NOTE_FOR_MIN, NOTE_FOR_MAX = (f"cpu capped to fit {word} in container LimitRange" for word in ("Min", "Max"))


@dataclass(frozen=True)
class Case:
    """A container with its bounds, and what capping leaves of a target for its CPU."""

    current: tuple[str, str]
    target: str
    left: str
    notes: tuple[str, ...] = ()
    policy: ContainerPolicy | None = None
    item: LimitRangeItem | None = None
    reported: tuple[str, str] | None = None


def of_containers(minimum: str | None = None, maximum: str | None = None, default: str | None = None) -> LimitRangeItem:
    return limit_range(LimitType.CONTAINER, minimum=minimum, maximum=maximum, default=default)


def only_requests(minimum: str = "-") -> ContainerPolicy:
    return ContainerPolicy("*", controlled_values=ONLY_REQUESTS, min_allowed=amounts(minimum))


CASES: list[tuple[str, Case]] = [
    ("limits:S4.3 at the limit", Case(("100m", "200m"), "200m", "200m", policy=only_requests())),
    ("limits:S4.3 equal in thousandths", Case(("100m", "200m"), "199001u", "199001u", policy=only_requests())),
    ("limits:S4.3 above", Case(("100m", "200m"), "201m", "200m", (NOTE_FOR_LIMIT,), only_requests())),
    ("limits:S4.3 after minAllowed", Case(
        ("100m", "200m"), "50m", "200m", ("cpu capped to minAllowed", NOTE_FOR_LIMIT), only_requests("300m"))),
    ("limits:S4.3 zero", Case(("100m", "0"), "50m", "0", (NOTE_FOR_LIMIT,), only_requests())),
    ("limits:S4.3 no limit", Case(("100m", "-"), "50m", "50m", policy=only_requests())),
    ("limits:S4.3 the default does not count", Case(
        ("100m", "-"), "9", "9", policy=only_requests(), item=of_containers(default="1"))),
    ("limits:S4.3 limits that follow", Case(("100m", "200m"), "201m", "201m")),
    ("limits:S5 at the maximum", Case(("1", "2"), "2", "2", item=of_containers(maximum="4"))),
    ("limits:S5 above it", Case(("1", "2"), "2001m", "2", (NOTE_FOR_MAX,), item=of_containers(maximum="4"))),
    ("limits:S5 floor", Case(("300m", "1"), "9", "600m", (NOTE_FOR_MAX,), item=of_containers(maximum="2"))),
    ("limits:S5 no limit", Case(("1", "-"), "9", "9", item=of_containers(maximum="4"))),
    ("limits:S5 the default's ratio", Case(
        ("1", "-"), "9", "2", (NOTE_FOR_MAX,), item=of_containers(maximum="4", default="2"))),
    ("limits:S5 no request", Case(("-", "2"), "9", "4", (NOTE_FOR_MAX,), item=of_containers(maximum="4"))),
    ("limits:S5 a maximum of zero", Case(("1", "2"), "9", "9", item=of_containers(maximum="0"))),
    ("limits:S5 at the minimum", Case(("1", "2"), "500m", "500m", item=of_containers(minimum="500m"))),
    ("limits:S5 the request itself reaches it", Case(
        ("1", "2"), "499m", "500m", (NOTE_FOR_MIN,), item=of_containers(minimum="500m"))),
    ("limits:S5 the maximum wins", Case(
        ("1", "10"), "100m", "200m", (NOTE_FOR_MIN, NOTE_FOR_MAX), item=of_containers(minimum="1", maximum="2"))),
    ("limits:S5 RequestsOnly as well", Case(
        ("1", "4"), "3", "1", (NOTE_FOR_MAX,), only_requests(), of_containers(maximum="4"))),
    ("limits:S2 LimitRange before policy before own limit", Case(
        ("1", "2"), "100m", "2", (NOTE_FOR_MIN, "cpu capped to minAllowed", NOTE_FOR_LIMIT), only_requests("3"),
        of_containers(minimum="500m"))),
    ("limits:S2 what the status reports counts", Case(
        ("1", "2"), "300m", "200m", (NOTE_FOR_LIMIT,), only_requests(), reported=("100m", "200m"))),
]  # fmt: skip


@pytest.mark.parametrize(("row", "case"), CASES, ids=[row for row, _ in CASES])
def test_what_capping_leaves(row: str, case: Case) -> None:
    subject = pod(container("c", *case.current))
    if case.reported is not None:
        reported = ContainerResources(amounts(case.reported[0]), amounts(case.reported[1]))
        subject = replace(subject, statuses=(ContainerStatus("c", reported),))
    policies = None if case.policy is None else [case.policy]
    the_vpa = vpa(recommended("c", case.target), policies=policies)
    processed = process(subject, the_vpa, NamespaceLimits(container=case.item))
    assert processed is not None
    (entry,) = processed.recommendation.containers
    assert (printed(entry.target)["cpu"], processed.notes["c"]) == (case.left, case.notes), row
    assert entry.lower_bound == entry.upper_bound == entry.target, row
    assert entry.uncapped_target == amounts(case.target), row


@pytest.mark.parametrize(
    ("row", "bound", "cpu"),
    [
        ("limits:S6 at the maximum", {"maximum": "3"}, ("900m", "1500m", "3")),
        ("limits:S6 each by its own sum", {"maximum": "2"}, ("900m", "1500m", "2")),
        ("limits:S6 at the minimum", {"minimum": "900m"}, ("900m", "1500m", "3")),
        ("limits:S6 above the lower bound", {"minimum": "1"}, ("1", "1500m", "3")),
        ("limits:S6 the minimum comes first", {"minimum": "2", "maximum": "1"}, ("2", "2", "1")),
    ],
)
def test_vectors_are_scaled_apart(row: str, bound: dict[str, str], cpu: tuple[str, str, str]) -> None:
    limits = NamespaceLimits(pod=limit_range(LimitType.POD, **bound))
    wanted = recommended("c", "1500m", lower="900m", upper="3")
    processed = process(pod(container("c", "1", "1")), vpa(wanted), limits)
    assert processed is not None
    (entry,) = processed.recommendation.containers
    assert entry.lower_bound is not None
    assert entry.upper_bound is not None
    found = tuple(printed(each)["cpu"] for each in (entry.lower_bound, entry.target, entry.upper_bound))
    assert (found, processed.notes["c"]) == (cpu, ()), row


def test_the_global_maximum_fills_in_what_the_policy_does_not_name() -> None:
    policy = ContainerPolicy("*", min_allowed=amounts("500m"), max_allowed=amounts("-/1Gi"))
    applied, notes = policy_bounds(policy, amounts("400m/1Mi")).apply(amounts("300m/2Gi"))
    assert printed(applied) == {"cpu": "400m", "memory": "1Gi"}, "recommender:E13"
    assert notes == ("cpu capped to minAllowed", "cpu capped to maxAllowed", "memory capped to maxAllowed")
    zero = policy_bounds(ContainerPolicy("*", max_allowed=amounts("0")), amounts("250m")).apply(amounts("296m"))
    assert printed(zero[0]) == {"cpu": "296m"}, "recommender:E13"


def test_neither_recommendation_nor_policy_is_nothing() -> None:
    the_pod = pod(container("c", "1/1Gi"))
    assert process(the_pod, vpa(), NO_LIMITS) is None, "updater:P-2"
    empty = process(the_pod, vpa(policies=[]), NO_LIMITS)
    assert empty is not None, "updater:P-2"
    assert empty.recommendation.containers == ()


def test_recommendations_for_containers_the_pod_does_not_have_are_dropped() -> None:
    processed = process(pod(container("c", "1")), vpa(recommended("c", "2"), recommended("gone", "3")), NO_LIMITS)
    assert processed is not None
    assert [c.container_name for c in processed.recommendation.containers] == ["c"], "updater:P-2"


def test_a_pod_limit_scales_nothing_of_containers_the_pod_does_not_have() -> None:
    limits = NamespaceLimits(pod=LimitRangeItem(LimitType.POD, maximum=amounts("2/-")))
    of_another_pod = ContainerRecommendation("gone", target=amounts("3/-"))
    processed = process(pod(container("c", "1", "1")), vpa(recommended("c", "4"), of_another_pod), limits)
    assert processed is not None
    assert printed(processed.recommendation.containers[0].target) == {"cpu": "2"}, "limits:S6"
