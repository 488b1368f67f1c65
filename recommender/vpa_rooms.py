"""Which rooms on nodes the pods of each VPA may take, as columns: only what has changed is looked at again.

Spec: beyond:B-11; performance R-3.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Final

import numpy as np
from numpy.typing import NDArray

from autoscaling.scheduling import Demands
from autoscaling.targets import WorkloadKey
from autoscaling.workload import Workload
from recommender.grouping import Groups
from recommender.label_sets import Room, Shape, TrackedVpa
from recommender.node_rooms import NodeRoom, NodeRooms, Sought
from recommender.pod_shapes import DAEMON_SET

Integers = NDArray[np.int64]
Flags = NDArray[np.bool_]

_NOWHERE: Final[frozenset[Sought]] = frozenset()


@dataclass(frozen=True, slots=True)
class RoomColumns:
    """What nodes have for the pods of VPAs.

    Args:
        kinds: int64[vpas], place in ``rooms`` of what each VPA's pods may take.
        rooms: By kind of pods, nodes that will do for them, none of which has less of all than another; the largest
            first. Empty where no node will do or nothing is known.
        others: int64[2, vpas], millicores and bytes that are asked for by what is not recommended: overhead, and
            containers without a recommendation.
    """

    kinds: Integers
    rooms: tuple[tuple[NodeRoom, ...], ...]
    others: Integers

    @property
    def first(self) -> Integers:
        """int64[2, vpas], what the largest node has, 0 where there is none."""
        table = np.array([(r[0].cpu, r[0].memory) if r else (0, 0) for r in self.rooms], dtype=np.int64).reshape(-1, 2)
        return table[self.kinds].T

    @property
    def is_known(self) -> Flags:
        """bool[vpas], whether there is any node that will do."""
        return np.array([bool(rooms) for rooms in self.rooms], dtype=np.bool_)[self.kinds]


class VpaRooms:
    """What is known of the VPAs of a round in the order of its groups; mutable, owned by the task of the rounds."""

    def __init__(self) -> None:
        self._vpas: tuple[TrackedVpa, ...] = ()
        self._places: dict[TrackedVpa, int] = {}
        self._kinds: dict[frozenset[Sought], int] = {_NOWHERE: 0}
        self._kind_of = np.zeros(0, dtype=np.int64)
        self._others = np.zeros((2, 0), dtype=np.int64)
        self._recommended = np.zeros((2, 0), dtype=np.bool_)
        self._versions: tuple[int, ...] = ()
        self._by_template: set[int] = set()

    def look(
        self,
        groups: Groups,
        changed: Iterable[TrackedVpa],
        recommended: Flags,
        workloads: Mapping[WorkloadKey, Workload],
        versions: tuple[int, ...],
    ) -> None:
        """Look at the VPAs whose pods, templates or recommended containers are others than in the round before.

        Args:
            groups: Of all VPAs.
            changed: Those whose pods look otherwise.
            recommended: bool[2, groups], which of them have a recommendation of CPU and of memory.
            workloads: All that are known.
            versions: Differ from those before when a workload has changed.
        """
        # More kinds than VPAs cannot all be in use any more.
        if groups.vpas is not self._vpas or len(self._kinds) > len(self._vpas) + 1:
            fresh = self._start(groups)
        else:
            fresh = {place for each in changed if (place := self._places.get(each)) is not None}
        if versions != self._versions:
            fresh |= self._by_template
            self._versions = versions
        for place in fresh:
            self._note(place, workloads)
        if recommended.shape != self._recommended.shape:
            fresh = set(range(len(self._vpas)))
        else:
            others = np.flatnonzero((recommended != self._recommended).any(axis=0))
            fresh.update((np.searchsorted(groups.bounds, others, side="right") - 1).tolist())
        self._recommended = recommended
        for place in fresh:
            self._others[:, place] = self._not_recommended(groups, place)

    def columns(self, rooms: NodeRooms) -> RoomColumns:
        """Return what nodes have for each VPA."""
        return RoomColumns(self._kind_of, tuple(rooms.largest(sought) for sought in self._kinds), self._others)

    def _start(self, groups: Groups) -> set[int]:
        """Take up other groups, nothing of which is known yet."""
        self._vpas = groups.vpas
        self._places = {tracked: place for place, tracked in enumerate(groups.vpas)}
        self._kinds = {_NOWHERE: 0}
        self._kind_of = np.zeros(len(groups.vpas), dtype=np.int64)
        self._others = np.zeros((2, len(groups.vpas)), dtype=np.int64)
        self._recommended = np.zeros((2, 0), dtype=np.bool_)
        self._by_template.clear()
        return set(range(len(groups.vpas)))

    def _note(self, place: int, workloads: Mapping[WorkloadKey, Workload]) -> None:
        tracked = self._vpas[place]
        shapes = _shapes(tracked)
        if any(shape.daemon_set for shape in shapes) or not shapes:
            self._by_template.add(place)
        else:
            self._by_template.discard(place)
        sought = frozenset(_sought(shape, workloads) for shape in shapes)
        if not shapes:
            sought = _sought_by_template(tracked, workloads)
        self._kind_of[place] = self._kinds.setdefault(sought, len(self._kinds))

    def _not_recommended(self, groups: Groups, place: int) -> Room:
        """Return what the pods of a VPA ask for at most beside what is recommended."""
        begin, end = groups.bounds[place : place + 2].tolist()
        names = groups.names[begin:end]
        most = [0, 0]
        for shape in _shapes(self._vpas[place]):
            for side in (0, 1):
                is_told = dict(zip(names, self._recommended[side, begin:end].tolist(), strict=True))
                rest = sum(room[side] for name, room in shape.requests.items() if not is_told.get(name))
                most[side] = max(most[side], rest + shape.overhead[side])
        return most[0], most[1]


def _shapes(tracked: TrackedVpa) -> list[Shape]:
    """Return what the pods of a VPA look like."""
    return [shape for label_set in tracked.label_sets for shape in label_set.shapes.values()]


def _sought(shape: Shape, workloads: Mapping[WorkloadKey, Workload]) -> Sought:
    """Return what pods of one shape ask of a node, those of a DaemonSet as its template has it."""
    if shape.daemon_set is None:
        return shape.demands, None
    workload = workloads.get(shape.daemon_set)
    placement = workload.placement if workload is not None else None
    terms = placement.node_terms if placement is not None else None
    return replace(shape.demands, node_terms=terms), shape.daemon_set


def _sought_by_template(tracked: TrackedVpa, workloads: Mapping[WorkloadKey, Workload]) -> frozenset[Sought]:
    """Return what the template of a VPA's target asks of a node, for pods that are not there or do not start."""
    for controller in tracked.controllers[:1]:
        workload = workloads.get((controller.namespace, controller.kind, controller.name))
        if workload is not None and workload.placement is not None:
            key = (workload.namespace, workload.kind, workload.name) if workload.kind == DAEMON_SET else None
            return frozenset({(Demands.of(workload.placement), key)})
    return _NOWHERE
