"""Which cases make up which lab."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from e2e.parity.labs import KINDS, LABS, counts_of


@given(st.none() | st.sampled_from(sorted(LABS)), st.integers(0, 300_000))
def test_all_cases_are_shared_out(only: str | None, cases: int) -> None:
    counts = counts_of(only, cases)
    assert sum(counts.values()) == cases
    assert min(counts.values()) >= 0
    assert set(counts) == {kind for name, lab in LABS.items() if only in {None, name} for kind in lab.shares}


@pytest.mark.parametrize(("only", "cases"), [("recommender", 20_000), ("updater", 5_000), ("admission", 10_000)])
def test_a_lab_has_its_own_number_of_cases(only: str, cases: int) -> None:
    assert sum(counts_of(only, None).values()) == cases
    assert {name: count for name, count in counts_of(None, None).items() if name in LABS[only].shares} == counts_of(
        only, None
    )


def test_every_kind_belongs_to_one_lab() -> None:
    named = [kind for lab in LABS.values() for kind in lab.shares]
    assert sorted(named) == sorted(KINDS)
    assert all(sum(lab.shares.values()) == 100 for lab in LABS.values())
