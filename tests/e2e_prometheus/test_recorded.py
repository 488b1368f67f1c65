"""What was recorded, as Prometheus and the metrics API tell it."""

from __future__ import annotations

from datetime import timedelta

import pytest

from e2e.prometheus.past import CONTAINERS, DAY, PastPod
from e2e.prometheus.recorded import Recording, Told
from evenkeel.simulator.workloads.demand import Demand
from evenkeel.simulator.workloads.traces import Trace

NOW = 8 * DAY + 3600
POD = PastPod("shop-0", "app", "app-1", 0, NOW, (0, 0), 0, is_alive=True)
RISING = Trace(
    tuple(float(second) for second in range(0, 600, 60)),
    tuple(Demand(float(minute), 1000 + minute) for minute in range(10)),
    600.0,
)
"""Ten minutes in which CPU rises by a core each minute, and memory by a byte."""

WITHOUT_MEMORY = Trace((0.0, 300.0), (Demand(0.5), Demand(1.5)), 600.0)
TRACES = dict(zip(CONTAINERS, (RISING, WITHOUT_MEMORY), strict=True))
RECORDING = Recording([POD], {(POD.name, name): trace for name, trace in TRACES.items()}, NOW)


@pytest.mark.parametrize(
    ("container", "seconds"),
    [("main", [(0 + 1 + 2 + 3 + 4) * 60.0, (5 + 6 + 7 + 8 + 9) * 60.0]), ("side", [150.0, 450.0])],
)
def test_cpu_is_that_of_the_five_minutes_before_and_repeats_itself(container: str, seconds: list[float]) -> None:
    used = list(RECORDING.cpu_seconds(POD, container))
    # What was used before the first point, no rate tells.
    assert used[1:5] == seconds * 2
    assert len(used) == len(list(POD.instants()))


def test_memory_is_as_it_is_then_or_not_at_all() -> None:
    assert list(RECORDING.memory_bytes(POD, "main"))[:3] == [1000, 1005, 1000]
    assert list(RECORDING.memory_bytes(POD, "side")) == []


def test_steps_go_through_eight_days_to_the_present() -> None:
    frames = RECORDING.frames(timedelta(hours=6))
    assert len(frames) == 32
    assert [row["timestamp"] for row in (frames[0][0], frames[-1][0])] == [
        "1970-01-01T07:00:00Z",
        "1970-01-09T01:00:00Z",
    ]
    assert frames[-1][0]["containers"] == [
        {"name": "main", "usage": {"cpu": "0n", "memory": "1000"}},
        {"name": "side", "usage": {"cpu": "500000000n"}},
    ]


def test_it_is_told_step_by_step_and_ends_when_it_is_asked_again() -> None:
    frames = RECORDING.frames(timedelta(days=4))
    told = Told(frames)
    ended = []
    for expected in (*frames, frames[-1], frames[-1]):
        assert told.pods() == list(expected)
        ended.append(told.ended)
    assert ended[:2] == [None, None]
    assert ended[2] == ended[3] is not None
