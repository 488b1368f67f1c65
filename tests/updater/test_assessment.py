"""What a recommendation means for pods that are alike, and for pods that are not."""

from __future__ import annotations

from dataclasses import replace

import pytest

from autoscaling.errors import InvalidObjectError
from autoscaling.limitrange import LimitType, NamespaceLimits
from autoscaling.pod import Pod
from autoscaling.vpa import ContainerPolicy, ControlledValues
from tests.builders import container, limit_range, pod, recommended
from tests.updater.situations import (
    RECREATE,
    annotated,
    circumstances,
    reporting,
    small,
    vpa_of,
    without_recommendation,
)
from updater.assessment import Assessor
from updater.circumstances import Circumstances
from updater.priority import Priority, score

ONLY_REQUESTS = (ContainerPolicy("c", controlled_values=ControlledValues.REQUESTS_ONLY),)
CAPPING = circumstances(vpa_of(RECREATE, recommended("c", "4/4Gi"), policies=ONLY_REQUESTS))


def texts(assessor: Assessor, subject: Pod) -> dict[str, str]:
    """Return the target of container ``c`` as text."""
    processed = assessor.of(subject).processed
    assert processed is not None
    return {name: str(q) for name, q in processed.recommendation.containers[0].target.items()}


def test_pods_that_are_alike_share_the_work() -> None:
    assessor = Assessor(CAPPING)
    one, other = small("p", "1/1Gi", "2/2Gi"), small("q", "1/1Gi", "2/2Gi")
    assert assessor.of(one) is assessor.of(other)


@pytest.mark.parametrize(
    "other",
    [
        small("q", "1/1Gi", "2/3Gi"),
        small("q", "2/1Gi", "2/2Gi"),
        small("q", "1/1Gi"),
        small("q", "-", "2/2Gi"),
        small("q", "1/-", "2/2Gi"),
        annotated(small("q", "1/1Gi", "2/2Gi"), vpaObservedContainers="other"),
        reporting(small("q", "1/1Gi", "2/2Gi"), "1/1Gi", "2/1Gi"),
        replace(small("q", "1/1Gi", "2/2Gi"), containers=(container("d", "1/1Gi", "2/2Gi"),)),
        pod(container("c", "1/1Gi", "2/2Gi"), container("d")),
    ],
)
def test_pods_that_differ_do_not(other: Pod) -> None:
    shared, own = Assessor(CAPPING), Assessor(CAPPING)
    first = shared.of(small("p", "1/1Gi", "2/2Gi"))
    assert shared.of(other) is not first
    assert shared.of(other) == own.of(other)


def test_what_the_node_reports_counts_and_not_the_spec() -> None:
    assessor = Assessor(CAPPING)
    one = reporting(small("p", "9/9Gi"), "1/1Gi", "2/2Gi")
    assert assessor.of(one) is assessor.of(small("q", "1/1Gi", "2/2Gi"))


def test_equal_amounts_in_another_notation_stay_apart() -> None:
    assessor = Assessor(CAPPING)
    assert texts(assessor, small("p", "1/1Gi", "2/2Gi")) == {"cpu": "2", "memory": "2Gi"}
    assert texts(assessor, small("q", "1/1Gi", "2/2147483648")) == {"cpu": "2", "memory": "2147483648"}


def test_without_anything_recommended_there_is_no_score() -> None:
    found = Assessor(circumstances(without_recommendation(vpa_of(RECREATE)))).of(small())
    assert found.processed is None
    assert found.priority == Priority()


def test_the_score_is_that_of_the_processed_recommendation() -> None:
    found = Assessor(CAPPING).of(small("p", "1/1Gi", "2/2Gi"))
    assert found.processed is not None
    assert found.priority == score(small("p", "1/1Gi", "2/2Gi"), found.processed.recommendation)
    assert found.priority.difference == 2.0


def test_a_fault_is_told_of_each_pod_by_name() -> None:
    limits = NamespaceLimits(pod=limit_range(LimitType.POD, maximum="2/2Gi"))
    found: Circumstances = replace(circumstances(vpa_of(RECREATE, recommended("c", "4/4Gi"))), limits=limits)
    assessor = Assessor(found)
    for name in ("p", "q"):
        with pytest.raises(InvalidObjectError, match=f"Pod default/{name}: container 'bare'"):
            assessor.of(pod(container("c", "1/1Gi", "1/1Gi"), container("bare"), name=name))
