"""Which pods of a Job have been counted, so that each counts once, also one that is gone before it is looked at."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime

from evenkeel.simulator.api.fields import JsonObject, child, number, text
from evenkeel.simulator.api.store import Change, ChangeType, Stored
from evenkeel.simulator.controllers.index import controller_uid
from evenkeel.simulator.controllers.job_plan import backoff, read_indexes, write_indexes
from evenkeel.simulator.controllers.pod_state import LONG_AGO, is_going

INDEX_ANNOTATION = "batch.kubernetes.io/job-completion-index"


@dataclass(slots=True)
class Ledger:
    """What is known of one Job beyond its status."""

    counted: set[str] = field(default_factory=set)
    gone: list[Stored] = field(default_factory=list)
    failures_in_row: int = 0
    last_failure: datetime = LONG_AGO

    def next_creation(self) -> datetime:
        """Return from when on the next pod may be created."""
        if not self.failures_in_row:
            return LONG_AGO
        return self.last_failure + backoff(self.failures_in_row)


class Ledgers:
    """The ledgers of all Jobs."""

    def __init__(self) -> None:
        self._by_job: dict[str, Ledger] = {}

    def of(self, uid: str) -> Ledger:
        """Return the ledger of a Job."""
        return self._by_job.setdefault(uid, Ledger())

    def close(self, uid: str) -> None:
        """Forget a Job."""
        self._by_job.pop(uid, None)

    def note(self, change: Change) -> None:
        """Keep the last state of a pod that has gone before it was counted."""
        if change.type is ChangeType.DELETED:
            ledger = self._by_job.get(controller_uid(change.after.body))
            if ledger is not None and change.after.uid not in ledger.counted:
                ledger.gone.append(change.after)


def index_of(pod: JsonObject) -> int | None:
    """Return a pod's index in an indexed Job, None when it has none."""
    value = str(child(pod, "metadata", "annotations").get(INDEX_ANNOTATION, ""))
    return int(value) if value.isdecimal() else None


def tally(job: JsonObject, pods: list[Stored], ledger: Ledger, now: datetime) -> JsonObject:
    """Return a Job's status with newly finished pods counted, and note in the ledger that they are.

    A pod that is being deleted before it has succeeded counts as failed.

    Args:
        job: The Job's body.
        pods: Its pods.
        ledger: What has been counted.
        now: The time of new failures.
    """
    status = dict(child(job, "status"))
    done = set(read_indexes(text(status, "completedIndexes")))
    failed, succeeded = number(status, "failed"), number(status, "succeeded")
    gone, ledger.gone = ledger.gone, []
    for pod in [*pods, *gone]:
        phase, lost = text(pod.body, "status", "phase"), is_going(pod.body) or pod in gone
        if pod.uid in ledger.counted or not (lost or phase in {"Succeeded", "Failed"}):
            continue
        ledger.counted.add(pod.uid)
        if phase == "Succeeded":
            succeeded, ledger.failures_in_row = succeeded + 1, 0
            index = index_of(pod.body)
            done |= {index} if index is not None else set()
        else:
            failed, ledger.failures_in_row, ledger.last_failure = failed + 1, ledger.failures_in_row + 1, now
    if text(job, "spec", "completionMode") == "Indexed":
        succeeded = len(done)
        status["completedIndexes"] = write_indexes(done)
    numbers = {"failed": failed, "succeeded": succeeded}
    return status | {name: count for name, count in numbers.items() if count}
