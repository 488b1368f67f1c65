"""One round of the recommender: fetch, fold in, estimate, write (spec: recommender:6.2)."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import datetime
from functools import partial

import structlog

from autoscaling.ownership import ControllerKey, OwnerLookupError
from autoscaling.resources import MEMORY
from autoscaling.runtime.collector import collector_paused
from autoscaling.targets import KnownControllers, ResolvedTarget, target_key
from autoscaling.vpa import Vpa
from recommender.cautions import judged_types
from recommender.checkpointing import load_checkpoints
from recommender.cluster_model import ClusterModel, NamespacedName
from recommender.garbage import collect, doubtful_vpas, is_due
from recommender.instants import instant
from recommender.kept_targets import KeptTargets
from recommender.label_sets import TrackedVpa
from recommender.node_fit import NodeFit
from recommender.oom import OomOutcome
from recommender.oom_needs import lapse
from recommender.pod_changes import PodChanges
from recommender.quality import usage_quality
from recommender.samples import SampleColumns, UsageColumns
from recommender.shell.history_source import Surroundings
from recommender.shell.owners import OwnerFollower
from recommender.shell.parts import LoopSettings, Parts
from recommender.shell.prometheus_history import HistoryLoader
from recommender.shell.status_updates import StatusUpdates
from recommender.shell.strategies import FaultReporter
from recommender.shell.takeover import take_over
from recommender.status import (
    FETCHING_HISTORY,
    status_while_fetching,
)
from recommender.usage_table import UsageMatcher
from recommender.vanishing_targets import Sighting, is_as_observed, observe_target
from recommender.waiting_ooms import ROUNDS_HELD, WaitingOom, missed_kills, settle

log = structlog.get_logger()


@dataclass(slots=True)
class Loop:
    """The rounds of one recommender.

    Attributes:
        problems: Of each VPA served, why its target cannot be used; empty where it can.
        changes: What became of pods since a round looked at them.
        waiting_ooms: OOM kills that the next round takes in, or gives up if their pods are not known then either.
    """

    settings: LoopSettings
    parts: Parts
    model: ClusterModel
    problems: dict[NamespacedName, str] = field(default_factory=dict)
    changes: PodChanges = field(init=False)
    waiting_ooms: tuple[WaitingOom, ...] = ()
    _takes_over: bool = False
    _matcher: UsageMatcher = field(init=False)
    _targets: KeptTargets = field(default_factory=KeptTargets)
    _versions: tuple[int, ...] = ()
    _owners: OwnerFollower = field(init=False)
    _updates: StatusUpdates = field(init=False)
    _fit: NodeFit | None = None
    _strategy_faults: FaultReporter = field(init=False)

    def __post_init__(self) -> None:
        self._matcher = UsageMatcher(self.model)
        self.changes = self.parts.caches.follow_pods()
        self._owners = OwnerFollower(self.settings.behaviour, self.parts.caches.controllers)
        self.model.key_of = self._owners.keys
        self.model.strategies.sample_length = self.settings.interval
        self._strategy_faults = FaultReporter(self.parts.metrics.strategy_errors)
        self._fit = NodeFit() if self.parts.caches.nodes is not None else None
        self._updates = StatusUpdates(self.settings, self.parts, self.model, self._fit)

    async def load_history(self) -> None:
        """Take in what is stored, before the first round: checkpoints, or history from Prometheus.

        Spec: recommender 6.4, 7.
        """
        earlier_kills = self.parts.caches.kills.take_earlier()
        if self.parts.history is not None:
            await self._load_past(self.parts.history)
            return
        await self._load_vpas()
        now = self.parts.driver.now()
        stored = [c for c in self.parts.caches.checkpoints.snapshot() if c.namespace not in self.settings.ignored]
        keep_windows = self.settings.behaviour.running_window_saved
        if keep_windows or earlier_kills:
            # A window goes on, and a kill counts, only in a container that is known.
            await self._load_pods(now)
        with collector_paused():
            failures = load_checkpoints(self.model, stored, now, keep_windows=keep_windows)
            self.model.strategies.take_up(self.model.groups(), stored)
        self.waiting_ooms = missed_kills(self.model, earlier_kills, stored)
        for failure in failures:
            log.warning("checkpoint not loaded", object=str(failure.checkpoint), error=str(failure.error))
            self.parts.metrics.show_left_out({failure.checkpoint.kind: 1})
        log.info("history loaded", checkpoints=len(stored) - len(failures), vpas=len(self.model.vpas))
        self._takes_over = self.settings.behaviour.targets_may_vanish

    async def _load_past(self, history: HistoryLoader) -> None:
        """Take in history from Prometheus, knowing which labels the VPAs' selectors ask for."""
        await self.announce_fetching()
        await self._load_vpas()
        selectors = (tracked.pod_selector or tracked.selector for tracked in self.model.vpas.values())
        asked_labels = frozenset(each.key for selector in selectors for each in selector.requirements)
        now = self.parts.driver.now()
        if self.settings.behaviour.history_labels_found:
            # History of pods that live is taken in for what they are now.
            await self._load_pods(now)
        pods = tuple(self.parts.caches.pods.snapshot())
        strategies = self.model.strategies
        strategies.sample_length = history.settings.request.resolution
        await history.load(self.model, Surroundings(pods, asked_labels, now))
        self.changes.doubt(self.model.pods)
        strategies.sample_length = self.settings.interval

    async def announce_fetching(self) -> None:
        """Say of every VPA served that its history is being loaded; the first round says that it no longer is.

        For history that takes its time to load: call this before, once the caches are filled.
        """
        if FETCHING_HISTORY not in judged_types(self.settings.behaviour):
            return
        now = self.parts.driver.now()
        served = [vpa for vpa in self.parts.caches.vpas.snapshot() if self.settings.serves(vpa)]
        pairs = ((vpa, status_while_fetching(vpa, now)) for vpa in served)
        await self.parts.statuses.write((vpa, status) for vpa, status in pairs if status is not None)

    async def run_round(self) -> None:
        """Run one round."""
        step = self.parts.metrics.execution_latency
        try:
            with step.labels("total").time():
                await self._steps()
            self.parts.metrics.freshness.round_ended(self.parts.driver.now())
        finally:
            self.parts.vitals.round_finished()

    async def _steps(self) -> None:
        step, now = self.parts.metrics.execution_latency, self.parts.driver.now()
        with step.labels("LoadVPAs").time():
            await self._load_vpas()
        with step.labels("LoadPods").time():
            vanished = await self._load_pods(now)
            self.parts.metrics.show_readings(self.parts.caches.readings.take())
            self.parts.metrics.show_left_out(self.parts.caches.take_left_out())
        with step.labels("LoadMetrics").time():
            await self.load_usage()
        with step.labels("DeleteRemovedPods").time():
            for namespace, name in vanished:
                if self._fit is not None:
                    self._fit.forget(self.model, (namespace, name))
                self.model.forget_pod(namespace, name)
        with step.labels("UpdateVPAs").time():
            await self.update_vpas()
        with step.labels("MaintainCheckpoints").time():
            written_at = self.parts.driver.now()
            # With history from Prometheus, checkpoints are neither written nor collected.
            if self.parts.history is None:
                await self.parts.checkpoints.write(self.model, self.parts.caches, written_at)
                await self.parts.checkpoints.collect_orphans(self.parts.caches, written_at)
        self._strategy_faults.report(self.model.strategies.take_faults())
        with step.labels("GarbageCollect").time():
            await self._collect_garbage()
        if self.parts.kernels is not None:
            self.parts.kernels.follow(self.model)

    async def _load_vpas(self) -> None:
        """Bring the VPAs of the model up to date and drop those that are no more."""
        served = [vpa for vpa in self.parts.caches.take_vpas() if self.settings.serves(vpa)]
        before, now = frozenset(self.model.vpas if self._takes_over else ()), self.parts.driver.now()
        controllers = self.parts.caches.controllers
        known, versions = controllers.known(), controllers.versions
        for vpa in served:
            target = self._targets.find(vpa, known, are_workloads_as_before=versions == self._versions)
            if target is None:
                target = await controllers.settled(partial(self._targets.resolve, vpa))
                known = controllers.known()
            elif is_as_observed(self.model.vpas.get((vpa.namespace, vpa.name)), vpa, target):
                continue
            self._observe_vpa(vpa, target, now)
        self._versions = versions
        # All that are served are known by now, so where no more are known, none is to be forgotten.
        if max(len(self.model.vpas), len(self._targets)) > len(served):
            self._forget_vpas(served)
        if self._takes_over:
            take_over(self.model, self.parts.caches.checkpoints.snapshot(), before, now)
        self._owners.follow(self.model.vpas.values())

    def _forget_vpas(self, served: Iterable[Vpa]) -> None:
        """Drop all VPAs but those that are served; one that can for now not be read keeps its history."""
        names = {(vpa.namespace, vpa.name) for vpa in served}
        self._targets.keep_only(names)
        kept = names | set(self.parts.caches.vpas.unreadable)
        for namespace, name in [key for key in self.model.vpas if key not in kept]:
            self.model.forget_vpa(namespace, name)
            self.problems.pop((namespace, name), None)
            self._updates.forget((namespace, name))

    def _observe_vpa(self, vpa: Vpa, target: ResolvedTarget, now: datetime) -> None:
        """Let the model see a VPA and what its target came to."""
        self.problems[vpa.namespace, vpa.name] = target.problem
        sighting = Sighting(vpa, target, self._owners.keys.selector_of(target))
        observe_target(self.model, sighting, now, keeps_history=self.settings.behaviour.targets_may_vanish)

    async def _load_pods(self, now: datetime) -> list[NamespacedName]:
        """Observe the pods that changed and return those that are gone; unreadable ones are not gone."""
        caches, pods, looked = self.parts.caches, self.parts.caches.pods.snapshot(), self.changes.look()
        # A pod that was killed and is gone is looked at once more, or its kill would be nobody's.
        gone = [pod for pod in caches.kills.take_pods() if caches.pods.find((pod.namespace, pod.name)) is None]
        # With the memory saver a pod that was left out may be wanted by a VPA that is new.
        is_each_due = self.model.settings.memory_saver
        changed = pods if is_each_due else [pod for pod in looked.values() if pod is not None]
        due = await self._owners.to_observe([*changed, *gone], pods)
        with collector_paused():
            for pod in due:
                self.model.observe_pod(pod, now)
            if self._fit is not None:
                self._fit.observe(self.model, due)
        self.changes.doubt(looked)
        self.changes.doubt((pod.namespace, pod.name) for pod in gone)
        self.changes.settle(looked)
        return self.changes.gone(self.model.pods, caches.pods.items(), caches.pods.unreadable)

    async def load_usage(self) -> None:
        """Fold in one fetch of usage, then the OOM kills noticed since the last round."""
        parts, now = self.parts, self.parts.driver.now()
        usage = await parts.usage.fetch(self.model)
        if usage is not None:
            matched = self._matcher.match(usage)
            self.take_usage(matched.columns, now)
            parts.metrics.freshness.took(matched.columns, now)
            if matched.dropped and not self.model.settings.memory_saver:
                log.debug("samples of unknown containers dropped", samples=matched.dropped)
        self._take_kills(now)
        parts.metrics.aggregates.set(self.model.aggregate_count)

    def take_usage(self, columns: UsageColumns, now: datetime) -> None:
        """Fold in one fetch of usage, and show how far it is from what was recommended."""
        self.model.take_usage(columns, now, self._show_quality)

    def _take_kills(self, now: datetime) -> None:
        """Take in the OOM kills noticed since the last round, and those that wait for their pods."""
        held = ROUNDS_HELD if self.settings.behaviour.oom_without_samples else 0
        settled = settle(self.model, self.waiting_ooms, self.parts.caches.kills.take(), now, held)
        self.waiting_ooms = settled.waiting
        self._show_quality(settled.needs, MEMORY, is_oom=True)
        for kill, became in settled.outcomes:
            told = log.info if became is OomOutcome.RECORDED else log.warning
            told("OOM kill", pod=f"{kill.namespace}/{kill.pod}", container=kill.container, outcome=became.value)
            self.parts.metrics.oom_kills.labels(became.value).inc()
        lapse(self.model.aggregates, instant(now))

    def _show_quality(self, samples: SampleColumns, resource: str, *, is_oom: bool = False) -> None:
        """Show how far samples that were taken in are from the recommendations of their containers."""
        model = self.model
        quality = usage_quality(model.containers, model.aggregates, samples, resource, is_oom=is_oom)
        self.parts.metrics.quality.show_usage(quality)

    async def update_vpas(self) -> None:
        """Recommend for all VPAs at once and write the statuses that changed."""
        await self._updates.run(self.problems)

    async def _collect_garbage(self) -> None:
        """Remove aggregates that are of no use any more, once an hour."""
        now = self.parts.driver.now()
        if not is_due(self.model, now):
            return
        existing = await self._with_controller(doubtful_vpas(self.model))
        removed = collect(self.model, existing, now)
        if removed:
            log.info("aggregates removed", removed=removed, left=self.model.aggregate_count)

    async def _with_controller(self, vpas: Iterable[TrackedVpa]) -> set[NamespacedName]:
        """Return the VPAs whose target has a controller that exists (spec: recommender:3.4)."""
        found: set[NamespacedName] = set()
        for tracked in vpas:
            key = target_key(tracked.vpa)
            if key is None:
                continue

            try:
                if await self.parts.caches.controllers.settled(partial(_climb, key)) is not None:
                    found.add(tracked.key)
            except OwnerLookupError:
                continue
        return found


def _climb(start: ControllerKey, known: KnownControllers) -> ControllerKey | None:
    """Climb from a controller to the topmost one."""
    return known.topmost(start)
