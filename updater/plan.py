"""One round as a reducer: the next decision, then fold in what came of it (updater M-8 to M-21)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime

from autoscaling.limitrange import NO_LIMITS
from autoscaling.objectref import ObjectRef
from autoscaling.pod import Pod
from autoscaling.vpa import Recommendation
from updater.attempt import Attempt
from updater.backoff import Refused
from updater.circumstances import Circumstances, Memory
from updater.decision import Action, Decision, Outcome, Reason, left_alone
from updater.infeasible import InfeasibleResize
from updater.ledger import Ledger
from updater.opening import opening_of
from updater.protection import restarts_under_way
from updater.room import Rooms
from updater.selection import ControlledPods, Selection, select
from updater.settings import Settings
from updater.snapshot import Snapshot
from updater.storm_levels import StormLevels, StormLimits
from updater.vpa_work import VpaWork

_CALLS = frozenset({Action.RESIZE, Action.EVICT})
_ATTEMPTS = _CALLS | {Action.FAIL}


@dataclass(frozen=True, slots=True)
class Round:
    """What does not change in the course of a round.

    Args:
        memory: What the round before handed over, without pods that are gone.
        rooms: What the nodes have left; None where that is not known or does not matter.
        storms: How many changes at a time are borne; None where any number is.
    """

    snapshot: Snapshot
    selection: Selection
    now: datetime
    memory: Memory
    settings: Settings
    rooms: Rooms | None = None
    storms: StormLimits | None = None


@dataclass(frozen=True, slots=True)
class Findings:
    """What the work on one VPA adds to the memory.

    Args:
        timed: Pods whose time in the middle of a resize was asked for.
        infeasible: Recommendations found infeasible, by UID of the pod.
        refused_for_good: Resizes found infeasible.
        wanting: UIDs of pods whose node has no room for them.
        released: UIDs of pods that gave their claim back.
        refused: Calls that were refused.
        earlier: What the VPAs before it added.
    """

    timed: tuple[Pod, ...]
    infeasible: Mapping[str, Recommendation]
    refused_for_good: tuple[InfeasibleResize, ...]
    wanting: tuple[str, ...]
    released: tuple[str, ...]
    refused: tuple[Refused, ...]
    earlier: Findings | None


@dataclass(frozen=True, slots=True)
class Plan:
    """Where a round stands.

    The decisions come VPA by VPA: first the pods that are left alone, then the rest in order of urgency. Every live
    controlled pod gets one final decision; a resize that fails may be followed by another decision on its pod.

    Args:
        round: What does not change.
        opened: How many of the VPAs have been started.
        work: The VPA at hand; None before the first, and once the round has ended.
        settled: Decisions that call nothing, handed out before the work goes on.
        handed_out: How many of them have been handed out.
        findings: What the VPAs done so far add to the memory.
        ledger: What the changes for the VPAs done so far take up, and what restarts of earlier rounds will.
        is_ended: Whether the rate limiter ended the round, so that the remaining pods are only named (M-21).
        flights: Attempts whose outcome is not known yet, by pod; all but them are taken for successful or known.
        parked: VPAs before the one at hand that wait for such an outcome or for what it leads to.
    """

    round: Round
    opened: int = 0
    work: VpaWork | None = None
    settled: tuple[Decision, ...] = ()
    handed_out: int = 0
    findings: Findings | None = None
    ledger: Ledger = field(default_factory=Ledger)
    is_ended: bool = False
    flights: Mapping[ObjectRef, Attempt] = field(default_factory=dict)
    parked: Mapping[ObjectRef, VpaWork] = field(default_factory=dict)

    @classmethod
    def of(cls, snapshot: Snapshot, now: datetime, memory: Memory, settings: Settings) -> Plan:
        """Start a round.

        Args:
            snapshot: The cluster.
            now: Time of the round; nothing in it asks for a later one.
            memory: What the round before handed over.
            settings: Flags, gates and behaviour.
        """
        memory = replace(memory, recall=memory.recall.next_round(settings, now))
        selection = select(snapshot, settings, memory.recall.placed)
        if selection.live_uids is not None:
            memory = replace(
                memory,
                infeasible=memory.infeasible.keeping(selection.live_uids),
                infeasible_resizes=memory.infeasible_resizes.looking(
                    snapshot.pods, selection.live_uids, settings.behaviour
                ),
                rooms=memory.rooms.keeping(selection.live_uids),
                backoff=memory.backoff.keeping(selection.live_uids),
                sightings=memory.sightings.keeping(selection.live_uids),
            )
        if settings.behaviour.eviction_only_when_it_helps:
            memory = replace(memory, loops=memory.loops.looking(selection.controlled, snapshot.limits, now))
        if settings.behaviour.node_policies_are_learnt:
            nodes, behaviour = snapshot.surroundings.nodes, settings.behaviour
            memory = replace(memory, node_policies=memory.node_policies.looking(snapshot.pods, nodes, now, behaviour))
        dropped = tuple(left_alone(d.vpa, d.reason, detail=d.detail) for d in selection.dropped)
        rooms, storms = _rooms(snapshot, settings), _storms(snapshot, settings)
        started = Round(snapshot, selection, now, memory, settings, rooms, storms)
        return _advanced(cls(started, settled=dropped, ledger=_ledger(snapshot, settings)))

    @property
    def memory(self) -> Memory:
        """What the next round is to get, as far as this one has come."""
        timed: list[Pod] = []
        infeasible: dict[str, Recommendation] = {}
        refused_for_good: list[InfeasibleResize] = []
        wanting: list[str] = []
        released: list[str] = []
        refused: list[Refused] = []
        findings = self.findings
        for work in (*self.parked.values(), *((self.work,) if self.work else ())):
            findings = _findings(work, findings)
        while findings is not None:
            timed += findings.timed
            infeasible |= findings.infeasible
            refused_for_good += findings.refused_for_good
            wanting += findings.wanting
            released += findings.released
            refused += findings.refused
            findings = findings.earlier
        carried, now = self.round.memory, self.round.now
        if self.round.settings.behaviour.timers:
            carried = replace(carried, sightings=carried.sightings.seeing(timed, now))
        else:
            carried = replace(carried, watch=carried.watch.seeing((pod.ref for pod in timed), now))
        return replace(
            carried,
            infeasible=carried.infeasible.remembering(infeasible),
            infeasible_resizes=carried.infeasible_resizes.seeing(refused_for_good, now),
            backoff=carried.backoff.after(refused, now),
            rooms=carried.rooms.seeing(wanting, released, now),
            storms=self.storms,
            loops=carried.loops.evicting(self.ledger_so_far.evictions.values(), now),
        )

    @property
    def storms(self) -> StormLevels:
        """What the changes so far leave of the storm budgets, as of the start of the round."""
        carried, limits = self.round.memory.storms, self.round.storms
        taken = self.ledger_so_far.changes
        return carried.taking(taken, limits, self.round.now) if limits is not None and taken else carried

    @property
    def ledger_so_far(self) -> Ledger:
        """What the changes so far take up."""
        return self.work.ledger if self.work else self.ledger

    def next(self) -> Decision | None:
        """Return the decision to carry out now, None where none is left for now.

        That is the end of the round, unless there are flights.
        """
        if self.handed_out < len(self.settled):
            return self.settled[self.handed_out]
        return self.work.current if self.work else None

    @property
    def quiet(self) -> tuple[Decision, ...]:
        """The decisions that come next and call nothing, so that they may be folded in together."""
        return self.settled[self.handed_out :] if self.handed_out else self.settled

    def after_quiet(self) -> Plan:
        """Go on after all decisions of ``quiet``."""
        return _advanced(_handing_out(self, len(self.settled)))

    def after(self, decision: Decision, outcome: Outcome) -> Plan:
        """Fold in what came of the next decision.

        Args:
            decision: What ``next`` returned.
            outcome: DONE for decisions that call nothing.

        Raises:
            ValueError: The decision is not the plan's next one.
        """
        self._require_next(decision)
        if self.handed_out < len(self.settled) or self.work is None:
            return _advanced(_handing_out(self, self.handed_out + 1))
        if outcome is Outcome.RATE_LIMITED and decision.action in _ATTEMPTS:
            return _advanced(_ended(self, self.work))
        return _advanced(replace(self, work=self.work.after(outcome).advanced()))

    def sent(self, decision: Decision) -> Plan:
        """Go on as if the next decision, a resize or an eviction, had succeeded; ``landed`` tells what came of it.

        What it takes up is reserved, so nothing is decided that would not be decided after it, one by one.

        Raises:
            ValueError: The decision is not the plan's next one, or calls nothing.
        """
        self._require_next(decision)
        if self.work is None or decision.action not in _CALLS:
            raise ValueError(f"{decision.ref}: {decision.action.value} calls nothing; fold it in with after()")
        work, attempt = self.work.sent()
        return _advanced(replace(self, work=work.advanced(), flights={**self.flights, decision.ref: attempt}))

    def landed(self, decision: Decision, outcome: Outcome) -> Plan:
        """Fold in what came of a decision that was sent; what a failed one had reserved is free again.

        Raises:
            ValueError: No such decision is on its way.
        """
        attempt = self.flights.get(decision.ref)
        if attempt is None or attempt.decision is not decision:
            raise ValueError(f"{decision.ref}: no such decision is on its way; only what was sent can land")
        plan = replace(self, flights={ref: one for ref, one in self.flights.items() if one is not attempt})
        return _advanced(_settled(plan if outcome is Outcome.DONE else _corrected(plan, attempt, outcome)))

    def _require_next(self, decision: Decision) -> None:
        """Make sure that a decision is the one to carry out now."""
        if decision is not self.next():
            raise ValueError(f"{decision.ref}: not the next decision of this plan; carry out what next() returns")


def _handing_out(plan: Plan, count: int) -> Plan:
    """Return the plan with so many settled decisions handed out."""
    # Most pods are left alone, so this is spelled out rather than done with the slower dataclasses.replace.
    return Plan(
        plan.round,
        plan.opened,
        plan.work,
        plan.settled,
        count,
        plan.findings,
        plan.ledger,
        plan.is_ended,
        plan.flights,
        plan.parked,
    )


def _advanced(plan: Plan) -> Plan:
    """Go on with VPAs until there is a decision or nothing is left; what failed attempts lead to comes first."""
    controlled = plan.round.selection.controlled
    while plan.next() is None:
        late = next((work for work in plan.parked.values() if work.has_more), None)
        if late is not None:
            plan = _reopened(plan, late)
        elif plan.opened < len(controlled):
            plan = _open(plan, controlled[plan.opened])
        else:
            break
    return plan


def _open(plan: Plan, controlled: ControlledPods) -> Plan:
    """Start on one VPA; in a round that has ended its pods are only named."""
    plan = _left(plan)
    if plan.is_ended:
        named = tuple(left_alone(m.pod.ref, Reason.ROUND_ENDED) for m in controlled.members)
        return replace(plan, opened=plan.opened + 1, settled=named)
    circumstances = Circumstances(
        vpa=controlled.vpa,
        limits=plan.round.snapshot.limits.get(controlled.vpa.namespace, NO_LIMITS),
        now=plan.round.now,
        settings=plan.round.settings,
        memory=plan.round.memory,
        surroundings=plan.round.snapshot.surroundings,
        rooms=plan.round.rooms,
        storms=plan.round.storms,
        workloads=plan.round.snapshot.workloads,
    )
    opening = opening_of(controlled, circumstances, plan.round.snapshot.workloads)
    work = opening.begun(circumstances, plan.ledger)
    return replace(plan, opened=plan.opened + 1, settled=opening.settled, work=work)


def _reopened(plan: Plan, work: VpaWork) -> Plan:
    """Go on with a VPA of which an attempt has failed; in a round that has ended its pods are only named."""
    plan = _left(plan)
    parked = {vpa: one for vpa, one in plan.parked.items() if one is not work}
    plan = replace(plan, parked=parked, work=replace(work, ledger=plan.ledger))
    return _ended(plan, work) if plan.is_ended else replace(plan, work=plan.work.advanced() if plan.work else None)


def _ended(plan: Plan, work: VpaWork) -> Plan:
    """Return the plan of a round that the rate limiter ended."""
    named = tuple(left_alone(c.member.pod.ref, Reason.ROUND_ENDED, work.scope) for c in work.left_over())
    plan = _left(replace(plan, work=plan.work.given_up() if plan.work else None))
    return replace(plan, is_ended=True, settled=named)


def _left(plan: Plan) -> Plan:
    """Put the VPA at hand aside: done with, or parked while attempts for it are on their way."""
    work, ledger = plan.work, plan.ledger_so_far
    if work is not None and _is_awaited(plan, work):
        parked = {**plan.parked, work.scope.vpa: work}
        return replace(plan, work=None, settled=(), handed_out=0, ledger=ledger, parked=parked)
    findings = plan.findings if work is None else _findings(work, plan.findings)
    return replace(plan, work=None, settled=(), handed_out=0, ledger=ledger, findings=findings)


def _settled(plan: Plan) -> Plan:
    """Let go of parked VPAs for which nothing is on its way and nothing is left."""
    findings, parked = plan.findings, {}
    for vpa, work in plan.parked.items():
        if work.has_more or _is_awaited(plan, work):
            parked[vpa] = work
        else:
            findings = _findings(work, findings)
    return replace(plan, findings=findings, parked=parked)


def _is_awaited(plan: Plan, work: VpaWork) -> bool:
    """Say whether an attempt for a VPA is on its way."""
    return bool(plan.flights) and any(one.decision.scope is work.scope for one in plan.flights.values())


def _corrected(plan: Plan, attempt: Attempt, outcome: Outcome) -> Plan:
    """Return the plan with an attempt failed that was taken for successful."""
    scope, work = attempt.decision.scope, plan.work
    if work is not None and work.scope is scope:
        return replace(plan, work=work.after_failure(attempt, outcome).advanced())
    parked = next(one for one in plan.parked.values() if one.scope is scope)
    after = replace(parked, ledger=plan.ledger_so_far).after_failure(attempt, outcome)
    plan = replace(plan, parked={**plan.parked, after.scope.vpa: after})
    return replace(plan, work=replace(work, ledger=after.ledger)) if work else replace(plan, ledger=after.ledger)


def _findings(work: VpaWork, earlier: Findings | None) -> Findings | None:
    """Return what the work on a VPA adds to the memory, with what was found before."""
    found = (work.timed, work.infeasible, work.refused_for_good, work.wanting, work.released, work.refused)
    if not any(found):
        return earlier
    recommendation = work.circumstances.vpa.recommendation
    infeasible = dict.fromkeys(work.infeasible, recommendation) if recommendation is not None else {}
    return Findings(work.timed, infeasible, work.refused_for_good, work.wanting, work.released, work.refused, earlier)


def _rooms(snapshot: Snapshot, settings: Settings) -> Rooms | None:
    """Return what the nodes have left, None where that cannot be told or does not matter (beyond:B-24)."""
    nodes = snapshot.surroundings.nodes
    if not settings.behaviour.free_room or nodes is None or not snapshot.surroundings.sees_all_pods:
        return None
    return Rooms.of(nodes, snapshot.pods)


def _ledger(snapshot: Snapshot, settings: Settings) -> Ledger:
    """Return what earlier rounds have left to come: restarts that disruption budgets do not know of yet (B-43)."""
    budgets, behaviour = snapshot.surroundings.budgets, settings.behaviour
    if not behaviour.pdbs_are_read_too or budgets is None:
        return Ledger()
    return Ledger(budgets=restarts_under_way(snapshot.pods, budgets, behaviour))


def _storms(snapshot: Snapshot, settings: Settings) -> StormLimits | None:
    """Return how many changes at a time a cluster of this size bears, None where any number is (beyond:B-24)."""
    if not settings.behaviour.free_room:
        return None
    nodes = snapshot.surroundings.nodes
    return settings.storms.limits(len(nodes if nodes is not None else {pod.node_name for pod in snapshot.pods}))
