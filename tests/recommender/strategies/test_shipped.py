"""The strategies with states of their own against their definitions (quality:Q-12, Q-14, Q-15, Q-16)."""

from __future__ import annotations

import csv
import gzip
import json
import math
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from recommender.strategies.answers import answer
from recommender.strategies.guarded import LARGEST_SAVED
from recommender.strategies.interface import OomKills, RowwiseState, StrategyState
from recommender.strategies.modelled import ModelledStrategy
from recommender.strategies.shipped import AUTOPILOT_LIKE, KRR_SIMPLE, SEASONAL_NAIVE, SHIPPED, WEEKLY_PEAK
from tests.recommender.strategies.definitions import DAY, Sample, expected, usage

TRACES = Path(__file__).parents[2] / "data" / "traces"
NAMES = sorted(SHIPPED)
MODELLED = sorted(name for name, each in SHIPPED.items() if isinstance(each, ModelledStrategy))
"""Those that leave their bounds and what follows a kill to rules of their own kind."""

START = 1_700_000_100.0
"""A multiple of five minutes."""

MI = 1024.0 * 1024.0
Figures = list[tuple[float, float]]


def started(name: str, rows: int = 1) -> StrategyState:
    return SHIPPED[name].start(rows)


def figures(state: StrategyState, now: float) -> Figures:
    """Return the targets of all rows."""
    found = state.recommend(now)
    return list(zip(found.cpu_cores.target.tolist(), found.memory_bytes.target.tolist(), strict=True))


def path(state: StrategyState, samples: Sequence[Sample], row: int = 0) -> Figures:
    """Return the targets of a row after each sample."""
    found = []
    for sample in samples:
        state.observe(usage([row], [sample]))
        found.append(figures(state, sample.seconds)[row])
    return found


amounts = st.one_of(
    st.sampled_from([0.0, 0.001, 0.05, 0.05, 0.3, 1.0]),
    st.floats(0.0, 40.0, allow_subnormal=False),
    st.just(math.nan),
)
# Steps of five minutes, with gaps of an hour, of about a day, of about a week.
gaps = st.one_of(st.just(1), st.just(1), st.integers(1, 30), st.integers(270, 300), st.integers(1990, 2030))


@st.composite
def series(draw: st.DrawFn, most: int = 40) -> list[Sample]:
    """Draw samples of one container."""
    drawn = draw(st.lists(st.tuples(gaps, amounts, amounts), min_size=1, max_size=most))
    moments = np.cumsum([gap for gap, _, _ in drawn]) * 300.0 + START
    return [
        Sample(float(at), 300.0 * min(gap, 2), cpu, memory * 1e8)
        for at, (gap, cpu, memory) in zip(moments, drawn, strict=True)
    ]


@pytest.mark.parametrize(
    ("row", "name"),
    [
        ("quality:Q-12", "krr-simple"),
        ("quality:Q-14", "autopilot-like"),
        ("quality:Q-15", "weekly-peak"),
    ],
)
@settings(max_examples=50)
@given(samples=series())
def test_every_target_is_what_the_definition_says(row: str, name: str, samples: list[Sample]) -> None:
    found = path(started(name), samples)
    wanted = [expected(name, samples[:end]) for end in range(1, len(samples) + 1) if is_defined(name, samples[:end])]
    defined = [each for end, each in enumerate(found, start=1) if is_defined(name, samples[:end])]
    assert_alike(row, defined, wanted)


def is_defined(name: str, samples: Sequence[Sample]) -> bool:
    """Say whether the definition covers this: a resource that was seen once was also seen lately."""
    reach = 3600.0 if name in {"autopilot-like", "seasonal-naive"} else 7 * DAY
    recent = [each for each in samples if each.seconds > samples[-1].seconds - reach]
    return all(
        any(not math.isnan(each.cpu if is_cpu else each.memory) for each in recent)
        or all(math.isnan(each.cpu if is_cpu else each.memory) for each in samples)
        for is_cpu in (True, False)
    )


def assert_alike(row: str, found: Figures, wanted: Figures) -> None:
    """Compare up to what floats are rounded by, and to the millionths of a core that weekly peaks are kept in."""
    np.testing.assert_allclose(np.array(found), np.array(wanted), rtol=1e-9, atol=1.2e-6, err_msg=row)


@given(samples=series(30), data=st.data())
def test_seasonal_naive_is_what_the_definition_says(samples: list[Sample], data: st.DataObject) -> None:
    """Row quality:Q-16; every sample is of both resources, so that the last hour always has one."""
    whole = [
        Sample(
            each.seconds, each.duration, *(1.0 if math.isnan(amount) else amount for amount in (each.cpu, each.memory))
        )
        for each in samples
    ]
    found = path(started("seasonal-naive"), whole)
    end = data.draw(st.integers(1, len(whole)))
    assert_alike("quality:Q-16", [found[end - 1]], [expected("seasonal-naive", whole[:end])])


def of_trace(file: str, trace: str, days: float) -> list[Sample]:
    """Return the begin of a recorded series."""
    with gzip.open(TRACES / file, "rt") as lines:
        cells = [row for row in csv.reader(lines) if row[0] == trace]
    moments = [float(row[1]) for row in cells]
    step = float(np.median(np.diff(moments)))
    lengths = [min(after - before, 2 * step) for before, after in pairwise(moments)] + [step]
    use = [[float(cell) if cell else math.nan for cell in row[2:4]] for row in cells]
    return [
        Sample(at, length, *pair) for at, length, pair in zip(moments, lengths, use, strict=True) if at < days * DAY
    ]


RECORDED = [
    ("nezha-pods.csv.gz", "nezha/2022-08-22/cartservice"),
    ("cloudcluster-pools.csv.gz", None),
    ("bitbrains-small.csv.gz", "bitbrains-vm/1"),
]
_COMPARISONS = 3


@pytest.mark.parametrize("recorded", RECORDED, ids=lambda each: str(each[0]))
@pytest.mark.parametrize(
    ("row", "name", "days"),
    [
        ("quality:Q-12", "krr-simple", 15.0),
        ("quality:Q-14", "autopilot-like", 4.0),
        ("quality:Q-15", "weekly-peak", 8.0),
        ("quality:Q-16", "seasonal-naive", 8.0),
    ],
)
def test_what_is_kept_suffices_for_recorded_series(
    row: str, name: str, days: float, recorded: tuple[str, str | None]
) -> None:
    """At the spacing of the recorded series nothing that is forgotten is missed."""
    file, trace = recorded
    samples = of_trace(file, trace or longest(file), days)
    state, found, wanted, begin = started(name), [], [], 0
    for part in range(1, _COMPARISONS + 1):
        end = len(samples) * part // _COMPARISONS
        state.observe(usage([0] * (end - begin), samples[begin:end]))
        found += figures(state, samples[end - 1].seconds)
        wanted.append(expected(name, samples[:end]))
        begin = end
    assert_alike(row, found, wanted)


def longest(file: str) -> str:
    with (TRACES / "index.csv").open() as lines:
        return max((row for row in csv.DictReader(lines) if row["file"] == file), key=lambda row: float(row["days"]))[
            "trace_id"
        ]


@pytest.mark.parametrize("name", NAMES)
@settings(max_examples=20)
@given(past=series(12), futures=st.tuples(series(6), series(6)))
def test_the_future_does_not_change_the_past(name: str, past: list[Sample], futures: tuple[list[Sample], ...]) -> None:
    """Law, row quality:Q-2: what was recommended depends on samples up to then alone."""
    paths = []
    for future in futures:
        later = [Sample(e.seconds - START + past[-1].seconds, e.duration, e.cpu, e.memory) for e in future]
        paths.append(path(started(name), past + later)[: len(past)])
    first, second = paths
    np.testing.assert_array_equal(np.array(first), np.array(second), err_msg="quality:Q-2")


@pytest.mark.parametrize("name", NAMES)
@settings(max_examples=20)
@given(samples=series(20), others=series(20), cut=st.integers(1, 20))
def test_a_row_depends_on_nothing_but_its_own_samples(
    name: str, samples: list[Sample], others: list[Sample], cut: int
) -> None:
    """Law, row beyond:B-10: no other row, no batch, no restart, no growth and no former owner makes a difference."""
    alone, busy, now = started(name), started(name), max(samples[-1].seconds, others[-1].seconds)
    for each in samples:
        alone.observe(usage([0], [each]))
    busy.observe(usage([0] * len(others), others))
    busy.grow(3)
    busy.clear(np.array([0]))
    former = sorted([(each.seconds, 0, each) for each in samples[:cut]] + [(e.seconds, 2, e) for e in others])
    busy.observe(usage([row for _, row, _ in former], [each for _, _, each in former]))
    again = started(name, 2)
    again.restore(1, json.loads(json.dumps(busy.save(0), allow_nan=False)))
    for each in samples[cut:]:
        again.observe(usage([1], [each]))
    first, second = (np.array(found) for found in (figures(alone, now)[0], figures(again, now)[1]))
    np.testing.assert_allclose(second, first, rtol=1e-12, err_msg="beyond:B-10")
    assert np.isnan(np.array(figures(again, now)[0])).all()


@pytest.mark.parametrize("name", NAMES)
def test_every_row_can_be_asked_about_a_moment_of_its_own(name: str) -> None:
    """Row quality:Q-2: a replay has the steps of several series side by side."""
    samples = [Sample(START, 300.0, 0.5, 1e9), Sample(START + 300.0, 300.0, 0.2, 4e8)]
    apart, together = [started(name, 2) for _ in range(2)], started(name, 2)
    assert isinstance(together, RowwiseState)
    moments = np.array([START + 300.0, START + 15 * DAY])
    for state in (*apart, together):
        state.observe(usage([0, 1, 0, 1], [samples[0], samples[0], samples[1], samples[1]]))
    found = together.recommend_each(moments)
    for amounts_of, resource in ((found.cpu_cores, 0), (found.memory_bytes, 1)):
        wanted = [figures(apart[row], float(moments[row]))[row][resource] for row in range(2)]
        np.testing.assert_array_equal(amounts_of.target, wanted)


@pytest.mark.parametrize("name", NAMES)
def test_what_is_kept_of_a_busy_container_is_bounded(name: str) -> None:
    """Row beyond:B-10: fifty pods for some hours, which is more than there is room for."""
    state, random = started(name), np.random.default_rng(7)
    for minute in range(1, 201):
        cpu, memory = random.random(50).tolist(), (random.random(50) * 1e9).tolist()
        samples = [Sample(START + 60.0 * minute, 60.0, *pair) for pair in zip(cpu, memory, strict=True)]
        state.observe(usage([0] * 50, samples))
    assert len(json.dumps(state.save(0))) < LARGEST_SAVED / 2
    ((cores, size),) = figures(state, START + 60.0 * 200)
    assert 0.9 < cores < 1.3, "of amounts up to 1"
    assert 0.9e9 < size < 1.3e9


@pytest.mark.parametrize(
    ("row", "request_bytes", "need"),
    [("quality:Q-6", 400 * MI, 500 * MI), ("quality:Q-6", 500 * MI, 600 * MI), ("quality:Q-6", 1000 * MI, 1200 * MI)],
)
@pytest.mark.parametrize("name", MODELLED)
def test_after_an_oom_kill_memory_is_raised_for_a_day(name: str, row: str, request_bytes: float, need: float) -> None:
    state = started(name)
    state.observe(usage([0], [Sample(START, 60.0, 0.1, 1e8)]))
    ((_, before),) = figures(state, START)
    state.observe_ooms(OomKills(np.array([0]), np.array([START]), np.array([request_bytes])))
    assert figures(state, START)[0][1] == pytest.approx(need), row
    assert figures(state, START + DAY - 1.0)[0][1] == pytest.approx(need), row
    assert figures(state, START + DAY)[0][1] == before, row


@pytest.mark.parametrize("name", MODELLED)
def test_an_oom_kill_before_any_sample_counts(name: str) -> None:
    state = started(name, 2)
    state.observe_ooms(OomKills(np.array([1]), np.array([START]), np.array([1000 * MI])))
    found = np.array(figures(state, START))
    assert np.isnan(found[0]).all()
    assert np.isnan(found[1, 0])
    assert found[1, 1] == pytest.approx(1200 * MI), "beyond:B-5"


@pytest.mark.parametrize("name", MODELLED)
def test_bounds_go_by_the_target(name: str) -> None:
    state = started(name)
    state.observe(usage([0], [Sample(START, 60.0, 0.5, 1e9)]))
    found = answer(state.recommend(START), 1)
    assert not found.is_impossible.any()
    for amounts_of in (found.cpu, found.memory):
        target, lower, upper = amounts_of[:, 0]
        assert (lower, upper) == (target / 1.1, target / 0.9), "quality:Q-6"


@pytest.mark.parametrize(
    ("row", "strategy", "floors"),
    [
        ("quality:Q-12", KRR_SIMPLE, (0.01, 1e8)),
        ("quality:Q-16", AUTOPILOT_LIKE, (0.01, 1e7)),
        ("quality:Q-16", WEEKLY_PEAK, (0.01, 1e7)),
        ("quality:Q-16", SEASONAL_NAIVE, (0.01, 1e7)),
    ],
)
def test_no_target_is_below_its_floor(row: str, strategy: object, floors: tuple[float, float]) -> None:
    state = SHIPPED[getattr(strategy, "name", "")].start(1)
    assert np.isnan(np.array(figures(state, START))).all(), row
    state.observe(usage([0], [Sample(START, 60.0, 0.0, 4096.0)]))
    assert figures(state, START) == [floors], row


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("bad", [{}, {"cpu": 7}, {"cpu": {}, "memory": {}, "oomNeeds": {}}])
def test_what_was_not_saved_is_not_restored(name: str, bad: dict[str, object]) -> None:
    state = started(name)
    with pytest.raises(ValueError, match="saved state of a row"):
        state.restore(0, bad)  # type: ignore[arg-type]  # that is the fault
