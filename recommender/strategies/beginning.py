"""What upstream's rule recommends for rows that have too short a history for anything better (spec: quality Q-18)."""

from __future__ import annotations

from dataclasses import fields

import numpy as np
from numpy.typing import NDArray

from recommender.estimator import LOWER_BOUND, TARGET, UPPER_BOUND
from recommender.rows import grown
from recommender.strategies.answers import answer
from recommender.strategies.bank_state import BankState
from recommender.strategies.holding import Columns
from recommender.strategies.interface import JsonObject, OomKills, Usage
from recommender.strategies.vpa import VPA_MIN0

Integers = NDArray[np.int64]
Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]


class Beginning:
    """The histograms of the rows that need them, and what they said last of each.

    The least amounts of a pod do not apply: a request of 250Mi for the first days would be far above the need of a
    small container, and lowering it later would be one more change.

    Args:
        rows: How many rows there are at first.
    """

    def __init__(self, rows: int) -> None:
        self._bank: BankState = VPA_MIN0.start(rows)
        # float64[resources, target and bounds, rows], and the rows whose samples came after that was found.
        self._said: Floats = np.full((2, 3, 0), np.nan)
        self._is_stale: Flags = np.zeros(0, dtype=np.bool_)
        self.is_needed: Flags = np.zeros(0, dtype=np.bool_)
        self.grow(rows)

    def grow(self, rows: int) -> None:
        """Have this many rows; new ones need it."""
        self._bank.grow(rows)
        more = np.full((2, 3, rows - self._said.shape[2]), np.nan)
        self._said = np.concatenate((self._said, more), axis=2)
        self._is_stale, self.is_needed = grown(self._is_stale, rows, 0), grown(self.is_needed, rows, 1)

    def clear(self, rows: Integers) -> None:
        """Forget all that rows have seen; they need it again."""
        self._forget(rows)
        self.is_needed[rows] = True

    def release(self, rows: Integers) -> None:
        """Forget all that rows have seen; they need it no more."""
        self._forget(rows)
        self.is_needed[rows] = False

    def _forget(self, rows: Integers) -> None:
        self._bank.clear(rows)
        self._said[:, :, rows] = np.nan
        self._is_stale[rows] = False

    def observe(self, usage: Usage) -> None:
        """Take in the samples of those rows that need it."""
        counted = np.flatnonzero(self.is_needed[usage.rows])
        if len(counted):
            self._bank.observe(Usage(*(getattr(usage, each.name)[counted] for each in fields(Usage))))
            self._is_stale[usage.rows[counted]] = True

    def observe_ooms(self, kills: OomKills) -> None:
        """Take in the kills of those rows that need it."""
        counted = np.flatnonzero(self.is_needed[kills.rows])
        if len(counted):
            self._bank.observe_ooms(OomKills(*(getattr(kills, each.name)[counted] for each in fields(OomKills))))
            self._is_stale[kills.rows[counted]] = True

    def bounds(self) -> tuple[Columns, Columns]:
        """Return what it says of CPU and of memory for every row, NaN where it is not needed or has seen nothing."""
        stale = np.flatnonzero(self._is_stale)
        if len(stale):
            found = answer(self._bank.bounds(stale), len(stale))
            self._said[0][:, stale], self._said[1][:, stale] = found.cpu, found.memory
            self._is_stale[stale] = False
        cpu, memory = (Columns(said[TARGET], said[LOWER_BOUND], said[UPPER_BOUND]) for said in self._said)
        return cpu, memory

    def save(self, row: int) -> JsonObject | None:
        """Return all that was seen of a row; None where it is not needed."""
        return self._bank.save(row) if self.is_needed[row] else None

    def restore(self, row: int, saved: JsonObject | None) -> None:
        """Let a row that has seen nothing go on from what was saved.

        Raises:
            ValueError: It is nothing that ``save`` returns.
        """
        self.is_needed[row] = saved is not None
        if saved is not None:
            self._bank.restore(row, saved)
            self._is_stale[row] = True
