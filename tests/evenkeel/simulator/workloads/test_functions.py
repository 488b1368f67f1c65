"""Usage functions at the points where they bend."""

from __future__ import annotations

from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evenkeel.simulator.workloads.demand import NOTHING, Demand, Usage
from evenkeel.simulator.workloads.functions import (
    Batch,
    Burst,
    Constant,
    Diurnal,
    Heap,
    Ramp,
    StartupSpike,
    Steps,
    Total,
)

MIB = 2**20
LOW, HIGH = Demand(1.0, 100, 10), Demand(3.0, 300, 30)
MIDDLE = Demand(2.0, 200, 20)
SECOND, MINUTE, HOUR = timedelta(seconds=1), timedelta(minutes=1), timedelta(hours=1)
DIURNAL = Diurnal(LOW, HIGH, peak_at=12 * HOUR)
BURST = Burst(LOW, HIGH, every=MINUTE, lasting=10 * SECOND, first=30 * SECOND)
RAMP = Ramp(LOW, HIGH, 10 * SECOND)
SPIKE = StartupSpike(HIGH, LOW, 10 * SECOND, 10 * SECOND)
STEPS = Steps(((SECOND, LOW), (3 * SECOND, HIGH)))

ROWS: list[tuple[str, Usage, timedelta, Demand]] = [
    ("constant", Constant(LOW), HOUR, LOW),
    ("diurnal peak", DIURNAL, 12 * HOUR, HIGH),
    ("diurnal peak of another day", DIURNAL, 60 * HOUR, HIGH),
    ("diurnal trough", DIURNAL, timedelta(0), LOW),
    ("diurnal half-way", DIURNAL, 6 * HOUR, MIDDLE),
    ("burst not begun", BURST, 30 * SECOND - SECOND, LOW),
    ("burst begins", BURST, 30 * SECOND, HIGH),
    ("burst over", BURST, 40 * SECOND, LOW),
    ("burst again", BURST, 90 * SECOND, HIGH),
    ("ramp begins", RAMP, timedelta(0), LOW),
    ("ramp half-way", RAMP, 5 * SECOND, MIDDLE),
    ("ramp ends", RAMP, 10 * SECOND, HIGH),
    ("ramp holds", RAMP, HOUR, HIGH),
    ("ramp before its time", RAMP, -SECOND, LOW),
    ("spike holds", SPIKE, 10 * SECOND - SECOND, HIGH),
    ("spike fades", SPIKE, 15 * SECOND, MIDDLE),
    ("spike faded", SPIKE, 20 * SECOND, LOW),
    ("spike without fading", StartupSpike(HIGH, LOW, SECOND), SECOND, LOW),
    ("batch works", Batch(HIGH, MINUTE, LOW), MINUTE - SECOND, HIGH),
    ("batch done", Batch(HIGH, MINUTE, LOW), MINUTE, LOW),
    ("steps not begun", STEPS, timedelta(0), NOTHING),
    ("steps first", STEPS, 2 * SECOND, LOW),
    ("steps last", STEPS, 3 * SECOND, HIGH),
    ("total", Total((Constant(LOW), Constant(LOW))), HOUR, Demand(2.0, 200, 20)),
    ("total of nothing", Total(()), HOUR, NOTHING),
]


@pytest.mark.parametrize(("name", "usage", "elapsed", "expected"), ROWS, ids=[row[0] for row in ROWS])
def test_a_function_at_a_moment(name: str, usage: Usage, elapsed: timedelta, expected: Demand) -> None:
    found = usage.at(elapsed, 0)
    assert found.cpu_cores == pytest.approx(expected.cpu_cores)
    assert abs(found.working_set_bytes - expected.working_set_bytes) <= 1
    assert abs(found.cache_bytes - expected.cache_bytes) <= 1


def test_bursts_of_replicas_are_spread() -> None:
    burst = Burst(LOW, HIGH, every=HOUR, lasting=SECOND, spread=HOUR)
    starts = {
        replica: next(s for s in range(3700) if burst.at(timedelta(seconds=s), replica) == HIGH) for replica in range(4)
    }
    assert len(set(starts.values())) == 4


HEAP = Heap(
    live_bytes=60 * MIB,
    initial_bytes=64 * MIB,
    largest_bytes=256 * MIB,
    garbage_bytes_per_second=2 * MIB,
    base=Demand(0.1, 10 * MIB),
)


def heap_mib(seconds: float) -> float:
    return HEAP.at(timedelta(seconds=seconds), 0).working_set_bytes / MIB


HEAP_ROWS = [
    # 64 MiB fill in 32 s; then 60 MiB live of 128 MiB, which fill in 34 s; 60 of 128 is less than half, so it stays.
    ("fills", 16, 42),
    ("full", 31.5, 73),
    ("keeps what it touched", 33, 74),
    ("fills again", 50, 60 + 36 + 10),
    ("keeps all of it", 32 + 34 + 1, 138),
    ("for ever", 10_000, 138),
]


@pytest.mark.parametrize(("name", "seconds", "mib"), HEAP_ROWS)
def test_a_heap_doubles_while_half_of_it_lives(name: str, seconds: float, mib: float) -> None:
    assert heap_mib(seconds) == pytest.approx(mib, abs=1)


def test_a_heap_collects_when_it_is_full() -> None:
    assert HEAP.at(timedelta(seconds=31), 0).cpu_cores == pytest.approx(0.1)
    assert HEAP.at(timedelta(seconds=32.5), 0).cpu_cores == pytest.approx(0.6)
    assert HEAP.at(timedelta(seconds=33.5), 0).cpu_cores == pytest.approx(0.1)


@given(st.floats(0, 5000), st.floats(0, 5000), st.integers(1, 300))
def test_a_heap_never_shrinks_and_has_a_largest_size(first: float, second: float, live: int) -> None:
    heap = Heap(live * MIB, 64 * MIB, 256 * MIB, 2 * MIB)
    early, late = sorted((first, second))
    held = [heap.at(timedelta(seconds=s), 0).working_set_bytes for s in (early, late)]
    assert held[0] <= held[1] <= 256 * MIB
