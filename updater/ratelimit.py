"""A token bucket that is told the time (updater X-11)."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime, timedelta


@dataclass(frozen=True, slots=True)
class Token:
    """A token that was taken, or not.

    Args:
        bucket: The bucket after that.
        wait: How long to wait before the token may be used; None where it cannot be had in time.
    """

    bucket: TokenBucket
    wait: timedelta | None


@dataclass(frozen=True, slots=True)
class TokenBucket:
    """Lets attempts through at a rate, some of them at once; a bucket starts full.

    Args:
        rate: Tokens per second; 0 or less lets everything through.
        burst: Tokens that the bucket holds. With a rate, a burst below 1 lets nothing through.
        tokens: Tokens at ``filled``, below zero where some were promised in advance; None for a full bucket.
        filled: When ``tokens`` was true.
    """

    rate: float = -1.0
    burst: int = 1
    tokens: float | None = None
    filled: datetime | None = None

    def take(self, now: datetime, deadline: datetime) -> Token:
        """Take the next token if it can be used before the deadline; else the bucket stays as it is.

        From the deadline on nothing is let through, with or without a rate.

        Args:
            now: The time.
            deadline: When the round ends.
        """
        left = deadline - now
        if left <= timedelta(0):
            return Token(self, None)
        if self.rate <= 0:
            return Token(self, timedelta(0))
        tokens = self._level(now) - 1.0
        wait_seconds = max(-tokens, 0.0) / self.rate
        if self.burst < 1 or wait_seconds > left.total_seconds():
            return Token(self, None)
        return Token(replace(self, tokens=tokens, filled=now), timedelta(seconds=wait_seconds))

    def _level(self, now: datetime) -> float:
        """Return the tokens there are now; a clock that went backwards adds none."""
        if self.tokens is None or self.filled is None:
            return float(self.burst)
        elapsed = max((now - self.filled).total_seconds(), 0.0)
        return min(self.tokens + elapsed * self.rate, float(self.burst))
