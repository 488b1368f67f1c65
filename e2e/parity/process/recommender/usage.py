"""What the metrics API says, made up by chance: one answer after the other, each for one round."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime, timedelta

from e2e.parity.process.world.dice import MEBIBYTE, Dice
from evenkeel.simulator.api.fields import JsonObject
from evenkeel.simulator.clock import rfc3339

PodKey = tuple[str, str]


class HeldFrame:
    """A source of metrics that gives the same answer until it is told to go on.

    Args:
        frames: The answers.
    """

    def __init__(self, frames: tuple[tuple[JsonObject, ...], ...]) -> None:
        self._frames = frames
        self._current = 0

    def go_on(self) -> None:
        """Go on to the next answer; the last one lasts for ever."""
        self._current = min(self._current + 1, len(self._frames) - 1)

    def pods(self) -> list[JsonObject]:
        """Return the answer."""
        return list(self._frames[self._current])

    def nodes(self) -> list[JsonObject]:
        """Return nothing; no recommender asks."""
        return []


@dataclass(slots=True)
class Habit:
    """What a container uses.

    Args:
        millis: CPU in thousandths of a core.
        memory: Memory in bytes.
    """

    millis: int
    memory: int


@dataclass(slots=True)
class UsageMaker:
    """Makes usage up.

    Args:
        dice: Its chance.
        habits: What each container is used to.
    """

    dice: Dice
    habits: dict[tuple[PodKey, str], Habit] = field(default_factory=dict)

    def row(self, pod: PodKey, containers: tuple[str, ...], moment: datetime) -> JsonObject | None:
        """Make up what the metrics API says of a pod; None where it says nothing."""
        dice = self.dice
        if dice.chance(0.05):
            return None
        rows = [{"name": name, "usage": self._usage((pod, name))} for name in containers if not dice.chance(0.03)]
        at = (
            moment
            - timedelta(seconds=dice.between(0, 40))
            - (timedelta(hours=3) if dice.chance(0.03) else timedelta(0))
        )
        metadata = {"namespace": pod[0], "name": pod[1], "creationTimestamp": rfc3339(at)}
        return {"metadata": metadata, "timestamp": rfc3339(at), "window": "30s", "containers": rows}

    def _usage(self, key: tuple[PodKey, str]) -> JsonObject:
        dice = self.dice
        habit = self.habits.get(key)
        if habit is None:
            habit = self.habits[key] = Habit(dice.cpu_millis(), dice.memory_bytes())
        habit.memory = int(habit.memory * dice.within(0.85, 1.25))
        nano = int(habit.millis * dice.within(0.2, 2.0) * 10**6)
        cpu = dice.pick((f"{nano}n", f"{nano // 1000}u", f"{nano // 10**6}m", "0"))
        memory = dice.pick((f"{habit.memory // 1024}Ki", str(habit.memory), f"{habit.memory // MEBIBYTE}Mi"))
        usage: JsonObject = {"cpu": cpu, "memory": memory}
        if dice.chance(0.02):
            del usage[dice.pick(("cpu", "memory"))]
        return usage
