"""What a strategy recommends, looked at before it counts (beyond:B-10, Q-6)."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from recommender.estimator import LOWER_BOUND, TARGET, UPPER_BOUND
from recommender.strategies.answers import MisshapenError, answer
from recommender.strategies.interface import Bounds, ResourceBounds

NAN, INFINITE = float("nan"), float("inf")
FINE = ResourceBounds(np.array([1.0]))


def bounds(target: float, lower: float | None = None, upper: float | None = None) -> ResourceBounds:
    columns = (None if value is None else np.array([value]) for value in (lower, upper))
    return ResourceBounds(np.array([target]), *columns)


@given(target=st.floats(0, 1e12))
def test_bounds_that_are_left_out_are_set_by_the_target(target: float) -> None:
    found = answer(Bounds(bounds(target), FINE), 1)
    assert found.cpu[TARGET, 0] == target
    assert found.cpu[LOWER_BOUND, 0] == pytest.approx(target / 1.1), "Q-6"
    assert found.cpu[UPPER_BOUND, 0] == pytest.approx(target / 0.9), "Q-6"
    assert not found.is_impossible.any()


@pytest.mark.parametrize(
    ("row", "given_bounds", "is_impossible"),
    [
        ("beyond:B-10 zero", bounds(0.0), False),
        ("beyond:B-10 none", bounds(NAN), False),
        ("beyond:B-10 none, whatever the bounds", bounds(NAN, -1.0, INFINITE), False),
        ("beyond:B-10 all equal", bounds(1.0, 1.0, 1.0), False),
        ("beyond:B-10 negative target", bounds(-0.001), True),
        ("beyond:B-10 infinite target", bounds(INFINITE), True),
        ("beyond:B-10 negative infinite target", bounds(-INFINITE), True),
        ("beyond:B-10 lower bound no number", bounds(1.0, NAN, 2.0), True),
        ("beyond:B-10 upper bound no number", bounds(1.0, 0.5, NAN), True),
        ("beyond:B-10 negative lower bound", bounds(1.0, -0.5, 2.0), True),
        ("beyond:B-10 infinite upper bound", bounds(1.0, 0.5, INFINITE), True),
        ("beyond:B-10 lower bound above the target", bounds(1.0, 1.001, 2.0), True),
        ("beyond:B-10 upper bound below the target", bounds(1.0, 0.5, 0.999), True),
    ],
)
def test_which_amounts_cannot_be(row: str, given_bounds: ResourceBounds, is_impossible: bool) -> None:
    assert answer(Bounds(given_bounds, FINE), 1).is_impossible.tolist() == [is_impossible], row
    assert answer(Bounds(FINE, given_bounds), 1).is_impossible.tolist() == [is_impossible], row


@pytest.mark.parametrize(
    ("row", "given_answer", "message"),
    [
        ("beyond:B-10", None, "recommend returned NoneType, not Bounds"),
        ("beyond:B-10", (FINE, FINE), "recommend returned tuple, not Bounds"),
        ("beyond:B-10", Bounds(FINE, 7), "memory_bytes is int, not ResourceBounds"),  # type: ignore[arg-type]
        ("beyond:B-10", Bounds(ResourceBounds([1.0]), FINE), "cpu_cores.target is no array"),  # type: ignore[arg-type]
        ("beyond:B-10", Bounds(FINE, ResourceBounds(np.array(["1"]))), "memory_bytes.target is no array"),
        ("beyond:B-10", Bounds(ResourceBounds(np.ones(2)), FINE), r"cpu_cores.target has the shape \(2,\), not \(1,\)"),
        ("beyond:B-10", Bounds(ResourceBounds(np.ones((1, 1))), FINE), r"the shape \(1, 1\)"),
        ("beyond:B-10", Bounds(FINE, ResourceBounds(np.ones(1), np.ones(0))), r"memory_bytes.lower has the shape"),
        ("beyond:B-10", Bounds(FINE, ResourceBounds(np.ones(1), None, np.ones(3))), r"memory_bytes.upper has"),
    ],
)
def test_what_has_not_the_form_of_an_answer(row: str, given_answer: object, message: str) -> None:
    with pytest.raises(MisshapenError, match=message):
        answer(given_answer, 1)


def test_an_answer_is_a_copy() -> None:
    target = np.array([1.0])
    found = answer(Bounds(ResourceBounds(target), FINE), 1)
    target[0] = 7.0
    assert found.cpu[TARGET, 0] == 1.0
