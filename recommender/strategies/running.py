"""The strategies that VPAs ask for: which are at work, what they are told, and what they say.

Spec: beyond B-10.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from datetime import datetime, timedelta

import numpy as np
from numpy.typing import NDArray

from autoscaling.vpa import VpaCondition
from recommender.checkpoint import ContainerCheckpoint, StrategyRecord
from recommender.container_table import ContainerTable
from recommender.grouping import Groups
from recommender.instants import SECOND, instant
from recommender.label_sets import TrackedVpa
from recommender.samples import SampleColumns, UsageColumns
from recommender.strategies.choice import Adjustment, Choice
from recommender.strategies.faults import Fault, unknown_condition
from recommender.strategies.interface import Explanation
from recommender.strategies.known import KnownStrategies
from recommender.strategies.run import StrategyRun, Users
from recommender.strategies.shipped import SHIPPED
from recommender.strategies.vpa import BUILT_IN, VPA_DEFAULT

Integers = NDArray[np.int64]
Conditions = dict[TrackedVpa, VpaCondition]


class StrategyRuns:
    """All strategies at work; mutable and owned by the task that owns the model.

    Args:
        known: The strategies that VPAs may ask for; None where every VPA has vpa-default, whatever it asks for.

    Attributes:
        sample_length: Time that a sample stands for.
    """

    def __init__(self, known: KnownStrategies | None = None) -> None:
        self.sample_length = timedelta(minutes=1)
        self._known = known
        self._runs: dict[str, StrategyRun] = {}
        self._followed: tuple[TrackedVpa, ...] = ()
        self._adjusted: tuple[tuple[Adjustment, Integers], ...] = ()
        self._unusable: Conditions = {}
        self._is_asked = False
        self._asked_version = -1

    def is_listening(self, vpas: Mapping[tuple[str, str], TrackedVpa], version: int) -> bool:
        """Say whether there is any strategy that samples could be for.

        Args:
            vpas: All VPAs.
            version: Differs from the last one whenever what a VPA asks for may have changed.
        """
        if self._known is None or self._known.plugins:
            return self._known is not None
        if version != self._asked_version:
            self._asked_version = version
            self._is_asked = any(tracked.vpa.strategy in SHIPPED for tracked in vpas.values())
        return self._is_asked

    def _follow(self, groups: Groups) -> None:
        """Find out which VPAs ask for what, where that may have changed."""
        if groups.vpas is self._followed or self._known is None:
            return
        self._followed = groups.vpas
        asked: dict[str, list[int]] = {}
        for number, tracked in enumerate(groups.vpas):
            name = tracked.vpa.strategy
            if name is not None and name != VPA_DEFAULT.name:
                asked.setdefault(name, []).append(number)
        self._adjusted = tuple(
            (BUILT_IN[name].adjusted, Users.of(groups, numbers).places)
            for name, numbers in asked.items()
            if name in BUILT_IN
        )
        self._unusable = {
            groups.vpas[number]: condition
            for name, numbers in asked.items()
            if (condition := self._unusable_condition(self._known, name)) is not None
            for number in numbers
        }
        self._run_those(self._known, groups, asked)

    def _run_those(self, known: KnownStrategies, groups: Groups, asked: dict[str, list[int]]) -> None:
        """Start strategies that are asked for, and let the others go, but for what is known of their faults."""
        for name in [name for name, run in self._runs.items() if name not in asked and run.state.fault is None]:
            del self._runs[name]
        for name, plugin in known.stateful.items():
            if name in asked and name not in self._runs:
                self._runs[name] = StrategyRun(plugin)
        for name, run in self._runs.items():
            run.follow(groups, Users.of(groups, asked.get(name, [])))

    @staticmethod
    def _unusable_condition(known: KnownStrategies, name: str) -> VpaCondition | None:
        """Return the condition of a VPA that asks for what there is not; None where there is."""
        if name in known.names:
            return None
        return known.broken[name].condition() if name in known.broken else unknown_condition(name, known.names)

    def observe(self, groups: Groups, containers: ContainerTable, usage: UsageColumns) -> None:
        """Tell strategies of samples that were taken in.

        Args:
            groups: Groups of all VPAs.
            containers: Tells the aggregates of the samples.
            usage: The samples; a negative amount is none.
        """
        self._follow(groups)
        for run in self._runs.values():
            run.observe(containers.aggregate[usage.containers], usage, self.sample_length.total_seconds())

    def observe_ooms(self, groups: Groups, containers: ContainerTable, kills: SampleColumns) -> None:
        """Tell strategies of OOM kills that were taken in.

        Args:
            groups: Groups of all VPAs.
            containers: Tells the aggregates of the kills.
            kills: Requested bytes of each.
        """
        self._follow(groups)
        for run in self._runs.values():
            run.observe_ooms(containers.aggregate[kills.containers], kills)

    def applied(self, groups: Groups, now: datetime) -> Groups:
        """Return groups with what their strategies say; those whose strategy cannot be used are vpa-default's.

        Args:
            groups: Groups of all VPAs.
            now: The time of the round.
        """
        self._follow(groups)
        if not (self._adjusted or self._unusable or self._runs):
            return groups
        conditions = dict(self._unusable)
        parts = [self._chosen(run, now, conditions) for run in self._runs.values()]
        return replace(
            groups,
            choice=Choice(
                self._adjusted,
                np.concatenate([Choice().places, *(part.places for part in parts)]),
                np.concatenate([Choice().cpu, *(part.cpu for part in parts)], axis=1),
                np.concatenate([Choice().memory, *(part.memory for part in parts)], axis=1),
                conditions,
            ),
        )

    def _chosen(self, run: StrategyRun, now: datetime, conditions: Conditions) -> Choice:
        """Return what one strategy says, and add the conditions of the VPAs for which it fails."""
        found = run.state.recommend(instant(now) / SECOND) if run.users.vpas else None
        if run.state.fault is not None:
            conditions |= dict.fromkeys(run.users.vpas, run.state.fault.condition())
        if found is None:
            return Choice()
        bad = found.is_impossible[run.chosen]
        for owner in np.unique(run.users.owners[bad]).tolist():
            tracked = run.users.vpas[owner]
            problem = f"impossible amounts for {tracked.vpa.ref}"
            conditions[tracked] = run.state.note_impossible(problem).condition()
        good = ~np.isin(run.users.owners, run.users.owners[bad])
        rows = run.chosen[good]
        return Choice((), run.users.places[good], found.cpu[:, rows], found.memory[:, rows])

    def explained(self, tracked: TrackedVpa, container: str) -> Explanation | None:
        """Return what the targets of a container come from, in words; None where its VPA's strategy does not say.

        Args:
            tracked: The VPA.
            container: Name of the container.
        """
        name = tracked.vpa.strategy
        run = None if name is None else self._runs.get(name)
        row = None if run is None else run.rows.get((*tracked.key, container))
        return None if run is None or row is None else run.state.explain(row)

    def recorded(
        self, checkpoint: ContainerCheckpoint, tracked: TrackedVpa, stored: ContainerCheckpoint | None
    ) -> ContainerCheckpoint:
        """Return a checkpoint with what its VPA's strategy has seen.

        What is stored stays as long as the strategy cannot be used.

        Args:
            checkpoint: As it would be written otherwise.
            tracked: The VPA.
            stored: What is stored; None where nothing is.
        """
        name = tracked.vpa.strategy
        if self._known is None or name is None or name in BUILT_IN:
            return checkpoint
        run = self._runs.get(name)
        row = None if run is None else run.rows.get((*tracked.key, checkpoint.container_name))
        state = None if run is None or row is None else run.state.save(row)
        if state is not None:
            return replace(checkpoint, strategy=StrategyRecord(name, state))
        kept = None if stored is None else stored.strategy
        return replace(checkpoint, strategy=kept) if kept is not None and kept.name == name else checkpoint

    def take_up(self, groups: Groups, stored: Iterable[ContainerCheckpoint]) -> None:
        """Let strategies go on from what is stored of containers that they have seen nothing of.

        Args:
            groups: Groups of all VPAs.
            stored: Checkpoints; those that say nothing of a VPA's present strategy are left out.
        """
        self._follow(groups)
        for checkpoint in stored:
            record = checkpoint.strategy
            run = None if record is None else self._runs.get(record.name)
            if record is None or run is None:
                continue
            row = run.rows.get((checkpoint.namespace, checkpoint.vpa_name, checkpoint.container_name))
            if row is not None:
                run.state.restore(row, record.state)

    def take_faults(self) -> tuple[Fault, ...]:
        """Return what has failed since this was last asked."""
        faults: list[Fault] = []
        for run in self._runs.values():
            faults += run.state.faults
            run.state.faults.clear()
        return tuple(faults)
