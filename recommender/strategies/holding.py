"""An amount that is held until another one is worth a change (spec: quality Q-18)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from recommender.rows import grown
from recommender.strategies.interface import JsonObject
from recommender.strategies.packing import Forms, packed, unpacked

Integers = NDArray[np.int64]
Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]

_HALF: Final = 0.5
_FORMS: Final[Forms] = {"held": np.float64}


@dataclass(frozen=True, slots=True)
class ChangeRule:
    """When an amount is changed.

    Args:
        raise_share: Raised when the target is above it by more than this share of it.
        lower_share: Lowered when the target is below it by more than this share of it, and below 1.
        patience_seconds: Time since the last change before it is lowered.
    """

    raise_share: float
    lower_share: float
    patience_seconds: float

    def are_due(self, amounts: Floats, targets: Floats, ages_seconds: Floats) -> Flags:
        """Say of each amount whether it is changed to its target.

        Args:
            amounts: float64, of any shape; NaN is never changed.
            targets: float64, of the same shape.
            ages_seconds: float64, likewise, time since the last change.
        """
        due: Flags = targets > (1.0 + self.raise_share) * amounts
        due |= (targets < (1.0 - self.lower_share) * amounts) & (ages_seconds >= self.patience_seconds)
        return due


@dataclass(frozen=True, slots=True, eq=False)
class Columns:
    """Target and bounds of one resource, float64[rows] each, NaN where nothing is recommended."""

    target: Floats
    lower: Floats
    upper: Floats


class Held:
    """What is held of each row; NaN where nothing is.

    Args:
        rule: When it is changed.
        rows: How many rows there are at first.
    """

    def __init__(self, rule: ChangeRule, rows: int) -> None:
        self._rule = rule
        self.amounts: Floats = np.zeros(0)
        self._changed: Floats = np.zeros(0)
        self.grow(rows)

    def grow(self, rows: int) -> None:
        """Have this many rows."""
        self.amounts, self._changed = grown(self.amounts, rows, np.nan), grown(self._changed, rows, np.nan)

    def clear(self, rows: Integers) -> None:
        """Hold nothing any more."""
        self.amounts[rows] = self._changed[rows] = np.nan

    def begin(self, rows: Integers, seconds: Floats, targets: Floats) -> None:
        """Hold a target where nothing is held."""
        is_new = np.isnan(self.amounts[rows])
        self._change(rows[is_new], seconds[is_new], targets[is_new])

    def follow(self, rows: Integers, seconds: Floats, targets: Floats) -> None:
        """Change what is held where that is due.

        Args:
            rows: int64[n], each once.
            seconds: float64[n], the moment of each.
            targets: float64[n].
        """
        due = self._rule.are_due(self.amounts[rows], targets, seconds - self._changed[rows])
        self._change(rows[due], seconds[due], targets[due])

    def raise_to(self, rows: Integers, seconds: Floats, least: Floats) -> None:
        """Hold at least so much, where anything is held."""
        is_more = least > self.amounts[rows]
        self._change(rows[is_more], seconds[is_more], least[is_more])

    def _change(self, rows: Integers, seconds: Floats, targets: Floats) -> None:
        self.amounts[rows], self._changed[rows] = targets, seconds

    def bounds(self) -> Columns:
        """Return what is held, with bounds within which a request is as good: half of what another change would be."""
        raised, lowered = 1.0 + _HALF * self._rule.raise_share, 1.0 - _HALF * self._rule.lower_share
        return Columns(self.amounts.copy(), self.amounts / raised, self.amounts / lowered)

    def save(self, row: int) -> JsonObject:
        """Return what is held of a row."""
        return packed({"held": np.array([self.amounts[row], self._changed[row]])})

    def restore(self, row: int, saved: JsonObject) -> None:
        """Let a row that holds nothing go on from what was saved.

        Raises:
            ValueError: It is nothing that ``save`` returns.
        """
        held = unpacked(saved, _FORMS)["held"].astype(np.float64)
        is_known = np.isfinite(held)
        if len(held) != len(("amount", "time")) or np.isinf(held).any() or (held < 0.0).any() or len(set(is_known)) > 1:
            raise ValueError("saved state of a row: what is held is no amount with its time")
        self.amounts[row], self._changed[row] = held
