"""Which of a VPA's pods are worth updating, in what order, and why the others are not (updater M-13 to M-17)."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from autoscaling.capping import ProcessedRecommendation
from autoscaling.errors import InvalidObjectError
from autoscaling.objectref import ObjectRef
from autoscaling.pod import Pod
from autoscaling.vpa import UpdateMode
from updater.acceptance import judge, meets_requirements
from updater.assessment import Assessor
from updater.circumstances import Circumstances
from updater.decision import Reason
from updater.eviction import clear_eviction
from updater.feasibility import gives_back
from updater.group import Groups, is_boosted
from updater.in_place import InPlaceDecision, Verdict, decide_in_place, heeds_deferral
from updater.ledger import Amounts
from updater.priority import Priority
from updater.resize_effect import without_effect
from updater.room import claim_shortfall, in_words
from updater.selection import Member, passive_reason

_IN_PLACE_MODES = frozenset({UpdateMode.IN_PLACE_OR_RECREATE, UpdateMode.IN_PLACE})


@dataclass(frozen=True, slots=True)
class Candidate:
    """A pod that is worth updating.

    Args:
        member: The pod with its group.
        reason: What makes it worth it.
        processed: What the VPA's recommendation means for it.
        priority: Its score.
    """

    member: Member
    reason: Reason
    processed: ProcessedRecommendation
    priority: Priority


@dataclass(frozen=True, slots=True)
class Refusal:
    """A pod that is left alone in this round, and why.

    Args:
        missing: What the pod's node lacks for a resize that it has put off or refused, in nano-units by resource.
    """

    pod: ObjectRef
    reason: Reason
    detail: str = ""
    uid: str = ""
    missing: Amounts = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Sorted:
    """All pods of one VPA, each exactly once.

    Args:
        candidates: Pods to act on, most urgent first.
        refusals: The others.
        timed: Pods whose time in the middle of a resize was asked for (updater C-5).
    """

    candidates: tuple[Candidate, ...]
    refusals: tuple[Refusal, ...]
    timed: tuple[Pod, ...] = ()


def acts_in_place(circumstances: Circumstances) -> bool:
    """Say whether the VPA's mode resizes running pods."""
    return circumstances.vpa.update_mode in _IN_PLACE_MODES


def sort_out(members: Iterable[Member], groups: Groups, circumstances: Circumstances) -> Sorted:
    """Tell a VPA's candidates from its other pods and put them in order.

    Pods of equal priority stay in the order they came in.
    """
    idle = _idle_reason(circumstances)
    if idle is not None:
        return Sorted((), tuple(Refusal(m.pod.ref, idle, uid=m.pod.uid) for m in members))
    assessor = Assessor(circumstances)
    candidates: list[Candidate] = []
    refusals: list[Refusal] = []
    timed: list[Pod] = []
    for member in members:
        obstacle, is_timed = _first_look(member, groups, circumstances)
        if is_timed:
            timed.append(member.pod)
        found = (
            refusal_of(member.pod, obstacle, circumstances) if obstacle else _assess(member, assessor, circumstances)
        )
        if isinstance(found, Candidate):
            candidates.append(found)
        else:
            refusals.append(found)
    candidates.sort(key=lambda candidate: candidate.priority.rank)
    return Sorted(tuple(candidates), tuple(refusals), tuple(timed))


def in_sending_order(candidates: tuple[Candidate, ...], circumstances: Circumstances) -> tuple[Candidate, ...]:
    """Return the pods to resize in the order in which they are sent: those that only shrink first (beyond:B-24)."""
    if not circumstances.settings.behaviour.free_room:
        return candidates
    return tuple(sorted(candidates, key=_asks_for_more))


def _asks_for_more(candidate: Candidate) -> bool:
    """Say whether a recommendation asks for more of anything than a pod has."""
    pod, recommendation = candidate.member.pod, candidate.processed.recommendation
    for container in pod.containers:
        entry, actual = recommendation.of(container.name), pod.actual_resources(container)
        if entry is not None and any(amount > actual.request(name) for name, amount in entry.target.items()):
            return True
    return False


def refusal_of(pod: Pod, reason: Reason, circumstances: Circumstances) -> Refusal:
    """Return why a pod is left alone, and what its node lacks where the pod waits for room (beyond:B-41)."""
    rooms, behaviour = circumstances.rooms, circumstances.settings.behaviour
    missing = claim_shortfall(pod, rooms, behaviour) if rooms is not None and pod.conditions else {}
    if not missing:
        return Refusal(pod.ref, reason, uid=pod.uid)
    return Refusal(pod.ref, reason, f"{in_words(missing)} missing on node {pod.node_name}", pod.uid, missing)


def _idle_reason(circumstances: Circumstances) -> Reason | None:
    """Return why none of the VPA's pods is touched, None where some may be (updater M-15)."""
    if circumstances.is_in_place_only and not circumstances.settings.is_in_place_on:
        return Reason.GATE_OFF
    return passive_reason(circumstances.vpa)


def _first_look(member: Member, groups: Groups, circumstances: Circumstances) -> tuple[Reason | None, bool]:
    """Return what rules a pod out before its recommendation is looked at, and whether its time was asked for.

    Spec: updater M-14, M-16, M-19.
    """
    pod, vpa = member.pod, circumstances.vpa
    if circumstances.settings.is_startup_boost_on and vpa.has_startup_boost and is_boosted(pod):
        return Reason.BOOSTED, False
    group = groups.of(member.group)
    if acts_in_place(circumstances):
        decision = decide_in_place(pod, group, circumstances)
        return _ruled_out(decision, circumstances), decision.is_timed
    clearance = clear_eviction(pod, group, circumstances)
    return None if clearance.is_given else clearance.reason, clearance.is_timed


def _ruled_out(decision: InPlaceDecision, circumstances: Circumstances) -> Reason | None:
    """Return why an in-place decision ends the matter (M-19)."""
    match decision.verdict:
        case Verdict.INFEASIBLE_REMEMBERED:
            return decision.reason
        case Verdict.DEFERRED if heeds_deferral(circumstances):
            return decision.reason
        case _:
            return None


def _lack_of_effect(pod: Pod, circumstances: Circumstances) -> str:
    """Say what a resize has not changed, nothing where it has or where nobody asks (beyond:B-27)."""
    asks = circumstances.settings.behaviour.resize_without_effect and acts_in_place(circumstances)
    return without_effect(pod) if asks else ""


def _assess(member: Member, assessor: Assessor, circumstances: Circumstances) -> Candidate | Refusal:
    """Say whether a pod's recommendation makes it worth updating; a faulty object concerns no other pod (B-32)."""
    pod = member.pod
    try:
        found = assessor.of(pod, circumstances.template_of(member))
    except (InvalidObjectError, ArithmeticError) as error:
        # Amounts beyond all numbers are the pod's own trouble, or its VPA's, and nobody else's.
        return Refusal(pod.ref, Reason.INVALID_OBJECT, str(error), pod.uid)
    if (lack := _lack_of_effect(pod, circumstances)) and found.processed is not None:
        if circumstances.is_in_place_only:
            return Refusal(pod.ref, Reason.RESIZE_WITHOUT_EFFECT, lack, pod.uid)
        return Candidate(member, Reason.RESIZE_WITHOUT_EFFECT, found.processed, found.priority)
    recommendation = found.processed.recommendation if found.processed else None
    acceptance = judge(pod, recommendation, found.priority, circumstances)
    if not acceptance.is_given or found.processed is None:
        if found.processed is not None and gives_back(pod, circumstances):
            return Candidate(member, Reason.RESIZE_INFEASIBLE, found.processed, found.priority)
        return Refusal(pod.ref, acceptance.reason, uid=pod.uid)
    # Where resizes are made in place the requirements bind evictions only (see ``only_as_required``).
    binds = not (circumstances.settings.behaviour.single_replicas and acts_in_place(circumstances))
    if binds and not meets_requirements(pod, circumstances.vpa, found.processed.recommendation):
        return Refusal(pod.ref, Reason.REQUIREMENTS_UNMET, uid=pod.uid)
    return Candidate(member, acceptance.reason, found.processed, found.priority)
