"""Which container policy applies."""

from __future__ import annotations

import pytest

from autoscaling.policy import container_policy, controlled_resources, controlled_values, scaling_mode
from autoscaling.vpa import ContainerPolicy, ControlledValues, ScalingMode
from tests.builders import amounts, vpa

FIRST = ContainerPolicy("c", mode=ScalingMode.OFF)
SECOND = ContainerPolicy("c")
STAR = ContainerPolicy("*", min_allowed=amounts("1"))
LAST_STAR = ContainerPolicy("*", controlled_values=ControlledValues.REQUESTS_ONLY)


@pytest.mark.parametrize(
    ("row", "policies", "container", "wanted"),
    [
        ("limits:S2", [STAR, FIRST], "c", FIRST),
        ("limits:S2", [FIRST, SECOND], "c", FIRST),
        ("limits:S2", [STAR, LAST_STAR], "c", LAST_STAR),
        ("limits:S2", [FIRST], "other", None),
        ("recommender:3.2", [LAST_STAR, FIRST, STAR], "other", STAR),
        ("limits:S2", None, "c", None),
    ],
)
def test_exact_name_then_last_star(
    row: str,
    policies: list[ContainerPolicy] | None,
    container: str,
    wanted: ContainerPolicy | None,
) -> None:
    assert container_policy(vpa(policies=policies), container) is wanted, row


def test_defaults() -> None:
    assert scaling_mode(None) is ScalingMode.AUTO
    assert scaling_mode(FIRST) is ScalingMode.OFF
    assert controlled_values(STAR) is ControlledValues.REQUESTS_AND_LIMITS
    assert controlled_values(LAST_STAR) is ControlledValues.REQUESTS_ONLY


@pytest.mark.parametrize(
    ("row", "listed", "wanted"),
    [
        ("recommender:4.1", None, ("cpu", "memory")),
        ("recommender:4.1", ("memory", "cpu"), ("cpu", "memory")),
        ("recommender:4.1", ("memory", "gpu"), ("memory",)),
        ("recommender:4.1", (), ()),
    ],
)
def test_controlled_resources(row: str, listed: tuple[str, ...] | None, wanted: tuple[str, ...]) -> None:
    assert controlled_resources(ContainerPolicy("c", controlled_resources=listed)) == wanted, row
    assert controlled_resources(None) == ("cpu", "memory")
