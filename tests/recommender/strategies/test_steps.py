"""Samples cut into steps (quality:Q-1, quality:Q-2)."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from recommender.strategies.interface import Usage
from recommender.strategies.steps import Samples, samples_of, steps

told = st.lists(st.tuples(st.integers(0, 4), st.floats(0.0, 20.0), st.floats(0.0, 9.0)), max_size=30)


def samples(of: list[tuple[int, float, float]]) -> Samples:
    rows = np.array([row for row, _, _ in of], dtype=np.int64)
    seconds, amounts = (np.array([each[place] for each in of], dtype=np.float64) for place in (1, 2))
    return Samples(rows, seconds, np.full(len(of), 60.0), amounts)


@given(of=told)
def test_a_step_has_one_second_of_each_row_and_rows_go_forward_in_time(of: list[tuple[int, float, float]]) -> None:
    """Law: every sample is in one step, with its end rounded up to the second."""
    reached: dict[int, float] = {}
    found = []
    for step in steps(samples(of)):
        inside = step.samples
        assert (np.diff(inside.rows) >= 0).all()
        assert step.rows.tolist() == sorted(set(inside.rows.tolist()))
        for row, second, largest in zip(step.rows, step.seconds, step.largest, strict=True):
            assert second > reached.get(int(row), -1.0)
            reached[int(row)] = float(second)
            own = inside.rows == row
            assert set(inside.seconds[own].tolist()) == {second}
            assert inside.amounts[own].max() == largest
        found += list(zip(inside.rows.tolist(), inside.seconds.tolist(), inside.amounts.tolist(), strict=True))
    assert sorted(found) == sorted((row, float(np.ceil(second)), amount) for row, second, amount in of)


def test_resources_are_told_apart() -> None:
    nan = np.nan
    usage = Usage(
        np.array([0, 1, 2]),
        np.array([1.0, 2.0, 3.0]),
        np.full(3, 60.0),
        np.array([0.1, nan, 0.3]),
        np.array([nan, 5.0, 6.0]),
    )
    cpu, memory = samples_of(usage)
    assert (cpu.rows.tolist(), cpu.amounts.tolist(), cpu.seconds.tolist()) == ([0, 2], [0.1, 0.3], [1.0, 3.0])
    assert (memory.rows.tolist(), memory.amounts.tolist()) == ([1, 2], [5.0, 6.0])
