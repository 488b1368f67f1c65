"""Cases and their times."""

from __future__ import annotations

from datetime import UTC, datetime

from hypothesis import given
from hypothesis import strategies as st

from e2e.parity.dice import Dice
from e2e.parity.kinds import Case, Kind, dated

AT = datetime(2026, 1, 1, 12, tzinfo=UTC)
ECHO = Kind("echo", lambda dice: {"drawn": dice.whole(0, 10**9)}, lambda question: question)


def test_ages_become_times_wherever_they_stand() -> None:
    given_case: Case = {"a": {"ago": 60}, "b": [{"c": {"ago": 0}}, 1], "ago": 5}
    assert dated(given_case, AT) == {
        "a": "2026-01-01T11:59:00Z",
        "b": [{"c": "2026-01-01T12:00:00Z"}, 1],
        "ago": 5,
    }


@given(st.text(max_size=4), st.integers(0, 1000))
def test_a_case_depends_on_seed_and_number_alone(seed: str, number: int) -> None:
    assert ECHO.case(seed, number) == ECHO.case(seed, number)
    assert ECHO.case(seed, number) != ECHO.case(seed, number + 1)
    assert ECHO.case(seed, number)["kind"] == "echo"


def test_a_kind_asks_its_case_as_it_is_unless_told_otherwise() -> None:
    case = ECHO.case("s", 1)
    assert ECHO.question(case, AT) is case
    assert ECHO.read(case, 5) == 5
    assert ECHO.draw(Dice("q")) == ECHO.draw(Dice("q"))
