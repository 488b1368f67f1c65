"""Merging the LimitRanges of a namespace."""

from __future__ import annotations

import pytest

from autoscaling.limitrange import NO_LIMITS, LimitRange, LimitRangeItem, LimitType, contradiction, merge
from tests.builders import amounts, limit_range, printed

C, P = LimitType.CONTAINER, LimitType.POD


def merged(*items: LimitRangeItem) -> tuple[LimitRangeItem | None, LimitRangeItem | None]:
    limits = merge(LimitRange("ns", f"lr{i}", (item,)) for i, item in enumerate(items))
    return limits.container, limits.pod


def test_lowest_maximum_highest_minimum_last_default() -> None:
    container, pod = merged(
        limit_range(C, maximum="4/1Gi", minimum="10m/1Mi", default="1/1Gi"),
        limit_range(C, maximum="2/2Gi", minimum="20m", default="2"),
        limit_range(P, maximum="8/-"),
    )
    assert container is not None, "limits:S2"
    assert pod is not None
    assert printed(container.maximum or {}) == {"cpu": "2", "memory": "1Gi"}
    assert printed(container.minimum or {}) == {"cpu": "20m", "memory": "1Mi"}
    assert printed(container.default or {}) == {"cpu": "2"}, "maps are not merged name by name"
    assert printed(pod.maximum or {}) == {"cpu": "8"}
    assert pod.minimum is None


@pytest.mark.parametrize(
    ("row", "items", "maximum"),
    [
        ("limits:S2 other amount survives", [limit_range(C, maximum="-/1Gi"), limit_range(C, maximum="3")], "3"),
        ("limits:S2 one without the map", [limit_range(C, minimum="1"), limit_range(C, maximum="3")], "3"),
    ],
)
def test_a_missing_amount_bounds_nothing(row: str, items: list[LimitRangeItem], maximum: str) -> None:
    container, _ = merged(*items)
    assert container is not None, row
    assert printed(container.maximum or {})["cpu"] == maximum, row


@pytest.mark.parametrize(
    ("row", "first", "last"),
    [("limits:S2 tie", "-/250Mi", "-/262144k"), ("limits:S2 tie the other way round", "-/262144k", "-/250Mi")],
)
def test_of_equal_amounts_the_last_is_taken(row: str, first: str, last: str) -> None:
    container, _ = merged(
        limit_range(C, maximum=first, minimum=first),
        limit_range(C, maximum=last, minimum=last),
        limit_range(C, maximum="-/1Gi", minimum="-/1Mi"),
    )
    assert container is not None, row
    assert printed(container.maximum or {}) == printed(container.minimum or {}) == {"memory": last[2:]}, row


def test_nothing_useful_is_no_limit() -> None:
    assert merged() == (None, None)
    assert merged(LimitRangeItem(C)) == (None, None)
    assert merge([]) == NO_LIMITS
    assert str(LimitRange("ns", "lr").ref) == "LimitRange ns/lr"


@pytest.mark.parametrize(
    ("items", "problem"),
    [
        ([limit_range(C, maximum="1/1Gi", minimum="1/1Gi")], ""),
        (
            [limit_range(C, maximum="1"), limit_range(C, minimum="1001m")],
            "Container cpu: minimum 1001m exceeds maximum 1",
        ),
        (
            [limit_range(P, maximum="1/1Gi"), limit_range(P, minimum="2/2Gi")],
            "Pod cpu: minimum 2 exceeds maximum 1; Pod memory: minimum 2Gi exceeds maximum 1Gi",
        ),
        ([limit_range(C, maximum="1"), limit_range(P, minimum="2")], ""),
        ([], ""),
    ],
)
def test_limit_ranges_that_contradict_each_other(items: list[LimitRangeItem], problem: str) -> None:
    assert contradiction(merge(LimitRange("ns", f"lr{i}", (item,)) for i, item in enumerate(items))) == problem


def test_items_are_kept_as_they_are() -> None:
    items = (limit_range(C, maximum="4"), limit_range(P, maximum="8"), LimitRangeItem(C, ratio=amounts("2")))
    found = merge([LimitRange("ns", "a", items[:1]), LimitRange("ns", "b", items[1:])])
    assert found.items == items, "beyond:B-12"
    assert found.container == items[0], "what the merged items cannot hold does not change them"
