"""How many calls a second this process allows itself: a token bucket that is told the time."""

from __future__ import annotations


class CallBudget:
    """Token bucket over API calls; a call that finds it empty is told how long to wait.

    Args:
        qps: Tokens added each second; zero or less means no limit.
        burst: Tokens that can pile up; at least one.

    Spec: updater M-5.
    """

    __slots__ = ("_burst", "_qps", "_tokens", "_updated")

    def __init__(self, qps: float, burst: float) -> None:
        self._qps = qps
        self._burst = max(burst, 1.0)
        self._tokens = self._burst
        self._updated = 0.0

    def take(self, now_seconds: float) -> float:
        """Spend one token, borrowing from the future when none is there.

        Args:
            now_seconds: Monotonic time of the call; an earlier time than the last one counts as the last one.

        Returns:
            Seconds to wait before the call; 0.0 when it may go at once.
        """
        if self._qps <= 0:
            return 0.0
        self._refill(now_seconds)
        self._tokens -= 1.0
        return max(-self._tokens / self._qps, 0.0)

    def try_take(self, now_seconds: float) -> bool:
        """Spend one token if there is one.

        Args:
            now_seconds: Monotonic time of the call.
        """
        if self._qps <= 0:
            return True
        self._refill(now_seconds)
        if self._tokens < 1.0:
            return False
        self._tokens -= 1.0
        return True

    def lull(self, now_seconds: float) -> float:
        """Say how long it takes until half of the burst is there, if nobody takes any of it in the meantime.

        As long as calls wait for their tokens, and when many may soon do so, it is longer than nothing.

        Args:
            now_seconds: Monotonic time.

        Returns:
            Seconds; 0.0 where so much is there already.
        """
        if self._qps <= 0:
            return 0.0
        self._refill(now_seconds)
        return max(max(self._burst / 2, 1.0) - self._tokens, 0.0) / self._qps

    def _refill(self, now_seconds: float) -> None:
        elapsed = max(now_seconds - self._updated, 0.0)
        self._updated = max(self._updated, now_seconds)
        self._tokens = min(self._tokens + elapsed * self._qps, self._burst)
