"""Many cases: sharing out, counting, several processes."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from e2e.parity.campaign import Finding, Share, Tally, run, shares, taken
from e2e.parity.comparison import Difference
from e2e.parity.labs import KINDS
from e2e.parity.trial import Outcome, Verdict
from e2e.parity.upstream import Upstream
from tests.e2e_parity.oracles import oracle

pytestmark = pytest.mark.lengthy

OURS = """sys.path.insert(0, {root!r})
from e2e.parity.labs import KINDS
return {{"answer": KINDS[question["kind"]].answer(question)}}"""
ROOT = Path(__file__).parent.parent.parent


@given(st.dictionaries(st.sampled_from(sorted(KINDS)), st.integers(0, 2000), min_size=1))
def test_shares_cover_every_case_once(counts: dict[str, int]) -> None:
    work = shares(counts, "s")
    for kind, count in counts.items():
        covered = [n for share in work if share.kind == kind for n in range(share.first, share.first + share.count)]
        assert sorted(covered) == list(range(count))
    assert all(share.seed == "s" for share in work)


def finding(verdict: Verdict, number: int = 0, crash: str = "") -> Finding:
    difference = Difference("a", 1, 2) if verdict is Verdict.DIFFERENT else None
    return Finding("k", number, Outcome(verdict, difference, crash))


def test_a_tally_counts_and_keeps_differences_and_one_example_of_each_crash() -> None:
    one, other = Tally(), Tally()
    one.add(finding(Verdict.SAME))
    one.add(finding(Verdict.DIFFERENT, 7))
    one.add(finding(Verdict.CRASHED, 8, "nil map"))
    other.add(finding(Verdict.CRASHED, 9, "nil map"))
    other.add(finding(Verdict.CRASHED, 10, "out of range"))
    other.add(finding(Verdict.UNDECIDED))
    one.merge(other)
    assert one.cases() == one.cases("k") == 6
    assert one.cases("other") == 0
    assert {verdict: one.count(verdict) for verdict in Verdict} == {
        Verdict.SAME: 1,
        Verdict.DIFFERENT: 1,
        Verdict.CRASHED: 3,
        Verdict.UNDECIDED: 1,
        Verdict.WANTED: 0,
    }
    assert [each.number for each in one.differences] == [7]
    assert {crash: (example.number, count) for crash, (example, count) in one.crashes.items()} == {
        "nil map": (8, 2),
        "out of range": (10, 1),
    }


def test_a_share_is_put_to_both_sides(tmp_path: Path) -> None:
    with Upstream(oracle(tmp_path, OURS.format(root=str(ROOT)))) as upstream:
        tally = taken(Share("quantities", "s", 3, 60), upstream)
    assert (tally.cases(), tally.count(Verdict.SAME)) == (60, 60)


def test_wrong_answers_are_found_by_their_numbers(tmp_path: Path) -> None:
    wrong = OURS.format(root=str(ROOT)).replace("return ", "found = ")
    body = f"""{wrong}
if len(question["texts"]) == 12:
    found["answer"].append("more")
return found"""
    kind = KINDS["quantities"]
    odd = [number for number in range(100, 140) if len(list_of(kind.case("s", number)["texts"])) == 12]
    with Upstream(oracle(tmp_path, body)) as upstream:
        tally = taken(Share("quantities", "s", 100, 40), upstream)
    assert odd
    assert [each.number for each in tally.differences] == odd
    assert tally.count(Verdict.SAME) == 40 - len(odd)


def list_of(value: object) -> list[object]:
    assert isinstance(value, list)
    return value


def test_shares_are_done_by_several_processes(tmp_path: Path) -> None:
    program = oracle(tmp_path, 'return {"crash": "every time"}')
    work = shares({"quantities": 600, "histogram": 30}, "s")
    total = Tally()
    for share, tally in run(program, work, workers=2):
        assert tally.cases(share.kind) == share.count
        total.merge(tally)
    assert total.count(Verdict.CRASHED) == total.cases() == 630
