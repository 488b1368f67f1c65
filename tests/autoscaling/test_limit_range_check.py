"""What LimitRanges fill in and refuse."""

from __future__ import annotations

from dataclasses import replace

import pytest

from autoscaling.limit_range_check import completed, faults
from autoscaling.limitrange import LimitRangeItem, LimitType
from autoscaling.pod import Pod
from autoscaling.sidecars import with_sidecars
from tests.builders import amounts, container, pod, printed, sidecar, with_init_containers

C, P = LimitType.CONTAINER, LimitType.POD


def item(
    kind: LimitType = C,
    *,
    least: str = "-",
    most: str = "-",
    default: str = "-",
    request: str = "-",
    ratio: str = "-",
) -> LimitRangeItem:
    """Return an item of a LimitRange with amounts as ``cpu/memory``."""
    lists = [amounts(text) or None for text in (most, least, default, request, ratio)]
    return LimitRangeItem(kind, *lists)


@pytest.mark.parametrize(
    ("row", "made", "bounds", "expected"),
    [
        ("resize:R41", pod(container("c", "1", "1")), item(most="1"), ()),
        (
            "resize:R41",
            pod(container("c", "1", "2")),
            item(most="1"),
            ("container c has 2 of cpu, more than the maximum of 1",),
        ),
        (
            "resize:1.5",
            pod(container("c", "1")),
            item(most="1"),
            ("container c has no limit of cpu, which must be 1 at most",),
        ),
        ("resize:1.5", pod(container("c", "1", "1")), item(least="1"), ()),
        (
            "resize:1.5",
            pod(container("c", "999m", "1")),
            item(least="1"),
            ("container c has 999m of cpu, less than the minimum of 1",),
        ),
        ("resize:1.5", pod(container("c", "1")), item(least="1"), ()),
        (
            "resize:1.5",
            pod(container("c", "-", "1")),
            item(least="1"),
            ("container c has no request for cpu, of which it must have 1 at least",),
        ),
        ("resize:1.5", pod(container("c", "1", "2")), item(ratio="2"), ()),
        (
            "resize:1.5",
            pod(container("c", "1", "2001m")),
            item(ratio="2"),
            ("container c has a limit of cpu more than 2 times its request",),
        ),
        (
            "resize:1.5",
            pod(container("c", "1")),
            item(ratio="2"),
            ("container c needs a request and a limit of cpu, as their ratio is bounded",),
        ),
        (
            "resize:1.5",
            pod(container("c", "0", "1")),
            item(ratio="2"),
            ("container c needs a request and a limit of cpu, as their ratio is bounded",),
        ),
        ("resize:1.5 sums", pod(container("a", "1", "1"), container("b", "1", "1")), item(P, most="2", least="2"), ()),
        (
            "resize:1.5 sums",
            pod(container("a", "1", "1"), container("b", "1", "1001m")),
            item(P, most="2"),
            ("the pod has 2001m of cpu, more than the maximum of 2",),
        ),
        (
            "resize:1.5 init containers count",
            with_init_containers(pod(container("c", "1", "1")), container("setup", "2", "2")),
            item(most="1"),
            ("container setup has 2 of cpu, more than the maximum of 1",),
        ),
        (
            "resize:1.5 in the pod, too",
            with_init_containers(pod(container("c", "1", "1")), container("setup", "2", "2")),
            item(P, most="1"),
            ("the pod has 2 of cpu, more than the maximum of 1",),
        ),
    ],
)
def test_faults(row: str, made: Pod, bounds: LimitRangeItem, expected: tuple[str, ...]) -> None:
    assert faults(made, [bounds]) == expected, row
    assert faults(made, []) == ()


def lists(made: Pod) -> list[tuple[dict[str, str], dict[str, str]]]:
    """Return requests and limits of all containers as text."""
    every = (*made.containers, *made.init_containers)
    return [(printed(c.resources.requests or {}), printed(c.resources.limits or {})) for c in every]


def test_defaults_fill_in_what_is_left_open() -> None:
    made = with_sidecars(with_init_containers(pod(container("c", "1")), container("setup"), sidecar("proxy", "-", "5")))
    filled = completed(made, [item(default="2/2Mi", request="500m"), item(default="9/9Mi", request="1/1Mi"), item(P)])
    assert lists(filled) == [
        ({"cpu": "1", "memory": "1Mi"}, {"cpu": "2", "memory": "2Mi"}),
        ({"cpu": "500m", "memory": "1Mi"}, {"cpu": "5", "memory": "2Mi"}),
        ({"cpu": "500m", "memory": "1Mi"}, {"cpu": "2", "memory": "2Mi"}),
    ], "resize:1.5"


def test_what_is_complete_stays_the_same_object() -> None:
    made = pod(container("c", "1", "1"))
    assert completed(made, [item(most="1")]) is made
    filled = completed(made, [item(default="2", request="2")])
    assert filled.containers[0] is made.containers[0]
    bare = replace(made, containers=(container("c"),))
    assert completed(bare, [item(default="2")]).containers[0].resources.limits == amounts("2")
