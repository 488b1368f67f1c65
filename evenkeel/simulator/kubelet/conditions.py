"""The two conditions that tell of a resize, and when they change (spec: in-place-resize 3.4)."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime

from evenkeel.simulator.api.fields import JsonObject, number, rows, text
from evenkeel.simulator.clock import rfc3339

PENDING, IN_PROGRESS = "PodResizePending", "PodResizeInProgress"
DEFERRED, INFEASIBLE, ERROR = "Deferred", "Infeasible", "Error"


@dataclass(frozen=True, slots=True)
class ResizeCondition:
    """One of the two conditions.

    Args:
        reason: Why; may be empty.
        message: In words; may be empty.
        generation: The generation of the pod's spec it is about.
        changed_at: When it appeared or its reason changed.
        probed_at: When it was last looked at.
    """

    reason: str
    message: str
    generation: int
    changed_at: datetime
    probed_at: datetime

    def row(self, kind: str) -> JsonObject:
        """Return it as an entry of a pod's conditions."""
        shown: JsonObject = {
            "type": kind,
            "status": "True",
            "observedGeneration": self.generation,
            "lastProbeTime": rfc3339(self.probed_at),
            "lastTransitionTime": rfc3339(self.changed_at),
        }
        texts = {"reason": self.reason, "message": self.message}
        return shown | {key: value for key, value in texts.items() if value}


class ResizeConditions:
    """Both conditions of one pod, as the kubelet holds them between two writes."""

    __slots__ = ("pending", "progress")

    def __init__(self) -> None:
        self.pending: ResizeCondition | None = None
        self.progress: ResizeCondition | None = None

    @classmethod
    def restored(cls, body: JsonObject, now: datetime) -> ResizeConditions:
        """Return the conditions that a pod's status shows; to a kubelet that has just started they are new."""
        restored = cls()
        for row in rows(body, "status", "conditions"):
            read = ResizeCondition(
                text(row, "reason"), text(row, "message"), number(row, "observedGeneration"), now, now
            )
            if text(row, "type") == PENDING:
                restored.pending = read
            elif text(row, "type") == IN_PROGRESS:
                restored.progress = read
        return restored

    def is_deferred(self) -> bool:
        """Say whether the resize was put off."""
        return self.pending is not None and self.pending.reason == DEFERRED

    def put_off(self, reason: str, message: str, generation: int, now: datetime) -> bool:
        """Set the pending condition, and say whether that is news: another reason or generation."""
        before = self.pending
        since = before.changed_at if before and before.reason == reason else now
        self.pending = ResizeCondition(reason, message, generation, since, now)
        return before is None or (before.reason, before.generation) != (reason, generation)

    def begin(self, generation: int, now: datetime) -> None:
        """Note that a resize has been allocated: nothing pends, and progress starts anew."""
        self.pending = None
        self.progress = ResizeCondition("", "", generation, now, now)

    def keep_going(self, generation: int, now: datetime) -> None:
        """Note that something is still to be actuated; what is known of an earlier attempt stays."""
        if self.progress is None:
            self.progress = ResizeCondition("", "", generation, now, now)
        else:
            self.progress = replace(self.progress, probed_at=now)

    def fail(self, message: str, generation: int, now: datetime) -> bool:
        """Note a failed attempt, and say whether it is news: another reason or message."""
        before = self.progress
        if before is None:
            self.progress = ResizeCondition(ERROR, message, generation, now, now)
            return True
        since = before.changed_at if before.reason == ERROR else now
        self.progress = ResizeCondition(ERROR, message, before.generation, since, now)
        return (before.reason, before.message) != (ERROR, message)

    def finish(self) -> int | None:
        """Clear progress, and return the generation it was about; None when there was none."""
        before, self.progress = self.progress, None
        return before.generation if before else None

    def clear(self) -> None:
        """Clear both, as for a pod that has ended."""
        self.pending = self.progress = None

    def rows(self) -> list[JsonObject]:
        """Return the entries for a pod's conditions."""
        held = ((PENDING, self.pending), (IN_PROGRESS, self.progress))
        return [condition.row(kind) for kind, condition in held if condition is not None]
