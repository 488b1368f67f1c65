"""The targets that there are to choose from (quality:Q-18)."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from recommender.strategies.candidates import CPU_FAMILY, MEMORY_FAMILY, Family
from recommender.strategies.steps import Samples, Step
from tests.recommender.strategies.adaptive_definition import candidates

START = 1_700_000_100.0
gaps = st.one_of(st.just(1), st.integers(1, 12), st.integers(270, 300), st.integers(1990, 2030))
courses = st.lists(st.tuples(gaps, st.integers(0, 4000)), min_size=1, max_size=30)


def step(rows: list[int], seconds: float, amounts: list[float]) -> Step:
    count = len(rows)
    samples = Samples(np.array(rows), np.full(count, seconds), np.full(count, 300.0), np.array(amounts))
    return Step(samples, np.arange(count))


@pytest.mark.parametrize(
    ("row", "family", "unit"), [("quality:Q-18", CPU_FAMILY, 0.001), ("quality:Q-18", MEMORY_FAMILY, 1e6)]
)
@settings(max_examples=40)
@given(course=courses)
def test_every_target_is_what_the_definition_says(
    row: str, family: Family, unit: float, course: list[tuple[int, int]]
) -> None:
    """Beside another row that has seen other amounts."""
    source, used, now = family.source(1), [], START
    source.grow(2)
    for gap, amount in course:
        now += 300.0 * gap
        used.append((now, 300.0, amount * unit))
        targets = family.targets(source.take(step([0, 1], now, [5.0, amount * unit])))
        wanted = candidates(used, family is CPU_FAMILY)
        np.testing.assert_allclose(targets[1], wanted, rtol=1e-9, atol=1e-9, err_msg=row)
    assert source.latest(np.array([0, 1])).tolist() == [5.0, course[-1][1] * unit]


@pytest.mark.parametrize(("row", "family"), [("quality:Q-18", CPU_FAMILY), ("quality:Q-18", MEMORY_FAMILY)])
def test_each_target_has_a_name(row: str, family: Family) -> None:
    assert len(set(family.names)) == len(family), row
    found = family.source(1).take(step([0], START, [1e9]))
    assert family.targets(found).shape == (1, len(family)), row


def test_no_target_is_below_the_floor() -> None:
    for family, floor in ((CPU_FAMILY, 0.01), (MEMORY_FAMILY, 1e7)):
        found = family.targets(family.source(1).take(step([0], START, [0.0])))
        assert (found == floor).all(), "quality:Q-18"


@pytest.mark.parametrize("family", [CPU_FAMILY, MEMORY_FAMILY], ids=["cpu", "memory"])
def test_it_goes_on_from_what_was_saved(family: Family) -> None:
    """Row beyond:B-2, in a row that was another one's."""
    random, source, again = np.random.default_rng(4), family.source(1), family.source(2)
    again.take(step([1], START, [7e9]))
    again.clear(np.array([1]))
    amounts = (random.random(60) * 1e9).tolist()
    for number, amount in enumerate(amounts[:40]):
        source.take(step([0], START + 3000.0 * number, [amount]))
    again.restore(1, source.save(0))
    for number, amount in enumerate(amounts[40:], start=40):
        first, second = (
            each.take(step([row], START + 3000.0 * number, [amount])) for each, row in ((source, 0), (again, 1))
        )
        np.testing.assert_allclose(second, first, rtol=1e-12, err_msg="beyond:B-2")
