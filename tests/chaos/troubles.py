"""What goes wrong in a plant, at random but the same for a seed."""

from __future__ import annotations

import random  # noqa: TID251 - troubles come by a seeded chance
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from evenkeel.simulator.api.fields import JsonObject
from evenkeel.simulator.api.metrics import MetricsSource
from evenkeel.simulator.clock import ManualClock
from evenkeel.simulator.faults import CloseWatches, Delay, DropConnection, EndWatch, ExpireHistory, Fault, Refuse
from tests.chaos.plant import ADMISSION, SECOND, Plant

_READS, _WRITES = ("get", "list"), ("patch", "update", "create")


@dataclass
class PartialMetrics:
    """Usage of which some is missing now and then.

    Args:
        whole: Tells all of it.
        share: How much of it is missing.
    """

    whole: MetricsSource
    dice: random.Random
    share: float = 0.0

    def pods(self) -> list[JsonObject]:
        """Return the metrics of those pods that are not missing."""
        return [one for one in self.whole.pods() if self.dice.random() >= self.share]

    def nodes(self) -> list[JsonObject]:
        """Return the metrics of all nodes."""
        return self.whole.nodes()


@dataclass
class Troubles:
    """Stirs a plant up, some kinds of trouble more often than others.

    Args:
        plant: Whose troubles.
        dice: Decide.
        counted: What has happened, by kind.
    """

    plant: Plant
    dice: random.Random
    counted: Counter[str] = field(default_factory=Counter)
    _ends: list[tuple[datetime, Callable[[], None]]] = field(default_factory=list)
    _metrics: PartialMetrics | None = None

    def begin(self) -> None:
        """Get ready."""
        server = self.plant.cluster.server
        self._metrics = server.metrics = PartialMetrics(server.metrics, random.Random(self.dice.random()))

    async def stir(self) -> None:
        """Do something, or nothing; to be called at any time."""
        self._end_what_is_over()
        kinds: list[tuple[float, str, Callable[[], object]]] = [
            (0.12, "refusals", self._refuse),
            (0.08, "dropped connections", self._drop),
            (0.06, "slow answers", self._delay),
            (0.10, "watches ended", self._end_watches),
            (0.05, "histories expired", self._expire),
            (0.05, "partial metrics", self._hide_metrics),
            (0.02, "metrics outages", self._stop_metrics),
            (0.04, "partitions", self._partition),
            (0.05, "kills", self._kill),
            (0.01, "clock steps", self._step),
        ]
        for likelihood, name, act in kinds:
            if self.dice.random() < likelihood:
                self.counted[name] += 1
                act()

    def end(self) -> None:
        """Let nothing go wrong any more."""
        for _, over in self._ends:
            over()
        self._ends.clear()

    def _for_a_while(self, over: Callable[[], None], least: int, most: int) -> None:
        until = self.plant.cluster.clock.now() + self.dice.randint(least, most) * SECOND
        self._ends.append((until, over))

    def _end_what_is_over(self) -> None:
        now = self.plant.cluster.clock.now()
        for _, over in [entry for entry in self._ends if entry[0] <= now]:
            over()
        self._ends = [entry for entry in self._ends if entry[0] > now]

    def _lasting(self, fault: Fault) -> None:
        """Let a rule strike for a while."""
        faults = self.plant.cluster.server.faults
        faults.add(fault)
        self._for_a_while(lambda: faults.remove(fault), 30, 150)

    def _refuse(self) -> None:
        code = self.dice.choice((409, 429, 429, 500, 503, 504, 410))
        wait = self.dice.randint(1, 5) if code == 429 else None
        verb = self.dice.choice(_READS if code == 410 else (*_READS, *_WRITES))
        self._lasting(Fault(Refuse(code, retry_after_seconds=wait), verb=verb, count=self.dice.randint(1, 12)))

    def _drop(self) -> None:
        drop = DropConnection(after_carrying_out=self.dice.random() < 0.5)
        self._lasting(Fault(drop, verb=self.dice.choice((*_READS, *_WRITES)), count=self.dice.randint(1, 6)))

    def _delay(self) -> None:
        # What a resize or an eviction changes is looked at in the moment it arrives.
        by, path = Delay(timedelta(seconds=self.dice.randint(1, 20))), "^(?!.*/(resize|eviction)$)"
        self._lasting(Fault(by, verb=self.dice.choice((*_READS, *_WRITES)), path=path, count=self.dice.randint(1, 4)))

    def _end_watches(self) -> None:
        if self.dice.random() < 0.5:
            self._lasting(Fault(CloseWatches(self.dice.choice(("pods", "verticalpod", "nodes", "")))))
        else:
            end = EndWatch(self.dice.randint(0, 3), abruptly=self.dice.random() < 0.5)
            self._lasting(Fault(end, verb="watch", count=self.dice.randint(1, 6)))

    def _expire(self) -> None:
        self.plant.cluster.server.watches.close()
        self._lasting(Fault(ExpireHistory(), verb="watch", count=self.dice.randint(1, 6)))

    def _hide_metrics(self) -> None:
        assert self._metrics is not None
        self._metrics.share = self.dice.choice((0.3, 0.7, 1.0))
        self._for_a_while(self._show_metrics, 60, 300)

    def _show_metrics(self) -> None:
        assert self._metrics is not None
        self._metrics.share = 0.0

    def _stop_metrics(self) -> None:
        self._lasting(Fault(Refuse(503), verb="list", path="metrics.k8s.io", count=None))

    def _partition(self) -> None:
        name = self.dice.choice(self.plant.names)
        self.plant.cut_off(name)
        self._for_a_while(lambda: self.plant.rejoin(name), 5, 90)

    def _kill(self) -> None:
        """Kill a replica at once or in the middle of one of the next calls."""
        name = self.dice.choice(self.plant.names)
        if self.dice.random() < 0.3 or name.startswith(ADMISSION):
            self._kill_now(name)
            return
        calls, server = iter(range(self.dice.randint(1, 40))), self.plant.cluster.server

        def count() -> None:
            if server.requests.entries[-1].caller == name and next(calls, None) is None:
                stop()
                self._kill_now(name)

        stop = server.requests.observe(count)
        self._for_a_while(lambda: _harmless(stop), 300, 300)

    def _kill_now(self, name: str) -> None:
        if name in self.plant.running and name in self.plant.lockstep.participants:
            self.plant.kill(name)

    def _step(self) -> None:
        """Let the clock jump, as after a machine was suspended."""
        clock = self.plant.cluster.clock
        assert isinstance(clock, ManualClock)
        clock.advance(timedelta(seconds=self.dice.choice((20, 90, 400))))


def _harmless(stop: Callable[[], None]) -> None:
    """Stop observing, unless that was stopped."""
    try:
        stop()
    except ValueError:
        return
