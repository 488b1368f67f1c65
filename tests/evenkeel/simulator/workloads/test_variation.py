"""Noise and differences between replicas: repeatable, within bounds, and not all the same."""

from __future__ import annotations

from datetime import timedelta

from hypothesis import given
from hypothesis import strategies as st

from evenkeel.simulator.workloads.demand import Demand
from evenkeel.simulator.workloads.functions import Constant, Ramp
from evenkeel.simulator.workloads.variation import Noisy, Skewed, between, fraction

STEADY = Constant(Demand(1.0, 1000, 100))
SECOND = timedelta(seconds=1)


@given(st.integers(), st.text())
def test_a_fraction_is_repeatable_and_below_one(number: int, word: str) -> None:
    assert 0.0 <= fraction(number, word) < 1.0
    assert fraction(number, word) == fraction(number, word)


def test_fractions_are_spread_evenly() -> None:
    found = [fraction("even", number) for number in range(4000)]
    assert abs(sum(found) / len(found) - 0.5) < 0.02
    assert sum(1 for f in found if f < 0.1) in range(320, 480)


def test_the_order_of_a_key_matters() -> None:
    assert fraction(1, 2) != fraction(2, 1)


def test_between_two_bounds() -> None:
    assert all(2.0 <= between(2.0, 3.0, (number,)) < 3.0 for number in range(100))


def test_replicas_get_shares_of_their_own() -> None:
    skewed = Skewed(STEADY, seed=1, spread=0.2)
    shares = [skewed.at(SECOND, replica).cpu_cores for replica in range(50)]
    assert all(0.8 <= share <= 1.2 for share in shares)
    assert len(set(shares)) == 50
    assert shares == [skewed.at(99 * SECOND, replica).cpu_cores for replica in range(50)]
    assert shares[0] != Skewed(STEADY, seed=2, spread=0.2).at(SECOND, 0).cpu_cores
    assert skewed.at(SECOND, 3).working_set_bytes == round(1000 * shares[3])


def test_replicas_are_late_by_times_of_their_own() -> None:
    ramp = Ramp(Demand(0.0), Demand(100.0), 100 * SECOND)
    late = [50.0 - Skewed(ramp, spread=0.0, delay=10 * SECOND).at(50 * SECOND, r).cpu_cores for r in range(20)]
    assert all(0.0 <= delay <= 10.0 for delay in late)
    assert len(set(late)) == 20


def test_noise_holds_for_a_step_and_spares_memory() -> None:
    noisy = Noisy(STEADY, amplitude=0.1, step=5 * SECOND)
    found = [noisy.at(number * SECOND, 0) for number in range(100)]
    assert all(0.9 <= demand.cpu_cores <= 1.1 for demand in found)
    assert len({demand.cpu_cores for demand in found}) == 20
    assert {(demand.working_set_bytes, demand.cache_bytes) for demand in found} == {(1000, 100)}
    assert noisy.at(SECOND, 1) != noisy.at(SECOND, 0)
