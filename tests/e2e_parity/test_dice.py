"""Seeded choices."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from e2e.parity.dice import Dice


def draws(seed: str) -> list[object]:
    dice = Dice(seed)
    return [dice.whole(0, 9), dice.pick("a", "b"), dice.share(), dice.chance(0.5), dice.some(range(9), 4)]


@given(st.text(max_size=5))
def test_a_seed_always_draws_the_same(seed: str) -> None:
    assert draws(seed) == draws(seed)


def test_different_seeds_draw_different_things() -> None:
    assert len({str(draws(str(number))) for number in range(50)}) > 45


@given(st.text(max_size=3), st.integers(0, 6), st.integers(0, 6))
def test_some_draws_different_ones_within_bounds(seed: str, most: int, least: int) -> None:
    drawn = Dice(seed).some("abcd", max(most, least), min(least, 4))
    assert min(least, 4) <= len(drawn) <= max(most, least)
    assert len(set(drawn)) == len(drawn)


@given(st.text(max_size=3), st.floats(0.001, 10), st.floats(11, 1e9))
def test_magnitudes_lie_between_their_ends(seed: str, least: float, most: float) -> None:
    assert least <= Dice(seed).magnitude(least, most) <= most * 1.000001


def test_chances_come_in_their_share() -> None:
    dice = Dice("x")
    assert 200 < sum(dice.chance(0.3) for _ in range(1000)) < 400
    assert not any(dice.chance(0.0) for _ in range(100))
    assert all(dice.chance(1.0) for _ in range(100))
