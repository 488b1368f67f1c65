"""What a Job does next, decided from how far it is: pure."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum

FIRST_BACKOFF, LONGEST_BACKOFF = timedelta(seconds=10), timedelta(minutes=10)
"""How long after a failed pod its replacement waits; twice as long after each further failure in a row."""


class Ending(StrEnum):
    """How a Job ends: the condition that its status gets in the end."""

    COMPLETE = "Complete"
    FAILED = "Failed"

    @property
    def announced_by(self) -> str:
        """The condition that it gets first, while pods are still going away."""
        return "SuccessCriteriaMet" if self is Ending.COMPLETE else "FailureTarget"


@dataclass(frozen=True, slots=True)
class Verdict:
    """That a Job has come to its end, and why."""

    ending: Ending
    reason: str
    message: str


@dataclass(frozen=True, slots=True)
class Progress:
    """How far a Job is.

    Args:
        parallelism: How many pods may run at a time.
        completions: How many must succeed; None when one success ends it.
        backoff_limit: How many may fail.
        deadline: When it is over whatever has become of it; None without one.
        succeeded: How many pods have succeeded.
        failed: How many have failed.
        active: How many are neither finished nor going.
        restarts: How often the containers of active pods have restarted, when the kubelet restarts them; else 0.
    """

    parallelism: int
    completions: int | None
    backoff_limit: int
    deadline: datetime | None
    succeeded: int
    failed: int
    active: int
    restarts: int = 0


def verdict(progress: Progress, now: datetime) -> Verdict | None:
    """Return how a Job ends now, None when it goes on."""
    if progress.failed > progress.backoff_limit or _restarted_too_often(progress):
        message = f"more than {progress.backoff_limit} pods or containers have failed"
        return Verdict(Ending.FAILED, "BackoffLimitExceeded", message)
    if progress.deadline is not None and now >= progress.deadline:
        return Verdict(Ending.FAILED, "DeadlineExceeded", "it was active for longer than spec.activeDeadlineSeconds")
    if progress.completions is None:
        done = progress.succeeded > 0 and progress.active == 0
    else:
        done = progress.succeeded >= progress.completions
    return Verdict(Ending.COMPLETE, "CompletionsReached", "as many pods as wanted have succeeded") if done else None


def wanted_active(progress: Progress) -> int:
    """Return how many pods should be active now."""
    if progress.completions is None:
        return progress.active if progress.succeeded else progress.parallelism
    return min(progress.parallelism, max(0, progress.completions - progress.succeeded))


def _restarted_too_often(progress: Progress) -> bool:
    """Say whether containers have restarted as often as pods may fail; without any allowance, more than never."""
    return progress.restarts > 0 if progress.backoff_limit == 0 else progress.restarts >= progress.backoff_limit


def backoff(failures_in_row: int) -> timedelta:
    """Return how long after the last of so many failures the next pod may be created."""
    if failures_in_row <= 0:
        return timedelta(0)
    doublings: int = 1 << min(failures_in_row - 1, 10)
    return min(LONGEST_BACKOFF, FIRST_BACKOFF * doublings)


def free_indexes(completions: int, taken: Iterable[int], count: int) -> list[int]:
    """Return the lowest indexes of an indexed Job that are neither done nor being worked on."""
    occupied = set(taken)
    return [index for index in range(completions) if index not in occupied][:count]


def read_indexes(text: str) -> frozenset[int]:
    """Read indexes as a Job's status writes them, such as ``0-2,5``."""
    found: set[int] = set()
    for part in filter(None, text.split(",")):
        first, _, last = part.partition("-")
        found.update(range(int(first), int(last or first) + 1))
    return frozenset(found)


def write_indexes(indexes: Iterable[int]) -> str:
    """Return indexes as a Job's status writes them."""
    runs: list[list[int]] = []
    for index in sorted(set(indexes)):
        if runs and index == runs[-1][-1] + 1:
            runs[-1].append(index)
        else:
            runs.append([index])
    return ",".join(_run(run) for run in runs)


def _run(run: list[int]) -> str:
    """Return one run of indexes; two that follow each other are written one by one."""
    if len(run) == 1:
        return str(run[0])
    return f"{run[0]},{run[1]}" if len(run) == 2 else f"{run[0]}-{run[-1]}"
