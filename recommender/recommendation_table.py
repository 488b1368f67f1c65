"""The recommendations of a round as columns: objects are made only of those that somebody looks at one by one.

Practically all of them are estimated amounts and bounds, which need nothing but their text. Where an amount is held,
the recommendation is kept as an object beside the columns.

Spec: recommender 4.3; performance R-3.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final, TypeVar

import numpy as np
from numpy.typing import NDArray

from autoscaling.quantity import Quantity
from autoscaling.resources import CPU, MEMORY, ResourceList
from autoscaling.vpa import ContainerRecommendation, Recommendation
from recommender.amounts import amount_text, as_quantity
from recommender.estimator import LOWER_BOUND, TARGET, UPPER_BOUND
from recommender.grouping import Groups
from recommender.policy_bounds import NOTHING_TYPED, TypedQuantities
from recommender.rows import spread

Integers = NDArray[np.int64]
Flags = NDArray[np.bool_]
T = TypeVar("T")

UNCAPPED_TARGET: Final = 3
BOUNDED: Final = (TARGET, LOWER_BOUND, UPPER_BOUND)
VECTORS: Final = (*BOUNDED, UNCAPPED_TARGET)
"""What an entry is made of, in the order of its fields."""

_UNITS: Final = (("Ti", 2**40), ("Gi", 2**30), ("Mi", 2**20), ("Ki", 2**10))


def humanised(memory_bytes: int) -> Quantity:
    """Return memory with two decimals of the largest binary unit that it reaches, read back as a quantity."""
    for suffix, size in _UNITS:
        if memory_bytes >= size:
            return Quantity.parse(f"{memory_bytes / size:.2f}{suffix}")
    return Quantity.parse(str(memory_bytes))


@dataclass(frozen=True, slots=True)
class RecommendationTable:
    """One recommendation for each VPA of some groups, its containers sorted by name.

    Args:
        groups: The groups, with those resources controlled that are recommended.
        cpu: int64[4, groups], millicores of each of ``VECTORS``; less than zero where a bound has taken the place of
            an amount, which is then the one of ``typed`` at ``~amount``.
        memory: int64[4, groups], bytes, likewise.
        is_listed: bool[groups], which of them have an entry.
        typed: The quantities that bounds name.
        humanizes_memory: Whether memory is written with two decimals of its largest binary unit.
        adjusted: By the place of their VPA, recommendations that the columns do not tell.
        is_cut: Whether amounts have been cut, so that a target may be another than the uncapped one although no bound
            has taken its place.
    """

    groups: Groups
    cpu: Integers
    memory: Integers
    is_listed: Flags
    typed: TypedQuantities = NOTHING_TYPED
    humanizes_memory: bool = False
    adjusted: Mapping[int, Recommendation] = field(default_factory=dict)
    is_cut: bool = False

    def __len__(self) -> int:
        """Number of VPAs."""
        return len(self.groups.vpas)

    def __iter__(self) -> Iterator[Recommendation]:
        """Go through the recommendations of all VPAs, as objects."""
        return iter(self.of(np.arange(len(self))))

    def __getitem__(self, place: int) -> Recommendation:
        """Return the recommendation of one VPA as an object."""
        return self.of(np.array([place]))[0]

    @property
    def is_empty(self) -> Flags:
        """bool[vpas], which VPAs have no entry at all."""
        ends = np.concatenate(([0], np.cumsum(self.is_listed)))[self.groups.bounds]
        is_empty: Flags = ends[1:] == ends[:-1]
        return is_empty

    def entries_of(self, places: Integers) -> tuple[Integers, Integers]:
        """Return the groups that have an entry, int64[n], VPA by VPA, and how many of each VPA do, int64[vpas].

        Args:
            places: int64[vpas], places of VPAs.
        """
        bounds = self.groups.bounds
        counts = bounds[places + 1] - bounds[places]
        groups = spread(bounds[places], counts)
        flags = self.is_listed[groups]
        owners = np.repeat(np.arange(len(places)), counts)[flags]
        return groups[flags], np.bincount(owners, minlength=len(places))

    def of(self, places: Integers) -> list[Recommendation]:
        """Return the recommendations of some VPAs as objects.

        Args:
            places: int64[n], places of VPAs.
        """
        listed = places.tolist()
        others = [place for place in listed if place not in self.adjusted] if self.adjusted else listed
        told = dict(zip(others, self._told(np.array(others, dtype=np.int64)), strict=True))
        return [self.adjusted.get(place) or told[place] for place in listed]

    def _told(self, places: Integers) -> list[Recommendation]:
        """Return what the columns tell of some VPAs as objects."""
        groups, counts = self.entries_of(places)
        entries = self.entries(groups)
        ends = np.cumsum(counts)
        spans = zip((ends - counts).tolist(), ends.tolist(), strict=True)
        return [Recommendation(tuple(entries[begin:end])) for begin, end in spans]

    def entries(self, groups: Integers) -> list[ContainerRecommendation]:
        """Return what the columns tell of some groups as objects.

        Args:
            groups: int64[n].
        """
        names = self.groups.names
        vectors = zip(*(self._vectors(groups, each) for each in VECTORS), strict=True)
        return [
            ContainerRecommendation(names[group], *each) for group, each in zip(groups.tolist(), vectors, strict=True)
        ]

    def _vectors(self, groups: Integers, vector: int) -> list[ResourceList]:
        """Return one vector of some groups: the controlled ones of its amounts as quantities."""
        cpu = _Rendered(self._cpu).each(self.cpu[vector, groups])
        memory = _Rendered(self._memory).each(self.memory[vector, groups])
        flags = self.groups.controls_cpu[groups].tolist(), self.groups.controls_memory[groups].tolist()
        columns = zip(cpu, memory, *flags, strict=True)
        return [
            {CPU: c, MEMORY: m}
            if with_cpu and with_memory
            else {CPU: c}
            if with_cpu
            else {MEMORY: m}
            if with_memory
            else {}
            for c, m, with_cpu, with_memory in columns
        ]

    def _cpu(self, amount: int) -> Quantity:
        return as_quantity(amount, CPU) if amount >= 0 else self.typed.quantities[~amount]

    def _memory(self, amount: int) -> Quantity:
        if amount < 0:
            return self.typed.quantities[~amount]
        return humanised(amount) if self.humanizes_memory and amount else as_quantity(amount, MEMORY)

    def cpu_text(self, amount: int) -> str:
        """Return an amount of ``cpu`` as it is written."""
        return amount_text(amount, CPU) if amount >= 0 else str(self._cpu(amount))

    def memory_text(self, amount: int) -> str:
        """Return an amount of ``memory`` as it is written."""
        is_plain = amount >= 0 and not self.humanizes_memory
        return amount_text(amount, MEMORY) if is_plain else str(self._memory(amount))


class AmountTexts:
    """The amounts of a table as they are written.

    Args:
        table: The table.
    """

    def __init__(self, table: RecommendationTable) -> None:
        self.table = table
        self._cpu = _Rendered(table.cpu_text)
        self._memory = _Rendered(table.memory_text)

    def cpu(self, groups: Integers, vector: int) -> list[str]:
        """Return the CPU of one vector of some groups.

        Args:
            groups: int64[n].
            vector: One of ``VECTORS``.
        """
        return self._cpu.each(self.table.cpu[vector, groups])

    def memory(self, groups: Integers, vector: int) -> list[str]:
        """Return the memory of one vector of some groups, see ``cpu``."""
        return self._memory.each(self.table.memory[vector, groups])


class _Rendered(dict[int, T]):
    """What becomes of amounts: they share few values, of which each is rendered once."""

    def __init__(self, render: Callable[[int], T]) -> None:
        super().__init__()
        self._render = render

    def __missing__(self, amount: int) -> T:
        found = self[amount] = self._render(amount)
        return found

    def each(self, amounts: Integers) -> list[T]:
        """Return what becomes of each amount."""
        return list(map(self.__getitem__, amounts.tolist()))
