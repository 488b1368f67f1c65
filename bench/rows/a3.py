"""A-3: how long the webhook takes to answer while its process takes in the changes of a large cluster."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Sequence
from types import MappingProxyType

import msgspec

from bench.errors import DisagreementError, PeerError
from bench.figures import Bound, Figure, Run, Spread, Target, Unit
from bench.rows.webhook import READY_SECONDS, WebhookBenchmark
from bench.webhook_host import Taken

_CONNECTIONS = 8
_EVENTS_PER_SECOND = 5_000
_FIRST_EVENTS = 50
_HISTORY = 200_000
_LOOKS_SECONDS = 0.2


class BusyWebhook(WebhookBenchmark):
    """Real reviews over TLS connections that are kept, beside a watch of all pods that is begun anew in each turn."""

    name = "A-3"
    title = "webhook latency while 5,000 pod events a second and a list of 100,000 pods are taken in"
    turns = 5
    targets = MappingProxyType({"A-3": Target(Bound.OURS_AT_MOST, 10, Unit.MILLISECONDS)})
    pods_per_vpa = 10
    has_peer = False

    def our_command(self) -> list[str]:
        """Return the command that starts ours, with pods to follow."""
        return [sys.executable, "-m", "bench.webhook_host", str(self._notes)]

    def host_flags(self) -> tuple[str, ...]:
        """Let all changes of a turn be followed, however late the list is."""
        return ("--history", str(_HISTORY))

    def set_up(self) -> None:
        """Start everything, and wait until all pods are known."""
        self._notes = self.setting.folder / "taken.json"
        super().set_up()
        self._until("all pods are known", lambda taken: taken.is_synced and taken.pods == self.shape.pods)

    def run_ours(self, turn: int) -> Run:
        """Put load on ours, from the moment when it has to list all pods anew."""
        del turn
        seconds = float(self.setting.choose(10, 3))
        self._follow()
        before = self._taken()
        self.host.begin_writing(round(_EVENTS_PER_SECOND * seconds), _EVENTS_PER_SECOND, expires=True)
        run = self.press(self.ours, _CONNECTIONS, seconds)
        taken = self._taken()
        written = self.host.end_writing().writing_seconds
        self._until("the list was taken in", lambda taken: taken.lists > before.lists and taken.pods == self.shape.pods)
        rate = _EVENTS_PER_SECOND * seconds / written
        return Run(
            run.wall_seconds,
            run.cpu_seconds,
            run.values | {"events": (taken.events - before.events) / run.wall_seconds, "written": rate},
        )

    def _follow(self) -> None:
        """Wait until the watch goes on: one that ends twice without an event in between is not begun anew at once."""
        before = self._taken()
        self.host.begin_writing(_FIRST_EVENTS)
        self.host.end_writing()
        self._until("events come", lambda taken: taken.events > before.events)

    def check(self) -> None:
        """Make sure that every pod is still patched."""
        if not all(self._answers(self.ours)):
            raise DisagreementError("some pods are no longer patched")

    def report(self, ours: Sequence[Run], peer: Sequence[Run]) -> list[Figure]:
        """Report the 99th percentile."""
        del peer
        figures = {name: Spread.of([run.value(name) for run in ours]) for name in ("p50", "p99", "events", "written")}
        note = (
            f"p99; p50 {figures['p50'].median * 1000:.2f}ms; {figures['written'].median:.0f} events/s written, "
            f"{figures['events'].median:.0f}/s taken in one by one, the others by the list"
        )
        return [Figure(self.name, figures["p99"].scaled(1000), unit=Unit.MILLISECONDS, note=note)]

    def _until(self, what: str, holds: Callable[[Taken], bool]) -> None:
        """Wait until what has been taken in is as it should be.

        Raises:
            PeerError: It has not come to that in time.
        """
        end = time.monotonic() + READY_SECONDS
        while not holds(self._taken()):
            if time.monotonic() > end:
                raise PeerError(f"not after {READY_SECONDS:.0f} s: {what}; it is at {self._taken()}")
            time.sleep(_LOOKS_SECONDS)

    def _taken(self) -> Taken:
        """Return what has been taken in so far."""
        raw = self._notes.read_bytes() if self._notes.exists() else b""
        return msgspec.json.decode(raw, type=Taken) if raw else Taken()
