"""Upstream's rule for rows with a short history (quality:Q-18)."""

from __future__ import annotations

import numpy as np
import pytest

from recommender.estimator import LOWER_BOUND, TARGET, UPPER_BOUND
from recommender.strategies.answers import answer
from recommender.strategies.beginning import Beginning
from recommender.strategies.interface import OomKills
from recommender.strategies.vpa import VPA_MIN0
from tests.recommender.strategies.definitions import HOUR, Sample, usage

START = 1_700_000_000.0
SAMPLES = [Sample(START + 60.0 * minute, 60.0, 0.1 + 0.01 * (minute % 7), 1e8 + 1e6 * minute) for minute in range(90)]
KILLS = OomKills(np.array([1]), np.array([START + 2 * HOUR]), np.array([3e8]))


def columns(beginning: Beginning) -> np.ndarray[tuple[int, ...], np.dtype[np.float64]]:
    """Return float64[resources, target and bounds, rows]."""
    return np.array([[said.target, said.lower, said.upper] for said in beginning.bounds()])


def test_it_is_vpa_min0_for_those_that_need_it() -> None:
    beginning, bank = Beginning(1), VPA_MIN0.start(3)
    beginning.grow(3)
    beginning.release(np.array([0]))
    for sample in SAMPLES:
        for state in (beginning, bank):
            state.observe(usage([0, 1], [sample, sample]))
        if sample is SAMPLES[40]:
            beginning.bounds()
    for state in (beginning, bank):
        state.observe_ooms(KILLS)
    wanted = answer(bank.recommend(START), 3)
    found = columns(beginning)
    for said, other in zip(found, (wanted.cpu, wanted.memory), strict=True):
        order = [TARGET, LOWER_BOUND, UPPER_BOUND]
        np.testing.assert_array_equal(said[:, 1], other[order, 1], err_msg="quality:Q-18")
        assert np.isnan(said[:, [0, 2]]).all(), "quality:Q-18 not needed, and nothing seen"


def test_what_is_released_is_forgotten_and_what_is_cleared_begins_anew() -> None:
    beginning, again = Beginning(2), Beginning(2)
    beginning.observe(usage([1] * 90, SAMPLES))
    beginning.bounds()
    beginning.release(np.array([1]))
    assert np.isnan(columns(beginning)).all(), "quality:Q-18"
    assert beginning.save(1) is None
    beginning.observe_ooms(KILLS)
    assert np.isnan(columns(beginning)).all(), "quality:Q-18"
    beginning.clear(np.array([1]))
    for state in (beginning, again):
        state.observe(usage([1] * 5, SAMPLES[:5]))
    np.testing.assert_array_equal(columns(beginning), columns(again), err_msg="beyond:B-10")


@pytest.mark.parametrize(("row", "is_needed"), [("beyond:B-2", True), ("beyond:B-2", False)])
def test_it_goes_on_from_what_was_saved(row: str, is_needed: bool) -> None:
    beginning, again = Beginning(2), Beginning(2)
    beginning.observe(usage([1] * 90, SAMPLES))
    if not is_needed:
        beginning.release(np.array([1]))
    again.restore(1, beginning.save(1))
    np.testing.assert_array_equal(columns(again), columns(beginning), err_msg=row)
    assert again.is_needed.tolist() == [True, is_needed], row
