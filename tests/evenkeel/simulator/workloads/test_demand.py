"""Demand: adding, scaling, going from one to another."""

from __future__ import annotations

from datetime import timedelta

from hypothesis import given
from hypothesis import strategies as st

from evenkeel.simulator.workloads.demand import NOTHING, Behaviour, Demand, Idle

demands = st.builds(Demand, st.floats(0, 100), st.integers(0, 2**40), st.integers(0, 2**40))


@given(demands, demands)
def test_addition_has_a_neutral_element_and_no_order(left: Demand, right: Demand) -> None:
    assert left.plus(NOTHING) == left
    assert left.plus(right) == right.plus(left)


@given(demands, demands)
def test_the_way_begins_and_ends_where_it_should(left: Demand, right: Demand) -> None:
    assert left.towards(right, 0.0) == left
    assert left.towards(right, 1.0) == right


def test_scaling_rounds_bytes() -> None:
    assert Demand(0.5, 3, 5).times(0.5) == Demand(0.25, 2, 2)


def test_an_idle_container_wants_nothing_and_never_ends() -> None:
    assert Idle().at(timedelta(hours=1), 3) == NOTHING
    behaviour = Behaviour()
    assert behaviour.exits_after is None
    assert behaviour.since_start.at(timedelta(0), 0) == NOTHING
