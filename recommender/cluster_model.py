"""Pods, VPAs and aggregates of the cluster, and what goes where.

Spec: recommender 3, 6.2.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from datetime import datetime

import numpy as np
from numpy.typing import NDArray

from autoscaling.matching import Selector
from autoscaling.pod import Container, Pod, PodPhase
from autoscaling.policy import container_policy
from autoscaling.quantity import within_64_bits
from autoscaling.resources import MEMORY
from autoscaling.vpa import Vpa
from recommender.aggregation import AggregateTable, Basis, KeyFunction, SharingKey, by_all_labels
from recommender.container_table import NO_AGGREGATE, ContainerTable
from recommender.grouping import Groups
from recommender.instants import NEVER, instant
from recommender.intake import Intake, Told
from recommender.label_sets import LabelSet, Matching, TrackedVpa
from recommender.memory_peaks import carry_peaks
from recommender.oom import OomOutcome, OomRecord, OomsOutcome, take_ooms
from recommender.pod_state import PodState
from recommender.samples import SampleColumns, UsageColumns, UsageOutcome
from recommender.settings import ModelSettings
from recommender.strategies.running import StrategyRuns

Integers = NDArray[np.int64]
Flags = NDArray[np.bool_]

NamespacedName = tuple[str, str]
"""Namespace and name."""

INACTIVE: frozenset[PodPhase] = frozenset({PodPhase.SUCCEEDED, PodPhase.FAILED})
"""Phases in which a pod uses nothing any more."""


class ClusterModel:
    """All pods, VPAs and aggregates; mutable and owned by one task.

    Attributes:
        settings: How samples become histograms.
        key_of: Which pods share histograms; to be set before any pod is observed.
        aggregates: The histograms.
        containers: State of all containers.
        matching: Label sets, and which VPAs select them.
        pods: By namespace and name.
        vpas: By namespace and name.
        strategies: Are told of the samples that are taken in; nobody is until they are set.
        orphans: Row of each collected aggregate that containers still hold, and by how many.
        containers_version: Changes when a container came, went, or became one whose samples are left out.
        links_version: Changes when a VPA's aggregates or policies may have changed.
        collected_at: Instant of the last collection of aggregates, ``NEVER`` before.
    """

    def __init__(self, settings: ModelSettings | None = None, key_of: KeyFunction = by_all_labels) -> None:
        self.settings = settings or ModelSettings()
        self.key_of = key_of
        self.aggregates = AggregateTable(self.settings)
        self.containers = ContainerTable()
        self.matching = Matching()
        self.pods: dict[NamespacedName, PodState] = {}
        self.vpas: dict[NamespacedName, TrackedVpa] = {}
        self.strategies = StrategyRuns()
        self.orphans: dict[int, int] = {}
        self.containers_version = 0
        self.links_version = 0
        self.collected_at = NEVER
        self._pod_of: list[PodState | None] = []
        self._groups = Groups.of(())
        self._groups_version = 0

    def observe_pod(self, pod: Pod, now: datetime, *, is_wanted: bool = False) -> bool:
        """Add a pod or bring it up to date; containers that have left its spec stay.

        Args:
            pod: The pod as seen.
            now: Creation time of aggregates that it is the first to need.
            is_wanted: Whether the pod is tracked whatever the memory saver says.

        Returns:
            Whether the pod is tracked; the memory saver leaves out what no VPA selects.
        """
        key = self.key_of(pod)
        if self.settings.memory_saver and not is_wanted and not self.matching.is_selected(pod.namespace, key):
            return False
        state = self.pods.get((pod.namespace, pod.name))
        if state is None:
            state = PodState(pod.name, self._enter(pod.namespace, key), pod.phase)
            self.pods[pod.namespace, pod.name] = state
        elif state.label_set.key.text != key.text and key.basis is not Basis.UNSETTLED:
            self._relabel(state, self._enter(pod.namespace, key), instant(now))
        state.phase = pod.phase
        init_names = tuple(sys.intern(c.name) for c in pod.init_containers)
        if init_names != state.init_names:
            state.init_names = init_names
            self.containers_version += 1
        for container in pod.containers:
            self._observe_container(state, pod, container, instant(now))
        return True

    def _enter(self, namespace: str, key: SharingKey) -> LabelSet:
        """Count one more pod in a label set."""
        label_set = self.matching.find(namespace, key)
        label_set.count(1)
        return label_set

    def _leave(self, label_set: LabelSet, heir: LabelSet | None = None, now: int = NEVER) -> None:
        """Count one pod less in a label set; the last one takes along what was seen of a place to wait in."""
        label_set.count(-1)
        if not label_set.pods and label_set.key.basis is Basis.UNSETTLED:
            for name, row in label_set.aggregates.items():
                if heir is not None:
                    self.aggregates.absorb(self._aggregate(heir, name, now), row)
                self.aggregates.release(row)
            label_set.aggregates.clear()
        self.matching.drop_if_unused(label_set)

    def _relabel(self, state: PodState, label_set: LabelSet, now: int) -> None:
        """Point a pod's containers at the aggregates of its new key; the old aggregates stay."""
        old, state.label_set = state.label_set, label_set
        rows = np.array(state.rows, dtype=np.int64)
        heirs = np.array([self._aggregate(label_set, name, now) for name in state.names], dtype=np.int64)
        if label_set.key.basis is Basis.CONTROLLER:
            carry_peaks(self.containers, self.aggregates, rows, heirs)
        for row in state.rows:
            self._let_go(row)
        self.containers.feed(rows, heirs)
        self.containers.is_held[rows] = label_set.key.basis is Basis.LABELS
        self._leave(old, label_set, now)

    def _observe_container(self, state: PodState, pod: Pod, container: Container, now: int) -> None:
        row = state.row_of(container.name)
        if row is None:
            name = sys.intern(container.name)
            row = self.containers.create(self._aggregate(state.label_set, name, now))
            state.add(name, row)
            self._pod_of.extend([None] * (row + 1 - len(self._pod_of)))
            self._pod_of[row] = state
            self.containers_version += 1
        request = pod.actual_resources(container).request(MEMORY)
        self.containers.memory_request[row] = within_64_bits(request.value())

    def forget_pod(self, namespace: str, name: str) -> None:
        """Remove a pod; its aggregates stay."""
        state = self.pods.pop((namespace, name), None)
        if state is None:
            return
        for row in state.rows:
            self._let_go(row)
            self.containers.release(row)
            self._pod_of[row] = None
        self.containers_version += 1
        self._leave(state.label_set)

    def _let_go(self, row: int) -> None:
        """Release a collected aggregate that a container was the last to hold."""
        aggregate = int(self.containers.aggregate[row])
        if aggregate in self.orphans:
            self.orphans[aggregate] -= 1
            if not self.orphans[aggregate]:
                del self.orphans[aggregate]
                self.aggregates.release(aggregate)

    def _aggregate(self, label_set: LabelSet, container: str, now: int) -> int:
        """Return the row of the aggregate of containers of one name, made and linked if it is new."""
        row = label_set.aggregates.get(container)
        if row is None:
            row = label_set.aggregates[container] = self.aggregates.create(now)
            for tracked in label_set.vpas:
                self._link(tracked, container, row)
        return row

    def _link(self, tracked: TrackedVpa, container: str, row: int) -> None:
        """Make an aggregate one of a VPA's; of several VPAs the last one's policy counts."""
        tracked.linked.setdefault(container, []).append(row)
        self.aggregates.is_under_vpa[row] = True
        self.aggregates.apply_mode(row, tracked.vpa.stated_mode)
        self.aggregates.apply_policy(row, container_policy(tracked.vpa, container))
        self.links_version += 1

    def observe_vpa(self, vpa: Vpa, selector: Selector, api_version: str = "v1") -> TrackedVpa:
        """Add a VPA or bring it up to date; one whose selector reads otherwise starts anew, without its history.

        Args:
            vpa: The object as seen. Its mode and policy reach the aggregates when it is another instance than before.
            selector: Of the pods of its target; ``NOTHING`` where the target cannot be used.
            api_version: Version the object was read in.
        """
        tracked = self.vpas.get((vpa.namespace, vpa.name))
        if tracked is not None and selector is not tracked.selector and str(selector) != str(tracked.selector):
            self.forget_vpa(vpa.namespace, vpa.name)
            tracked = None
        if tracked is None:
            tracked = self.vpas[vpa.namespace, vpa.name] = TrackedVpa(vpa, selector, api_version)
            self.matching.add_vpa(tracked)
            for label_set in tracked.label_sets:
                for container, row in label_set.aggregates.items():
                    self._link(tracked, container, row)
            self.links_version += 1
        self._update_vpa(tracked, vpa)
        return tracked

    def _update_vpa(self, tracked: TrackedVpa, vpa: Vpa) -> None:
        old, tracked.vpa = tracked.vpa, vpa
        is_changed = vpa is not old and not _is_same_spec(vpa, old)
        if is_changed:
            self.links_version += 1
        if not (is_changed or tracked.is_shared):
            return
        # An absent updatePolicy is applied in every loop; an unchanged mode of None never (recommender 3.2).
        modes = vpa.stated_mode, old.stated_mode
        if vpa.update_policy is None or (vpa is not old and modes != (None, None)):
            for row in tracked.linked_rows:
                self.aggregates.apply_mode(row, modes[0])
        if vpa is not old and (vpa.container_policies is not None or old.container_policies is not None):
            for container, rows in tracked.linked.items():
                policy = container_policy(vpa, container)
                for row in rows:
                    self.aggregates.apply_policy(row, policy)

    def forget_vpa(self, namespace: str, name: str) -> None:
        """Remove a VPA with the history loaded for it; its aggregates stay, as no VPA's."""
        tracked = self.vpas.pop((namespace, name), None)
        if tracked is None:
            return
        for row in tracked.linked_rows:
            self.aggregates.detach(row)
        for row in tracked.initial.values():
            self.aggregates.release(row)
        self.matching.remove_vpa(tracked)
        self.links_version += 1

    def set_initial(self, tracked: TrackedVpa, container: str, now: datetime) -> int:
        """Return the row of a new, empty aggregate that history of a VPA's container is loaded into."""
        old = tracked.initial.get(container)
        if old is not None:
            self.aggregates.release(old)
        row = tracked.initial[sys.intern(container)] = self.aggregates.create(instant(now))
        self.links_version += 1
        return row

    def groups(self) -> Groups:
        """Return the groups of all VPAs, by namespace and name; the same object until a link or a policy changes."""
        if self._groups_version != self.links_version:
            self._groups = Groups.of([self.vpas[key] for key in sorted(self.vpas)])
            self._groups_version = self.links_version
        return self._groups

    @property
    def aggregate_count(self) -> int:
        """Number of aggregates that containers feed, as upstream's gauge counts them: without loaded history."""
        return sum(len(label_set.aggregates) for label_set in self.matching)

    def row_of(self, namespace: str, pod: str, container: str) -> int | None:
        """Return the row of a container, None where the pod or the container is not known."""
        state = self.pods.get((namespace, pod))
        return None if state is None else state.row_of(container)

    def pod_names(self, containers: Integers) -> list[str]:
        """Return the names of the pods of known containers.

        Args:
            containers: int64[n], their rows.
        """
        pods = (self._pod_of[row] for row in containers.tolist())
        return [pod.name for pod in pods if pod is not None]

    def keyed_aggregates(self, containers: Integers) -> Integers:
        """Return the aggregates that new containers of the same pods and names would get.

        They are other than those in use where an aggregate was collected and has come back since, or is still held.

        Args:
            containers: int64[n], rows of known containers.

        Returns:
            int64[n], aggregate rows, or ``NO_AGGREGATE``.
        """
        rows = self.containers.aggregate[containers]
        collected = (rows == NO_AGGREGATE) | np.isin(rows, list(self.orphans))
        for position in np.flatnonzero(collected).tolist():
            label_set, name = self._place(int(containers[position]))
            rows[position] = label_set.aggregates.get(name, NO_AGGREGATE)
        return rows

    def is_init_container(self, namespace: str, pod: str, container: str) -> bool:
        """Say whether a known pod has an init container of this name; its samples are left out."""
        state = self.pods.get((namespace, pod))
        return state is not None and container in state.init_names

    def take_usage(self, usage: UsageColumns, now: datetime, told: Told | None = None) -> UsageOutcome:
        """Take in one fetch: of each container a CPU and a memory sample, except where one is missing.

        Args:
            told: Is told of the samples that count, maybe while they are brought to the histograms.
        """
        is_heard = self.strategies.is_listening(self.vpas, self.links_version)
        before = self.containers.last_memory.take(usage.containers) if is_heard else None
        taken = self._intake(now).fetch(usage, told)
        if before is not None:
            # The same look at memory again counts as a peak, but is no news.
            news = usage.only(taken.cpu, taken.memory & (usage.instants > before))
            self.strategies.observe(self.groups(), self.containers, news)
        return taken

    def take_cpu(self, samples: SampleColumns, now: datetime) -> Flags:
        """Take in CPU samples, in this order.

        Returns:
            bool[n], which were taken in; the others are negative or not newer than the container's last.
        """
        accepted = self._intake(now).cpu(samples)
        if self.strategies.is_listening(self.vpas, self.links_version):
            self.strategies.observe(self.groups(), self.containers, samples.those(accepted).as_usage(is_cpu=True))
        return accepted

    def take_memory(self, samples: SampleColumns, now: datetime) -> Flags:
        """Take in samples of memory use, in this order.

        Returns:
            bool[n], which were taken in; the others are negative or older than the container's last.
        """
        accepted = self._intake(now).memory(samples)
        if self.strategies.is_listening(self.vpas, self.links_version):
            self.strategies.observe(self.groups(), self.containers, samples.those(accepted).as_usage(is_cpu=False))
        return accepted

    def _intake(self, now: datetime) -> Intake:
        """Return what takes samples in at a time."""
        return Intake(self.containers, self.aggregates, lambda samples: self._restore_aggregates(samples, now))

    def take_ooms(self, records: Sequence[OomRecord], now: datetime) -> OomsOutcome:
        """Take in OOM kills, in this order, and say what became of each."""
        outcomes = [self._unknown(record) for record in records]
        known = [place for place, outcome in enumerate(outcomes) if outcome is None]
        rows = [self.row_of(r.namespace, r.pod, r.container) for r in (records[place] for place in known)]
        kills = SampleColumns(
            np.array(rows, dtype=np.int64),
            np.array([instant(records[place].at) for place in known], dtype=np.int64),
            np.array([records[place].memory_bytes for place in known], dtype=np.int64),
        )
        self._restore_aggregates(kills, now)
        taken = take_ooms(self.containers, self.aggregates, kills)
        if self.strategies.is_listening(self.vpas, self.links_version):
            self.strategies.observe_ooms(self.groups(), self.containers, kills.those(taken.recorded))
        for place, recorded in zip(known, taken.recorded, strict=True):
            outcomes[place] = OomOutcome.RECORDED if recorded else OomOutcome.TOO_OLD
        return OomsOutcome(tuple(outcome for outcome in outcomes if outcome is not None), taken.needs)

    def _unknown(self, record: OomRecord) -> OomOutcome | None:
        """Return why a record has no container to go to, None where it has one."""
        state = self.pods.get((record.namespace, record.pod))
        if state is None:
            return OomOutcome.UNKNOWN_POD
        return None if record.container in state.names else OomOutcome.UNKNOWN_CONTAINER

    def _restore_aggregates(self, samples: SampleColumns, now: datetime) -> None:
        """Make new aggregates for containers whose own was collected."""
        if samples.feeding is not None or not self.containers.is_any_bare():
            return
        rows = samples.containers
        for row in rows[self.containers.aggregate[rows] == NO_AGGREGATE].tolist():
            label_set, name = self._place(row)
            self.containers.feed(row, self._aggregate(label_set, name, instant(now)))

    def _place(self, row: int) -> tuple[LabelSet, str]:
        """Return the label set and the name of a known container."""
        state = self._pod_of[row]
        assert state is not None
        return state.label_set, state.names[state.rows.index(row)]


def _is_same_spec(vpa: Vpa, old: Vpa) -> bool:
    """Say whether two states of an object have the same spec: a change of it always counts its generation up."""
    return vpa.generation != 0 and (vpa.generation, vpa.uid) == (old.generation, old.uid)
