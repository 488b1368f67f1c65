"""Finding things by name among few and among thousands."""

from __future__ import annotations

from dataclasses import dataclass
from operator import attrgetter

import pytest

from autoscaling.names import first_named
from autoscaling.policy import container_policy
from autoscaling.vpa import ContainerPolicy
from tests.builders import container, pod, recommended, vpa


@dataclass(frozen=True, slots=True)
class Thing:
    name: str
    number: int


NAME = attrgetter("name")


@pytest.mark.parametrize("count", [0, 1, 16, 17, 5000])
def test_the_first_of_a_name_is_found_however_many_there_are(count: int) -> None:
    """Spec: limits:S2."""
    things = tuple(Thing(f"n{number // 2}", number) for number in range(count))
    for wanted in range(0, count, max(count // 7, 1)):
        assert first_named(things, f"n{wanted // 2}", NAME) == Thing(f"n{wanted // 2}", wanted // 2 * 2)
    assert first_named(things, "none", NAME) is None


def test_an_index_is_never_that_of_another_tuple() -> None:
    for length in range(17, 120):
        things = tuple(Thing(str(number), length) for number in range(length))
        assert first_named(things, "3", NAME) == Thing("3", length)
        assert first_named(things, str(length), NAME) is None


def test_pods_and_vpas_with_thousands_of_containers_find_theirs() -> None:
    """Spec: beyond:B-32."""
    names = [f"c{number}" for number in range(2000)]
    crowded = pod(*(container(name, "1m/1") for name in names))
    assert all(crowded.container(name) is crowded.containers[number] for number, name in enumerate(names))
    served = vpa(
        *(recommended(name, "1/1") for name in names),
        policies=[
            *(ContainerPolicy(name) for name in names),
            ContainerPolicy("*"),
            ContainerPolicy("*", min_allowed={}),
        ],
    )
    assert served.recommendation is not None
    assert served.container_policies is not None
    for number in (0, 16, 17, 1999):
        assert served.recommendation.of(names[number]) is served.recommendation.containers[number]
        assert container_policy(served, names[number]) is served.container_policies[number]
    assert container_policy(served, "other") is served.container_policies[-1], "of several asterisks the last counts"
