"""Whether a process works: the answers of its liveness and readiness endpoints, as functions of time."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from datetime import timedelta
from http import HTTPStatus

_PERIODS_WITHOUT_ROUND = 5


@dataclass(frozen=True, slots=True)
class Answer:
    """An answer to a probe."""

    status: HTTPStatus
    text: str


_OK = Answer(HTTPStatus.OK, "OK")


def health(idle: timedelta | None, period: timedelta) -> Answer:
    """Judge a process by the time since its last finished round.

    Args:
        idle: Time since the last finished round or, before the first, since monitoring started; None while it has not
            started, as in a standby.
        period: Time between the starts of two rounds.

    Spec: recommender:10, updater:M-2.
    """
    limit = _PERIODS_WITHOUT_ROUND * period
    if idle is None or idle <= limit:
        return _OK
    seconds, allowed = round(idle.total_seconds()), round(limit.total_seconds())
    return Answer(
        HTTPStatus.INTERNAL_SERVER_ERROR,
        f"no round has finished for {seconds} s; more than {allowed} s count as stuck",
    )


def readiness(missing: Iterable[str]) -> Answer:
    """Judge whether a process can take work, by the names of what it still waits for."""
    names = sorted(missing)
    return Answer(HTTPStatus.SERVICE_UNAVAILABLE, f"waiting for {', '.join(names)}") if names else _OK


@dataclass(slots=True)
class Vitals:
    """What the probes of one process look at.

    Args:
        period: Time between the starts of two rounds.
        clock: Seconds that only go forward, such as ``time.monotonic``.
    """

    period: timedelta
    clock: Callable[[], float]
    _last_activity: float | None = None
    _missing: set[str] = field(default_factory=set)

    def start_monitoring(self) -> None:
        """Begin to ask for finished rounds; until then the process counts as healthy."""
        self._last_activity = self.clock()

    def round_finished(self) -> None:
        """Note that a round finished, also one that had nothing to do; without effect before monitoring started."""
        if self._last_activity is not None:
            self._last_activity = self.clock()

    def wait_for(self, *names: str) -> None:
        """Count as not ready until each of these was said to be there."""
        self._missing |= set(names)

    def there(self, name: str) -> None:
        """Note that one of the awaited things is there."""
        self._missing.discard(name)

    def health(self) -> Answer:
        """Answer the liveness probe."""
        last = self._last_activity
        return health(None if last is None else timedelta(seconds=self.clock() - last), self.period)

    def readiness(self) -> Answer:
        """Answer the readiness probe."""
        return readiness(self._missing)
