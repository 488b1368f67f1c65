"""Whether and when a call is tried again."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from autoscaling.errors import ApiError, ApiRefusedError, ApiUnreachableError, StatusCause
from autoscaling.kube.retry import ONE_TRY, Failure, Patience, Progress, failure_of_refusal, pause_before_retry

PLAIN = Patience(attempts=3, first_seconds=0.1, factor=3.0, ceiling_seconds=10.0, jitter=0.0, total_seconds=60.0)
FIRST = Progress(failures=1, elapsed_seconds=0.0, dice=0.0)
BUDGET = (StatusCause("DisruptionBudget", "", ""),)


def refused(code: int, causes: tuple[StatusCause, ...] = (), after: float | None = None) -> Failure:
    return failure_of_refusal(ApiRefusedError("V /p", code, causes=causes, retry_after_seconds=after))


def silent(*, may_have_run: bool) -> Failure:
    return Failure(ApiUnreachableError("V /p"), may_have_run)


@pytest.mark.parametrize(
    ("spec", "failure", "repeatable", "pause"),
    [
        ("updater:M-7", refused(500), True, 0.1),
        ("updater:M-7", refused(503), True, 0.1),
        ("updater:M-7", refused(504), True, 0.1),
        ("updater:M-7", refused(429), True, 0.1),
        ("updater:M-7", silent(may_have_run=True), True, 0.1),
        ("updater:M-7", refused(404), True, None),
        ("updater:M-7", refused(403), True, None),
        ("updater:M-7", refused(409), True, None),
        ("updater:M-7", refused(410), True, None),
        ("updater:M-7", refused(422), True, None),
        ("updater:M-7", refused(499), True, None),
        # An eviction: the budget's no is an answer, a busy server's is not, and an error may mean that it was done.
        ("resize:4", refused(429, BUDGET), False, None),
        ("resize:4", refused(429, BUDGET, after=10), True, None),
        ("resize:4", refused(429), False, 0.1),
        ("resize:4", refused(500), False, None),
        ("resize:4", silent(may_have_run=True), False, None),
        ("resize:4", silent(may_have_run=False), False, 0.1),
    ],
)
def test_which_failures_pass(spec: str, failure: Failure, repeatable: bool, pause: float | None) -> None:
    assert pause_before_retry(PLAIN, failure, repeatable=repeatable, progress=FIRST) == pause


@pytest.mark.parametrize(
    ("spec", "failures", "pause"),
    [
        ("updater:M-7", 1, 0.1),
        ("updater:M-7", 2, pytest.approx(0.3)),
        ("updater:M-7", 3, None),
        ("updater:M-7", 4, None),
    ],
)
def test_pauses_grow_and_tries_end(spec: str, failures: int, pause: float | None) -> None:
    progress = Progress(failures, 0.0, 0.0)
    assert pause_before_retry(PLAIN, refused(500), repeatable=True, progress=progress) == pause


@pytest.mark.parametrize(
    ("after", "pause"),
    [(None, 0.1), (0.0, 0.1), (5.0, 5.0), (60.0, 60.0), (61.0, None)],
)
def test_the_server_may_ask_for_more_time_but_not_beyond_the_deadline(after: float | None, pause: float | None) -> None:
    assert pause_before_retry(PLAIN, refused(429, after=after), repeatable=True, progress=FIRST) == pause


@pytest.mark.parametrize(("elapsed", "pause"), [(59.9, 0.1), (59.91, None)])
def test_no_try_starts_after_the_deadline(elapsed: float, pause: float | None) -> None:
    progress = Progress(1, elapsed, 0.0)
    assert pause_before_retry(PLAIN, refused(500), repeatable=True, progress=progress) == pause


def test_one_try_is_one_try() -> None:
    assert pause_before_retry(ONE_TRY, refused(500), repeatable=True, progress=FIRST) is None


@pytest.mark.parametrize(
    ("error", "may_have_run"),
    [
        (ApiRefusedError("V /p", 500), True),
        (ApiRefusedError("V /p", 429), False),
        (ApiRefusedError("V /p", 409), False),
    ],
)
def test_only_a_server_error_leaves_open_what_happened(error: ApiRefusedError, may_have_run: bool) -> None:
    assert failure_of_refusal(error) == Failure(error, may_have_run)


@given(failures=st.integers(1, 5000), dice=st.floats(0, 1, exclude_max=True))
def test_pauses_stay_between_the_plain_one_and_its_jitter(failures: int, dice: float) -> None:
    patience = Patience(first_seconds=0.5, factor=2.0, ceiling_seconds=30.0, jitter=0.5)
    plain = min(0.5 * 2.0 ** min(failures - 1, 20), 30.0)
    assert plain <= patience.pause(failures, dice) <= plain * 1.5


def test_errors_are_told_apart_by_type_only() -> None:
    failure = Failure(ApiError("some other"), may_have_run=False)
    assert pause_before_retry(PLAIN, failure, repeatable=True, progress=FIRST) == 0.1
