"""Recommendations held to what nodes have, all at once.

A VPA's pods go to one node each, so it is the sum over their containers that counts, and cpu and memory are held to
what the same node has: the one on which the pods get the largest share of what they should get. Of that each container
gets the same share, see ``sharing_out``. The lower bound is no higher than the target, and the upper one no lower.

What is above its node is found by one comparison over all VPAs. Bounds alone are so for most VPAs that are young, and
nobody acts on that; so the condition tells of targets only, and bounds are capped by columns as targets are.

Spec: beyond:B-11, case:45.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Final

import numpy as np
from numpy.typing import NDArray

from autoscaling.pod import ConditionStatus
from autoscaling.resources import CONTROLLED, CPU, MEMORY, ResourceList
from autoscaling.vpa import ContainerRecommendation, Recommendation, VpaCondition
from recommender.amounts import MAX_AMOUNT, as_quantity, from_quantity
from recommender.estimator import LOWER_BOUND, TARGET, UPPER_BOUND
from recommender.recommendation_table import BOUNDED, RecommendationTable, humanised
from recommender.rows import spread
from recommender.sharing_out import shared_out
from recommender.status import CAPPED_TO_NODE
from recommender.vpa_rooms import RoomColumns

Integers = NDArray[np.int64]
Flags = NDArray[np.bool_]

REASON: Final = "LargerThanAnyNode"


@dataclass(frozen=True, slots=True)
class Fitted:
    """Recommendations that nodes have room for.

    Args:
        table: All recommendations.
        conditions: By the place of their VPA, of each whose target is held back.
    """

    table: RecommendationTable
    conditions: Mapping[int, VpaCondition]


def fitted_to_nodes(table: RecommendationTable, columns: RoomColumns) -> Fitted:
    """Hold recommendations to what nodes have.

    Args:
        table: As computed.
        columns: What nodes have for the pods of the same VPAs.

    Returns:
        The same table where no node has too little. The uncapped target is as it was.
    """
    asked = _asked(table)
    sums = _sums(asked, table.groups.bounds)
    is_beyond = (sums.max(axis=1) + columns.others > columns.first).any(axis=0) & columns.is_known
    places, chosen = _choice(np.flatnonzero(is_beyond), sums, columns)
    if not len(places):
        return Fitted(table, {})
    bounds = table.groups.bounds
    counts = bounds[places + 1] - bounds[places]
    groups, owners = spread(bounds[places], counts), np.repeat(np.arange(len(places)), counts)
    held = asked.copy()
    for side, resource in enumerate(CONTROLLED):
        rooms = chosen.rooms[side]
        part = _Part(asked[side][:, groups], _least(table, resource, groups), owners, rooms)
        is_over = (sums[side][:, places].max(axis=0) > rooms)[owners]
        held[side][:, groups] = np.where(is_over, _capped(part), part.asked)
    return Fitted(_with(table, asked, held), _conditions(places, sums[:, TARGET][:, places], chosen))


def recommended_of(table: RecommendationTable) -> Flags:
    """Return bool[2, groups], which groups have a recommendation of CPU and of memory that pods have a container for.

    A container that no pod has any more stays in the recommendation for a while, but nothing is asked for it.
    """
    groups = table.groups
    return np.stack((groups.controls_cpu, groups.controls_memory)) & (table.is_listed & groups.is_present)


def _asked(table: RecommendationTable) -> Integers:
    """Return int64[2, 3, groups], CPU and memory of target and bounds as whole amounts, 0 for what is not there."""
    is_there = recommended_of(table)
    amounts = np.stack([_amounts(table, table.cpu, CPU), _amounts(table, table.memory, MEMORY)])
    asked = np.where(is_there[:, np.newaxis], np.minimum(amounts, MAX_AMOUNT), 0)
    bounds = table.groups.bounds
    for place, recommendation in table.adjusted.items():
        begin, end = bounds[place : place + 2].tolist()
        for group, entry in _entries(table, recommendation, begin, end):
            if table.groups.is_present[group]:
                asked[:, :, group] = [
                    [min(from_quantity(vector.get(name), name), MAX_AMOUNT) for vector in _vectors(entry)]
                    for name in CONTROLLED
                ]
    return asked


def _amounts(table: RecommendationTable, column: Integers, resource: str) -> Integers:
    """Return int64[3, groups], target and bounds with quantities that bounds name rounded up to whole amounts."""
    amounts = column[list(BOUNDED)]
    if table.typed.quantities:
        ceilings = table.typed.ceilings[resource]
        amounts = np.where(amounts < 0, ceilings[np.where(amounts < 0, ~amounts, 0)], amounts)
    if resource == MEMORY and table.humanizes_memory:
        distinct, inverse = np.unique(amounts, return_inverse=True)
        written = [humanised(amount).value() if amount else 0 for amount in distinct.tolist()]
        amounts = np.array(written, dtype=np.int64)[inverse.reshape(amounts.shape)]
    return amounts


def _sums(asked: Integers, bounds: Integers) -> Integers:
    """Return int64[2, 3, vpas], what is asked for in all."""
    ends = np.concatenate((np.zeros((*asked.shape[:2], 1), dtype=np.int64), np.cumsum(asked, axis=2)), axis=2)
    sums: Integers = ends[:, :, bounds[1:]] - ends[:, :, bounds[:-1]]
    return sums


@dataclass(frozen=True, slots=True)
class _Choice:
    """Which node each of n VPAs is held to.

    Args:
        rooms: int64[2, n], what is left there for what is recommended.
        names: The nodes.
    """

    rooms: Integers
    names: tuple[str, ...]


def _choice(places: Integers, sums: Integers, columns: RoomColumns) -> tuple[Integers, _Choice]:
    """Choose the node on which most of the target can be had, then most of all three vectors, then the largest.

    Args:
        places: int64[n], places of VPAs.
        sums: int64[2, 3, vpas], what all VPAs ask for.
        columns: What nodes have.

    Returns:
        The places for which there is a node that leaves anything, and what was chosen for them.
    """
    rooms, shares = np.zeros((2, len(places)), dtype=np.int64), np.zeros((2, len(places)))
    names = np.full(len(places), "", dtype=object)
    kinds = columns.kinds[places]
    for kind in np.unique(kinds).tolist():
        members = np.flatnonzero(kinds == kind)
        others, asked = columns.others[:, places[members]], sums[:, :, places[members]]
        for node in columns.rooms[kind]:
            left = np.array([[node.cpu], [node.memory]]) - others
            # The upper bound is the largest of the three, but for amounts that were rounded or set by a strategy.
            part = np.stack([_share_of(each, left) for each in (asked[:, TARGET], asked.max(axis=1))])
            target, largest = part
            best_target, best_largest = shares[:, members]
            is_better = (target > best_target) | ((target > 0) & (target == best_target) & (largest > best_largest))
            better = members[is_better]
            rooms[:, better], shares[:, better], names[better] = left[:, is_better], part[:, is_better], node.node
    found = np.flatnonzero(shares[0] > 0)
    return places[found], _Choice(rooms[:, found], tuple(names[found].tolist()))


def _share_of(asked: Integers, left: Integers) -> NDArray[np.float64]:
    """Return float64[n], which share of what is asked for can be had of both resources: 1 for all of it.

    Where the node has too little already for what is not recommended, that is none.
    """
    shares = np.where(left < 0, 0.0, np.where(asked > 0, left / np.maximum(asked, 1), 1.0))
    lowest: NDArray[np.float64] = np.minimum(shares, 1.0).min(axis=0)
    return lowest


@dataclass(frozen=True, slots=True)
class _Part:
    """One resource of the containers of some VPAs.

    Args:
        asked: int64[3, n], target and bounds.
        least: int64[n], what the policies want at least.
        owners: int64[n], whose containers they are, places in ``rooms``.
        rooms: int64[m], what there is for all containers of a VPA.
    """

    asked: Integers
    least: Integers
    owners: Integers
    rooms: Integers


def _least(table: RecommendationTable, resource: str, groups: Integers) -> Integers:
    limits = table.groups.limits
    return limits.lower(resource)[groups] if limits.typed.quantities else np.zeros(len(groups), dtype=np.int64)


def _capped(part: _Part) -> Integers:
    """Return int64[3, n], target and bounds of which no sum is above what there is."""
    target = shared_out(part.asked[TARGET], part.least, part.owners, part.rooms)
    capped = part.asked.copy()
    capped[TARGET] = target
    capped[LOWER_BOUND] = np.minimum(part.asked[LOWER_BOUND], target)
    capped[UPPER_BOUND] = shared_out(part.asked[UPPER_BOUND], target, part.owners, part.rooms)
    return capped


def _with(table: RecommendationTable, asked: Integers, held: Integers) -> RecommendationTable:
    """Return a table with the amounts that are held back; others stay as they are written.

    A capped amount is not rounded, so where memory is humanised it is told as an object.
    """
    is_changed = held != asked
    owners = np.repeat(np.arange(len(table)), np.diff(table.groups.bounds))
    places = np.unique(owners[is_changed.any(axis=(0, 1))])
    by_objects = places if table.humanizes_memory else places[np.isin(places, list(table.adjusted))]
    cpu, memory = (
        np.concatenate((np.where(flags, amounts, column[list(BOUNDED)]), column[len(BOUNDED) :]))
        for flags, amounts, column in zip(is_changed, held, (table.cpu, table.memory), strict=True)
    )
    cut = replace(table, cpu=cpu, memory=memory, is_cut=True)
    if not len(by_objects):
        return cut
    adjusted = dict(table.adjusted)
    for place, recommendation in zip(by_objects.tolist(), table.of(by_objects), strict=True):
        begin, end = table.groups.bounds[place : place + 2].tolist()
        adjusted[place] = Recommendation(
            tuple(
                _entry(entry, held[:, :, group], is_changed[:, :, group])
                for group, entry in _entries(table, recommendation, begin, end)
            )
        )
    return replace(cut, adjusted=adjusted)


def _entries(
    table: RecommendationTable, recommendation: Recommendation, begin: int, end: int
) -> list[tuple[int, ContainerRecommendation]]:
    """Return the entries of a recommendation with their groups."""
    places = {table.groups.names[group]: group for group in range(begin, end)}
    return [(places[entry.container_name], entry) for entry in recommendation.containers]


def _vectors(entry: ContainerRecommendation) -> tuple[ResourceList, ResourceList, ResourceList]:
    """Return target and bounds in the order of ``BOUNDED``."""
    return entry.target, entry.lower_bound or {}, entry.upper_bound or {}


def _entry(entry: ContainerRecommendation, held: Integers, is_changed: Flags) -> ContainerRecommendation:
    """Return an entry with the amounts that are held back.

    Args:
        entry: As it was.
        held: int64[2, 3], amounts.
        is_changed: bool[2, 3], which of them are others than they were.
    """
    target, lower_bound, upper_bound = (
        {
            name: as_quantity(int(held[CONTROLLED.index(name), at]), name)
            if is_changed[CONTROLLED.index(name), at]
            else given
            for name, given in vector.items()
        }
        for at, vector in zip(BOUNDED, _vectors(entry), strict=True)
    )
    return replace(entry, target=target, lower_bound=lower_bound, upper_bound=upper_bound)


def _conditions(places: Integers, asked: Integers, chosen: _Choice) -> dict[int, VpaCondition]:
    """Return the condition of each VPA whose target is held back.

    Args:
        places: int64[n], places of the VPAs.
        asked: int64[2, n], what their targets come to.
        chosen: What they are held to.
    """
    is_short = asked > chosen.rooms
    conditions: dict[int, VpaCondition] = {}
    for at in np.flatnonzero(is_short.any(axis=0)).tolist():
        lacking = [
            f"{as_quantity(int(chosen.rooms[side, at]), name)} of {name}, but "
            f"{as_quantity(int(asked[side, at]), name)} would be recommended"
            for side, name in enumerate(CONTROLLED)
            if is_short[side, at]
        ]
        message = (
            f"Node {chosen.names[at]} suits these pods best and has room for {'; for '.join(lacking)}; that is "
            "shared out among the containers. Add a larger node, let the pods run on one by nodeSelector, affinity or "
            "tolerations, or lower maxAllowed"
        )
        conditions[int(places[at])] = VpaCondition(CAPPED_TO_NODE, ConditionStatus.TRUE, REASON, message)
    return conditions
