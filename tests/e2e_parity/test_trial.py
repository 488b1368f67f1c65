"""One case put to both sides."""

from __future__ import annotations

from pathlib import Path

import pytest

from e2e.parity.comparison import Difference
from e2e.parity.kinds import Case, Kind
from e2e.parity.trial import Failed, Outcome, Verdict, our_answer, outcome, still_differs, tried
from e2e.parity.upstream import Upstream
from tests.e2e_parity.oracles import oracle


def doubled(question: Case) -> object:
    number = question["number"]
    assert isinstance(number, int)
    return {"twice": number * 2, "list": [number]}


def in_pairs(question: Case, given: object) -> object:
    assert isinstance(given, list)
    return {"twice": given[0], "list": [given[1]]}


DOUBLE = Kind("double", lambda _: {"number": 4}, doubled, in_pairs)


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ('return {"answer": [8, 4]}', Outcome(Verdict.SAME)),
        ('return {"answer": [9, 4]}', Outcome(Verdict.DIFFERENT, Difference("twice", 8, 9))),
        ('return {"crash": "nil map"}', Outcome(Verdict.CRASHED, crash="nil map")),
        (
            'return {"crash": "nil map"} if number > 5 else {"answer": [number, 4]}',
            Outcome(Verdict.CRASHED, crash="nil map"),
        ),
        (
            'return {"answer": [8 if number % 3 else 9, 4 if number % 2 else 5]}',
            Outcome(Verdict.UNDECIDED, Difference("list[0]", 4, 5)),
        ),
        (
            'return {"answer": [number % 2, 4]}',
            Outcome(Verdict.DIFFERENT, Difference("twice", 8, 1)),
        ),
        (
            'return {"refused": "no such field"}',
            Outcome(Verdict.DIFFERENT, Difference("(question)", "drawn", "refused: no such field")),
        ),
    ],
)
def test_how_a_case_comes_out(tmp_path: Path, body: str, expected: Outcome) -> None:
    with Upstream(oracle(tmp_path, body)) as upstream:
        assert tried(DOUBLE, {"number": 4}, upstream) == expected


def test_upstreams_first_word_can_be_taken_for_it(tmp_path: Path) -> None:
    with Upstream(oracle(tmp_path, 'return {"answer": [8 + number % 2, 4]}')) as upstream:
        reply = upstream.receive(upstream.send(DOUBLE, [{"number": 4}] * 2))[1]
        found = outcome(DOUBLE, {"number": 4}, our_answer(DOUBLE, {"number": 4}), reply, None)
        assert found == Outcome(Verdict.DIFFERENT, Difference("twice", 8, 9))
        again = outcome(DOUBLE, {"number": 4}, our_answer(DOUBLE, {"number": 4}), reply, upstream)
        assert again.verdict is Verdict.UNDECIDED


def test_a_rare_answer_of_upstream_is_waited_for(tmp_path: Path) -> None:
    with Upstream(oracle(tmp_path, 'return {"answer": [9 if number != 250 else 8, 4]}')) as upstream:
        assert tried(DOUBLE, {"number": 4}, upstream).verdict is Verdict.UNDECIDED


def test_a_difference_that_is_documented_is_told_apart(tmp_path: Path) -> None:
    def wanted(case: Case, ours: object, theirs: object) -> str:
        return "documented" if (case["number"], ours, theirs) == (4, {"twice": 8, "list": [4]}, [9, 4]) else ""

    kind = Kind("double", lambda _: {"number": 4}, doubled, in_pairs, wanted=wanted)
    with Upstream(oracle(tmp_path, 'return {"answer": question["seen"]}')) as upstream:
        assert tried(kind, {"number": 4, "seen": [9, 4]}, upstream).verdict is Verdict.WANTED
        assert tried(kind, {"number": 4, "seen": [10, 4]}, upstream).verdict is Verdict.DIFFERENT
        assert tried(kind, {"number": 4, "seen": [8, 4]}, upstream).verdict is Verdict.SAME


def test_an_answer_of_another_form_is_a_difference(tmp_path: Path) -> None:
    with Upstream(oracle(tmp_path, 'return {"answer": 5}')) as upstream:
        found = tried(DOUBLE, {"number": 4}, upstream)
    assert found.verdict is Verdict.DIFFERENT
    assert found.difference is not None
    assert found.difference.path == "(answer)"


def test_an_exception_of_ours_is_a_difference_even_where_upstream_crashes(tmp_path: Path) -> None:
    failed = our_answer(DOUBLE, {})
    assert isinstance(failed, Failed)
    assert failed.kind == "KeyError"
    assert "test_trial.py:" in failed.text
    with Upstream(oracle(tmp_path, 'return {"crash": "nil map"}')) as upstream:
        found = tried(DOUBLE, {}, upstream)
    assert found.verdict is Verdict.DIFFERENT
    assert found.difference is not None
    assert (found.difference.path, found.difference.theirs) == ("(exception)", "nil map")


@pytest.mark.parametrize(
    ("body", "case", "first", "differs"),
    [
        ('return {"answer": [0, 4]}', {"number": 4}, Difference("twice", 1, 2), True),
        ('return {"answer": [8, 0]}', {"number": 4}, Difference("twice", 1, 2), False),
        ('return {"answer": [8, 0]}', {"number": 4}, Difference("list[17]", 1, 2), True),
        ('return {"answer": [8, 4]}', {"number": 4}, Difference("twice", 1, 2), False),
        ('return {"crash": "x"}', {"number": 4}, Difference("twice", 1, 2), False),
        ('return {"refused": "x"}', {"number": 4}, Difference("(question)", 1, 2), False),
        ('return {"answer": []}', {}, Difference("(exception)", "KeyError: 'number'", 2), True),
        ('return {"answer": []}', {}, Difference("(exception)", "ValueError: 'number'", 2), False),
    ],
)
def test_a_smaller_case_has_to_differ_in_the_same_way(
    tmp_path: Path, body: str, case: Case, first: Difference, differs: bool
) -> None:
    with Upstream(oracle(tmp_path, body)) as upstream:
        assert still_differs(DOUBLE, case, first, upstream) is differs
