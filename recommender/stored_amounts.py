"""The recommendations that VPAs carry, as whole amounts: what a round computed is compared with all of them at once.

A stored recommendation that the columns cannot tell, such as one that somebody else has written, is compared as an
object, with the same outcome.

Spec: recommender 5; performance R-3.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from autoscaling.quantity import Quantity
from autoscaling.resources import CPU, MEMORY
from autoscaling.vpa import ContainerRecommendation, Recommendation
from recommender.amounts import MAX_AMOUNT
from recommender.grouping import Groups
from recommender.policy_bounds import NANO_PER_AMOUNT
from recommender.recommendation_table import VECTORS, RecommendationTable
from recommender.rows import spread
from recommender.status import is_same_recommendation
from recommender.write_rule import has_moved, vectors

Integers = NDArray[np.int64]
Flags = NDArray[np.bool_]

_NONE: Final = -1
"""Amount of a resource that is not named."""

_NOT_WHOLE: Final = -2
"""Amount that columns cannot tell."""


@dataclass(frozen=True, slots=True)
class Comparison:
    """How recommendations of a round stand beside those that are stored.

    Args:
        differs: bool[n], which of them mean something else.
        has_moved: bool[n], which of these do by more than the threshold, or in what they name.
    """

    differs: Flags
    has_moved: Flags


class StoredAmounts:
    """The stored recommendations of the VPAs of some groups; mutable, owned by the task of the rounds.

    Args:
        groups: The groups.
    """

    def __init__(self, groups: Groups) -> None:
        self._names = groups.names
        self._bounds = groups.bounds
        self._cpu = np.full((len(VECTORS), len(groups)), _NONE, dtype=np.int64)
        self._memory = self._cpu.copy()
        self._is_listed = np.zeros(len(groups), dtype=np.bool_)
        self._is_plain = np.zeros(len(groups.vpas), dtype=np.bool_)
        self._stored: list[Recommendation | None] = [None] * len(groups.vpas)

    def read(self, places: Sequence[int], stored: Sequence[Recommendation | None]) -> None:
        """Take in what some VPAs carry.

        Args:
            places: Places of the VPAs, each once.
            stored: Their recommendations, None where a status has none.
        """
        chosen = np.array(places, dtype=np.int64)
        groups = spread(self._bounds[chosen], self._bounds[chosen + 1] - self._bounds[chosen])
        self._cpu[:, groups] = self._memory[:, groups] = _NONE
        self._is_listed[groups] = False
        rows: list[tuple[int, ...]] = []
        for place, recommendation in zip(places, stored, strict=True):
            self._stored[place] = recommendation
            found = self._rows(place, recommendation)
            self._is_plain[place] = found is not None
            rows += found or ()
        if rows:
            table = np.array(rows, dtype=np.int64).T
            self._cpu[:, table[0]], self._memory[:, table[0]] = table[1:5], table[5:]
            self._is_listed[table[0]] = True

    def _rows(self, place: int, stored: Recommendation | None) -> list[tuple[int, ...]] | None:
        """Return group and amounts of each entry, None where columns cannot tell what is stored."""
        if stored is None:
            return None
        rows, at, end = [], int(self._bounds[place]), int(self._bounds[place + 1])
        for entry in stored.containers:
            while at < end and self._names[at] != entry.container_name:
                at += 1
            amounts = _amounts(entry) if at < end else None
            if amounts is None:
                return None
            rows.append((at, *amounts))
            at += 1
        return rows

    def compare(self, table: RecommendationTable, places: Integers, threshold: float) -> Comparison:
        """Compare recommendations with those that were read last.

        Args:
            table: What was computed, for the same groups.
            places: int64[n], places of the VPAs to compare.
            threshold: Share by which an amount must have moved.
        """
        counts = self._bounds[places + 1] - self._bounds[places]
        groups, owners = spread(self._bounds[places], counts), np.repeat(np.arange(len(places)), counts)
        listed = table.is_listed[groups]
        is_other = listed != self._is_listed[groups]
        is_far, is_open = is_other.copy(), np.zeros(len(groups), dtype=np.bool_)
        for resource, stored, amounts, controls in (
            (CPU, self._cpu, table.cpu, table.groups.controls_cpu),
            (MEMORY, self._memory, table.memory, table.groups.controls_memory),
        ):
            old, is_shown = stored[:, groups], controls[groups] & listed
            new = np.where(is_shown, _whole_amounts(table, amounts[:, groups], resource), _NONE)
            is_open |= (new == _NOT_WHOLE).any(axis=0)
            is_other |= (new != old).any(axis=0)
            is_beyond = _beyond(new, old, threshold, NANO_PER_AMOUNT[resource]) | ((new < 0) != (old < 0))
            is_far |= is_beyond.any(axis=0)
        differs, moved, is_left = (
            np.bincount(owners[flags], minlength=len(places)) > 0 for flags in (is_other, is_far, is_open)
        )
        is_left |= ~self._is_plain[places] | np.isin(places, list(table.adjusted)) | table.humanizes_memory
        # What columns do not tell is compared as objects.
        left = np.flatnonzero(is_left)
        for at, ours in zip(left.tolist(), table.of(places[left]), strict=True):
            theirs = self._stored[int(places[at])]
            differs[at] = not is_same_recommendation(ours, theirs)
            moved[at] = has_moved(ours, theirs, threshold)
        return Comparison(differs, moved)


def _whole_amounts(table: RecommendationTable, amounts: Integers, resource: str) -> Integers:
    """Return amounts of a table with bounds as amounts, those that are not whole as ``_NOT_WHOLE``."""
    typed = table.typed
    if not typed.quantities:
        return amounts
    floors = typed.floors[resource]
    is_whole = (floors == typed.ceilings[resource]) & (floors >= 0) & (floors <= MAX_AMOUNT)
    whole = np.where(is_whole, floors, _NOT_WHOLE)
    return np.where(amounts < 0, whole[np.where(amounts < 0, ~amounts, 0)], amounts)


def _whole(quantity: Quantity, resource: str) -> int:
    """Return a quantity as a whole amount, ``_NOT_WHOLE`` where it is none that is ever computed."""
    amount, rest = divmod(quantity.nano, NANO_PER_AMOUNT[resource])
    return _NOT_WHOLE if rest or not 0 <= amount <= MAX_AMOUNT else amount


def _amounts(entry: ContainerRecommendation) -> tuple[int, ...] | None:
    """Return an entry's CPU in millicores and its memory in bytes, target, bounds and uncapped target each.

    Returns:
        ``_NONE`` for each amount of a resource that no vector names. None where vectors name other resources than each
        other or than these two, or an amount is none that is ever computed.
    """
    named = vectors(entry)
    if (
        any(vector.keys() != entry.target.keys() for vector in named)
        or not entry.target.keys() <= NANO_PER_AMOUNT.keys()
    ):
        return None
    amounts = [
        _whole(vector[resource], resource) if resource in vector else _NONE
        for resource in NANO_PER_AMOUNT
        for vector in named
    ]
    return None if _NOT_WHOLE in amounts else tuple(amounts)


def _beyond(new: Integers, old: Integers, threshold: float, unit: int) -> Flags:
    """Say which amounts are off by more than a share of the old ones, to the last bit as their quantities are.

    Args:
        new: int64[...], at most ``MAX_AMOUNT``.
        old: int64[...], likewise.
        threshold: The share.
        unit: Billionths of an amount's unit.
    """
    changes, limits = np.abs(new - old), threshold * (np.abs(old) * float(unit))
    rounded = changes * float(unit)
    is_beyond: Flags = rounded > limits
    # Rounding keeps the order but for what it makes equal; a whole number beside a float leaves nothing open.
    for at in zip(*np.nonzero((rounded == limits) & (changes > 0)), strict=True):
        is_beyond[at] = int(changes[at]) * unit > float(limits[at])
    return is_beyond
