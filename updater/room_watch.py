"""Since when pods have lacked room on their node, and which of them are not to be tried again yet, as reducers."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Final

_FORGETTING: Final = timedelta(minutes=5)
"""A pod that was not seen to lack room for so long, lacks it anew."""
FIRST_PAUSE: Final = timedelta(minutes=5)
LONGEST_PAUSE: Final = timedelta(hours=1)


@dataclass(frozen=True, slots=True)
class Want:
    """From when to when, as far as was seen, a pod lacked room."""

    since: datetime
    last: datetime


@dataclass(frozen=True, slots=True)
class Pause:
    """Until when a pod is left as it is, and for how long that was."""

    until: datetime
    length: timedelta


@dataclass(frozen=True, slots=True)
class RoomWatch:
    """What is remembered of pods, by UID, whose node has no room for them.

    After a restart waiting begins anew, and a pod that was blocked is tried once more before its time. Nothing stands
    on such pods, as nothing was sent, and their VPA's condition tells since when some pod has been blocked, but not
    which: to go by it might evict one that has not waited at all.

    Args:
        wants: Pods that lack room and whose resize was not sent (beyond:B-24).
        pauses: Pods that gave their claim back.
    """

    wants: Mapping[str, Want] = field(default_factory=dict)
    pauses: Mapping[str, Pause] = field(default_factory=dict)

    def seeing(self, wanting: Iterable[str], released: Iterable[str], now: datetime) -> RoomWatch:
        """Return the watch with what a round has found.

        Args:
            wanting: Pods that lack room.
            released: Pods that have given their claim back; each time they wait twice as long.
        """
        wants = {uid: want for uid, want in self.wants.items() if now - want.last <= _FORGETTING}
        wants |= {uid: Want(wants[uid].since if uid in wants else now, now) for uid in wanting}
        pauses = {uid: pause for uid, pause in self.pauses.items() if now - pause.until <= LONGEST_PAUSE}
        pauses |= {uid: _next_pause(pauses.get(uid), now) for uid in released}
        return RoomWatch(wants, pauses)

    def keeping(self, uids: AbstractSet[str]) -> RoomWatch:
        """Return the watch without other pods than these."""
        return RoomWatch(
            {uid: want for uid, want in self.wants.items() if uid in uids},
            {uid: pause for uid, pause in self.pauses.items() if uid in uids},
        )

    def waited(self, uid: str, now: datetime) -> timedelta:
        """Return how long a pod has lacked room, nothing for one that was not seen to."""
        want = self.wants.get(uid)
        return now - want.since if want is not None and now - want.last <= _FORGETTING else timedelta(0)

    def is_paused(self, uid: str, now: datetime) -> bool:
        """Say whether a pod that gave its claim back is not tried again yet."""
        pause = self.pauses.get(uid)
        return pause is not None and now < pause.until


def _next_pause(before: Pause | None, now: datetime) -> Pause:
    """Return the pause after one more claim was given back."""
    length = min(before.length * 2, LONGEST_PAUSE) if before is not None else FIRST_PAUSE
    return Pause(now + length, length)
