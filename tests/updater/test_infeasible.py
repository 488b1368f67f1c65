"""Memory of infeasible recommendations."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from autoscaling.vpa import Recommendation
from tests.builders import recommended
from updater.infeasible import InfeasibleMemory


def targets(**by_container: str) -> Recommendation:
    """Return a recommendation with these targets."""
    return Recommendation(tuple(recommended(name, text) for name, text in by_container.items()))


OLD = targets(c="2/4Gi", d="1/1Gi")
MEMORY = InfeasibleMemory().remembering({"u": OLD})


@pytest.mark.parametrize(
    ("row", "new", "held_back"),
    [
        ("updater:C-3.5", OLD, True),
        ("updater:C-3.5", targets(c="2/4294967295", d="1/1Gi"), False),
        ("updater:C-3.5", targets(c="1999m/8Gi", d="8/8Gi"), False),
        ("updater:C-3.5", targets(c="2001m/5Gi", d="1/1Gi"), True),
        ("updater:C-3.5", targets(c="2/4Gi", d="999999u/1Gi"), False),
        ("updater:C-3.5", targets(c="2/4Gi"), True),
        ("updater:C-3.5", targets(e="1m/1"), True),
        ("updater:C-3.5", targets(c="-/4Gi"), True),
        ("updater:C-3.5", targets(c="-/3Gi"), False),
        ("updater:C-3.5", Recommendation(), True),
        ("updater:P-7", None, True),
    ],
)
def test_what_is_held_back(row: str, new: Recommendation | None, held_back: bool) -> None:
    assert MEMORY.holds_back("u", new) is held_back


def test_nothing_is_held_back_for_a_pod_without_memory() -> None:
    assert not MEMORY.holds_back("v", OLD)
    assert not MEMORY.holds_back("v", None)


@given(st.integers(1, 10**6), st.integers(1, 10**6))
def test_only_less_is_tried_again(old: int, new: int) -> None:
    memory = InfeasibleMemory().remembering({"u": targets(c=f"{old}m")})
    assert memory.holds_back("u", targets(c=f"{new}m")) is (new >= old)


def test_entries_go_with_their_pods() -> None:
    both = MEMORY.remembering({"v": OLD})
    assert both.keeping({"v", "w"}) == InfeasibleMemory({"v": OLD})
    assert both.keeping({"u", "v"}) is both


def test_a_newer_entry_replaces_the_older() -> None:
    lower = targets(c="1/1Gi")
    assert MEMORY.remembering({"u": lower}).recommendations == {"u": lower}
    assert MEMORY.remembering({}) is MEMORY
