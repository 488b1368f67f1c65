"""Calls that were refused, and how long the same is not asked for again, as a reducer (beyond:B-21).

A restart forgets it: then each refused call is tried once more before it waits again.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Final

from updater.decision import Action, Outcome, Reason
from updater.patches import Patch, PatchVerb

_REASONS: Final = {
    Outcome.UNTIMELY: Reason.TRIED_IN_VAIN,
    Outcome.OVER_QUOTA: Reason.QUOTA_WOULD_BLOCK,
    Outcome.OUTSIDE_LIMIT_RANGE: Reason.LIMIT_RANGE_WOULD_BLOCK,
    Outcome.FORBIDDEN: Reason.FORBIDDEN_BY_POLICY,
}
"""Outcomes after which the same is not asked for again at once, and what the pod waits for then."""
TELLING: Final = frozenset({*_REASONS, Outcome.NOT_PERMITTED, Outcome.GONE})
"""Outcomes that tell more than that a call failed."""

_FIRST_PAUSES: Final = {Outcome.UNTIMELY: timedelta(seconds=30)}
_FIRST_PAUSE: Final = timedelta(minutes=2)
_LONGEST_PAUSE: Final = timedelta(minutes=30)
_STOPPED_FOR: Final = timedelta(minutes=10)
"""A permission that was granted meanwhile is noticed after this time at the latest, without a restart."""


@dataclass(frozen=True, slots=True)
class Refused:
    """A call that was refused in this round.

    Args:
        uid: Of the pod.
        action: RESIZE or EVICT.
        outcome: How.
        asked: What a RESIZE would have set; what it tests besides does not matter.
    """

    uid: str
    action: Action
    outcome: Outcome
    asked: Patch = ()


@dataclass(frozen=True, slots=True)
class Pause:
    """How long a call is not repeated."""

    refused: Refused
    failures: int
    until: datetime


@dataclass(frozen=True, slots=True)
class Backoff:
    """What is not tried again yet.

    Args:
        pauses: By UID of the pod.
        stopped: Until when a kind of call is not made at all, as the permission for it is missing.
    """

    pauses: Mapping[str, Pause] = field(default_factory=dict)
    stopped: Mapping[Action, datetime] = field(default_factory=dict)

    def after(self, refusals: Iterable[Refused], now: datetime) -> Backoff:
        """Return what is to be waited for after the refusals of a round.

        A pause doubles with each refusal of the same in the same way, up to half an hour.
        """
        pauses = dict(self.pauses)
        stopped = {action: until for action, until in self.stopped.items() if now < until}
        for refused in refusals:
            if refused.outcome is Outcome.NOT_PERMITTED:
                stopped[refused.action] = now + _STOPPED_FOR
            elif refused.outcome in _REASONS:
                before = pauses.get(refused.uid)
                failures = before.failures + 1 if before is not None and before.refused == refused else 1
                first = _FIRST_PAUSES.get(refused.outcome, _FIRST_PAUSE)
                pause = min(first * 2 ** min(failures - 1, 10), _LONGEST_PAUSE)
                pauses[refused.uid] = Pause(refused, failures, now + pause)
        return Backoff(pauses, stopped)

    def keeping(self, uids: AbstractSet[str]) -> Backoff:
        """Return the same without pods other than these."""
        if self.pauses.keys() <= uids:
            return self
        return Backoff({uid: pause for uid, pause in self.pauses.items() if uid in uids}, self.stopped)

    def holds_back(self, uid: str, asked: Patch, now: datetime) -> Reason | None:
        """Return why a resize is not sent yet, None where it may be; another one than was refused always may."""
        if Action.RESIZE in self.stopped and now < self.stopped[Action.RESIZE]:
            return Reason.NOT_PERMITTED
        pause = self.pauses.get(uid)
        if pause is None or pause.refused.action is not Action.RESIZE or now >= pause.until:
            return None
        return _REASONS[pause.refused.outcome] if _set_by(pause.refused.asked) == _set_by(asked) else None

    def holds_back_eviction(self, uid: str, now: datetime) -> Reason | None:
        """Return why a pod is not evicted yet, None where it may be."""
        if Action.EVICT in self.stopped and now < self.stopped[Action.EVICT]:
            return Reason.NOT_PERMITTED
        pause = self.pauses.get(uid)
        if pause is None or pause.refused.action is not Action.EVICT or now >= pause.until:
            return None
        return _REASONS[pause.refused.outcome]


def _set_by(patch: Patch) -> Patch:
    """Return what a patch sets, without what it only tests, which says nothing of the amounts."""
    return tuple(operation for operation in patch if operation.verb is not PatchVerb.TEST)
