"""Which changed statuses are worth a write.

In upstream's arithmetic almost every status changes in every round, because the bounds close in on the target as
history grows. At the default request budget the statuses of ten thousand VPAs take more than three minutes to write,
for changes that nobody acts on.

Spec: performance, known facts; recommender 5.
"""

from __future__ import annotations

import zlib
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Final

from autoscaling.pod import ConditionStatus
from autoscaling.quantity import within_doubles
from autoscaling.resources import ResourceList
from autoscaling.vpa import ContainerRecommendation, Recommendation, Vpa, VpaCondition
from recommender.status import VpaStatus, differs

LONGEST_SILENCE: Final = timedelta(minutes=10)
"""After this time a changed status is written, however small the change."""

NamespacedName = tuple[str, str]


@dataclass(slots=True)
class WriteRule:
    """Decides which statuses are written, and remembers when each was.

    Args:
        threshold: Share by which a target or a bound must have moved to be written at once; 0 writes every change.
        started: When the process began; then each VPA is taken as written at some time within the last ten minutes,
            different for each, so that they do not fall due together.
        written: When the status of each VPA was last written.
    """

    threshold: float
    started: datetime
    written: dict[NamespacedName, datetime] = field(default_factory=dict)

    def is_due(self, status: VpaStatus, vpa: Vpa, now: datetime) -> bool:
        """Say whether a status is to be written.

        Args:
            status: As computed.
            vpa: The object as observed.
            now: The time of the round.
        """
        if not differs(status, vpa):
            return False
        if self.threshold <= 0 or self.is_overdue(vpa, now):
            return True
        return (
            status.observed_generation != vpa.observed_generation
            or _verdicts(status.conditions) != _verdicts(vpa.conditions)
            or has_moved(status.recommendation, vpa.recommendation, self.threshold)
        )

    def is_overdue(self, vpa: Vpa, now: datetime) -> bool:
        """Say whether the last write is so long ago that any difference is worth one."""
        return now - self.last_write(vpa) >= LONGEST_SILENCE

    def last_write(self, vpa: Vpa) -> datetime:
        """Return when a status was last written, or is taken to have been."""
        key = (vpa.namespace, vpa.name)
        return self.written.get(key) or self.started - _spread(key)

    def note(self, vpa: Vpa, now: datetime) -> None:
        """Note that a status has been written; where every change is, nobody asks when that was."""
        if self.threshold > 0:
            self.written[vpa.namespace, vpa.name] = now

    def forget(self, key: NamespacedName) -> None:
        """Drop what is remembered of a VPA that is gone."""
        self.written.pop(key, None)


def has_moved(ours: Recommendation | None, theirs: Recommendation | None, threshold: float) -> bool:
    """Say whether any amount moved by more than a share of what it was, or came or went.

    Args:
        ours: As computed.
        theirs: As stored.
        threshold: The share.
    """
    if ours is None or theirs is None:
        return ours is not theirs
    if [entry.container_name for entry in ours.containers] != [entry.container_name for entry in theirs.containers]:
        return True
    pairs = zip(ours.containers, theirs.containers, strict=True)
    return any(
        _vector_moved(new, old, threshold) for a, b in pairs for new, old in zip(vectors(a), vectors(b), strict=True)
    )


def _verdicts(conditions: tuple[VpaCondition, ...]) -> list[tuple[str, ConditionStatus, str]]:
    """Return what conditions say, without their messages, in which amounts may stand that move all the time."""
    return [(condition.type, condition.status, condition.reason) for condition in conditions]


def vectors(entry: ContainerRecommendation) -> tuple[ResourceList, ...]:
    """Return target, lower bound, upper bound and uncapped target of an entry; an absent one is an empty one."""
    return entry.target, entry.lower_bound or {}, entry.upper_bound or {}, entry.uncapped_target or {}


def _vector_moved(new: ResourceList, old: ResourceList, threshold: float) -> bool:
    return new.keys() != old.keys() or any(
        abs(new[name].nano - old[name].nano) > threshold * within_doubles(abs(old[name].nano)) for name in new
    )


def _spread(key: NamespacedName) -> timedelta:
    """Return a time below the longest silence that depends on nothing but the name."""
    return LONGEST_SILENCE * (zlib.crc32("/".join(key).encode()) / 2**32)
