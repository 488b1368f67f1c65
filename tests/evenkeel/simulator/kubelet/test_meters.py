"""CPU shared out, memory held against limits, readings published."""

from __future__ import annotations

from datetime import datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evenkeel.simulator.clock import EPOCH
from evenkeel.simulator.kubelet.cgroups import Cgroup
from evenkeel.simulator.kubelet.meters import (
    Consumer,
    Meter,
    Overrun,
    overruns,
    shared_out,
    shares_of_cpu,
    usage_bytes,
)
from evenkeel.simulator.workloads.demand import Demand

FREE = Cgroup(1024)


def at(seconds: float) -> datetime:
    return EPOCH + timedelta(seconds=seconds)


def user(pod: str, name: str, cores: float = 0.0, memory: int = 0, cgroup: Cgroup = FREE) -> Consumer:
    return Consumer(pod, name, cgroup, Demand(cores, memory))


SHARED = [
    ("enough", [1.0, 2.0], [1, 1], 3.0, [1.0, 2.0]),
    ("by weight", [9.0, 9.0], [1, 3], 4.0, [1.0, 3.0]),
    ("what one leaves goes to the others", [0.5, 9.0, 9.0], [1, 1, 1], 3.5, [0.5, 1.5, 1.5]),
    ("nothing there", [1.0, 1.0], [1, 1], 0.0, [0.0, 0.0]),
]


@pytest.mark.parametrize(("case", "wanted", "weights", "available", "given_out"), SHARED)
def test_sharing(case: str, wanted: list[float], weights: list[int], available: float, given_out: list[float]) -> None:
    assert shared_out(wanted, weights, available) == pytest.approx(given_out)


@given(
    st.lists(st.tuples(st.floats(0, 10), st.integers(2, 10_000)), min_size=1, max_size=8),
    st.floats(0.1, 20),
)
def test_sharing_gives_nobody_more_than_wanted_and_leaves_nothing(
    users: list[tuple[float, int]], available: float
) -> None:
    wanted, weights = [u[0] for u in users], [u[1] for u in users]
    found = shared_out(wanted, weights, available)
    assert all(got <= asked + 1e-9 for got, asked in zip(found, wanted, strict=True))
    assert sum(found) == pytest.approx(min(sum(wanted), available))


CPU: list[tuple[str, list[Consumer], dict[str, Cgroup], float, list[float]]] = [
    ("free", [user("a", "x", 3.0)], {"a": FREE}, 4.0, [3.0]),
    ("own quota", [user("a", "x", 3.0, cgroup=Cgroup(1024, 50_000))], {"a": FREE}, 4.0, [0.5]),
    (
        "the pod's quota",
        [user("a", "x", 3.0), user("a", "y", 1.0), user("b", "z", 1.0)],
        {"a": Cgroup(2048, 100_000), "b": FREE},
        4.0,
        [0.5, 0.5, 1.0],
    ),
    (
        "the node",
        [user("a", "x", 3.0, cgroup=Cgroup(3072)), user("b", "y", 3.0)],
        {"a": FREE, "b": FREE},
        4.0,
        [3.0, 1.0],
    ),
    ("nobody", [], {}, 4.0, []),
]


@pytest.mark.parametrize(("case", "consumers", "pods", "capacity", "expected"), CPU, ids=[row[0] for row in CPU])
def test_cpu(
    case: str, consumers: list[Consumer], pods: dict[str, Cgroup], capacity: float, expected: list[float]
) -> None:
    assert shares_of_cpu(consumers, pods, capacity) == pytest.approx(expected)


LIMITED = Cgroup(2, None, 100)
MEMORY: list[tuple[str, list[Consumer], dict[str, Cgroup], list[Overrun]]] = [
    ("at the limit", [user("a", "x", memory=100, cgroup=LIMITED)], {"a": FREE}, []),
    ("over the limit", [user("a", "x", memory=101, cgroup=LIMITED)], {"a": FREE}, [Overrun("a", "x")]),
    (
        "over the pod's limit: the largest",
        [user("a", "x", memory=60), user("a", "y", memory=61)],
        {"a": Cgroup(2, None, 120)},
        [Overrun("a", "y")],
    ),
    (
        "what is killed does not count for the pod",
        [user("a", "x", memory=101, cgroup=LIMITED), user("a", "y", memory=60)],
        {"a": Cgroup(2, None, 120)},
        [Overrun("a", "x")],
    ),
    (
        "a full node: the largest, until it fits",
        [user("a", "x", memory=600), user("b", "y", memory=500), user("c", "z", memory=400)],
        {"a": FREE, "b": FREE, "c": FREE},
        [Overrun("a", "x")],
    ),
    ("nobody", [], {}, []),
]


@pytest.mark.parametrize(("case", "consumers", "pods", "expected"), MEMORY, ids=[row[0] for row in MEMORY])
def test_memory(case: str, consumers: list[Consumer], pods: dict[str, Cgroup], expected: list[Overrun]) -> None:
    assert overruns(consumers, pods, 1000) == expected


USAGE = [
    # id, working set, cache, own limit, pod's limit, usage
    ("no limit", 50, 80, None, None, 130),
    ("cache fills up to the limit", 50, 80, 100, None, 100),
    ("cache fills up to the pod's limit", 50, 80, 110, 90, 90),
    ("the working set is never less", 50, 0, 40, None, 50),
]


@pytest.mark.parametrize(("case", "need", "cache", "limit", "pod_limit", "expected"), USAGE)
def test_usage(case: str, need: int, cache: int, limit: int | None, pod_limit: int | None, expected: int) -> None:
    consumer = Consumer("a", "x", Cgroup(2, None, limit), Demand(0.0, need, cache))
    assert usage_bytes(consumer, pod_limit) == expected


def test_a_meter_counts_and_publishes() -> None:
    meter = Meter(at(0))
    assert meter.published_usage_bytes() == 0
    assert meter.window_until(at(100)) is None
    for second in (10, 20, 30):
        meter.count(at(second), 0.5, second, second + 1)
        meter.publish(at(second + 10))
    assert meter.cpu_core_seconds == 15.0
    assert meter.published_usage_bytes() == 31
    assert meter.next_reading == at(40)
    window = meter.window_until(at(25))
    assert window is not None
    assert [(r.at, r.cpu_core_seconds, r.working_set_bytes) for r in window] == [(at(10), 5.0, 10), (at(20), 10.0, 20)]
    assert meter.window_until(at(15)) is None


def test_only_the_newest_readings_are_kept() -> None:
    meter = Meter(at(0))
    for second in range(1, 11):
        meter.count(at(second), 1.0, 0, 0)
        meter.publish(at(second + 1))
    assert [reading.at for reading in meter.readings] == [at(7), at(8), at(9), at(10)]
