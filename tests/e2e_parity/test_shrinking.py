"""Making a case small."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from e2e.parity.kinds import Case
from e2e.parity.shrinking import shrunk

LARGE: Case = {
    "kind": "k",
    "flags": {"on": True, "size": 40, "ratio": 1.5},
    "pods": [{"name": f"p{index}", "labels": {"app": "a"}, "restarts": index} for index in range(9)],
    "text": "left as it is",
}


def pods(case: Case) -> list[Case]:
    found = case.get("pods", [])
    assert isinstance(found, list)
    return found


@pytest.mark.parametrize(
    ("is_interesting", "small"),
    [
        (lambda _: True, {"kind": "k"}),
        (lambda case: any(pod.get("restarts") == 7 for pod in pods(case)), {"kind": "k", "pods": [{"restarts": 7}]}),
        (lambda case: len(pods(case)) >= 3, {"kind": "k", "pods": [{}, {}, {}]}),
        (lambda case: "text" in case, {"kind": "k", "text": "left as it is"}),
        (lambda case: case.get("flags", {}).get("size", 0) > 8, {"kind": "k", "flags": {"size": 40}}),
    ],
)
def test_what_can_go_is_gone(is_interesting: Callable[[Case], bool], small: Case) -> None:
    assert shrunk(LARGE, is_interesting) == small


@given(st.sets(st.integers(0, 8), min_size=1))
def test_the_result_is_interesting_and_the_case_unchanged(wanted: set[int]) -> None:
    def is_interesting(case: Case) -> bool:
        return wanted <= {pod.get("restarts") for pod in pods(case)}

    before = str(LARGE)
    small = shrunk(LARGE, is_interesting)
    assert is_interesting(small)
    assert len(pods(small)) == len(wanted)
    assert str(LARGE) == before


def test_the_number_of_trials_is_bounded() -> None:
    asked: list[Case] = []

    def is_interesting(case: Case) -> bool:
        asked.append(case)
        return False

    assert shrunk(LARGE, is_interesting, most_trials=5) == LARGE
    assert len(asked) == 5
