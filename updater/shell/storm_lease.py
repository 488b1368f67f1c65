"""Keeping the levels of the storm budgets in an annotation of the updater's own Lease (beyond:B-24).

What is written is never more than what is left: tokens are reserved before they are used, some at a time, and the rest
is given back at the end of the round. Whoever goes on from the annotation, after a restart or as the next leader, makes
no more changes than one process would have made.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Final

import structlog

from autoscaling.errors import ApiError
from autoscaling.kube.lease_object import LeaseFile, StoredLease
from autoscaling.kube.refusals import is_conflict
from autoscaling.kube.retry import Patience
from updater.plan import Plan
from updater.storm_levels import StormLevels
from updater.storm_text import levels_text, read_levels

STORM_ANNOTATION: Final = "evenkeel.dev/storm-budgets"
CHUNK: Final = 25
"""Changes that are reserved at a time."""
_PATIENCE: Final = Patience(attempts=2, attempt_seconds=5.0, total_seconds=10.0)
_TRIES: Final = 4
"""The Lease is renewed every few seconds, each time of which may come between a look at it and a write."""

log = structlog.get_logger()


@dataclass(slots=True)
class StormLease:
    """The levels as the Lease has them.

    Args:
        file: The Lease.
        identity: Who holds the Lease while this process leads; empty where there is no leader election, and anybody's
            Lease will do.
    """

    file: LeaseFile
    identity: str = ""
    _text: str | None = None
    _reserved: int = 0
    _is_known: bool = False
    _is_lost: bool = False
    _is_behind: bool = False

    async def opened(self, now: datetime) -> StormLevels | None:
        """Return the levels to begin a round with, None where those of the last round still hold.

        Without an annotation every bucket is full; one that cannot be read or reached leaves them all empty.
        """
        self._is_lost = False
        if self._is_known:
            return None
        try:
            stored = await self.file.read(_PATIENCE)
        except ApiError as error:
            log.warning("storm budgets not read", lease=self._name, error=str(error))
            return StormLevels.empty(now)
        self._text, self._is_known, self._reserved = _text_of(stored), True, 0
        if self._text is None:
            return StormLevels()
        levels = read_levels(self._text)
        if levels is None:
            log.warning("storm budgets cannot be read, so they start empty", lease=self._name)
            return StormLevels.empty(now)
        return levels.known_at(now)

    async def covers_one_more(self, plan: Plan) -> bool:
        """Take the tokens for the change that is to be made now; without them it must not be made.

        Args:
            plan: The round before the change.
        """
        if self._reserved == 0:
            limits = plan.round.storms
            if self._is_lost or not self._is_known or limits is None:
                return False
            if not await self._written(plan.storms.reserving(CHUNK, limits, plan.round.now)):
                return False
            self._reserved, self._is_behind = CHUNK, True
        self._reserved -= 1
        return True

    async def settle(self, levels: StormLevels) -> None:
        """Give back at the end of a round what was reserved and not used.

        Args:
            levels: What the round has left.
        """
        self._reserved = 0
        if self._is_behind and self._is_known:
            self._is_behind = not await self._written(levels)

    @property
    def _name(self) -> str:
        return f"{self.file.namespace}/{self.file.name}"

    async def _written(self, levels: StormLevels) -> bool:
        """Write levels; if that fails what the Lease says is not known any more, and is read again next time."""
        text = levels_text(levels)
        try:
            for _ in range(_TRIES):
                if await self._tried(text):
                    self._text = text
                    return True
        except ApiError as error:
            log.warning(
                "storm budgets not written, so nothing grows or is evicted until they can be",
                lease=self._name,
                error=str(error),
            )
        self._is_known, self._is_lost, self._reserved = False, True, 0
        return False

    async def _tried(self, text: str) -> bool:
        """Write a text once; false where somebody else wrote the Lease in between.

        Raises:
            ApiError: It could not be written, or is not ours to write.
        """
        try:
            stored = await self.file.read(_PATIENCE)
            self._require_own(stored, text)
            if stored is None:
                await self.file.create_unheld({STORM_ANNOTATION: text}, _PATIENCE)
            else:
                await self.file.annotate(stored, {STORM_ANNOTATION: text}, _PATIENCE)
        except ApiError as error:
            if is_conflict(error):
                return False
            raise
        return True

    def _require_own(self, stored: StoredLease | None, text: str) -> None:
        """Make sure that nobody else leads or has written the levels meanwhile.

        Args:
            text: What is to be written; a try of ours that nobody answered may have written it.

        Raises:
            ApiError: Somebody has.
        """
        holder = stored.state.holder if stored is not None else ""
        if self.identity and holder != self.identity:
            raise ApiError(f"Lease {self._name}: held by {holder or 'nobody'} and not by {self.identity} any more")
        if _text_of(stored) not in {self._text, text}:
            raise ApiError(f"Lease {self._name}: another updater has written {STORM_ANNOTATION}; let only one run")


def _text_of(stored: StoredLease | None) -> str | None:
    """Return what the annotation says, None where there is none."""
    return stored.annotations.get(STORM_ANNOTATION) if stored is not None else None
