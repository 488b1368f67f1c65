"""The targets of fuzzing in short: what once broke a law, what they are meant for, and that with pieces exchanged."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.fuzz.catalogue import CASES, TARGETS, cases_of
from tests.fuzz.target import LawBrokenError, Target

_CASES = [(name, path) for name in TARGETS for path in cases_of(name)]
_REFUSED_SEEDS = {("workload", 4)}
"""A ReplicationController's selector is of another shape than those of all other kinds."""


@pytest.mark.parametrize(("name", "path"), _CASES, ids=lambda part: part.name if isinstance(part, Path) else part)
def test_what_once_broke_a_law_breaks_none(name: str, path: Path) -> None:
    TARGETS[name].check(path.read_bytes())


def test_every_kept_case_belongs_to_a_target() -> None:
    assert {folder.name for folder in CASES.iterdir()} <= set(TARGETS)
    assert len(_CASES) == sum(1 for path in CASES.rglob("*") if path.is_file())


@pytest.mark.parametrize("name", TARGETS)
def test_what_a_target_is_meant_for_is_taken(name: str) -> None:
    target = TARGETS[name]
    taken = [target.check(seed) or (name, number) in _REFUSED_SEEDS for number, seed in enumerate(target.seeds)]
    assert taken
    assert all(taken)


@st.composite
def _mutated(draw: st.DrawFn, target: Target) -> bytes:
    """Draw a seed in which some pieces are words, bytes or nothing."""
    data = draw(st.sampled_from(target.seeds))
    for _ in range(draw(st.integers(0, 4))):
        begin = draw(st.integers(0, len(data)))
        end = min(len(data), begin + draw(st.integers(0, 16)))
        data = data[:begin] + draw(st.sampled_from(target.words) | st.binary(max_size=8)) + data[end:]
    return data


@pytest.mark.parametrize("name", TARGETS)
@given(drawn=st.data())
def test_no_input_breaks_a_law(name: str, drawn: st.DataObject) -> None:
    target = TARGETS[name]
    target.check(drawn.draw(_mutated(target)))


def _endless(data: bytes) -> int:
    return 10**6 + 1000 * len(data)


def _silent(data: bytes) -> None:
    raise ValueError(data.decode())


@pytest.mark.parametrize(
    ("target", "data", "said"),
    [
        (Target("t", _endless), b"x", "1001000 bytes came of 1"),
        (Target("t", _silent, (ValueError,)), b"", "refused without a word"),
        (Target("t", lambda data: _silent(data * 1000), (ValueError,)), b"x" * 100, "a refusal of 100000 characters"),
    ],
)
def test_a_broken_law_is_told(target: Target, data: bytes, said: str) -> None:
    with pytest.raises(LawBrokenError, match=said):
        target.check(data)


def test_what_is_no_refusal_is_raised() -> None:
    with pytest.raises(ValueError, match="boom"):
        Target("t", _silent, (KeyError,)).check(b"boom")
