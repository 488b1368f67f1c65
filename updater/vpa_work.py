"""The pods of one VPA, decided one after the other: resizes first, then evictions (updater M-17, M-18, M-20)."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from autoscaling.errors import InvalidObjectError
from autoscaling.pod import Pod, PodPhase
from autoscaling.startup_boost import boosted_containers, is_over
from updater.attempt import Attempt, PendingEviction, why_not_evicted, why_not_sent
from updater.audit import Audit
from updater.backoff import TELLING, Refused
from updater.candidates import Candidate, acts_in_place
from updater.changes import restarts
from updater.circumstances import Circumstances
from updater.claim_release import releasable
from updater.decision import Action, Decision, Outcome, Reason, VpaScope, left_alone
from updater.evicting import EvictionProposal, weigh
from updater.eviction import clear_eviction
from updater.feasibility import gives_back, refused_by_node, refused_by_server
from updater.group import Groups
from updater.in_place import Verdict, decide_in_place, heeds_deferral
from updater.infeasible import InfeasibleResize
from updater.ledger import Claim, Ledger
from updater.memory_shrink import is_spared
from updater.patches import in_place_patches, is_already_requested, resize_patch
from updater.replacement import eviction_of, replacement_targets
from updater.resize_draft import Draft, draft
from updater.resize_request import restarts_to_note
from updater.shaping import Hindrance, Proposal, shape
from updater.steps import EVICTION_STEPS, RESIZE_STEPS
from updater.unboost import with_boosts_taken_back

_GIVEN_UP = frozenset({Reason.RESIZE_TIMED_OUT, Reason.RESIZE_FAILED})

_UNCERTAIN = frozenset({Outcome.UNTIMELY, Outcome.GONE})
"""Outcomes after which a pod may be disrupted all the same: its answer was lost, or somebody else took the pod away."""


@dataclass(frozen=True, slots=True)
class VpaWork:
    """What is left to do for one VPA.

    Args:
        circumstances: The VPA and the round.
        scope: The VPA as decisions name it.
        groups: Budgets at this point.
        ledger: What all changes of the round so far take up.
        timed: Pods whose time in the middle of a resize was asked for.
        resizes: Pods to resize, most urgent first.
        evictions: Pods to evict, in order; grows by those whose resize failed.
        resized: How many of the resizes have been decided.
        evicted: How many of the evictions have been decided.
        infeasible: UIDs of pods for which the VPA's recommendation was found infeasible, where that is remembered.
        refused_for_good: Resizes that were found infeasible, where those are remembered.
        wanting: UIDs of pods whose node has no room for them.
        released: UIDs of pods that gave their claim back.
        current: The decision that waits for its outcome, None where none does.
    """

    circumstances: Circumstances
    scope: VpaScope
    groups: Groups
    ledger: Ledger = field(default_factory=Ledger)
    timed: tuple[Pod, ...] = ()
    resizes: tuple[Candidate, ...] = ()
    evictions: tuple[PendingEviction, ...] = ()
    resized: int = 0
    evicted: int = 0
    infeasible: tuple[str, ...] = ()
    refused_for_good: tuple[InfeasibleResize, ...] = ()
    wanting: tuple[str, ...] = ()
    released: tuple[str, ...] = ()
    refused: tuple[Refused, ...] = ()
    current: Decision | None = None

    def advanced(self) -> VpaWork:
        """Return the work at its next decision; without one there is nothing left."""
        work = self
        while work.current is None:
            if work.resized < len(work.resizes):
                work = _consider_resize(work, work.resizes[work.resized])
            elif work.evicted < len(work.evictions):
                work = _consider_eviction(work, work.evictions[work.evicted])
            else:
                break
        return work

    def after(self, outcome: Outcome) -> VpaWork:
        """Fold in what came of the current decision; only success uses up budget (updater R-6)."""
        decision = self.current
        if decision is None or outcome is Outcome.NOT_RESERVED:
            return replace(self, current=None)
        attempt = Attempt(decision, self._decided)
        if outcome is Outcome.DONE and decision.action is not Action.FAIL:
            return _after_success(self, attempt)
        # A failed attempt may have been carried out all the same, so its tokens are used up.
        ledger = self.ledger.after(Claim(changes=decision.claim.changes))
        return _after_failure(replace(self, current=None, ledger=ledger), attempt, outcome)

    def sent(self) -> tuple[VpaWork, Attempt]:
        """Take the current decision for successful, so that what others count on is reserved while its call runs.

        Raises:
            ValueError: There is none.
        """
        if self.current is None:
            raise ValueError(f"{self.scope.vpa}: no decision waits to be sent; look at current first")
        return self.after(Outcome.DONE), Attempt(self.current, self._decided)

    def after_failure(self, attempt: Attempt, outcome: Outcome) -> VpaWork:
        """Give back what an attempt had reserved, and fold in what came of it."""
        decision = attempt.decision
        work = replace(self, ledger=self.ledger.without_claim(decision.claim))
        if attempt.gives_back:
            work = replace(work, released=tuple(uid for uid in work.released if uid != decision.uid))
        elif attempt.is_disruption:
            work = replace(work, groups=work.groups.after_failure(attempt.candidate.member.group))
        return _after_failure(work, attempt, outcome)

    def given_up(self) -> VpaWork:
        """Return the work with nothing left to decide."""
        return replace(self, current=None, resized=len(self.resizes), evicted=len(self.evictions))

    @property
    def has_more(self) -> bool:
        """Whether there are pods that have not had their turn."""
        return self.resized < len(self.resizes) or self.evicted < len(self.evictions)

    @property
    def _decided(self) -> Candidate:
        """Whom the current decision is about."""
        # Evictions begin only when no resize is left.
        return self.evictions[self.evicted - 1].candidate if self.evicted else self.resizes[self.resized - 1]

    def left_over(self) -> tuple[Candidate, ...]:
        """Return the pods that have not had their final decision."""
        return self.resizes[self.resized :] + tuple(e.candidate for e in self.evictions[self.evicted :])


def _consider_resize(work: VpaWork, candidate: Candidate) -> VpaWork:
    """Decide again on a pod now that budgets have moved (updater M-20)."""
    circumstances, pod = work.circumstances, candidate.member.pod
    decision = decide_in_place(pod, work.groups.of(candidate.member.group), circumstances)
    reason = decision.reason or candidate.reason
    work = replace(work, resized=work.resized + 1)
    if decision.verdict is Verdict.EVICT:
        if is_spared(pod, candidate.processed, circumstances):
            # What is safe may have changed since the resize was asked for, and then it is asked for anew.
            return _resize(work, candidate)
        return _to_be_evicted(work, candidate, reason)
    waits = decision.verdict is Verdict.DEFERRED and heeds_deferral(circumstances)
    if waits or decision.verdict is Verdict.INFEASIBLE_REMEMBERED:
        return replace(work, current=left_alone(pod.ref, reason, work.scope, uid=pod.uid))
    if candidate.reason is Reason.RESIZE_WITHOUT_EFFECT:
        return _to_be_evicted(work, candidate, candidate.reason)
    if decision.verdict is Verdict.INFEASIBLE:
        work = _remembering(work, refused_by_node(pod, circumstances))
    if candidate.reason is Reason.RESIZE_INFEASIBLE:
        return _staying(work, pod, Hindrance(candidate.reason, "the recommendation does not call for it any more"))
    return _resize(work, candidate)


def _resize(work: VpaWork, candidate: Candidate) -> VpaWork:
    """Return the work at the attempt to resize a pod, or at what becomes of the pod instead (updater X-1 to X-5)."""
    pod, vpa = candidate.member.pod, work.circumstances.vpa
    group = work.groups.of(candidate.member.group)
    if isinstance(group, Reason):
        return replace(work, current=Decision(pod.ref, Action.FAIL, group, work.scope))
    drafted = draft(candidate, work.circumstances)
    processed = candidate.processed if vpa.recommendation is not None else None
    # Boosts that nobody else takes back, with their gate off or none in the VPA any more, end with an update.
    boosted = boosted_containers(pod.annotations)
    expired = tuple(name for name in boosted if is_over(pod, vpa, name, work.circumstances.now))
    try:
        targets = with_boosts_taken_back(pod, expired, drafted.targets) if boosted else drafted.targets
    except InvalidObjectError as error:
        return replace(work, current=Decision(pod.ref, Action.FAIL, Reason.INVALID_OBJECT, work.scope, str(error)))
    proposal = Proposal(pod, targets, processed, expired=expired, group=group)
    shaped = shape(proposal, RESIZE_STEPS, work.circumstances, work.ledger)
    if isinstance(shaped, Proposal):
        return replace(work, current=_attempt(work, drafted, shaped, expired))
    if shaped.reason is Reason.NO_ROOM:
        work = replace(work, wanting=(*work.wanting, pod.uid))
    if work.circumstances.is_in_place_only:
        return _staying(work, pod, shaped)
    if shaped.helps_to_evict or (shaped.reason is Reason.NO_ROOM and _has_waited(pod, work.circumstances)):
        return _to_be_evicted(work, candidate, shaped.reason)
    return replace(work, current=_held_back(work, pod, shaped))


def _attempt(work: VpaWork, drafted: Draft, shaped: Proposal, expired: tuple[str, ...]) -> Decision:
    """Return the attempt to send a resize, with its patches."""
    pod = shaped.pod
    resize = drafted.patch_for(shaped.targets)
    if not resize:
        return Decision(pod.ref, Action.FAIL, Reason.NOTHING_TO_APPLY, work.scope)
    behaviour = work.circumstances.settings.behaviour
    names_uid = behaviour.uid_preconditions
    if names_uid and not expired and is_already_requested(pod, shaped.targets):
        return left_alone(pod.ref, Reason.ALREADY_REQUESTED, work.scope, uid=pod.uid)
    if (reason := why_not_sent(pod, resize, work.circumstances, work.ledger)) is not None:
        return left_alone(pod.ref, reason, work.scope, uid=pod.uid)
    return Decision(
        pod.ref,
        Action.RESIZE,
        drafted.candidate.reason,
        work.scope,
        uid=pod.uid,
        is_guarded=names_uid,
        patches=in_place_patches(
            pod,
            resize,
            is_guarded=names_uid,
            marks_once=behaviour.annotation_written_once,
            expired_boosts=expired,
        ),
        claim=shaped.claim,
        restarts=restarts_to_note(pod) if behaviour.timers else None,
        missing=shaped.missing,
        audit=Audit(pod, shaped.targets, work.circumstances.vpa),
        disrupts=not behaviour.pdbs_are_read_too or restarts(pod, shaped.targets),
    )


def _has_waited(pod: Pod, circumstances: Circumstances) -> bool:
    """Say whether a pod has lacked room for longer than a deferred resize is waited for (beyond:B-24)."""
    return circumstances.memory.rooms.waited(pod.uid, circumstances.now) > circumstances.deferred_timeout


def _staying(work: VpaWork, pod: Pod, hindrance: Hindrance) -> VpaWork:
    """Let a pod wait that is never evicted, or give back what its node has refused for good (beyond:B-28).

    A pod that gets another resize as soon as there are tokens for it keeps what it asks for.
    """
    is_over = hindrance.reason is not Reason.STORM_BUDGET and gives_back(pod, work.circumstances)
    release = _release(work, pod, hindrance) if is_over else None
    return replace(work, current=release or _held_back(work, pod, hindrance))


def _held_back(work: VpaWork, pod: Pod, hindrance: Hindrance) -> Decision:
    """Return the decision that a step's objection comes to."""
    held = left_alone(pod.ref, hindrance.reason, work.scope, hindrance.detail, pod.uid)
    return replace(held, missing=hindrance.missing) if hindrance.missing else held


def _not_evicted(work: VpaWork, pending: PendingEviction, hindrance: Hindrance) -> VpaWork:
    """Give back what a pod claims that can neither grow nor go, or let it wait (beyond:B-24, precedence).

    Only what the node has put off or refused is a claim; in a mode that does not resize in place it is not ours. A pod
    that may go as soon as there are tokens for it keeps its claim.
    """
    pod, behaviour = pending.candidate.member.pod, work.circumstances.settings.behaviour
    if not behaviour.free_room or not acts_in_place(work.circumstances):
        return replace(work, current=_held_back(work, pod, hindrance))
    is_given_up = pending.reason in _GIVEN_UP and hindrance.reason is not Reason.STORM_BUDGET
    release = _release(work, pod, hindrance) if is_given_up else None
    if release is None and hindrance.reason is Reason.NO_OTHER_NODE:
        hindrance = replace(hindrance, reason=Reason.RESIZE_BLOCKED)
    return replace(work, current=release or _held_back(work, pod, hindrance))


def _release(work: VpaWork, pod: Pod, hindrance: Hindrance) -> Decision | None:
    """Return the attempt to give a pod's claim back, or why it is not made yet; None where there is no claim."""
    targets = releasable(pod, work.circumstances, work.ledger)
    if targets is None:
        return None
    resize = resize_patch(pod, targets)
    if (reason := why_not_sent(pod, resize, work.circumstances, work.ledger)) is not None:
        return left_alone(pod.ref, reason, work.scope, uid=pod.uid)
    behaviour = work.circumstances.settings.behaviour
    is_guarded = behaviour.uid_preconditions
    patches = in_place_patches(pod, resize, is_guarded=is_guarded, marks_once=behaviour.annotation_written_once)
    return Decision(
        pod.ref,
        Action.RESIZE,
        Reason.CLAIM_RELEASED,
        work.scope,
        hindrance.detail,
        pod.uid,
        is_guarded=is_guarded,
        patches=patches,
        missing=hindrance.missing,
        audit=Audit(pod, targets, work.circumstances.vpa),
    )


def _consider_eviction(work: VpaWork, pending: PendingEviction) -> VpaWork:
    """Evict a pod if its group and a resize in progress still allow it (updater M-18, X-10)."""
    member, circumstances = pending.candidate.member, work.circumstances
    pod = member.pod
    work = replace(work, evicted=work.evicted + 1)
    clearance = clear_eviction(pod, work.groups.of(member.group), circumstances)
    if clearance.reason is Reason.BELOW_MIN_REPLICAS and circumstances.settings.behaviour.single_replicas:
        return _not_evicted(work, pending, Hindrance(Reason.BELOW_MIN_REPLICAS))
    if not clearance.is_given:
        reason = clearance.reason or pending.reason
        return replace(work, current=left_alone(pod.ref, reason, work.scope, uid=pod.uid))
    if (held := why_not_evicted(pod, circumstances, work.ledger)) is not None:
        return replace(work, current=left_alone(pod.ref, held, work.scope, uid=pod.uid))
    try:
        proposal = eviction_of(pending.candidate, pending.reason, circumstances)
    except InvalidObjectError as error:
        return replace(work, current=left_alone(pod.ref, Reason.INVALID_OBJECT, work.scope, str(error), pod.uid))
    weighed = weigh(proposal, EVICTION_STEPS, circumstances, work.ledger)
    if not isinstance(weighed, EvictionProposal):
        return _not_evicted(work, pending, weighed)
    is_guarded = circumstances.settings.behaviour.uid_preconditions
    decision = Decision(pod.ref, Action.EVICT, pending.reason, work.scope, uid=pod.uid, is_guarded=is_guarded)
    audit = Audit(pod, replacement_targets(proposal, circumstances), circumstances.vpa, replaces=True)
    # Upstream lets a pod that was not running go for nothing.
    counts = pod.phase is not PodPhase.PENDING or circumstances.settings.behaviour.eviction_only_when_it_helps
    return replace(work, current=replace(decision, claim=weighed.claim, audit=audit, disrupts=counts))


def _after_success(work: VpaWork, attempt: Attempt) -> VpaWork:
    """Take down what a change takes up; a pod that gave its claim back was not disrupted."""
    ledger, groups, gone = work.ledger.after(attempt.decision.claim), work.groups, work.released
    # In mode InPlace what was refused is remembered, and says when that is tried again.
    if attempt.gives_back and not work.circumstances.is_in_place_only:
        gone = (*gone, attempt.decision.uid)
    if attempt.is_disruption:
        groups = groups.after_disruption(attempt.candidate.member.group)
    return replace(work, current=None, ledger=ledger, groups=groups, released=gone)


def _after_failure(work: VpaWork, attempt: Attempt, outcome: Outcome) -> VpaWork:
    """Fold in why an attempt failed, which may put its pod among the evictions."""
    decision = attempt.decision
    if work.circumstances.settings.behaviour.errors_are_classified and outcome in TELLING:
        return _after_refusal(work, attempt, outcome)
    is_resize = decision.action in {Action.RESIZE, Action.FAIL} and not attempt.gives_back
    return _after_failed_resize(work, attempt, outcome) if is_resize else work


def _after_refusal(work: VpaWork, attempt: Attempt, outcome: Outcome) -> VpaWork:
    """Leave a pod alone whose call failed for a reason that an eviction would not mend (beyond:B-21)."""
    decision = attempt.decision
    if outcome in _UNCERTAIN:
        work = _still_reserving(work, attempt)
    if outcome is Outcome.GONE:
        return work
    asked = decision.patches.resize if decision.patches is not None else ()
    work = replace(work, refused=(*work.refused, Refused(decision.uid, decision.action, outcome, asked)))
    if outcome is Outcome.NOT_PERMITTED:
        return replace(work, ledger=work.ledger.without(decision.action.value))
    return work


def _still_reserving(work: VpaWork, attempt: Attempt) -> VpaWork:
    """Count a change for the rest of the round as if it had been carried out; its tokens are used up by now."""
    work = replace(work, ledger=work.ledger.after(replace(attempt.decision.claim, changes=())))
    if not attempt.is_disruption:
        return work
    return replace(work, groups=work.groups.after_disruption(attempt.candidate.member.group))


def _after_failed_resize(work: VpaWork, attempt: Attempt, outcome: Outcome) -> VpaWork:
    """Fall back to eviction unless the mode is InPlace, and remember what the node is too small for.

    Upstream remembers that in mode InPlace only. Where it is remembered in the other mode, too, it counts as if the
    node had called the resize infeasible.

    Spec: updater D-25, D-48, beyond:B-24 (precedence).
    """
    circumstances, audit = work.circumstances, attempt.decision.audit
    is_never_evicted, reason = circumstances.is_in_place_only, Reason.RESIZE_REFUSED
    is_remembered = is_never_evicted or circumstances.settings.behaviour.infeasible_memory
    if outcome is Outcome.NO_NODE_CAPACITY and audit is not None and is_remembered:
        work = _remembering(work, refused_by_server(audit.pod, audit.targets, circumstances))
        reason = Reason.RESIZE_FAILED
    return work if is_never_evicted else _to_be_evicted(work, attempt.candidate, reason)


def _to_be_evicted(work: VpaWork, candidate: Candidate, reason: Reason) -> VpaWork:
    """Return the work with a pod moved to the end of the evictions."""
    return replace(work, evictions=(*work.evictions, PendingEviction(candidate, reason)))


def _remembering(work: VpaWork, refused: InfeasibleResize) -> VpaWork:
    """Return the work with what was found infeasible: the resize, or upstream's way the raw recommendation (M-20)."""
    circumstances = work.circumstances
    if circumstances.settings.behaviour.infeasible_memory:
        return replace(work, refused_for_good=(*work.refused_for_good, refused))
    if circumstances.vpa.recommendation is None:
        return work
    return replace(work, infeasible=(*work.infeasible, refused.uid))
