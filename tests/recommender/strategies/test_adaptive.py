"""The strategies that choose for each container (quality:Q-2, Q-18; beyond:B-2, B-10)."""

from __future__ import annotations

import json
import math
import re
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest

from recommender.strategies.adaptive import BEGINNING_SECONDS, AdaptiveState, AdaptiveStrategy
from recommender.strategies.answers import answer
from recommender.strategies.guarded import LARGEST_SAVED
from recommender.strategies.interface import ExplainedState, OomKills
from recommender.strategies.shipped import ADAPTIVE, ADAPTIVE_CALM
from recommender.strategies.vpa import VPA_MIN0
from tests.recommender.strategies.adaptive_definition import CPU, MEMORY, Container
from tests.recommender.strategies.definitions import DAY, HOUR, Sample, usage

START = 1_700_000_100.0
MI = 1024.0 * 1024.0


def recorded(seed: int, days: float, step: float = 1800.0) -> list[Sample]:
    """Return use with a day's course, noise and bursts, with a gap in it."""
    random = np.random.default_rng(seed)
    moments = START + np.arange(0.0, days * DAY, step)
    wave = 1.0 + 0.9 * np.sin(2 * np.pi * moments / DAY)
    cores = 0.2 * wave * random.lognormal(0.0, 0.15, len(moments)) + 0.5 * (random.random(len(moments)) < 0.01)
    size = 1e9 * (1.0 + 0.1 * wave + 0.3 * (random.random(len(moments)) < 0.03))
    kept = (moments < START + 1.3 * DAY) | (moments > START + 1.5 * DAY)
    return [
        Sample(float(at), step, round(float(cpu), 3), float(memory))
        for at, cpu, memory in zip(moments[kept], cores[kept], size[kept], strict=True)
    ]


def observed(state: AdaptiveState, samples: list[Sample], row: int = 0) -> None:
    state.observe(usage([row] * len(samples), samples))


def targets(state: AdaptiveState, now: float, row: int = 0) -> tuple[float, float]:
    found = state.recommend(now)
    return float(found.cpu_cores.target[row]), float(found.memory_bytes.target[row])


@pytest.mark.parametrize(
    ("row", "seed", "kills"),
    [("quality:Q-18", 1, ()), ("quality:Q-18", 2, ()), ("quality:Q-18 kills", 3, (20, 110, 111, 150))],
)
def test_every_target_is_what_the_definition_says(row: str, seed: int, kills: tuple[int, ...]) -> None:
    samples, state = recorded(seed, 4.0), ADAPTIVE.start(1)
    cpu, memory = Container(CPU), Container(MEMORY)
    found, wanted = [], []
    for number, sample in enumerate(samples):
        observed(state, [sample])
        cpu.take(sample.seconds, sample.duration, sample.cpu)
        memory.take(sample.seconds, sample.duration, sample.memory)
        if number in kills:
            state.observe_ooms(OomKills(np.array([0]), np.array([sample.seconds]), np.array([1.3e9])))
            memory.kill(sample.seconds, 1.3e9)
        if cpu.held is not None and memory.held is not None:
            found.append(targets(state, sample.seconds))
            wanted.append((cpu.held, memory.held))
    assert len({cpu for cpu, _ in wanted}) > 3, "it changes"
    np.testing.assert_allclose(np.array(found), np.array(wanted), rtol=1e-5, err_msg=row)


@pytest.mark.parametrize("strategy", [ADAPTIVE, ADAPTIVE_CALM], ids=lambda each: each.name)
def test_until_there_are_two_days_of_history_upstreams_rule_recommends(strategy: AdaptiveStrategy) -> None:
    """Row quality:Q-18, both sides of the boundary; each resource by its own history."""
    state, bank = strategy.start(1), VPA_MIN0.start(1)
    samples = [Sample(START + at, 60.0, 0.3, 5e8 if at >= HOUR else math.nan) for at in (0.0, HOUR, DAY)]
    last = [replace(samples[1], seconds=START + BEGINNING_SECONDS + at) for at in (-1.0, 0.0, HOUR)]
    is_upstreams = []
    for sample in [*samples, *last]:
        observed(state, [sample])
        bank.observe(usage([0], [sample]))
        mine, other = (answer(each.recommend(sample.seconds), 1) for each in (state, bank))
        is_upstreams.append((np.array_equal(mine.cpu, other.cpu), np.array_equal(mine.memory, other.memory, True)))
    assert is_upstreams == [(True, True)] * 4 + [(False, True), (False, False)]


def test_a_target_is_held_within_bounds_that_another_change_would_leave() -> None:
    """Row quality:Q-18: half of what a change would be, so that a request rounded otherwise is no reason for one."""
    state = ADAPTIVE.start(1)
    observed(state, recorded(1, 3.0))
    found = answer(state.recommend(START + 3 * DAY), 1)
    assert not found.is_impossible.any()
    for amounts, raised, lowered in ((found.cpu, 1.075, 0.9), (found.memory, 1.05, 0.925)):
        target, lower, upper = amounts[:, 0]
        assert (lower, upper) == (pytest.approx(target / raised), pytest.approx(target / lowered)), "quality:Q-18"


@pytest.mark.parametrize(
    ("row", "request_bytes", "use", "need"),
    [
        ("quality:Q-18 request", 2000 * MI, 1000 * MI, 2400 * MI),
        ("quality:Q-18 use", 500 * MI, 1000 * MI, 1200 * MI),
    ],
)
@pytest.mark.parametrize("days", [1.0, 3.0])
def test_after_a_kill_memory_is_at_least_a_fifth_more_for_a_day(
    row: str, request_bytes: float, use: float, need: float, days: float
) -> None:
    state, end = ADAPTIVE.start(1), START + days * DAY
    steady = [Sample(float(at), 600.0, 0.1, use) for at in np.arange(START, end + 1.0, 600.0)]
    observed(state, steady)
    state.observe_ooms(OomKills(np.array([0]), np.array([end]), np.array([request_bytes])))
    after = [replace(steady[0], seconds=end + 600.0 * number) for number in range(1, 145)]
    for sample in after[:-1]:
        observed(state, [sample])
        assert targets(state, sample.seconds)[1] >= need, row
    observed(state, after[-1:])
    if days > 2.0 and request_bytes > use:
        assert targets(state, end + DAY)[1] < need, row


def test_a_kill_before_any_sample_counts() -> None:
    """Row beyond:B-5."""
    state = ADAPTIVE.start(2)
    state.observe_ooms(OomKills(np.array([1]), np.array([START]), np.array([1000 * MI])))
    found = answer(state.recommend(START), 2)
    assert not found.is_impossible.any()
    assert np.isnan(found.cpu).all()
    assert np.isnan(found.memory[:, 0]).all()
    assert found.memory[0, 1] >= 1200 * MI, "beyond:B-5"


@pytest.mark.parametrize("days", [1.0, 3.0])
def test_it_goes_on_from_what_was_saved(days: float) -> None:
    """Rows beyond:B-2, beyond:B-10: before and after the first two days, in a row that was another one's."""
    samples = recorded(5, days + 1.0)
    alone, again = ADAPTIVE.start(1), ADAPTIVE.start(3)
    observed(alone, samples)
    observed(again, recorded(6, 3.0), 2)
    again.clear(np.array([2]))
    first = [each for each in samples if each.seconds < START + days * DAY]
    other = ADAPTIVE.start(1)
    observed(other, first)
    saved = json.dumps(other.save(0), allow_nan=False)
    assert len(saved) < LARGEST_SAVED / 4
    assert ("beginning" in json.loads(saved)) == (days < 2.0), "what is not needed any more is not kept"
    again.restore(2, json.loads(saved))
    observed(again, samples[len(first) :], 2)
    now = samples[-1].seconds
    assert targets(again, now, 2) == pytest.approx(targets(alone, now), rel=1e-9), "beyond:B-2"
    assert again.explain(2) == alone.explain(0)


def test_it_says_which_candidates_weigh_and_what_they_cost() -> None:
    """Row beyond:B-34."""
    state = ADAPTIVE.start(1)
    assert isinstance(state, ExplainedState)
    observed(state, recorded(1, 1.0))
    assert state.explain(0).cpu == "upstream's rule, until there are 2 days of history"
    steady = [Sample(float(at), 600.0, 0.5, 1e9) for at in np.arange(START + DAY, START + 4 * DAY, 600.0)]
    observed(state, steady)
    told = state.explain(0)
    shares = [int(share) for share in re.findall(r"(\d+)% ", told.cpu)]
    assert 98 <= sum(shares[:4]) + shares[-1] <= 102, "four candidates and the others"
    costs = [float(cost) for cost in re.findall(r"cost (?:from )?([\d.]+)", told.memory)]
    assert len(costs) == 5
    assert costs == sorted(costs)
    assert told.cpu.endswith("costs are shares of the use, and count half after 5 days")
    assert " of 14 others (cost from " in told.cpu


@pytest.mark.parametrize(
    ("row", "part"), [("beyond:B-10", "cpu"), ("beyond:B-10", "memory"), ("beyond:B-10", "oomNeeds")]
)
def test_what_was_not_saved_is_not_restored(row: str, part: str) -> None:
    state = ADAPTIVE.start(1)
    observed(state, recorded(1, 1.0))
    saved = dict(state.save(0))
    del saved[part]
    with pytest.raises(ValueError, match=f"saved state of a row: {part} is no object"):
        ADAPTIVE.start(1).restore(0, saved)
    assert row


def test_a_calm_one_changes_less_often() -> None:
    """Row quality:Q-20, for use that comes and goes within eight hours."""
    moments = START + np.arange(0.0, 3.5 * DAY, 900.0)
    waves = 0.3 + 0.25 * np.sin(2 * np.pi * moments / (8 * HOUR))
    samples = [Sample(float(at), 900.0, float(cpu), 1e9) for at, cpu in zip(moments, waves, strict=True)]
    counts = []
    for strategy in (ADAPTIVE, ADAPTIVE_CALM):
        state, seen = strategy.start(1), []
        for sample in samples:
            observed(state, [sample])
            seen.append(targets(state, sample.seconds))
        late = seen[int(2 * DAY / 900.0) :]
        counts.append(sum(one != other for one, other in pairwise(late)))
    assert 0 < counts[1] <= 2 / 3 * counts[0], "quality:Q-20"
