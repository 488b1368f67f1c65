"""The strategies by histograms through the interface (beyond:B-10, Q-2, Q-11)."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from autoscaling.resources import CPU, MEMORY
from recommender.buckets import CPU_BUCKETS
from recommender.settings import EstimatorSettings, ModelSettings
from recommender.strategies.bank_state import BankState
from recommender.strategies.interface import Bounds, OomKills, Usage
from recommender.strategies.vpa import VPA_DEFAULT, VPA_MIN0, BankStrategy
from tests.builders import T0
from tests.recommender.scene import of_one_container

MI = 1024 * 1024
ROWS = 3
EPOCH = T0.timestamp()
STRATEGIES = [VPA_DEFAULT, VPA_MIN0, replace(VPA_DEFAULT, model=ModelSettings(oom_needs_count=True))]


@dataclass(frozen=True)
class Step:
    """A sample of one row, or an OOM kill."""

    row: int
    minutes_later: int
    millicores: int | None
    mebibytes: int | None
    is_oom: bool = False


STEPS = st.lists(
    st.builds(
        Step,
        st.integers(0, ROWS - 1),
        st.integers(0, 2000),
        st.none() | st.integers(0, 5000),
        st.none() | st.integers(0, 4000),
        st.booleans(),
    ),
    max_size=25,
)


def usage(row: int, seconds: float, cores: float, memory: float, duration: float = 60.0) -> Usage:
    columns = (np.array([value]) for value in (seconds, duration, cores, memory))
    return Usage(np.array([row]), *columns)


def kill(row: int, seconds: float, memory: float) -> OomKills:
    return OomKills(np.array([row]), np.array([seconds]), np.array([memory]))


def told(state: BankState, steps: list[Step], begin: float = EPOCH) -> float:
    """Tell a state of steps and return the time after them."""
    seconds = begin
    for step in steps:
        seconds += step.minutes_later * 60.0
        cores = np.nan if step.millicores is None else step.millicores / 1000
        memory = np.nan if step.mebibytes is None else float(step.mebibytes * MI)
        if step.is_oom:
            state.observe_ooms(kill(step.row, seconds, 0.0 if np.isnan(memory) else memory))
        else:
            state.observe(usage(step.row, seconds, cores, memory))
    return seconds


def figures(bounds: Bounds, rows: list[int] | None = None) -> list[bytes]:
    """Return all amounts, bit for bit."""
    parts = (bounds.cpu_cores, bounds.memory_bytes)
    columns = [column for part in parts for column in (part.target, part.lower, part.upper)]
    return [column[slice(None) if rows is None else rows].tobytes() for column in columns if column is not None]


@given(steps=STEPS, kind=st.sampled_from(STRATEGIES), cut=st.integers(0, 25))
def test_the_future_does_not_change_the_past(steps: list[Step], kind: BankStrategy, cut: int) -> None:
    """What is asked in between is the same whatever comes later, and asking changes nothing."""
    one, two = kind.start(ROWS), kind.start(ROWS)
    at = told(one, steps[:cut])
    before = figures(one.recommend(at))
    after = told(one, steps[cut:], at)
    told(two, steps[:cut])
    assert figures(two.recommend(at)) == before, "beyond:B-10 causality"
    told(two, steps[cut:], at)
    assert figures(one.recommend(after)) == figures(two.recommend(after))


@given(steps=STEPS, kind=st.sampled_from(STRATEGIES))
def test_rows_know_nothing_of_each_other(steps: list[Step], kind: BankStrategy) -> None:
    together, alone = kind.start(ROWS), kind.start(1)
    at = told(together, steps)
    seconds = EPOCH
    for step in steps:
        seconds += step.minutes_later * 60.0
        if step.row == 1:
            told(alone, [replace(step, row=0, minutes_later=0)], seconds)
    assert figures(together.recommend(at), [1]) == figures(alone.recommend(at), [0]), "beyond:B-10 rows"


@given(steps=STEPS, more=STEPS, kind=st.sampled_from(STRATEGIES))
def test_what_is_saved_goes_on_as_if_nothing_had_happened(
    steps: list[Step], more: list[Step], kind: BankStrategy
) -> None:
    one, two = kind.start(ROWS), kind.start(ROWS)
    at = told(one, steps)
    for row in range(ROWS):
        two.restore(row, json.loads(json.dumps(one.save(row), allow_nan=False)))
    assert figures(two.recommend(at)) == figures(one.recommend(at)), "beyond:B-10 save"
    after = told(one, more, at)
    told(two, more, at)
    assert figures(two.recommend(after)) == figures(one.recommend(after)), "beyond:B-10 save"


@given(steps=STEPS)
def test_vpa_min0_is_vpa_default_with_the_minimum_of_a_pod_at_zero(steps: list[Step]) -> None:
    without = replace(VPA_DEFAULT.estimator, pod_minimum_cpu_millicores=0.0, pod_minimum_memory_mib=0.0)
    one, two = VPA_MIN0.start(ROWS), replace(VPA_DEFAULT, estimator=without).start(ROWS)
    at = told(one, steps)
    told(two, steps)
    assert figures(one.recommend(at)) == figures(two.recommend(at)), "beyond:B-10 vpa-min0"


@given(
    samples=st.lists(
        st.tuples(st.integers(1, 900), st.integers(0, 4000), st.integers(0, 3000), st.booleans()), max_size=20
    )
)
def test_vpa_default_is_what_the_process_recommends_for_one_pod(samples: list[tuple[int, int, int, bool]]) -> None:
    scene, state, now = of_one_container(), VPA_DEFAULT.start(1), T0
    for minutes, millicores, mebibytes, is_oom in samples:
        now += timedelta(minutes=minutes)
        scene.cpu(now, millicores)
        scene.memory(now, mebibytes * MI)
        state.observe(usage(0, seconds_of(now), millicores / 1000, float(mebibytes * MI)))
        if is_oom:
            scene.oom(now, 500 * MI)
            state.observe_ooms(kill(0, seconds_of(now), 500.0 * MI))
    if not samples:
        return
    entry = scene.recommendation().of("main")
    assert entry is not None
    found = state.recommend(seconds_of(now))
    for vector, cpu, memory in (
        (entry.target, found.cpu_cores.target, found.memory_bytes.target),
        (entry.lower_bound, found.cpu_cores.lower, found.memory_bytes.lower),
        (entry.upper_bound, found.cpu_cores.upper, found.memory_bytes.upper),
    ):
        assert vector is not None
        assert cpu is not None
        assert memory is not None
        assert (vector[CPU].milli_value(), vector[MEMORY].value()) == (round(cpu[0] * 1000), memory[0]), "Q-11"


def seconds_of(moment: datetime) -> float:
    return moment.timestamp()


def weights(state: BankState) -> NDArray[np.float64]:
    saved = state.save(0)["cpu"]
    assert isinstance(saved, dict)
    buckets = saved["weights"]
    assert isinstance(buckets, dict)
    return np.array([value for value in buckets.values() if isinstance(value, float)])


def test_a_longer_sample_weighs_more() -> None:
    """Q-11: five minutes are five samples of a minute, in weight and in count."""
    short, long = VPA_DEFAULT.start(1), VPA_DEFAULT.start(1)
    for _ in range(5):
        short.observe(usage(0, EPOCH, 0.2, 300.0 * MI))
    long.observe(usage(0, EPOCH, 0.2, 300.0 * MI, duration=300.0))
    assert weights(long) == pytest.approx(weights(short))
    assert long.save(0)["samples"] == short.save(0)["samples"] == 5.0


@pytest.mark.parametrize(
    ("row", "cores", "memory", "samples"),
    [
        ("beyond:B-10 both", 0.1, 1.0 * MI, 1.0),
        ("beyond:B-10 memory alone counts", np.nan, 1.0 * MI, 1.0),
        ("beyond:B-10 CPU alone", 0.1, np.nan, 1.0),
        ("beyond:B-10 nothing", np.nan, np.nan, 0.0),
    ],
)
def test_what_counts_as_a_sample(row: str, cores: float, memory: float, samples: float) -> None:
    state = VPA_DEFAULT.start(1)
    state.observe(usage(0, EPOCH, cores, memory))
    assert state.save(0)["samples"] == samples, row
    found = state.recommend(EPOCH)
    assert np.isnan(found.cpu_cores.target[0]) == np.isnan(cores), row
    assert np.isnan(found.memory_bytes.target[0]) == np.isnan(memory), row


def test_rows_that_are_cleared_or_new_have_seen_nothing() -> None:
    state = VPA_DEFAULT.start(2)
    for row in (0, 1):
        state.observe(usage(row, EPOCH, 2.0, 900.0 * MI))
        state.observe_ooms(kill(row, EPOCH, 950.0 * MI))
    state.clear(np.array([0]))
    state.grow(4)
    empty = VPA_DEFAULT.start(1)
    assert state.save(0) == state.save(2) == state.save(3) == empty.save(0)
    assert state.save(1) != empty.save(0)
    assert np.isnan(state.recommend(EPOCH).cpu_cores.target).tolist() == [True, False, True, True]


@pytest.mark.parametrize(
    ("row", "change", "message"),
    [
        ("beyond:B-10 missing", {"peak": None}, "saved state of a row: "),
        ("beyond:B-10 bucket", {"cpu": {"reference": 0, "total": 1.0, "weights": {"176": 1.0}}}, "outside 0 to 175"),
        ("beyond:B-10 bucket", {"cpu": {"reference": 0, "total": 1.0, "weights": {"-1": 1.0}}}, "outside 0 to 175"),
        ("beyond:B-10 text", {"memory": "much"}, "saved state of a row: "),
    ],
)
def test_what_cannot_be_restored_is_refused(row: str, change: dict[str, object], message: str) -> None:
    state = BankState(ModelSettings(), EstimatorSettings(), 1)
    saved = json.loads(json.dumps({**state.save(0), **change}))
    with pytest.raises(ValueError, match=message):
        state.restore(0, saved)


def test_each_row_at_a_moment_of_its_own() -> None:
    """quality:Q-2, beyond:B-5: the need of a kill is in force for three days, of which each row has its own."""
    hour = 3600.0
    model = ModelSettings(memory_interval=timedelta(hours=1), oom_needs_count=True)
    state = replace(VPA_DEFAULT, model=model).start(2)
    for row in range(2):
        state.observe(usage(row, EPOCH, 0.1, 400.0 * MI))
        state.observe_ooms(kill(row, EPOCH, 500.0 * MI))
        for number in range(1, 60):
            state.observe(usage(row, EPOCH + number * hour, 0.1, 400.0 * MI, hour))
    moments = np.array([EPOCH + 71 * hour, EPOCH + 73 * hour])
    found = state.recommend_each(moments).memory_bytes.target
    assert found[0] == pytest.approx(600 * MI * 1.15)
    assert found[1] < 500 * MI
    assert state.recommend(float(moments[1])).memory_bytes.target.tolist() == [found[1], found[1]]


@given(cores=st.floats(0.001, 20.0))
def test_a_fraction_of_a_millicore_counts(cores: float) -> None:
    """quality:Q-11: a sample goes into the bucket of what was used, not of that cut to whole millicores."""
    state = VPA_MIN0.start(1)
    state.observe(usage(0, EPOCH, cores, np.nan))
    expected = CPU_BUCKETS.ends[CPU_BUCKETS.bucket_of_values(np.array([cores]))] * 1000
    whole = np.floor(expected)
    assert state.recommend(EPOCH).cpu_cores.target * 1000 == pytest.approx(whole + np.floor(whole * 0.15))
