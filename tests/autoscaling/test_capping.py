"""Laws of capping; its rows are in the table of target resources."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from autoscaling.capping import Bounds, policy_bounds, process
from autoscaling.limitrange import NO_LIMITS, LimitRangeItem, LimitType, NamespaceLimits
from autoscaling.quantity import Quantity
from autoscaling.resources import CPU, MEMORY, ResourceList, amount
from autoscaling.vpa import ContainerPolicy, ContainerRecommendation
from tests.builders import amounts, container, pod, printed, recommended, vpa

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
    assert printed(processed.recommendation.containers[0].target) == {"cpu": "2"}, "limits:6"
