"""Series of one piece of history to samples of containers: as upstream takes them, or with what is wrong left out.

Spec: recommender 7, beyond B-7.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from recommender.history.pieces import Span
from recommender.history.series import Flaw, FlawRecord, Owned

Integers = NDArray[np.int64]
Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]

MOST_CORES: Final = 10_000.0
MOST_BYTES: Final = 1e14

_CGROUP: Final = "id"
"""Label in which cAdvisor names the control group that it measured."""


@dataclass(frozen=True, slots=True, eq=False)
class Points:
    """Points of many series of one resource.

    Args:
        owners: int64[n], container of each point.
        series: int64[n], number of its series.
        instants: int64[n], nanoseconds since the epoch.
        values: float64[n], cores or bytes.
    """

    owners: Integers
    series: Integers
    instants: Integers
    values: Floats

    @classmethod
    def of(cls, owned: Owned) -> Points:
        """Return the points of series container by container, of each container in the order of the answer."""
        owners = np.array(owned.owners, dtype=np.int64)
        order = np.argsort(owners, kind="stable")
        series = [owned.series[number] for number in order.tolist()]
        sizes = [len(one.instants) for one in series]
        return cls(
            np.repeat(owners[order], sizes),
            np.repeat(order, sizes),
            np.concatenate([np.empty(0, dtype=np.int64), *(one.instants for one in series)]),
            np.concatenate([np.empty(0), *(one.values for one in series)]),
        )

    def __len__(self) -> int:
        """Number of points."""
        return len(self.instants)

    def select(self, chosen: Flags | Integers) -> Points:
        """Return some points, in order."""
        return Points(self.owners[chosen], self.series[chosen], self.instants[chosen], self.values[chosen])

    def in_order(self) -> Points:
        """Return the points container by container and of each in the order of time; equal times stay as they are."""
        return self.select(np.lexsort((self.instants, self.owners)))

    def cells(self, span: Span) -> Integers:
        """Return of each point the number of its container and instant within a span, int64[n]."""
        return self.owners * span.count + (self.instants - span.start) // span.step


@dataclass(frozen=True, slots=True)
class Screened:
    """What counts of a piece of history.

    Args:
        cpu: Points of CPU, container by container in the order of time, one for each instant.
        memory: Likewise of memory.
    """

    cpu: Points
    memory: Points


def screen(cpu: Owned, memory: Owned, span: Span, flaws: FlawRecord) -> Screened:
    """Leave out what is wrong with a piece; nothing is added up or filled in.

    Of several series about one container, the largest value of an instant counts; of memory first that of the control
    group that used the most CPU, for one that used none has ended.

    Args:
        cpu: Series of CPU in cores.
        memory: Series of memory in bytes, with the same numbers of containers.
        span: The instants that were asked for.
        flaws: Counts the series of which something was left out.
    """
    cpu, memory = without_parents(cpu, flaws), without_parents(memory, flaws)
    of_cpu, of_memory = _Notes(flaws, cpu), _Notes(flaws, memory)
    used = _plausible(Points.of(cpu), MOST_CORES, of_cpu)
    held = _alive(_plausible(Points.of(memory), MOST_BYTES, of_memory), of_memory)
    used = _running(used, held, span, of_cpu)
    # Where each container has one series, its points are in order and none is double.
    if memory.has_doubles:
        held = _best(held, _cpu_of_the_same(held, memory, used, cpu, span), span, of_memory)
    if cpu.has_doubles:
        used = _best(used, np.zeros(len(used)), span, of_cpu)
    return Screened(used, held)


@dataclass(frozen=True, slots=True)
class _Notes:
    """Where to note what is wrong with series of one resource."""

    flaws: FlawRecord
    owned: Owned

    def note(self, flaw: Flaw, numbers: Integers) -> None:
        """Count the series that some points belong to."""
        for number in np.unique(numbers).tolist():
            self.flaws.note(flaw, self.owned.series[number])


def without_parents(owned: Owned, flaws: FlawRecord) -> Owned:
    """Leave out series of control groups that hold the group of another series about the same container."""
    if not owned.has_doubles:
        return owned
    groups: dict[int, list[str]] = {}
    for series, owner in zip(owned.series, owned.owners, strict=True):
        groups.setdefault(owner, []).append(series.labels.get(_CGROUP, ""))
    kept = Owned(owned.keys)
    for series, owner in zip(owned.series, owned.owners, strict=True):
        group = series.labels.get(_CGROUP, "").rstrip("/")
        if any(name.startswith(f"{group}/") for name in groups[owner]) and _CGROUP in series.labels:
            flaws.note(Flaw.PARENT_CGROUP, series)
        else:
            kept.owners.append(owner)
            kept.series.append(series)
    return kept


def _plausible(points: Points, most: float, notes: _Notes) -> Points:
    """Leave out values that nothing can have used."""
    sound = np.isfinite(points.values) & (points.values >= 0)
    possible = points.values <= most
    kept = sound & possible
    if kept.all():
        return points
    notes.note(Flaw.NOT_A_NUMBER, points.series[~sound])
    notes.note(Flaw.IMPLAUSIBLE, points.series[sound & ~possible])
    return points.select(kept)


def _alive(memory: Points, notes: _Notes) -> Points:
    """Leave out memory of zero."""
    alive = memory.values > 0
    if alive.all():
        return memory
    notes.note(Flaw.ZOMBIE, memory.series[~alive])
    return memory.select(alive)


def _running(cpu: Points, memory: Points, span: Span, notes: _Notes) -> Points:
    """Leave out CPU of zero at instants at which the container has no memory in use either."""
    runs = cpu.values > 0
    if runs.all():
        return cpu
    runs |= np.isin(cpu.cells(span), memory.cells(span))
    notes.note(Flaw.ZOMBIE, cpu.series[~runs])
    return cpu.select(runs)


def _cpu_of_the_same(held: Points, memory: Owned, used: Points, cpu: Owned, span: Span) -> Floats:
    """Return for each point of memory the CPU that the same control group used at the instant, float64[n]."""
    groups: dict[tuple[int, str], int] = {}
    memory_groups, cpu_groups = _groups(memory, groups)[held.series], _groups(cpu, groups)[used.series]
    wanted = memory_groups * span.count + (held.instants - span.start) // span.step
    there = cpu_groups * span.count + (used.instants - span.start) // span.step
    order = np.lexsort((used.values, there))
    there, values = there[order], used.values[order]
    if not len(there):
        return np.full(len(wanted), -1.0)
    # The last entry of equal cells is the largest.
    place = np.searchsorted(there, wanted, side="right") - 1
    found = (place >= 0) & (there[place] == wanted)
    return np.where(found, values[place], -1.0)


def _groups(owned: Owned, groups: dict[tuple[int, str], int]) -> Integers:
    """Return of each series the number of its container's control group, int64[series]; the numbers grow."""
    pairs = zip(owned.owners, (series.labels.get(_CGROUP, "") for series in owned.series), strict=True)
    return np.array([groups.setdefault(pair, len(groups)) for pair in pairs], dtype=np.int64)


def _best(points: Points, rank: Floats, span: Span, notes: _Notes) -> Points:
    """Keep of each container and instant the point of the highest rank, of equal ranks the largest, in order."""
    cells = points.cells(span)
    order = np.lexsort((points.values, rank, cells))
    is_last = np.append(cells[order][1:] != cells[order][:-1], True)
    notes.note(Flaw.DUPLICATE, points.series[order[~is_last]])
    return points.select(order[is_last])


def without_inits(owned: Owned, inits: Mapping[tuple[str, str], frozenset[str]], flaws: FlawRecord) -> Owned:
    """Leave out init containers of pods that still live; a pod that is gone does not tell which it had.

    Args:
        owned: Series of one resource.
        inits: Namespace and name of each living pod that has init containers, and their names.
        flaws: Counts the series left out.
    """
    if not inits:
        return owned
    left_out = {
        number for (namespace, pod, name), number in owned.keys.items() if name in inits.get((namespace, pod), ())
    }
    if not left_out:
        return owned
    kept = Owned(owned.keys)
    for series, owner in zip(owned.series, owned.owners, strict=True):
        if owner in left_out:
            flaws.note(Flaw.INIT_CONTAINER, series)
        else:
            kept.owners.append(owner)
            kept.series.append(series)
    return kept
