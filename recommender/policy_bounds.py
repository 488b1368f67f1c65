"""What container policies bound recommendations by, as columns.

A bounded amount is written as the bound was typed. So in a column it is the place of the bound among all quantities
that bounds name, which is told from an amount by being less than zero.

Spec: recommender 4.4; performance R-3.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from autoscaling.quantity import MAX_INT64, NANO, Format, Quantity
from autoscaling.resources import CONTROLLED, CPU, MEMORY, ResourceList
from autoscaling.vpa import ContainerPolicy

Integers = NDArray[np.int64]
Flags = NDArray[np.bool_]

NANO_PER_AMOUNT: Final = {CPU: 10**6, MEMORY: NANO}
"""Billionths of a core or a byte in one amount."""

NONE: Final = -1


@dataclass(frozen=True, slots=True)
class TypedQuantities:
    """Quantities as they were typed, and as amounts.

    Args:
        quantities: The quantities.
        floors: By resource int64[n], the largest amount that is no more.
        ceilings: By resource int64[n], the smallest amount that is no less.
        ranks: int64[n], equal for equal quantities, larger for larger ones.
        is_zero: bool[n].
    """

    quantities: tuple[Quantity, ...]
    floors: Mapping[str, Integers]
    ceilings: Mapping[str, Integers]
    ranks: Integers
    is_zero: Flags

    @classmethod
    def of(cls, quantities: Iterable[Quantity]) -> TypedQuantities:
        """Tell the amounts of quantities."""
        listed = tuple(quantities)
        nanos = [quantity.nano for quantity in listed]
        ranks = {nano: rank for rank, nano in enumerate(sorted(set(nanos)))}
        return cls(
            listed,
            {resource: _column(nano // unit for nano in nanos) for resource, unit in NANO_PER_AMOUNT.items()},
            {resource: _column(-(-nano // unit) for nano in nanos) for resource, unit in NANO_PER_AMOUNT.items()},
            _column(ranks[nano] for nano in nanos),
            np.array([not nano for nano in nanos], dtype=np.bool_),
        )


def _column(numbers: Iterable[int]) -> Integers:
    return np.array([max(-MAX_INT64, min(number, MAX_INT64)) for number in numbers], dtype=np.int64)


NOTHING_TYPED: Final = TypedQuantities.of(())


@dataclass(frozen=True, slots=True)
class PolicyBounds:
    """Bounds of several groups.

    Args:
        typed: All quantities that bounds name, each once by how it is written.
        minimum: int64[2, groups], places of minAllowed of CPU and memory among them, ``NONE`` for none; without any
            column where no group has bounds.
        maximum: int64[2, groups], of maxAllowed, likewise.
    """

    typed: TypedQuantities
    minimum: Integers
    maximum: Integers

    @classmethod
    def of(cls, policies: Iterable[ContainerPolicy | None]) -> PolicyBounds:
        """List the bounds of the policies of several groups."""
        lists = [(policy.min_allowed, policy.max_allowed) if policy else ({}, {}) for policy in policies]
        if not any(least or most for least, most in lists):
            return NO_BOUNDS
        known: dict[tuple[int, Format, str], int] = {}
        quantities: list[Quantity] = []

        def place(bounds: ResourceList, resource: str) -> int:
            """Return where one bound stands among all quantities, ``NONE`` where there is none."""
            found = bounds.get(resource)
            if found is None:
                return NONE
            key = found.nano, found.format, found.text
            if key not in known:
                known[key] = len(quantities)
                quantities.append(found)
            return known[key]

        minimum, maximum = (
            np.array([[place(pair[side], resource) for pair in lists] for resource in CONTROLLED], dtype=np.int64)
            for side in (0, 1)
        )
        return cls(TypedQuantities.of(quantities), minimum, maximum)

    def with_maximum(self, maximum: ResourceList, groups: int) -> PolicyBounds:
        """Return the bounds with upper ones for what maxAllowed does not name, even below minAllowed.

        Args:
            maximum: The upper bounds.
            groups: Number of groups.
        """
        named = [resource for resource in CONTROLLED if resource in maximum]
        if not named:
            return self
        least, most, quantities = self.minimum, self.maximum.copy(), self.typed.quantities
        if not quantities:
            least, most = (np.full((len(CONTROLLED), groups), NONE, dtype=np.int64) for _ in range(2))
        for number, resource in enumerate(named):
            row = most[CONTROLLED.index(resource)]
            row[row == NONE] = len(quantities) + number
        return PolicyBounds(TypedQuantities.of((*quantities, *(maximum[each] for each in named))), least, most)

    def apply(self, amounts: Integers, resource: str) -> Integers:
        """Bound amounts; the upper bound wins over the lower one, and a bound of zero is none.

        Args:
            amounts: int64[..., groups], millicores or bytes.
            resource: ``cpu`` or ``memory``.

        Returns:
            int64[..., groups]: the amount, or ``~place`` of the bound that takes its place.
        """
        if not self.typed.quantities:
            return amounts
        least, most = (self._in_force(places, resource) for places in (self.minimum, self.maximum))
        ranks = self.typed.ranks
        is_raised = (least != NONE) & (amounts < self.typed.ceilings[resource][least])
        is_beyond = np.where(is_raised, ranks[least] > ranks[most], amounts > self.typed.floors[resource][most])
        return np.where(is_beyond & (most != NONE), ~most, np.where(is_raised, ~least, amounts))

    def _in_force(self, places: Integers, resource: str) -> Integers:
        """Return the bounds of one resource without those of zero."""
        row = places[CONTROLLED.index(resource)]
        return np.where(self.typed.is_zero[row], NONE, row)

    def lower(self, resource: str) -> Integers:
        """Return the lower bounds in force of one resource, rounded up to whole amounts.

        Returns:
            int64[groups], 0 for none; without any column where no group has bounds.
        """
        least = self._in_force(self.minimum, resource)
        return np.where(least == NONE, 0, self.typed.ceilings[resource][least])

    def upper(self, resource: str) -> Integers:
        """Return the upper bounds in force of one resource, rounded up to whole amounts.

        Returns:
            int64[groups], the largest int64 for none; without any column where no group has bounds.
        """
        most = self._in_force(self.maximum, resource)
        return np.where(most == NONE, MAX_INT64, self.typed.ceilings[resource][most])


NO_BOUNDS: Final = PolicyBounds(NOTHING_TYPED, np.empty((2, 0), dtype=np.int64), np.empty((2, 0), dtype=np.int64))
"""No group is bounded."""
