"""One round of the updater: look, decide and act in turn, count."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta

import structlog

from autoscaling.kube.client import KubeClient
from autoscaling.kube.events import EventRecorder
from autoscaling.kube.liveness import LivenessSettings, Verdict, read_liveness
from autoscaling.runtime.health import Vitals
from autoscaling.runtime.process import Driver
from updater.circumstances import Memory
from updater.conditions import is_noteworthy, verdicts
from updater.decision import Action, Decision, VpaScope
from updater.plan import Plan
from updater.settings import Settings
from updater.shell.actuator import Actuator, Buckets
from updater.shell.caches import Caches
from updater.shell.carrier import AT_ONCE, Carrier
from updater.shell.conditions import ConditionWriter
from updater.shell.convergence_meter import ConvergenceMeter
from updater.shell.decision_meter import DecisionMeter
from updater.shell.memory_use import MemoryReader
from updater.shell.metrics import RoundCounts, UpdaterMetrics
from updater.shell.missing_room import MissingRoom
from updater.shell.notes import Notes
from updater.shell.resize_spans import ResizeSpans
from updater.shell.storm_lease import StormLease
from updater.snapshot import Snapshot

log = structlog.get_logger()

_CHANGING = 0.75
"""Share of a round from which on no further condition is written, so that the round is not cut off for that."""
_QUIET = frozenset({Action.SKIP, Action.WAIT})


@dataclass(frozen=True, slots=True)
class LoopSettings:
    """What a round needs to be told.

    Args:
        decisions: Flags, gates and behaviour that decisions depend on.
        period: Time between the starts of two rounds, and the deadline of each.
        liveness: The admission controller's Lease; None where it is not looked at.
        vpa_api_version: API version of the VPAs.
    """

    decisions: Settings
    period: timedelta
    liveness: LivenessSettings | None
    vpa_api_version: str


@dataclass(slots=True)
class Loop:
    """The rounds of one updater, with what one round hands to the next.

    Attributes:
        usage: Tells what containers use of memory; None where that is not asked for.
        conditions: Writes conditions to VPAs; None where that is not done.
        storms: Keeps the levels of the storm budgets; None where there are none, or where they last as long as this.
        spans: Sends a span for each resize; None where they go nowhere.
        missing: Tells of room that nodes lack.
        convergence: Follows resizes to their end.
        notes: What is still to be written on pods of resizes that were accepted.
    """

    settings: LoopSettings
    client: KubeClient
    caches: Caches
    events: EventRecorder
    metrics: UpdaterMetrics
    vitals: Vitals
    driver: Driver
    buckets: Buckets
    memory: Memory = field(default_factory=Memory)
    usage: MemoryReader | None = None
    conditions: ConditionWriter | None = None
    storms: StormLease | None = None
    spans: ResizeSpans | None = None
    missing: MissingRoom = field(init=False)
    convergence: ConvergenceMeter = field(init=False)
    notes: Notes = field(init=False)

    def __post_init__(self) -> None:
        """Make what tells of missing room and of resizes under way."""
        self.notes = Notes(self.client)
        self.missing = MissingRoom(self.metrics.missing_room, self.events)
        self.convergence = ConvergenceMeter(self.metrics.resizes, self.settings.decisions.behaviour)

    def actuator(self, deadline: datetime) -> Actuator:
        """Return what acts on decisions until a time; all share the rate limiters."""
        return Actuator(
            self.client,
            self.events,
            self.metrics,
            self.buckets,
            self.driver,
            self.settings.vpa_api_version,
            deadline,
            convergence=self.convergence,
            spans=self.spans,
        )

    async def run_round(self) -> None:
        """Run one round; it ends at its deadline at the latest."""
        now = self.driver.now()
        try:
            with self.metrics.execution_latency.labels("total").time():
                await self._run_until_deadline(now)
            if self.storms is not None:
                await self.storms.settle(self.memory.storms)
        finally:
            self.vitals.round_finished()

    async def _run_until_deadline(self, now: datetime) -> None:
        """Run what a round consists of, unless it takes too long."""
        try:
            async with asyncio.timeout(self.settings.period.total_seconds()):
                is_proven = await self._is_webhook_proven()
                # Resizes in place do without the webhook.
                if is_proven is not False or self.settings.decisions.behaviour.eviction_only_when_it_helps:
                    await self._open_budgets(now)
                    await self._update(now, is_webhook_proven=is_proven)
                else:
                    await self.write_notes()
        except TimeoutError:
            log.warning("round cut off", after_seconds=self.settings.period.total_seconds())

    async def _open_budgets(self, now: datetime) -> None:
        """Begin with the levels of the storm budgets that the Lease has, where those in memory do not hold."""
        levels = await self.storms.opened(now) if self.storms is not None else None
        if levels is not None:
            self.memory = replace(self.memory, storms=levels)

    async def _is_webhook_proven(self) -> bool | None:
        """Say whether evicted pods would be admitted with their recommendation (updater M-7, beyond:B-25).

        Returns:
            None where that is not asked.
        """
        if self.settings.liveness is None:
            return None
        seen = await read_liveness(self.client, self.settings.liveness, self.client.pacing)
        if seen.verdict is Verdict.VALID:
            return True
        self.metrics.admission_status_invalid.labels(seen.verdict.value).inc()
        left_out = "evictions" if self.settings.decisions.behaviour.eviction_only_when_it_helps else "the round"
        log.warning("admission is not alive", left_out=left_out, detail=seen.detail)
        return False

    async def observe(self, *, is_webhook_proven: bool | None) -> Snapshot:
        """Return the cluster as it is now.

        Args:
            is_webhook_proven: What the status Lease told.
        """
        snapshot = await self.caches.observe()
        vpas = (selecting.vpa for selecting in snapshot.vpas)
        memory = await self.usage.read(vpas) if self.usage is not None else None
        around = replace(snapshot.surroundings, memory=memory, is_webhook_proven=is_webhook_proven)
        return replace(snapshot, pods=self.notes.shown_on(snapshot.pods), surroundings=around)

    async def _update(self, now: datetime, *, is_webhook_proven: bool | None) -> None:
        """Decide and act in turn, folding each outcome back into the plan."""
        step = self.metrics.execution_latency
        with step.labels("ListPods").time():
            snapshot = await self.observe(is_webhook_proven=is_webhook_proven)
        self.convergence.look(snapshot.pods, now)
        if self.spans is not None:
            self.spans.look(snapshot.pods, now)
        with step.labels("FilterPods").time():
            plan = Plan.of(snapshot, now, self.memory, self.settings.decisions)
        is_side_by_side = self.settings.decisions.behaviour.calls_side_by_side
        actuator = replace(self.actuator(now + self.settings.period), notes=self.notes if is_side_by_side else None)
        scopes: dict[VpaScope, None] = {}
        noteworthy: list[Decision] = []
        meter = DecisionMeter(self.metrics.decided)

        def note(decision: Decision) -> None:
            if decision.scope is not None and decision.scope not in scopes:
                scopes[decision.scope] = None
                self._create_counters(decision.scope)
            _tell(decision)
            meter.note(decision)
            if is_noteworthy(decision):
                noteworthy.append(decision)
            self.missing.note(decision)

        carrier = Carrier(plan, actuator, self.storms, note)
        with step.labels("EvictPods").time():
            try:
                await (carrier.side_by_side() if is_side_by_side else carrier.one_by_one())
            finally:
                self.memory = carrier.plan.memory
                self.missing.publish()
                meter.publish(noteworthy)
                self.metrics.round.publish(_counts(scopes, actuator))
        await self.write_notes()
        if self.conditions is not None:
            vpas = [selecting.vpa for selecting in snapshot.vpas]
            found = verdicts(noteworthy, [vpa.ref for vpa in vpas], [scope.vpa for scope in scopes])
            await self.conditions.write(vpas, found, now, now + _CHANGING * self.settings.period)

    async def write_notes(self) -> None:
        """Write what is still to stand on pods of resizes that were accepted."""
        await self.notes.write(AT_ONCE)

    def _create_counters(self, scope: VpaScope) -> None:
        """Make the counters of a VPA visible at zero (upstream-1.8.1 2.6)."""
        size, vpa = str(scope.size_log2), (scope.vpa.name, scope.vpa.namespace)
        self.metrics.evicted_pods.labels(size, scope.mode.value, *vpa)
        self.metrics.in_place_updated_pods.labels(size, *vpa)


def _tell(decision: Decision) -> None:
    """Log a decision; those that change nothing are details."""
    level = log.debug if decision.action in _QUIET else log.info
    level(
        "pod decided",
        object=str(decision.ref),
        action=decision.action.value,
        reason=decision.reason.value,
        vpa=str(decision.scope.vpa) if decision.scope else "",
        detail=decision.detail,
    )


def _counts(scopes: Iterable[VpaScope], actuator: Actuator) -> RoundCounts:
    """Return what the gauges of a round show (updater section 7)."""
    counts = RoundCounts()
    for scope in scopes:
        size, mode = (str(scope.size_log2),), (str(scope.size_log2), scope.mode.value)
        counts.controlled_pods[mode] += scope.pods
        if scope.evictable:
            counts.evictable_pods[mode] += scope.evictable
            counts.vpas_with_evictable_pods[mode] += 1
        if scope.updatable:
            counts.in_place_updatable_pods[size] += scope.updatable
            counts.vpas_with_in_place_updatable_pods[size] += 1
        if (scope.vpa, Action.EVICT) in actuator.touched:
            counts.vpas_with_evicted_pods[mode] += 1
        if (scope.vpa, Action.RESIZE) in actuator.touched:
            counts.vpas_with_in_place_updated_pods[size] += 1
    return counts
