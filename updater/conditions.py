"""What a round has to tell the owner of a VPA, as conditions in the VPA's status.

The recommender writes other types of conditions into the same list. Each of the two keeps what the other has written.

Spec: beyond:B-24, beyond:B-25, beyond:B-41, case 4.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from types import MappingProxyType
from typing import Final

from autoscaling.objectref import ObjectRef
from autoscaling.pod import ConditionStatus
from autoscaling.vpa import Vpa, VpaCondition
from updater.decision import Decision, Reason
from updater.room import in_words

RESIZE_BLOCKED: Final = "ResizeBlocked"
EVICTION_LOOP: Final = "EvictionLoop"
TARGET_CONFLICT: Final = "TargetConflict"
QUOTA_WOULD_BLOCK: Final = "QuotaWouldBlock"
QOS_WOULD_CHANGE: Final = "QoSWouldChange"
RESIZE_WITHOUT_EFFECT: Final = "ResizeWithoutEffect"

OWN_TYPES: Final = frozenset(
    {
        RESIZE_BLOCKED,
        EVICTION_LOOP,
        TARGET_CONFLICT,
        QUOTA_WOULD_BLOCK,
        QOS_WOULD_CHANGE,
        RESIZE_WITHOUT_EFFECT,
    }
)
"""Types that the updater sets and removes; all others are left as they are."""

TYPE_OF_REASON: Final[Mapping[Reason, str]] = MappingProxyType(
    {
        Reason.CLAIM_RELEASED: RESIZE_BLOCKED,
        Reason.RESIZE_BLOCKED: RESIZE_BLOCKED,
        Reason.RESIZE_INFEASIBLE: RESIZE_BLOCKED,
        Reason.NODE_KEEPS_IT: RESIZE_BLOCKED,
        Reason.NO_OTHER_NODE: RESIZE_BLOCKED,
        Reason.NO_ROOM: RESIZE_BLOCKED,
        Reason.NODE_NOT_READY: RESIZE_BLOCKED,
        Reason.LIMIT_RANGE_WOULD_BLOCK: RESIZE_BLOCKED,
        Reason.FORBIDDEN_BY_POLICY: RESIZE_BLOCKED,
        Reason.QUOTA_WOULD_BLOCK: QUOTA_WOULD_BLOCK,
        Reason.QOS_WOULD_CHANGE: QOS_WOULD_CHANGE,
        Reason.EVICTION_LOOP: EVICTION_LOOP,
        Reason.RESIZE_WITHOUT_EFFECT: RESIZE_WITHOUT_EFFECT,
        Reason.CONTAINER_NOT_RUNNING: RESIZE_WITHOUT_EFFECT,
        Reason.TARGET_CONFLICT: TARGET_CONFLICT,
    }
)
"""Reasons that are told as conditions; of several that one VPA's pods have for one type, the first here is given."""

LONGEST_SILENCE: Final = timedelta(minutes=10)
"""Time after which a condition is written anew if only its message has changed, in which amounts move all the time."""

_KIND: Final = "VerticalPodAutoscaler"
_UNFINISHED: Final = frozenset({Reason.NAMESPACE_IGNORED, Reason.TARGET_UNRESOLVED, Reason.ROUND_ENDED})
_FOR_NOW: Final = frozenset(
    {
        Reason.RESIZE_PENDING,
        Reason.ALREADY_REQUESTED,
        Reason.TOO_FEW_RUNNING,
        Reason.BUDGET_USED_UP,
        Reason.STORM_BUDGET,
        Reason.TRIED_IN_VAIN,
    }
)
"""Reasons that keep it from being known whether anything else would stand in the way."""

_NO_CONDITION: Final = _UNFINISHED | _FOR_NOW
_NAMED_PODS: Final = 3

Holding = Mapping[ObjectRef, tuple[VpaCondition, ...]]
"""Conditions that hold, by VPA; their transition times are not known yet."""


@dataclass(frozen=True, slots=True)
class Verdicts:
    """What a round found out.

    Args:
        holding: Conditions that hold.
        unjudged: VPAs that the round left alone altogether or did not finish; their conditions stay as they are.
        waiting: VPAs of which some pod waits for something that passes; their conditions are not removed yet, as the
            last that was found out stands until more is known.
    """

    holding: Holding
    unjudged: frozenset[ObjectRef] = frozenset()
    waiting: frozenset[ObjectRef] = frozenset()


@dataclass(frozen=True, slots=True)
class Told:
    """The conditions that were last written to a VPA.

    Args:
        at: When.
        conditions: Of our own types.
    """

    at: datetime
    conditions: tuple[VpaCondition, ...]


def is_noteworthy(decision: Decision) -> bool:
    """Say whether a decision bears on conditions; most do not."""
    return bool(decision.missing) or decision.reason in TYPE_OF_REASON or decision.reason in _NO_CONDITION


def verdicts(decisions: Iterable[Decision], vpas: Iterable[ObjectRef], finished: Iterable[ObjectRef]) -> Verdicts:
    """Return what the decisions of a round say about each VPA.

    Args:
        decisions: The noteworthy ones.
        vpas: All VPAs of the round.
        finished: Those that any pod was decided for.
    """
    found: defaultdict[ObjectRef, defaultdict[Reason, list[Decision]]] = defaultdict(lambda: defaultdict(list))
    unjudged: set[ObjectRef] = set()
    waiting: set[ObjectRef] = set()
    is_cut_short = False
    for decision in decisions:
        vpa, reason = _vpa_of(decision), _told_as(decision)
        if vpa is None:
            is_cut_short = True
        elif reason is not None:
            found[vpa][reason].append(decision)
        elif decision.reason in _FOR_NOW:
            waiting.add(vpa)
        else:
            unjudged.add(vpa)
    if is_cut_short:
        unjudged.update(set(vpas).difference(finished))
    holding = {vpa: _conditions(by_reason) for vpa, by_reason in found.items()}
    return Verdicts(holding, frozenset(unjudged), frozenset(waiting))


def conditions_due(vpa: Vpa, verdicts: Verdicts, told: Told | None, now: datetime) -> tuple[VpaCondition, ...] | None:
    """Return the whole list of conditions to write to a VPA.

    Args:
        vpa: The object as observed.
        verdicts: What the round found out; of our own types, what does not hold is removed.
        told: What was last written. Where somebody has overwritten that, it counts as having held all the time.
        now: Transition time of conditions that are new or flip.

    Returns:
        Sorted by type, as the recommender keeps them; None where nothing is to be written.
    """
    if vpa.ref in verdicts.unjudged:
        return None
    shown = {condition.type: condition for condition in vpa.conditions if condition.type in OWN_TYPES}
    earlier = {condition.type: condition for condition in told.conditions} if told else {}
    holding = verdicts.holding.get(vpa.ref, ())
    wanted = {c.type: _since(c, shown.get(c.type) or earlier.get(c.type), now) for c in holding}
    if vpa.ref in verdicts.waiting:
        wanted = {**shown, **wanted}
    if wanted == shown:
        return None
    is_wording_only = _gist(wanted) == _gist(shown)
    if is_wording_only and told is not None and now - told.at < LONGEST_SILENCE:
        return None
    others = [condition for condition in vpa.conditions if condition.type not in OWN_TYPES]
    return tuple(sorted([*others, *wanted.values()], key=lambda condition: condition.type))


def newly_true(vpa: Vpa, due: Iterable[VpaCondition], told: Told | None) -> tuple[VpaCondition, ...]:
    """Return those of the conditions written to a VPA that its owner has not been told of.

    What the VPA shows has been told, be it by a process before this one, and so has what was written last, though
    somebody may have overwritten it since.

    Args:
        vpa: The object as observed before.
        due: All that was written.
        told: What was written last before that.
    """
    known = {c.type for c in (*vpa.conditions, *(told.conditions if told else ())) if c.status is ConditionStatus.TRUE}
    return tuple(c for c in due if c.type in OWN_TYPES - known and c.status is ConditionStatus.TRUE)


def _vpa_of(decision: Decision) -> ObjectRef | None:
    """Return the VPA that a decision is about; None for pods a round did not come to."""
    if decision.ref.kind == _KIND:
        return decision.ref
    return decision.scope.vpa if decision.scope else None


def _told_as(decision: Decision) -> Reason | None:
    """Return the reason that a decision is told by, None where it is of none of our types.

    A resize that was cut down to the room there is, or that the node has put off, tells of that room (beyond:B-41).
    """
    if decision.reason in TYPE_OF_REASON:
        return decision.reason
    return Reason.NO_ROOM if decision.missing else None


def _conditions(by_reason: Mapping[Reason, list[Decision]]) -> tuple[VpaCondition, ...]:
    """Return the conditions of one VPA."""
    first: dict[str, VpaCondition] = {}
    for reason, kind in TYPE_OF_REASON.items():
        if reason in by_reason and kind not in first:
            first[kind] = _condition(kind, reason, by_reason[reason])
    return tuple(first.values())


def _condition(kind: str, reason: Reason, decisions: Iterable[Decision]) -> VpaCondition:
    """Return one condition, worded the same whatever the order of the decisions."""
    pods = {decision.ref.name: decision for decision in decisions}
    names = sorted(pods)
    parts = [reason.meaning]
    if pods[names[0]].ref.kind != _KIND:
        more = f" and {len(names) - _NAMED_PODS} more" if len(names) > _NAMED_PODS else ""
        parts.append(f"Pods: {', '.join(names[:_NAMED_PODS])}{more}.")
    if detail := _detail(pods[names[0]]):
        parts.append(f"{names[0]}: {detail}")
    camel = "".join(word.capitalize() for word in reason.value.split("_"))
    return VpaCondition(kind, ConditionStatus.TRUE, camel, " ".join(parts))


def _detail(decision: Decision) -> str:
    """Return what no reason can say."""
    return decision.detail or (f"{in_words(decision.missing)} missing" if decision.missing else "")


def _since(condition: VpaCondition, old: VpaCondition | None, now: datetime) -> VpaCondition:
    """Return a condition with its transition time: the old one unless the status flips."""
    since = now if old is None or old.status is not condition.status else old.last_transition_time
    return VpaCondition(condition.type, condition.status, condition.reason, condition.message, since)


def _gist(conditions: Mapping[str, VpaCondition]) -> set[tuple[str, ConditionStatus, str]]:
    """Return what conditions say, without their wording."""
    return {(c.type, c.status, c.reason) for c in conditions.values()}
