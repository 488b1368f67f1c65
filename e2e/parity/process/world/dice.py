"""Chance from a seed, in the terms that clusters are made up in."""

from __future__ import annotations

import random
import uuid
from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import TypeVar

from evenkeel.simulator.clock import rfc3339

T = TypeVar("T")
MEBIBYTE = 2**20


class Dice:
    """A source of chance.

    Args:
        seed: The same seed and name give the same.
        name: Sets this source apart from others of the same seed.
    """

    def __init__(self, seed: str, name: str) -> None:
        self._random = random.Random(f"{seed}/{name}")

    def chance(self, share: float) -> bool:
        """Say yes in a share of all cases."""
        return self._random.random() < share

    def pick(self, choices: Sequence[T]) -> T:
        """Take one of several, each as often."""
        return self._random.choice(choices)

    def weighted(self, choices: Mapping[T, float]) -> T:
        """Take one of several, each as often as its weight says."""
        return self._random.choices(list(choices), list(choices.values()))[0]

    def between(self, least: int, most: int) -> int:
        """Return a whole number within bounds that belong to it."""
        return self._random.randint(least, most)

    def within(self, least: float, most: float) -> float:
        """Return any number within bounds."""
        return self._random.uniform(least, most)

    def some(self, choices: Sequence[T], share: float) -> list[T]:
        """Return those of several that a share of all cases takes, in their order."""
        return [one for one in choices if self.chance(share)]

    def weighted_part(self, choices: Mapping[str, T]) -> dict[str, T]:
        """Return all of several, or in some cases only one of them."""
        names = self.weighted({None: 0.7, **dict.fromkeys(choices, 0.3 / len(choices))})
        return dict(choices) if names is None else {names: choices[names]}

    def shuffled(self, choices: Sequence[T]) -> list[T]:
        """Return several in another order."""
        return self._random.sample(choices, len(choices))

    def uid(self) -> str:
        """Return a uid."""
        return str(uuid.UUID(int=self._random.getrandbits(128), version=4))

    def cpu_millis(self) -> int:
        """Return a usual amount of CPU in thousandths of a core."""
        return self.pick((10, 25, 50, 100, 100, 150, 200, 250, 333, 500, 750, 1000, 1500, 2000))

    def memory_bytes(self) -> int:
        """Return a usual amount of memory."""
        return self.pick((16, 32, 64, 100, 128, 128, 200, 256, 300, 512, 1024, 2048)) * MEBIBYTE

    def earlier(self, now: datetime, least: timedelta, most: timedelta) -> str:
        """Return a moment that lies back by a time within bounds, as timestamps are written."""
        return rfc3339(now - least - (most - least) * self._random.random())


def cpu_text(millis: int) -> str:
    """Write an amount of CPU as Kubernetes does."""
    return str(millis // 1000) if millis % 1000 == 0 else f"{millis}m"


def memory_text(amount: int) -> str:
    """Write an amount of memory as Kubernetes does."""
    for suffix, size in (("Ti", 2**40), ("Gi", 2**30), ("Mi", 2**20), ("Ki", 2**10)):
        if amount and amount % size == 0:
            return f"{amount // size}{suffix}"
    return str(amount)


def amounts_json(amounts: Mapping[str, int]) -> dict[str, object]:
    """Write amounts by resource: CPU in thousandths of a core, anything else in whole units."""
    return {name: cpu_text(value) if name == "cpu" else memory_text(value) for name, value in amounts.items()}
