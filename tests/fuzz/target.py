"""What is fuzzed: something that takes bytes from outside, and the laws that hold whatever they are."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field

_SECONDS = 2.0
_BYTES_PER_SECOND = 20_000
_LARGEST_ANSWER = 16 * 1024
_GROWTH = 200


class LawBrokenError(Exception):
    """What must hold for every input does not hold for one."""


@dataclass(frozen=True, slots=True)
class Target:
    """One way in.

    Args:
        name: Also of its folder of cases.
        take: Takes bytes in; returns how many bytes came of them, for those to which that means something.
        refusals: What it may raise, and then is a clear refusal.
        seeds: Input that it is meant for.
        words: Pieces that are worth putting into input.
    """

    name: str
    take: Callable[[bytes], int | None]
    refusals: tuple[type[Exception], ...] = ()
    seeds: tuple[bytes, ...] = ()
    words: tuple[bytes, ...] = field(default=())

    def check(self, data: bytes) -> bool:
        """Hold the target to its laws; says whether the input was taken, as opposed to refused.

        Raises:
            LawBrokenError: It took too long for so much input, answered with too much, or refused without a word.
            Exception: What it raised instead of a refusal.
        """
        started = time.process_time()
        size, is_taken = None, True
        try:
            size = self.take(data)
        except self.refusals as error:
            is_taken = False
            if not str(error):
                raise LawBrokenError(f"{self.name}: refused without a word: {error!r}") from error
            if len(str(error)) > _LARGEST_ANSWER + _GROWTH * len(data):
                raise LawBrokenError(f"{self.name}: a refusal of {len(str(error))} characters") from error
        seconds = time.process_time() - started
        if seconds > _SECONDS + len(data) / _BYTES_PER_SECOND:
            raise LawBrokenError(f"{self.name}: {seconds:.1f} s for {len(data)} bytes")
        if size is not None and size > _LARGEST_ANSWER + _GROWTH * len(data):
            raise LawBrokenError(f"{self.name}: {size} bytes came of {len(data)}")
        return is_taken
