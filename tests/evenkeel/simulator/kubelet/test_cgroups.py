"""Conversions between resources and control groups (in-place-resize 3.9), and what a status shows (3.5)."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evenkeel.simulator.api.fields import JsonObject
from evenkeel.simulator.kubelet.cgroups import (
    Cgroup,
    actual_resources,
    container_cgroup,
    millis_of_quota,
    millis_of_shares,
    pod_cgroup,
    quota_of,
    shares_of,
    shares_of_weight,
    weight_of,
)
from evenkeel.simulator.kubelet.podview import read_resources, resources_json
from tests.conformance.lab import same_amounts
from tests.evenkeel.simulator.kubelet.pods import BURSTABLE, MEBIBYTE, Pair, container, held, resources, view

SHARES = [(0, 2), (1, 2), (2, 2), (3, 3), (100, 102), (1000, 1024), (256_000, 262_144), (10**6, 262_144)]


@pytest.mark.parametrize(("millis", "shares"), SHARES)
def test_shares(millis: int, shares: int) -> None:
    assert shares_of(millis) == shares


@given(st.integers(2, 256_000))
def test_shares_lead_back_to_the_request(millis: int) -> None:
    assert millis_of_shares(shares_of(millis)) == millis


WEIGHTS = [(2, 1), (1024, 39), (262_143, 9_999), (262_144, 10_000), (10**6, 10_000)]


@pytest.mark.parametrize(("shares", "weight"), WEIGHTS)
def test_weights(shares: int, weight: int) -> None:
    assert weight_of(shares) == weight


@given(st.integers(2, 262_144))
def test_weights_lead_back_with_loss(shares: int) -> None:
    assert 0 <= shares - shares_of_weight(weight_of(shares)) <= 27
    assert weight_of(shares_of_weight(weight_of(shares))) in {weight_of(shares), weight_of(shares) - 1}


QUOTAS = [(0, None), (1, 1_000), (5, 1_000), (10, 1_000), (11, 1_100), (200, 20_000), (2000, 200_000)]


@pytest.mark.parametrize(("millis", "quota"), QUOTAS)
def test_quotas(millis: int, quota: int | None) -> None:
    assert quota_of(millis) == quota


def test_quotas_lead_back() -> None:
    assert [millis_of_quota(q) for q in (1_000, 1_100, 20_000)] == [10, 11, 200]


CONTAINERS: list[tuple[str, Pair | str, Pair | str, Cgroup]] = [
    ("all", ("100m", "200m"), ("1Mi", "2Mi"), Cgroup(102, 20_000, 2 * MEBIBYTE)),
    ("nothing", "", "", Cgroup(2, None, None)),
    ("shares from the limit", ("", "200m"), "", Cgroup(204, 20_000, None)),
    ("a request of zero keeps its shares", ("0", "200m"), "", Cgroup(2, 20_000, None)),
    ("a limit of zero is none", ("100m", "0"), ("", "0"), Cgroup(102, None, None)),
]


@pytest.mark.parametrize(("case", "cpu", "memory", "expected"), CONTAINERS, ids=[row[0] for row in CONTAINERS])
def test_the_values_of_a_container(case: str, cpu: Pair | str, memory: Pair | str, expected: Cgroup) -> None:
    assert container_cgroup(held(cpu, memory)) == expected


PODS: list[tuple[str, list[JsonObject], list[JsonObject], Cgroup]] = [
    (
        "sum",
        [container("a"), container("b")],
        [],
        Cgroup(204, 40_000, 512 * MEBIBYTE),
    ),
    (
        "a limit that one lacks",
        [container("a"), container("b", resources("100m", ("1Mi", "2Mi")))],
        [],
        Cgroup(204, None, 258 * MEBIBYTE),
    ),
    ("init containers count", [container("a")], [container("i", resources("1m", "1Mi"))], Cgroup(204, None, None)),
    (
        "a large init container",
        [container("a")],
        [container("i", resources(("100m", "900m"), ("128Mi", "1Gi")))],
        Cgroup(204, 90_000, 1024 * MEBIBYTE),
    ),
]


@pytest.mark.parametrize(("case", "regular", "initial", "expected"), PODS, ids=[row[0] for row in PODS])
def test_the_values_of_a_pod(case: str, regular: list[JsonObject], initial: list[JsonObject], expected: Cgroup) -> None:
    read = view("a", *regular, initContainers=initial)
    assert pod_cgroup(read, 200, read.desired) == expected


def shown(allocated: JsonObject, actuated: JsonObject, cgroup: Cgroup) -> JsonObject:
    """Return what a status shows."""
    return resources_json(actual_resources(read_resources(allocated), read_resources(actuated), cgroup))


OLD = Cgroup(102, 20_000, 256 * MEBIBYTE)
ACTUAL: list[tuple[str, JsonObject, JsonObject, Cgroup, JsonObject]] = [
    ("in force", BURSTABLE, BURSTABLE, OLD, BURSTABLE),
    ("not yet", resources(("500m", "1"), ("200Mi", "512Mi")), BURSTABLE, OLD, BURSTABLE),
    (
        "the memory request follows what was actuated",
        resources(("100m", "200m"), ("200Mi", "256Mi")),
        resources(("100m", "200m"), ("200Mi", "256Mi")),
        OLD,
        resources(("100m", "200m"), ("200Mi", "256Mi")),
    ),
    (
        "tiny amounts count as the allocated ones",
        resources(("1m", "5m")),
        resources(("1m", "5m")),
        Cgroup(2, 1_000),
        resources(("1m", "5m")),
    ),
    (
        "unless the actual ones are larger",
        resources(("1m", "5m")),
        BURSTABLE,
        Cgroup(102, 20_000),
        resources(("100m", "200m")),
    ),
    (
        "a first limit shows before it holds",
        resources(("100m", "300m")),
        resources("100m"),
        Cgroup(102),
        resources(("100m", "300m")),
    ),
    ("amounts that are not allocated do not show", resources("100m"), BURSTABLE, OLD, resources("100m")),
    (
        "the notation stays",
        resources(("0.1", "0.2"), ("131072Ki", "262144Ki")),
        BURSTABLE,
        OLD,
        resources(("0.1", "0.2"), ("128Mi", "262144Ki")),
    ),
]


@pytest.mark.parametrize(("case", "allocated", "actuated", "cgroup", "expected"), ACTUAL, ids=[r[0] for r in ACTUAL])
def test_what_a_running_container_shows(
    case: str, allocated: JsonObject, actuated: JsonObject, cgroup: Cgroup, expected: JsonObject
) -> None:
    found = shown(allocated, actuated, cgroup)
    assert same_amounts(found, expected)
    assert {s: sorted(v) for s, v in found.items() if isinstance(v, dict)} == {
        s: sorted(v) for s, v in expected.items() if isinstance(v, dict)
    }
