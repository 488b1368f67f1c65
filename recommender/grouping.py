"""The aggregates of each container of each VPA, merged: all groups at once.

A group is one container name of one VPA. Its members are the VPA's linked aggregates of that container in the order of
linking, then the aggregate loaded from a checkpoint. Round k merges the k-th member of every group that has one.

Spec: recommender 3.5.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass
from operator import attrgetter
from typing import Final

import numpy as np
from numpy.typing import NDArray

from autoscaling.policy import container_policy, controlled_resources, scaling_mode
from autoscaling.resources import CPU, MEMORY
from autoscaling.vpa import ContainerPolicy, ScalingMode
from recommender.aggregation import AggregateTable
from recommender.histogram_bank import HistogramBank
from recommender.instants import LATEST, NEVER
from recommender.label_sets import TrackedVpa
from recommender.policy_bounds import NO_BOUNDS, PolicyBounds
from recommender.rows import spread
from recommender.settings import EstimatorSettings
from recommender.strategies.choice import NO_CHOICE, Choice

Integers = NDArray[np.int64]
Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]

_KEY: Final = attrgetter("vpa.namespace", "vpa.name")
"""Key of a tracked VPA, several times faster than by its property."""

_CHUNK: Final = 4096
"""Groups merged at a time: bounds the memory for merged histograms to 12 MB."""


@dataclass(frozen=True, slots=True)
class Groups:
    """Groups of several VPAs.

    Attributes:
        vpas: The VPAs.
        names: Container name of each group; those of one VPA stand together, sorted by name.
        bounds: int64[vpas + 1], ``bounds[v]`` to ``bounds[v + 1]`` are the groups of VPA v.
        members: int64[m], aggregate rows, group by group.
        is_loaded: bool[m], whether a member is history that was loaded, not what pods feed.
        starts: int64[groups], place of each group's first member.
        sizes: int64[groups], number of members, at least 1.
        is_scaled: bool[groups], whether the container's policy lets it be scaled.
        controls_cpu: bool[groups], whether CPU is recommended.
        controls_memory: bool[groups], whether memory is recommended.
        is_present: bool[groups], whether the container takes its share of a pod's minimum.
        choice: What strategies other than vpa-default make of some of them.
        limits: What the containers' policies bound recommendations by.
    """

    vpas: tuple[TrackedVpa, ...]
    names: tuple[str, ...]
    bounds: Integers
    members: Integers
    is_loaded: Flags
    starts: Integers
    sizes: Integers
    is_scaled: Flags
    controls_cpu: Flags
    controls_memory: Flags
    is_present: Flags
    choice: Choice = NO_CHOICE
    limits: PolicyBounds = NO_BOUNDS

    @classmethod
    def of(cls, vpas: Sequence[TrackedVpa]) -> Groups:
        """List the groups of VPAs."""
        names: list[str] = []
        bounds, sizes, members, loaded = [0], [], [], []
        controlled: list[tuple[str, ...] | None] = []
        policies: list[ContainerPolicy | None] = []
        for tracked in vpas:
            for name in sorted(tracked.linked.keys() | tracked.initial.keys()):
                rows = list(tracked.linked.get(name, ()))
                loaded += [False] * len(rows)
                if name in tracked.initial:
                    rows.append(tracked.initial[name])
                    loaded.append(True)
                policy = container_policy(tracked.vpa, name)
                policies.append(policy)
                is_off = scaling_mode(policy) is ScalingMode.OFF
                names.append(name)
                members += rows
                sizes.append(len(rows))
                controlled.append(None if is_off else controlled_resources(policy))
            bounds.append(len(names))
        size_array = np.array(sizes, dtype=np.int64)
        return cls(
            tuple(vpas),
            tuple(names),
            np.array(bounds, dtype=np.int64),
            np.array(members, dtype=np.int64),
            np.array(loaded, dtype=np.bool_),
            np.cumsum(size_array) - size_array,
            size_array,
            np.array([c is not None for c in controlled], dtype=np.bool_),
            np.array([CPU in (c or ()) for c in controlled], dtype=np.bool_),
            np.array([MEMORY in (c or ()) for c in controlled], dtype=np.bool_),
            np.ones(len(names), dtype=np.bool_),
            limits=PolicyBounds.of(policies),
        )

    def __len__(self) -> int:
        """Number of groups."""
        return len(self.names)

    def of_vpas(self, vpas: Sequence[TrackedVpa]) -> Groups:
        """Return the groups of some of the VPAs: listing them anew would ask for every policy again.

        Args:
            vpas: Each one of ``self.vpas``, which are sorted by their keys.

        Returns:
            The groups in the order of the VPAs asked for; neither strategies' choices nor limits are taken along.
        """
        places = np.array([bisect_left(self.vpas, each.key, key=_KEY) for each in vpas], dtype=np.int64)
        counts = np.diff(self.bounds)[places]
        groups = spread(self.bounds[places], counts)
        sizes = self.sizes[groups]
        members = spread(self.starts[groups], sizes)
        return Groups(
            tuple(vpas),
            tuple([self.names[group] for group in groups.tolist()]),
            np.concatenate(([0], np.cumsum(counts))),
            self.members[members],
            self.is_loaded[members],
            np.cumsum(sizes) - sizes,
            sizes,
            self.is_scaled[groups],
            self.controls_cpu[groups],
            self.controls_memory[groups],
            self.is_present[groups],
        )

    @property
    def scaled_in_vpa(self) -> Integers:
        """int64[groups], how many groups of the same VPA are scaled and present."""
        owners = np.repeat(np.arange(len(self.vpas)), np.diff(self.bounds))
        counts = np.bincount(owners[self.is_scaled & self.is_present], minlength=len(self.vpas))
        return counts[owners].astype(np.int64)


@dataclass(frozen=True, slots=True)
class MergedUsage:
    """What merged groups say of their use.

    Args:
        cpu: float64[3, groups], percentiles for target, lower and upper bound, in cores.
        memory: float64[3, groups], likewise, in bytes.
        first_sample: int64[groups], instant of the first CPU sample, ``NEVER`` for none.
        last_sample: int64[groups], instant of the last CPU sample, ``NEVER`` for none.
        sample_count: int64[groups] or float64[groups], CPU samples of a minute.
    """

    cpu: Floats
    memory: Floats
    first_sample: Integers
    last_sample: Integers
    sample_count: Integers | Floats


def merge_members(bank: HistogramBank, members: Integers, starts: Integers, sizes: Integers) -> HistogramBank:
    """Merge the members of each group into a new bank.

    Reference times of members may move on, as upstream's do when it merges.

    Args:
        bank: Holds the members.
        members: int64[m], rows of ``bank``.
        starts: int64[groups], place of each group's first member.
        sizes: int64[groups], number of members, at least 1.

    Returns:
        A bank in which row g is group g.
    """
    merged = bank.empty_copy(len(sizes))
    by_size = np.argsort(-sizes, kind="stable")
    still = len(sizes)
    for turn in range(int(sizes.max(initial=0))):
        while still and sizes[by_size[still - 1]] <= turn:
            still -= 1
        groups = by_size[:still]
        merged.merge(groups, bank, members[starts[groups] + turn])
    return merged


def merged_usage(aggregates: AggregateTable, groups: Groups, settings: EstimatorSettings) -> MergedUsage:
    """Merge every group and return its percentiles and counts.

    Args:
        aggregates: Holds the members.
        groups: The groups.
        settings: Tells the percentiles.
    """
    cpu, memory = aggregates.both(
        lambda _: _percentiles(aggregates.cpu, groups, settings.cpu.in_order()),
        lambda _: _percentiles(aggregates.memory, groups, settings.memory.in_order()),
    )
    return MergedUsage(cpu, memory, *merged_samples(aggregates, groups))


def merged_samples(aggregates: AggregateTable, groups: Groups) -> tuple[Integers, Integers, Integers]:
    """Return first instants, last instants and numbers of CPU samples of every group, each int64[groups]."""
    if not len(groups):
        nothing = np.empty(0, dtype=np.int64)
        return nothing, nothing, nothing
    members, starts = groups.members, groups.starts
    first = np.minimum.reduceat(aggregates.first_sample[members], starts)
    last = np.maximum.reduceat(aggregates.last_sample[members], starts)
    count = np.add.reduceat(aggregates.sample_count[members], starts)
    return np.where(first == LATEST, NEVER, first), last, count


def _percentiles(bank: HistogramBank, groups: Groups, shares: tuple[float, float, float]) -> Floats:
    """Return float64[3, groups], in the unit of the bank."""
    result = np.zeros((3, len(groups)))
    # Merging one histogram into an empty one yields that histogram: no need to do it.
    single = groups.sizes == 1
    result[:, single] = bank.percentile(groups.members[groups.starts[single]], shares)
    several = np.flatnonzero(~single)
    for begin in range(0, len(several), _CHUNK):
        chunk = several[begin : begin + _CHUNK]
        merged = merge_members(bank, groups.members, groups.starts[chunk], groups.sizes[chunk])
        result[:, chunk] = merged.percentile(np.arange(len(chunk)), shares)
    return result
