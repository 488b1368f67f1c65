"""All rows of the capping and ratio table, from recommendation to requests and limits."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from autoscaling.capping import process
from autoscaling.errors import InvalidObjectError
from autoscaling.limitrange import LimitRangeItem, LimitType, NamespaceLimits
from autoscaling.target_resources import ContainerTarget, container_targets
from autoscaling.vpa import ContainerPolicy, ControlledValues, Vpa
from tests.builders import amounts, container, limit_range, pod, printed, recommended, vpa

NOT_SET_CPU = "cpu: limit NOT set since originalLimit is nil or 0"
NOT_SET_MEMORY = "memory: limit NOT set since originalLimit is nil or 0"
MIN_CPU, MIN_MEMORY = "cpu capped to minAllowed", "memory capped to minAllowed"
MAX_CPU, MAX_MEMORY = "cpu capped to maxAllowed", "memory capped to maxAllowed"
FIT_MAX = ("cpu capped to fit Max in container LimitRange", "memory capped to fit Max in container LimitRange")
FIT_MIN = ("cpu capped to fit Min in container LimitRange", "memory capped to fit Min in container LimitRange")
OWN_LIMIT = ("cpu capped to container limit", "memory capped to container limit")


@dataclass(frozen=True)
class Case:
    """Containers as ``requests; requests``, and so on; ``none`` for a container without a recommendation."""

    requests: str
    limits: str
    target: str
    want_requests: str
    want_limits: str
    notes: tuple[str, ...] = ()
    low: str | None = None
    high: str | None = None
    only_requests: bool = False
    first_low: str | None = None
    lr: LimitRangeItem | None = None
    plr: LimitRangeItem | None = None


def lr(*, maximum: str | None = None, minimum: str | None = None, default: str | None = None) -> LimitRangeItem:
    return limit_range(LimitType.CONTAINER, maximum=maximum, minimum=minimum, default=default)


def plr(*, maximum: str | None = None, minimum: str | None = None) -> LimitRangeItem:
    return limit_range(LimitType.POD, maximum=maximum, minimum=minimum)


BIG = "9223372036854775807"
TABLE: list[tuple[str, Case]] = [
    ("limits:1", Case("50m/32Mi", "500m/64Mi", "400m/100Mi", "400m/100Mi", "4/200Mi", high="400m/256Mi")),
    ("limits:2", Case("50m/32Mi", "500m/64Mi", "1168m/100Mi", "400m/100Mi", "4/200Mi", (MAX_CPU,), high="400m/256Mi")),
    (
        "limits:3",
        Case(
            "50m/32Mi",
            "500m/64Mi",
            "400m/100Mi",
            "400m/64Mi",
            "-",
            OWN_LIMIT[1:],
            high="400m/256Mi",
            only_requests=True,
        ),
    ),
    ("limits:4", Case("1/1Gi", "-", "2/200Mi", "2/200Mi", "-")),
    ("limits:5", Case("-", "2/500Mi", "1/200Mi", "1/200Mi", "1/200Mi")),
    ("limits:6", Case("1/100Mi", "1/100Mi", "250m/300000001", "250m/300000001", "250m/300000001")),
    ("limits:7", Case("300m", "1", "100m", "100m", "333m", (NOT_SET_MEMORY,))),
    ("limits:8", Case("-/300", "-/1000", "-/100", "-/100", "-/333", (NOT_SET_CPU,))),
    ("limits:9", Case("1/1Gi", "2/2Gi", "500m/104857600", "500m/104857600", "1/200Mi")),
    ("limits:10", Case("-/100M", "-/200M", "-/262144k", "-/262144k", "-/524288k", (NOT_SET_CPU,))),
    (
        "limits:11",
        Case("100m/100Mi", "200m/200Mi", "10m/10Mi", "50m/64Mi", "100m/128Mi", (MIN_CPU, MIN_MEMORY), low="50m/64Mi"),
    ),
    (
        "limits:12",
        Case("100m", "200m", "10m", "60m", "120m", (MIN_CPU, MAX_CPU, NOT_SET_MEMORY), low="80m", high="60m"),
    ),
    ("limits:13", Case("100m", "200m", "10m", "10m", "20m", (NOT_SET_MEMORY,), high="0")),
    ("limits:14", Case("1/1Gi", "2/2Gi", "3/4Gi", "2/1Gi", "4/2Gi", FIT_MAX, lr=lr(maximum="4/2Gi"))),
    ("limits:15", Case("1/1Gi", "2/2Gi", "100m/100Mi", "500m/512Mi", "1/1Gi", FIT_MIN, lr=lr(minimum="500m/512Mi"))),
    (
        "limits:16",
        Case(
            "1/1Gi",
            "2/2Gi",
            "100m/100Mi",
            "200m/200Mi",
            "400m/400Mi",
            (*FIT_MIN, MAX_CPU, MAX_MEMORY),
            high="200m/200Mi",
            lr=lr(minimum="500m/512Mi"),
        ),
    ),
    (
        "limits:17",
        Case(
            "1/1Gi",
            "2/2Gi",
            "3/4Gi",
            "3/3Gi",
            "6/6Gi",
            (*FIT_MAX, MIN_CPU, MIN_MEMORY),
            low="3/3Gi",
            lr=lr(maximum="4/2Gi"),
        ),
    ),
    ("limits:18", Case("100m/100Mi", "-", "200m/200Mi", "200m/200Mi", "2/1000Mi", lr=lr(default="1/500Mi"))),
    (
        "limits:19",
        Case(
            "100m/100Mi",
            "-",
            "800m/800Mi",
            "200m/214748364",
            "2/1073741820",
            FIT_MAX,
            lr=lr(default="1/500Mi", maximum="2/1Gi"),
        ),
    ),
    ("limits:20", Case("100m/100Mi", "-", "8/8Gi", "8/8Gi", "-", lr=lr(maximum="2/1Gi"))),
    ("limits:21", Case("-", "1/1Gi", "8/8Gi", "2/2Gi", "2/2Gi", FIT_MAX, lr=lr(maximum="2/2Gi"))),
    ("limits:22", Case("-", "-", "10m/10Mi", "50m/50Mi", "-", FIT_MIN, lr=lr(minimum="50m/50Mi"))),
    (
        "limits:23",
        Case("100m/100Mi", "200m/200Mi", "300m/300Mi", "200m/200Mi", "-", OWN_LIMIT, only_requests=True),
    ),
    (
        "limits:24",
        Case(
            "100m/100Mi",
            "200m/200Mi",
            "50m/50Mi",
            "200m/200Mi",
            "-",
            (MIN_CPU, MIN_MEMORY, *OWN_LIMIT),
            only_requests=True,
            low="300m/300Mi",
        ),
    ),
    ("limits:25", Case("100m/100Mi", "-", "300m/300Mi", "300m/300Mi", "-", only_requests=True)),
    (
        "limits:26",
        Case("1/1Gi", "4/4Gi", "3/3Gi", "1/1Gi", "-", FIT_MAX, only_requests=True, lr=lr(maximum="4/4Gi")),
    ),
    (
        "limits:27",
        Case(
            "1/1Gi; 1/1Gi",
            "1/1Gi; 1/1Gi",
            "1/1Gi; 1/1Gi",
            "500m/512Mi; 500m/512Mi",
            "500m/512Mi; 500m/512Mi",
            plr=plr(maximum="1/1Gi"),
        ),
    ),
    (
        "limits:28",
        Case(
            "1/1Gi; 1/1Gi; 500m/1Gi",
            "2/2Gi; 1/1Gi; 1/1Gi",
            "1/1Gi; 1/1Gi; 1/1Gi",
            "400m/512Mi; 400m/512Mi; 400m/512Mi",
            "800m/1Gi; 400m/512Mi; 800m/512Mi",
            plr=plr(maximum="2/2Gi"),
        ),
    ),
    (
        "limits:29",
        Case("1/1Gi; 1/1Gi", "2/2Gi; 2/2Gi", "1/1Gi; 1/1Gi", "2/2Gi; 2/2Gi", "4/4Gi; 4/4Gi", plr=plr(minimum="4/4Gi")),
    ),
    (
        "limits:30",
        Case(
            "1/1Gi; 1/1Gi; 1/1Gi",
            "2/2Gi; 2/2Gi; 2/2Gi",
            "100m/100; 100m/100; 100m/100",
            "334m/333; 334m/333; 334m/333",
            "668m/666; 668m/666; 668m/666",
            plr=plr(minimum="1/1000"),
        ),
    ),
    ("limits:31", Case("1/1Gi", "-", "1/1Gi", "1/1Gi", "-", plr=plr(minimum="4/4Gi"))),
    ("limits:32", Case("1/1Gi", "-", "8/8Gi", "8/8Gi", "-", plr=plr(maximum="4/4Gi"))),
    (
        "limits:33",
        Case(
            "1/1Gi; 1/1Gi",
            "1/1Gi; 1/1Gi",
            "2/2Gi; none",
            "1333m/1431655765; 666m/715827882",
            "1333m/1431655765; 666m/715827882",
            plr=plr(maximum="2/2Gi"),
        ),
    ),
    (
        "limits:37",
        Case(
            "1/1Gi; 1/1Gi",
            "-; 1/1Gi",
            "3/3Gi; 1/1Gi",
            "6/6Gi; 2/2Gi",
            "-; 2/2Gi",
            plr=plr(minimum="2/2Gi"),
        ),
    ),
    (
        "limits:38",
        Case(
            "1/1Gi; 1/1Gi",
            "-; 2/2Gi",
            "3/3Gi; 2/2Gi",
            "1500m/1536Mi; 1/1Gi",
            "-; 2/2Gi",
            plr=plr(maximum="2/2Gi"),
        ),
    ),
    (
        "limits:39",
        Case("1/1Gi", "8/8Gi", "100m/100Mi", "500m/500Mi", "4/4000Mi", plr=plr(minimum="500m/500Mi", maximum="2/2Gi")),
    ),
    (
        "limits:40",
        Case(
            "1/1Gi; 1/1Gi",
            "1/1Gi; 1/1Gi",
            "2/2Gi; 2/2Gi",
            "1500m/1Gi; 1/1Gi",
            "1500m/1Gi; 1/1Gi",
            (MIN_CPU,),
            first_low="1500m",
            plr=plr(maximum="2/2Gi"),
        ),
    ),
    (
        "limits:41",
        Case(
            "1/1Gi",
            "10/10Gi",
            "100m/100Mi",
            "200m/214748364",
            "2/2147483640",
            (FIT_MIN[0], FIT_MAX[0], FIT_MIN[1], FIT_MAX[1]),
            lr=lr(minimum="1/1Gi", maximum="2/2Gi"),
        ),
    ),
    ("limits:42", Case("1/1Gi", "2/2Gi", "3/4Gi", "3/1Gi", "6/2Gi", FIT_MAX[1:], lr=lr(maximum="-/2Gi"))),
    (
        "limits:43",
        Case(
            "100m/100Mi",
            "200m/200Mi",
            "150m",
            "150m",
            "300m",
            ("memory: limit NOT set since recommendedRequest is nil or 0",),
        ),
    ),
    (
        "limits:44",
        Case(
            "1m/1",
            f"9223372036854775/{BIG}",
            "1000/1Ei",
            "1k/1Ei",
            f"{BIG}m/{BIG}",
            (
                "cpu: failed to keep limit to request ratio; capping limit to int64",
                "memory: failed to keep limit to request ratio; capping limit to int64",
            ),
        ),
    ),
    ("limits:45", Case("1", "1500m", "1m", "1m", "1m", (NOT_SET_MEMORY,))),
    ("limits:46", Case("100m/100Mi", "0/0", "300m/300Mi", "300m/300Mi", "-")),
    ("limits:47", Case("100m/100Mi", "0/0", "300m/300Mi", "0/0", "-", OWN_LIMIT, only_requests=True)),
    ("limits:48", Case("100m/100Mi", "-/150Mi", "300m/300Mi", "300m/300Mi", "-/450Mi", (NOT_SET_CPU,))),
    ("limits:49", Case("100m", "100m", "1500u", "1500u", "1500u", (NOT_SET_MEMORY,))),
    ("limits:50", Case("100m", "200m", "1500u", "1500u", "4m", (NOT_SET_MEMORY,))),
    ("limits:51", Case("-/100Mi", "-/200Mi", "-/1500m", "-/1500m", "-/4", (NOT_SET_CPU,))),
    ("limits:52", Case("300m", "1", "900m", "600m", "2", (FIT_MAX[0], NOT_SET_MEMORY), lr=lr(maximum="2"))),
    ("limits:53", Case("200m/200Mi", "300m/300Mi", "587m/262144k", "587m/262144k", "880m/375Mi")),
    ("limits:54", Case("100m/64Mi", "1/1Gi", "25m/262144k", "25m/262144k", "250m/4000Mi")),
    ("limits:55", Case("-/32Mi", "-/64Mi", "-/100.50Mi", "-/102912Ki", "-/201Mi", (NOT_SET_CPU,))),
    ("limits:56", Case("-/1e3", "-/2e3", "-/4e3", "-/4e3", "-/8e3", (NOT_SET_CPU,))),
    ("limits:57", Case("0.1", "0.25", "0.0333", "33300u", "85m", (NOT_SET_MEMORY,))),
    (
        "limits:58",
        Case(
            "1/1Gi; 1/1Gi",
            "1/1Gi; 1/1Gi",
            "2/2Gi; 2/2Gi",
            "1500m/1Gi; 1500m/1Gi",
            "1500m/1Gi; 1500m/1Gi",
            FIT_MIN[:1],
            plr=plr(maximum="2/2Gi"),
            lr=lr(minimum="1500m"),
        ),
    ),
    (
        "limits:59",
        Case(
            "1/1Gi; 1/1Gi",
            "2/2Gi; 2/2Gi",
            "1; 1/1Gi",
            "1/0; 1/4Gi",
            "2; 2/8Gi",
            ("memory: limit NOT set since recommendedRequest is nil or 0",),
            plr=plr(minimum="1/4Gi"),
        ),
    ),
    (
        "limits:60",
        Case("1/1Gi; 1/1Gi", "2/2Gi; 2/2Gi", "1; 1/1Gi", "1/-1; 1/512Mi", "2/-2; 2/1Gi", plr=plr(maximum="8/1Gi")),
    ),
    (
        "limits:61",
        Case(
            "1/1Gi; 1/1Gi",
            "4/4Gi; 4/4Gi",
            "2/2Gi; 2/2Gi",
            "1/1Gi; 1/1Gi",
            "-; -",
            only_requests=True,
            plr=plr(maximum="8/8Gi"),
        ),
    ),
]

CRASHES_OF_UPSTREAM: list[tuple[str, Case]] = [
    (
        "limits:34",
        Case("1/1Gi; 1/1Gi", "1/1Gi; 1/1Gi", "4/4Gi; none", "", "", ("upper bound",), plr=plr(maximum="2/2Gi")),
    ),
    ("limits:35", Case("1/1Gi; -", "1/1Gi; -", "4/4Gi; none", "", "", ("neither",), plr=plr(maximum="2/2Gi"))),
    (
        "limits:36",
        Case("1/1Gi; 1/1Gi", "1/1Gi; 1/1Gi", "1/1Gi; none", "", "", ("upper bound",), plr=plr(minimum="1500m/1500Mi")),
    ),
]


def policies(case: Case, names: list[str]) -> list[ContainerPolicy]:
    """Return the row's container policies."""
    values = ControlledValues.REQUESTS_ONLY if case.only_requests else None
    first = [ContainerPolicy(names[0], min_allowed=amounts(case.first_low))] if case.first_low else []
    rest = ContainerPolicy(
        "*",
        min_allowed=amounts(case.low or "-"),
        max_allowed=amounts(case.high or "-"),
        controlled_values=values,
    )
    return [*first, rest]


def run(case: Case) -> tuple[ContainerTarget, ...]:
    """Process one row and return the targets of its containers."""
    requests, limits, targets = (text.split("; ") for text in (case.requests, case.limits, case.target))
    names = [f"c{i}" for i in range(len(requests))]
    the_pod = pod(*(container(n, r, lim) for n, r, lim in zip(names, requests, limits, strict=True)))
    wanted = [recommended(n, t) for n, t in zip(names, targets, strict=True) if t != "none"]
    the_vpa: Vpa = vpa(*wanted, policies=policies(case, names))
    bounds = NamespaceLimits(container=case.lr, pod=case.plr)
    return container_targets(the_pod, the_vpa, process(the_pod, the_vpa, bounds), bounds)


@pytest.mark.parametrize(("row", "case"), TABLE, ids=[row for row, _ in TABLE])
def test_requests_limits_and_notes(row: str, case: Case) -> None:
    results = run(case)
    wanted_requests = [printed(amounts(text)) for text in case.want_requests.split("; ")]
    wanted_limits = [printed(amounts(text)) for text in case.want_limits.split("; ")]
    assert [printed(r.requests) for r in results] == wanted_requests, row
    assert [printed(r.limits) for r in results] == wanted_limits, row
    assert results[0].notes == case.notes, row


@pytest.mark.parametrize(("row", "case"), CRASHES_OF_UPSTREAM, ids=[row for row, _ in CRASHES_OF_UPSTREAM])
def test_a_pod_that_cannot_be_fitted_is_refused_by_name(row: str, case: Case) -> None:
    with pytest.raises(InvalidObjectError, match=f"Pod default/p: container 'c1' has (no )?{case.notes[0]}") as caught:
        run(case)
    assert "LimitRange" in str(caught.value), row


def test_every_row_is_there() -> None:
    rows = {row for row, _ in TABLE + CRASHES_OF_UPSTREAM}
    assert rows == {f"limits:{n}" for n in range(1, 62)}
