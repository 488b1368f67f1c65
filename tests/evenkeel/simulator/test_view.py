"""A run as it is shown: lines, the picture, the report."""

from __future__ import annotations

import io
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta

import pytest
from rich.console import Console

from autoscaling.behaviour import Profile
from evenkeel.simulator.scenarios.checks import Outcome
from evenkeel.simulator.scenarios.happenings import Done, Happening, Told, Used
from evenkeel.simulator.scenarios.reading import parse_scenario
from evenkeel.simulator.scenarios.running import Result
from evenkeel.simulator.view import Lines, Screen, clock, is_notable, report
from tests.evenkeel.simulator.scenarios.scene import SCENARIO, created, decided, told

AT = timedelta(seconds=61)
USED = Used(AT, "web-a", "main", "1m", "1Mi")


@contextmanager
def console(*, terminal: bool = False) -> Iterator[tuple[Console, io.StringIO]]:
    output = io.StringIO()
    yield Console(file=output, width=100, force_terminal=terminal, color_system=None), output


@pytest.mark.parametrize(
    ("passed", "text"),
    [(timedelta(0), "0:00:00"), (timedelta(seconds=61.9), "0:01:01"), (timedelta(hours=26, minutes=3), "26:03:00")],
)
def test_clock(passed: timedelta, text: str) -> None:
    assert clock(passed) == text


@pytest.mark.parametrize(
    ("happening", "is_shown"),
    [
        (USED, False),
        (told(1, "Scheduled", "a"), False),
        (told(1, "ResizeDeferred", "a"), True),
        (decided(1, "a"), True),
        (created("a"), True),
    ],
)
def test_routine_is_left_out(happening: Happening, is_shown: bool) -> None:
    assert is_notable(happening) is is_shown


def test_lines_have_times_and_are_never_wrapped() -> None:
    with console() as (screen, output), Lines(screen) as lines:
        lines.take(Told(AT, "Reason", "Pod", "a", "default", "x " * 100, "kubelet"))
        lines.take(USED)
        lines.take(Done(AT, "[something] happened"))
        lines.tick(AT)
    assert output.getvalue().splitlines() == [
        "0:01:01  event Reason on Pod a: " + ("x " * 100).rstrip() + " ",
        "0:01:01  scenario: [something] happened",
    ]


def test_the_picture_shows_the_last_lines_and_the_time() -> None:
    scenario = parse_scenario(SCENARIO, "made up")
    with console(terminal=True) as (screen, output):
        picture = Screen(screen, scenario, Profile.UPSTREAM)
        for number in range(30):
            picture.take(Done(AT, f"step {number}"))
        picture.take(USED)
        screen.print(picture.frame())
    shown = output.getvalue()
    assert "Made up" in shown
    assert "profile upstream  0:00:00 of 0:10:00" in shown
    assert "scenario: step 29" in shown
    assert "scenario: step 13" not in shown


def test_a_picture_is_drawn_at_most_so_often_and_goes_at_the_end() -> None:
    scenario = parse_scenario(SCENARIO, "made up")
    with console(terminal=True) as (screen, output):
        with Screen(screen, scenario, Profile.EVENKEEL) as picture:
            assert "the processes are starting" in output.getvalue()
            for second in range(1, 50):
                picture.tick(timedelta(seconds=second))
        shown = output.getvalue()
    assert "0:00:01 of" in shown
    assert "0:00:02 of" not in shown, "the next frame would come in a tenth of a second"


def render(result: Result) -> str:
    with console() as (screen, output):
        for part in report(result):
            screen.print(part)
    return output.getvalue()


def test_the_report_of_a_good_end() -> None:
    shown = render(Result((Outcome("all is well", ()),), (created("a"), decided(1, "a"))))
    assert "1  decisions to evict" in shown
    assert "1  pods created" in shown
    assert "yes  all is well" in shown
    assert shown.rstrip().endswith("The expected end state was reached.")


def test_the_report_of_a_bad_end_says_what_was_found() -> None:
    outcomes = (Outcome("all is well", ()), Outcome("nothing broke", ("web-a: 3 restarts", "web-b: 1 restarts")))
    shown = render(Result(outcomes, ()))
    assert "NO   nothing broke" in shown
    assert "found: web-a: 3 restarts; web-b: 1 restarts" in shown
    assert "not reached: 1 of 2 do not hold" in shown
    assert not Result(outcomes, ()).holds
