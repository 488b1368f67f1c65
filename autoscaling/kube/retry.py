"""Whether a failed call is tried again, and after how long: decided from the failure alone."""

from __future__ import annotations

from dataclasses import dataclass

from autoscaling.errors import ApiError, ApiRefusedError
from autoscaling.kube.refusals import TOO_MANY_REQUESTS, is_budget_refusal


@dataclass(frozen=True, slots=True)
class Patience:
    """How long one call may take and how often it is tried.

    Args:
        attempts: Tries in total; 1 means never again.
        first_seconds: Pause after the first failure.
        factor: By how much each further pause is longer.
        ceiling_seconds: Longest pause that is our own choice; the server may ask for a longer one.
        jitter: Share of the pause that is added at random, 0 for none.
        attempt_seconds: Deadline of one try.
        total_seconds: No further try starts when its pause would end later than this after the first.
        is_unlimited: Whether it goes at once, out of turn, and counts towards no limit of calls. Meant for what bounds
            itself and must not be late, such as the renewal of a Lease.
    """

    attempts: int = 4
    first_seconds: float = 0.1
    factor: float = 2.0
    ceiling_seconds: float = 10.0
    jitter: float = 0.5
    attempt_seconds: float = 60.0
    total_seconds: float = 120.0
    is_unlimited: bool = False

    def pause(self, failures: int, dice: float) -> float:
        """Seconds between one failure and the next try.

        Args:
            failures: How many in a row, the last one included; at least 1.
            dice: A number from 0 up to 1.
        """
        steps = min(failures - 1, 64)
        return min(self.first_seconds * self.factor**steps, self.ceiling_seconds) * (1.0 + self.jitter * dice)


ONE_TRY = Patience(attempts=1)


@dataclass(frozen=True, slots=True)
class Failure:
    """One try that did not succeed.

    Args:
        error: What the caller will see if it was the last one.
        may_have_run: Whether the server may have carried the call out all the same.
    """

    error: ApiError
    may_have_run: bool


@dataclass(frozen=True, slots=True)
class Progress:
    """How far a call has come.

    Args:
        failures: Tries so far, all failed.
        elapsed_seconds: Time since the first try began.
        dice: A number from 0 up to 1, for the jitter.
    """

    failures: int
    elapsed_seconds: float
    dice: float


def failure_of_refusal(error: ApiRefusedError) -> Failure:
    """Judge an answer: only a server-side error leaves open whether the call was carried out."""
    return Failure(error, may_have_run=error.code >= 500)


def pause_before_retry(patience: Patience, failure: Failure, *, repeatable: bool, progress: Progress) -> float | None:
    """Say how long to wait before trying again, or that there is no use in it.

    Args:
        patience: Limits of this call.
        failure: The last try's failure.
        repeatable: Whether carrying the call out twice is the same as once.
        progress: Tries and time so far.

    Returns:
        Seconds to wait, or None when the failure is final.

    Spec: resize section 4 (a budget's refusal is an answer, throttling is not).
    """
    if progress.failures >= patience.attempts or not _is_passing(failure.error):
        return None
    if failure.may_have_run and not repeatable:
        return None
    pause = patience.pause(progress.failures, progress.dice)
    if isinstance(failure.error, ApiRefusedError) and failure.error.retry_after_seconds is not None:
        pause = max(pause, failure.error.retry_after_seconds)
    return pause if progress.elapsed_seconds + pause <= patience.total_seconds else None


def _is_passing(error: ApiError) -> bool:
    """Say whether the same call may well succeed a moment later."""
    if not isinstance(error, ApiRefusedError):
        return True
    if error.code == TOO_MANY_REQUESTS:
        return not is_budget_refusal(error)
    return error.code >= 500
