"""What a Job does next."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evenkeel.simulator.controllers.job_plan import (
    Ending,
    Progress,
    backoff,
    free_indexes,
    read_indexes,
    verdict,
    wanted_active,
    write_indexes,
)

NOW = datetime(2026, 1, 1, tzinfo=UTC)
SECOND = timedelta(seconds=1)
BEGUN = Progress(parallelism=2, completions=3, backoff_limit=2, deadline=None, succeeded=0, failed=0, active=2)


@pytest.mark.parametrize(
    ("row", "progress", "reason"),
    [
        ("it goes on", BEGUN, ""),
        ("as many failures as allowed", replace(BEGUN, failed=2), ""),
        ("one more", replace(BEGUN, failed=3), "BackoffLimitExceeded"),
        ("no failure allowed", replace(BEGUN, backoff_limit=0, failed=1), "BackoffLimitExceeded"),
        ("restarts below the limit", replace(BEGUN, restarts=1), ""),
        ("restarts at the limit", replace(BEGUN, restarts=2), "BackoffLimitExceeded"),
        ("any restart when none is allowed", replace(BEGUN, backoff_limit=0, restarts=1), "BackoffLimitExceeded"),
        ("before the deadline", replace(BEGUN, deadline=NOW + SECOND), ""),
        ("at the deadline", replace(BEGUN, deadline=NOW), "DeadlineExceeded"),
        ("one success too few", replace(BEGUN, succeeded=2), ""),
        ("enough successes", replace(BEGUN, succeeded=3), "CompletionsReached"),
        ("a work queue with active pods", replace(BEGUN, completions=None, succeeded=1, active=1), ""),
        ("a work queue at its end", replace(BEGUN, completions=None, succeeded=1, active=0), "CompletionsReached"),
        ("a work queue that has not begun", replace(BEGUN, completions=None, active=0), ""),
        ("nothing to do", replace(BEGUN, completions=0, active=0), "CompletionsReached"),
    ],
)
def test_how_it_ends(row: str, progress: Progress, reason: str) -> None:
    found = verdict(progress, NOW)
    assert (found.reason if found else "") == reason, row
    if found is not None:
        assert (found.ending is Ending.COMPLETE) is (reason == "CompletionsReached")


@pytest.mark.parametrize(
    ("row", "progress", "count"),
    [
        ("as many as may run", BEGUN, 2),
        ("fewer at the end", replace(BEGUN, succeeded=2), 1),
        ("none when all is done", replace(BEGUN, succeeded=4), 0),
        ("a work queue before its first success", replace(BEGUN, completions=None, active=0), 2),
        ("and after it", replace(BEGUN, completions=None, succeeded=1, active=1), 1),
        ("none may run", replace(BEGUN, parallelism=0), 0),
    ],
)
def test_how_many_should_run(row: str, progress: Progress, count: int) -> None:
    assert wanted_active(progress) == count, row


@pytest.mark.parametrize(("failures", "seconds"), [(0, 0), (1, 10), (2, 20), (6, 320), (7, 600), (100, 600)])
def test_the_time_between_tries_doubles_up_to_a_limit(failures: int, seconds: int) -> None:
    assert backoff(failures) == timedelta(seconds=seconds)


@pytest.mark.parametrize(
    ("text", "indexes"),
    [("", []), ("0", [0]), ("0,1", [0, 1]), ("0-2,5", [0, 1, 2, 5]), ("1,3-5,7,8", [1, 3, 4, 5, 7, 8])],
)
def test_indexes_as_text(text: str, indexes: list[int]) -> None:
    assert read_indexes(text) == frozenset(indexes)
    assert write_indexes(indexes) == text


@given(st.sets(st.integers(0, 40)))
def test_indexes_survive_being_written(indexes: set[int]) -> None:
    assert read_indexes(write_indexes(indexes)) == indexes


def test_the_lowest_free_indexes_come_first() -> None:
    assert free_indexes(6, [0, 2], 3) == [1, 3, 4]
    assert free_indexes(3, [0, 2], 3) == [1]
