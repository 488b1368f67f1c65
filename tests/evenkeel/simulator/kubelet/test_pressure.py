"""Who is evicted first, what is told about it, and how long pressure lasts (recommender 8.3)."""

from __future__ import annotations

from datetime import datetime, timedelta

import pytest

from evenkeel.simulator.clock import EPOCH
from evenkeel.simulator.kubelet.podview import CRITICAL_PRIORITY
from evenkeel.simulator.kubelet.pressure import Pressure, Tenant, eviction_of, next_to_go
from tests.evenkeel.simulator.kubelet.pods import MEBIBYTE, container, resources, view


def tenant(name: str, uses: int, requests: int, priority: int = 0) -> Tenant:
    return Tenant(view(name, priority=priority), {"app": uses}, requests)


ROWS: list[tuple[str, list[Tenant], str]] = [
    ("nobody", [], ""),
    ("beyond its request first", [tenant("a", 900, 1000), tenant("b", 20, 10)], "b"),
    ("lower priority first", [tenant("a", 900, 10, 5), tenant("b", 20, 10)], "b"),
    ("larger excess first", [tenant("a", 30, 10), tenant("b", 20, 10)], "a"),
    ("exactly its request is not beyond", [tenant("a", 10, 10), tenant("b", 11, 10, 5)], "b"),
    ("nobody beyond: nearest to it", [tenant("a", 9, 10), tenant("b", 5, 10)], "a"),
    ("no critical one", [tenant("a", 900, 10, CRITICAL_PRIORITY)], ""),
]


@pytest.mark.parametrize(("case", "tenants", "expected"), ROWS, ids=[row[0] for row in ROWS])
def test_who_goes(case: str, tenants: list[Tenant], expected: str) -> None:
    found = next_to_go(tenants)
    assert (found.view.name if found else "") == expected


def test_an_eviction_names_offenders_and_their_use() -> None:
    pod = view(
        "a",
        container("app", resources("", "100Mi")),
        container("small", resources("", "100Mi")),
        container("free", {"requests": {"cpu": "1m"}}),
    )
    usage = {"app": 150 * MEBIBYTE, "small": 50 * MEBIBYTE, "free": 1025 * 1024}
    ending, event = eviction_of(Tenant(pod, usage, 200 * MEBIBYTE), 90 * MEBIBYTE)
    assert (event.type, event.reason) == ("Warning", "Evicted")
    assert dict(event.annotations) == {
        "offending_containers": "app,free",
        "offending_containers_usage": "150Mi,1025Ki",
        "starved_resource": "memory",
    }
    assert "90Mi were available" in event.message
    assert "Container app used 150Mi, more than its request of 100Mi." in event.message
    assert "small" not in event.message
    assert (ending.reason, ending.message) == ("Evicted", event.message)
    assert ending.disruption


def at(seconds: int) -> datetime:
    return EPOCH + timedelta(seconds=seconds)


def test_pressure_outlasts_its_cause() -> None:
    pressure, stays = Pressure(at(0)), timedelta(seconds=300)
    assert not pressure.update(at(10), stays, met=False)
    assert pressure.update(at(20), stays, met=True)
    assert (pressure.holds, pressure.since) == (True, at(20))
    assert not pressure.update(at(30), stays, met=True)
    assert not pressure.update(at(329), stays, met=False)
    assert pressure.update(at(330), stays, met=False)
    assert (pressure.holds, pressure.since) == (False, at(330))
