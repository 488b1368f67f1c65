"""How far recommendations are from what containers use.

Spec: recommender 10.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from autoscaling.resources import CPU
from autoscaling.vpa import UpdateMode
from recommender.aggregation import UPDATE_MODES, AggregateTable
from recommender.container_table import ContainerTable
from recommender.samples import SampleColumns

Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]
Integers = NDArray[np.int64]

_LARGEST_SIZE_CLASS = 20
_MILLICORES_PER_CORE = 1000.0


@dataclass(frozen=True, slots=True)
class UsageQuality:
    """Samples of one resource beside the last uncapped targets of their containers.

    Only containers count that a VPA scales.

    Args:
        resource: ``cpu`` or ``memory``.
        is_oom: Whether the samples show the need of killed containers, not use.
        modes: int8[n], codes of the update modes, as places in ``UPDATE_MODES``.
        usage: float64[n], cores or bytes.
        targets: float64[n], cores or bytes; 0 where nothing is recommended.
    """

    resource: str
    is_oom: bool
    modes: NDArray[np.int8]
    usage: Floats
    targets: Floats

    def by_mode(self) -> Iterator[tuple[UpdateMode | None, UsageQuality]]:
        """Yield the samples of each update mode that occurs."""
        counts = np.bincount(self.modes, minlength=len(UPDATE_MODES))
        for code in np.flatnonzero(counts).tolist():
            everyone = counts[code] == len(self.modes)
            yield UPDATE_MODES[code], self if everyone else self._select(self.modes == code)

    def recommended(self) -> UsageQuality:
        """Return the samples of containers that have a recommendation."""
        has_target = self.targets > 0
        return self if has_target.all() else self._select(has_target)

    def missing(self) -> UsageQuality:
        """Return the samples of containers without one."""
        return self._select(self.targets == 0)

    def excesses(self) -> Floats:
        """Return by how much the targets exceed usage, where they do.

        Returns:
            float64[k], cores or bytes.
        """
        difference = self.targets - self.usage
        return difference.compress(difference > 0)

    def shortfalls(self) -> Floats:
        """Return by how much usage exceeds the targets or is equal to them, where it does.

        Returns:
            float64[k], cores or bytes.
        """
        difference = self.usage - self.targets
        return difference.compress(difference >= 0)

    def relative_differences(self) -> Floats:
        """Return usage relative to the targets, minus one; every container must have a target.

        Returns:
            float64[n].
        """
        return (self.usage - self.targets) / self.targets

    def _select(self, chosen: Flags) -> UsageQuality:
        return UsageQuality(
            self.resource,
            self.is_oom,
            self.modes.compress(chosen),
            self.usage.compress(chosen),
            self.targets.compress(chosen),
        )


@dataclass(frozen=True, slots=True)
class Members:
    """Aggregates in the order in which their VPAs are recommended for; those of several VPAs occur once for each.

    Args:
        rows: int64[n], aggregate rows.
        vpas: int64[n], place of each one's VPA in ``Groups.vpas``.
    """

    rows: Integers
    vpas: Integers


@dataclass(frozen=True, slots=True)
class TargetChanges:
    """New uncapped targets of one resource relative to those before, of aggregates that had one.

    Args:
        resource: ``cpu`` or ``memory``.
        vpas: int64[n], place of each aggregate's VPA in ``Groups.vpas``.
        relative: float64[n], new by old, minus one.
    """

    resource: str
    vpas: Integers
    relative: Floats


def replace_targets(resource: str, last: Integers, members: Members, new: Integers, controlled: Flags) -> TargetChanges:
    """Keep new targets in the place of the last ones and compare them.

    An aggregate of several VPAs takes the target of each in turn, as upstream's does.

    Args:
        resource: ``cpu`` or ``memory``.
        last: int64[rows], last targets in millicores or bytes, 0 for none; changed.
        members: The aggregates.
        new: int64[n], targets likewise.
        controlled: bool[n], of which a change counts; the others have no target of this resource.
    """
    order = np.argsort(members.rows, kind="stable")
    again = np.flatnonzero(np.diff(members.rows[order]) == 0)
    old = last[members.rows]
    old[order[again + 1]] = new[order[again]]
    last[members.rows] = new
    kept = controlled & (old > 0)
    return TargetChanges(resource, members.vpas[kept], new[kept] / old[kept] - 1.0)


def size_class(pods: int) -> int:
    """Return the binary logarithm of a number of pods, rounded down: 0 for none, at most 20."""
    return min(max(pods.bit_length() - 1, 0), _LARGEST_SIZE_CLASS)


def usage_quality(
    containers: ContainerTable, aggregates: AggregateTable, samples: SampleColumns, resource: str, *, is_oom: bool
) -> UsageQuality:
    """Put samples beside the recommendations of their containers.

    Args:
        containers: The containers.
        aggregates: Their aggregates, with the last uncapped targets.
        samples: Samples that were taken in, in millicores or bytes.
        resource: ``cpu`` or ``memory``.
        is_oom: Whether the samples are the needs of killed containers.
    """
    rows = containers.aggregate.take(samples.containers)
    amounts = samples.amounts
    counted = aggregates.is_under_vpa.take(rows) & aggregates.is_scaled.take(rows)
    if not counted.all():
        rows, amounts = rows.compress(counted), amounts.compress(counted)
    unit, last = (_MILLICORES_PER_CORE, aggregates.last_cpu) if resource == CPU else (1.0, aggregates.last_memory)
    return UsageQuality(
        resource,
        is_oom,
        aggregates.update_mode.take(rows),
        amounts / unit,
        last.take(rows) / unit,
    )
