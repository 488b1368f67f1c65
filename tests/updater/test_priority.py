"""Scores and their order."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from autoscaling.pod import Container
from autoscaling.vpa import ContainerRecommendation, Recommendation
from tests.builders import amounts, container, pod, recommended
from tests.updater.situations import annotated, reporting, small
from updater.priority import Priority, observed_containers, relative_difference, score


def bare(name: str, target: str) -> ContainerRecommendation:
    """Return a recommendation without bounds."""
    return ContainerRecommendation(name, amounts(target))


@pytest.mark.parametrize(
    ("row", "containers", "recommendations", "priority"),
    [
        ("updater:P-5", [container("c", "100m/100Mi")], [recommended("c", "100m/100Mi")], Priority()),
        (
            "updater:P-5",
            [container("c", "100m/200Mi")],
            [recommended("c", "250m/300Mi", "150m/250Mi", "400m/500Mi")],
            Priority(True, True, 2.0),
        ),
        (
            "updater:P-5",
            [container("c", "1/-")],
            [recommended("c", "950m/-", "800m/-", "1200m/-")],
            Priority(False, False, 0.05),
        ),
        # Bounds are compared exactly, the rest in thousandths rounded up.
        ("updater:P-5", [container("c", "1m/-")], [recommended("c", "900u/-", "1m/-", "1m/-")], Priority()),
        ("updater:P-5", [container("c", "1m/-")], [recommended("c", "1m/-", "1001u/-", "2m/-")], Priority(True)),
        ("updater:P-5", [container("c", "1001u/-")], [recommended("c", "2m/-", "1m/-", "1m/-")], Priority(True)),
        ("updater:P-5", [container("c", "1/-")], [bare("c", "2/-")], Priority(False, True, 1.0)),
        ("updater:P-5", [container("c", "4/-")], [bare("c", "1/-")], Priority(False, False, 0.75)),
        # A request of zero counts as one thousandth, and so does a missing one.
        ("updater:P-5", [container("c", "0/-")], [bare("c", "5m/-")], Priority(False, True, 4.0)),
        ("updater:P-5", [container("c")], [bare("c", "5m/-")], Priority(True, True, 4.0)),
        ("updater:P-5", [container("c", "1/-")], [bare("d", "9/-")], Priority()),
        ("updater:P-5", [container("c", "1/1Gi")], [bare("c", "-")], Priority()),
        (
            "updater:P-5",
            [container("c", "1/-"), container("d", "1/-")],
            [bare("c", "2/-"), bare("d", "500m/-")],
            Priority(False, True, 0.25),
        ),
    ],
)
def test_score(
    row: str, containers: list[Container], recommendations: list[ContainerRecommendation], priority: Priority
) -> None:
    assert score(pod(*containers), Recommendation(tuple(recommendations))) == priority


def test_no_recommendation_scores_nothing() -> None:
    assert score(small(), None) == Priority()


def test_init_containers_do_not_count() -> None:
    subject = replace(small(), init_containers=(container("i", "1/1Gi"),))
    assert score(subject, Recommendation((bare("i", "9/9Gi"),))) == Priority()


def test_the_resources_in_force_count_and_not_the_spec() -> None:
    subject = reporting(small("p0", "1/1Gi"), "2/-")
    assert score(subject, Recommendation((bare("c", "2/-"),))) == Priority()
    # Reported resources count whole: memory is missing although the spec has it (P-3).
    assert score(subject, Recommendation((bare("c", "-/1Gi"),))).is_outside_bounds


@pytest.mark.parametrize(
    ("row", "annotation", "observed"),
    [
        ("updater:P-4", None, None),
        ("updater:P-4", "c", {"c"}),
        ("updater:P-4", "c, d", {"c", "d"}),
        ("updater:P-4", "", set()),
        ("updater:P-4", "c,d", None),
        ("updater:P-4", "c,  d", None),
        ("updater:P-4", "c, ", None),
        ("updater:P-4", "C", None),
        ("updater:P-4", "-c", None),
        ("updater:P-4", "c-", None),
        ("updater:P-4", "c\n", None),
        ("updater:P-4", "c.d", None),
        ("updater:P-4", "a" * 63, {"a" * 63}),
        ("updater:P-4", "a" * 64, None),
        ("updater:P-4", "0", {"0"}),
    ],
)
def test_observed_containers(row: str, annotation: str | None, observed: set[str] | None) -> None:
    subject = small() if annotation is None else annotated(small(), vpaObservedContainers=annotation)
    assert observed_containers(subject) == observed


@pytest.mark.parametrize(
    ("row", "annotation", "priority"),
    [
        ("updater:P-4", "c", Priority()),
        ("updater:P-4", "d", Priority(True, True, 1.0)),
        ("updater:P-4", "", Priority()),
        ("updater:P-4", "c;d", Priority(True, True, 0.5)),
    ],
)
def test_unobserved_containers_do_not_count(row: str, annotation: str, priority: Priority) -> None:
    subject = annotated(pod(container("c", "1/-"), container("d", "1/-")), vpaObservedContainers=annotation)
    assert score(subject, Recommendation((recommended("c", "1/-"), recommended("d", "2/-")))) == priority


SCORES = st.builds(Priority, st.booleans(), st.booleans(), st.floats(0, 1e12))


@given(st.lists(SCORES, max_size=20))
def test_scale_ups_come_first_and_then_the_largest_changes(priorities: list[Priority]) -> None:
    ordered = sorted(priorities, key=lambda p: p.rank)
    grows = [p.is_scale_up for p in ordered]
    assert grows == sorted(grows, reverse=True)
    for first, second in pairwise(ordered):
        assert first.is_scale_up != second.is_scale_up or first.difference >= second.difference


@given(st.lists(st.tuples(st.integers(1, 10**6), st.integers(1, 10**6)), min_size=1, max_size=4))
def test_difference_is_that_of_the_sums(pairs: list[tuple[int, int]]) -> None:
    containers = [container(f"c{n}", f"{request}m/-") for n, (request, _) in enumerate(pairs)]
    targets = [recommended(f"c{n}", f"{target}m/-") for n, (_, target) in enumerate(pairs)]
    found = score(pod(*containers), Recommendation(tuple(targets)))
    requests, wanted = sum(r for r, _ in pairs), sum(t for _, t in pairs)
    assert found.difference == abs(float(requests) - float(wanted)) / float(requests)
    assert found.is_scale_up is any(t > r for r, t in pairs)


@pytest.mark.parametrize(
    ("row", "current", "wanted", "expected"),
    [
        ("updater:P-5", 100, 150, 0.5),
        ("updater:P-5", 0, 2, 1.0),
        ("beyond:B-32", 10**400, 10**400, 0.0),
        ("beyond:B-32", 1, 10**400, 1e300),
        ("beyond:B-32", 1, -(10**400), 1e300),
    ],
)
def test_a_difference_is_a_number_whatever_was_asked_for(row: str, current: int, wanted: int, expected: float) -> None:
    assert relative_difference(current, wanted) == expected, row
