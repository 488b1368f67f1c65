"""Seeded choices: the same seed draws the same case, on any machine."""

from __future__ import annotations

import math
from collections.abc import Sequence
from random import Random
from typing import TypeVar

T = TypeVar("T")


class Dice:
    """Draws choices from one seed.

    Args:
        seed: Any text.
    """

    def __init__(self, seed: str) -> None:
        self._random = Random(seed)

    def chance(self, share: float) -> bool:
        """Say yes in this share of all draws."""
        return self._random.random() < share

    def pick(self, *options: T) -> T:
        """Draw one option; named twice, it comes twice as often."""
        return self._random.choice(options)

    def among(self, options: Sequence[T]) -> T:
        """Draw one of a sequence."""
        return self._random.choice(options)

    def some(self, options: Sequence[T], most: int, least: int = 0) -> list[T]:
        """Draw so many different ones, in random order."""
        return self._random.sample(options, self.whole(least, min(most, len(options))))

    def whole(self, least: int, most: int) -> int:
        """Draw a whole number, both ends included."""
        return self._random.randint(least, most)

    def share(self) -> float:
        """Draw a number from 0 to 1."""
        return self._random.random()

    def magnitude(self, least: float, most: float) -> float:
        """Draw a number whose logarithm is evenly spread."""
        return least * math.pow(most / least, self._random.random())
