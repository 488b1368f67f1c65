"""One strategy of another distribution at work for the VPAs that ask for it (spec: beyond:B-10)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, TypeVar

import numpy as np
from numpy.typing import NDArray

from recommender.amounts import MILLICORES_PER_CORE
from recommender.grouping import Groups
from recommender.instants import SECOND
from recommender.label_sets import TrackedVpa
from recommender.rows import RowPool, doubled
from recommender.samples import SampleColumns, UsageColumns
from recommender.strategies.guarded import GuardedState
from recommender.strategies.interface import OomKills, Usage
from recommender.strategies.known import Plugin

Integers = NDArray[np.int64]
Floats = NDArray[np.float64]
_Scalar = TypeVar("_Scalar", bound=np.generic)

_FIRST_ROWS: Final = 16
_NOTHING: Final[Integers] = np.empty(0, dtype=np.int64)

ContainerKey = tuple[str, str, str]
"""Namespace and name of a VPA, name of a container."""


@dataclass(frozen=True, slots=True)
class Users:
    """The VPAs that ask for a strategy.

    Args:
        vpas: These.
        places: int64[k], their groups.
        owners: int64[k], place in ``vpas`` of the VPA of each group.
    """

    vpas: tuple[TrackedVpa, ...]
    places: Integers
    owners: Integers

    @classmethod
    def of(cls, groups: Groups, numbers: Sequence[int]) -> Users:
        """Return those of some VPAs.

        Args:
            groups: The groups.
            numbers: Places of the VPAs in ``groups.vpas``.
        """
        chosen = np.array(numbers, dtype=np.int64)
        sizes = groups.bounds[chosen + 1] - groups.bounds[chosen]
        owners = np.repeat(np.arange(len(chosen)), sizes)
        begins = np.repeat(groups.bounds[chosen] - (np.cumsum(sizes) - sizes), sizes)
        return cls(tuple(groups.vpas[number] for number in numbers), begins + np.arange(len(owners)), owners)


class StrategyRun:
    """A strategy's state, and which of its rows is whose.

    Args:
        plugin: The strategy.

    Attributes:
        state: What it has seen.
        rows: Row of each container.
        users: The VPAs that ask for it.
        chosen: int64[k], row of each of their groups.
    """

    def __init__(self, plugin: Plugin) -> None:
        self.state = GuardedState(plugin, _FIRST_ROWS)
        self.rows: dict[ContainerKey, int] = {}
        self.users = Users((), _NOTHING, _NOTHING)
        self.chosen = _NOTHING
        self._pool = RowPool()
        self._capacity = _FIRST_ROWS
        self._fed = _NOTHING
        self._feeds = _NOTHING

    def follow(self, groups: Groups, users: Users) -> None:
        """Have a row for each container of the VPAs that ask for the strategy, and none for others.

        Args:
            groups: The groups.
            users: The VPAs.
        """
        keys = [
            (*users.vpas[owner].key, groups.names[place])
            for place, owner in zip(users.places.tolist(), users.owners.tolist(), strict=True)
        ]
        self._release(self.rows.keys() - set(keys))
        for key in keys:
            if key not in self.rows:
                self.rows[key] = self._pool.take()
        if self._pool.end > self._capacity:
            self._capacity = doubled(self._capacity, self._pool.end)
            self.state.grow(self._capacity)
        self.users = users
        self.chosen = np.array([self.rows[key] for key in keys], dtype=np.int64)
        self._find_feeds(groups)

    def _release(self, gone: set[ContainerKey]) -> None:
        rows = [self.rows.pop(key) for key in sorted(gone)]
        for row in rows:
            self._pool.release(row)
        if rows:
            self.state.clear(np.array(rows, dtype=np.int64))

    def _find_feeds(self, groups: Groups) -> None:
        """Find the aggregates of pods that feed each row; one that two VPAs use feeds two rows."""
        starts, sizes = groups.starts[self.users.places], groups.sizes[self.users.places]
        begins = np.repeat(starts - (np.cumsum(sizes) - sizes), sizes)
        members = begins + np.arange(len(begins))
        counted = ~groups.is_loaded[members]
        aggregates, rows = groups.members[members[counted]], np.repeat(self.chosen, sizes)[counted]
        order = np.argsort(aggregates, kind="stable")
        self._fed, self._feeds = aggregates[order], rows[order]

    def _rows_of(self, aggregates: Integers) -> tuple[Integers, Integers]:
        """Return the rows that samples go to.

        Args:
            aggregates: int64[n], aggregate of each sample.

        Returns:
            int64[m] the places of samples, int64[m] the rows.
        """
        begin = np.searchsorted(self._fed, aggregates, side="left")
        counts = np.searchsorted(self._fed, aggregates, side="right") - begin
        places = np.repeat(np.arange(len(aggregates)), counts)
        numbers = np.arange(len(places)) - np.repeat(np.cumsum(counts) - counts, counts)
        return places, self._feeds[np.repeat(begin, counts) + numbers]

    def observe(self, aggregates: Integers, usage: UsageColumns, seconds: float) -> None:
        """Take in samples.

        Args:
            aggregates: int64[n], aggregate of each sample.
            usage: The samples; a negative amount is none.
            seconds: Time that each stands for.
        """
        places, rows = self._rows_of(aggregates)
        heard = (usage.cpu[places] >= 0) | (usage.memory[places] >= 0)
        places, rows = places[heard], rows[heard]
        if not len(places):
            return
        order = np.argsort(usage.instants[places], kind="stable")
        places, rows = places[order], rows[order]
        self.state.observe(
            Usage(
                _frozen(rows),
                _frozen(usage.instants[places] / SECOND),
                _frozen(np.full(len(places), seconds)),
                _frozen(_amounts(usage.cpu[places], MILLICORES_PER_CORE)),
                _frozen(_amounts(usage.memory[places], 1.0)),
            )
        )

    def observe_ooms(self, aggregates: Integers, kills: SampleColumns) -> None:
        """Take in kills.

        Args:
            aggregates: int64[n], aggregate of each kill.
            kills: Requested bytes of each.
        """
        places, rows = self._rows_of(aggregates)
        if len(places):
            times, memory = kills.instants[places] / SECOND, kills.amounts[places].astype(np.float64)
            self.state.observe_ooms(OomKills(_frozen(rows), _frozen(times), _frozen(memory)))


def _amounts(amounts: Integers, per_unit: float) -> Floats:
    """Return amounts in cores or bytes, NaN where there is none."""
    return np.where(amounts >= 0, amounts / per_unit, np.nan)


def _frozen(column: NDArray[_Scalar]) -> NDArray[_Scalar]:
    """Return a column that nobody can write to."""
    column.flags.writeable = False
    return column
