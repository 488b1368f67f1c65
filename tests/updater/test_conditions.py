"""Conditions of VPAs: what a round has to tell, and when it is written."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from autoscaling.objectref import ObjectRef
from autoscaling.pod import ConditionStatus
from autoscaling.resources import CPU, MEMORY
from autoscaling.vpa import UpdateMode, VpaCondition
from tests.builders import T0, vpa
from updater.conditions import (
    LONGEST_SILENCE,
    OWN_TYPES,
    TYPE_OF_REASON,
    Told,
    Verdicts,
    conditions_due,
    is_noteworthy,
    newly_true,
    verdicts,
)
from updater.decision import Action, Decision, Reason, VpaScope, left_alone

SECOND, HOUR = timedelta(seconds=1), timedelta(hours=1)
WEB, DB = (ObjectRef("VerticalPodAutoscaler", "default", name) for name in ("web", "db"))
BOTH = (WEB, DB)


def holds(kind: str = "ResizeBlocked", reason: str = "NoRoom", message: str = "m", **since: object) -> VpaCondition:
    condition = VpaCondition(kind, ConditionStatus.TRUE, reason, message)
    return replace(condition, last_transition_time=since.get("since"))  # type: ignore[arg-type]


PROVIDED = VpaCondition("RecommendationProvided", ConditionStatus.TRUE, "", "", T0)
NOW, EARLIER = T0 + HOUR, T0 + timedelta(minutes=30)


def scope(of: ObjectRef = WEB) -> VpaScope:
    return VpaScope(of, UpdateMode.IN_PLACE, 1)


def about(pod: str, reason: Reason, detail: str = "", of: ObjectRef = WEB) -> Decision:
    return left_alone(ObjectRef("Pod", "default", pod), reason, scope(of), detail)


def found(*decisions: Decision, finished: tuple[ObjectRef, ...] = BOTH) -> Verdicts:
    return verdicts([each for each in decisions if is_noteworthy(each)], BOTH, finished)


@pytest.mark.parametrize(
    ("row", "reason", "kind", "written_as"),
    [
        ("beyond:B-24", Reason.RESIZE_BLOCKED, "ResizeBlocked", "ResizeBlocked"),
        ("beyond:B-24", Reason.CLAIM_RELEASED, "ResizeBlocked", "ClaimReleased"),
        ("beyond:B-24", Reason.NO_ROOM, "ResizeBlocked", "NoRoom"),
        ("beyond:B-25", Reason.NO_OTHER_NODE, "ResizeBlocked", "NoOtherNode"),
        ("beyond:B-24", Reason.NODE_NOT_READY, "ResizeBlocked", "NodeNotReady"),
        ("beyond:B-21", Reason.LIMIT_RANGE_WOULD_BLOCK, "ResizeBlocked", "LimitRangeWouldBlock"),
        ("beyond:B-21", Reason.FORBIDDEN_BY_POLICY, "ResizeBlocked", "ForbiddenByPolicy"),
        ("case:4", Reason.QUOTA_WOULD_BLOCK, "QuotaWouldBlock", "QuotaWouldBlock"),
        ("beyond:B-21", Reason.QOS_WOULD_CHANGE, "QoSWouldChange", "QosWouldChange"),
    ],
)
def test_a_reason_becomes_a_condition(row: str, reason: Reason, kind: str, written_as: str) -> None:
    (condition,) = found(about("p0", reason, "node1 is full")).holding[WEB]
    assert (condition.type, condition.status, condition.reason) == (kind, ConditionStatus.TRUE, written_as), row
    assert condition.message == f"{reason.meaning} Pods: p0. p0: node1 is full"


@pytest.mark.parametrize("reason", [Reason.TOO_YOUNG, Reason.CHANGE_TOO_SMALL, Reason.UPDATES_OFF])
def test_what_is_as_it_should_be_is_no_condition(reason: Reason) -> None:
    assert not is_noteworthy(about("p0", reason))


@pytest.mark.parametrize(
    "reason",
    [
        Reason.RESIZE_PENDING,
        Reason.ALREADY_REQUESTED,
        Reason.TOO_FEW_RUNNING,
        Reason.BUDGET_USED_UP,
        Reason.STORM_BUDGET,
        Reason.TRIED_IN_VAIN,
    ],
)
def test_what_passes_by_itself_is_no_condition_and_removes_none(reason: Reason) -> None:
    """Spec: beyond:B-24, a condition does not come and go while a resize is under way."""
    told = found(about("p0", reason))
    assert told == Verdicts({}, waiting=frozenset({WEB}))
    subject = replace(vpa(), name="web", conditions=(PROVIDED, holds(since=EARLIER)))
    assert conditions_due(subject, told, None, NOW) is None
    both = found(about("p0", reason), about("p1", Reason.QUOTA_WOULD_BLOCK))
    due = conditions_due(subject, both, None, NOW)
    assert [c.type for c in due or ()] == ["QuotaWouldBlock", "RecommendationProvided", "ResizeBlocked"]


def test_a_deferred_resize_that_lacks_room_is_a_condition_all_the_same() -> None:
    """Spec: beyond:B-41."""
    told = found(replace(about("p0", Reason.RESIZE_PENDING, "1m cpu missing on node n"), missing={CPU: 10**6}))
    assert [condition.reason for condition in told.holding[WEB]] == ["NoRoom"]


def test_each_type_is_ours() -> None:
    assert set(TYPE_OF_REASON.values()) <= OWN_TYPES


def test_missing_room_is_told_whatever_else_a_decision_says() -> None:
    """Spec: beyond:B-41, the condition has the missing amount."""
    partial = Decision(ObjectRef("Pod", "default", "p0"), Action.RESIZE, Reason.OUTSIDE_BOUNDS, scope())
    (condition,) = found(replace(partial, missing={MEMORY: 2**27 * 10**9})).holding[WEB]
    assert (condition.type, condition.reason) == ("ResizeBlocked", "NoRoom")
    assert condition.message == f"{Reason.NO_ROOM.meaning} Pods: p0. p0: 128Mi memory missing"


@given(
    st.permutations([("p4", Reason.NO_ROOM), ("p1", Reason.NO_ROOM), ("p3", Reason.NO_ROOM), ("p0", Reason.NO_ROOM)])
)
def test_many_pods_are_named_in_short_and_in_any_order(given_in: list[tuple[str, Reason]]) -> None:
    decisions = [about(pod, reason, f"on {pod}") for pod, reason in given_in]
    (condition,) = found(*decisions, decisions[0]).holding[WEB]
    assert condition.message == f"{Reason.NO_ROOM.meaning} Pods: p0, p1, p3 and 1 more. p0: on p0"


def test_of_two_reasons_for_one_type_always_the_same_is_told() -> None:
    one, other = about("p1", Reason.NO_ROOM), about("p0", Reason.RESIZE_BLOCKED)
    assert found(one, other) == found(other, one)
    assert [condition.reason for condition in found(one, other).holding[WEB]] == ["ResizeBlocked"]


def test_types_and_autoscalers_are_told_apart() -> None:
    told = found(
        about("p0", Reason.NO_ROOM), about("p1", Reason.QUOTA_WOULD_BLOCK), about("q0", Reason.NO_ROOM, "", DB)
    )
    assert {ref: {c.type for c in conditions} for ref, conditions in told.holding.items()} == {
        WEB: {"ResizeBlocked", "QuotaWouldBlock"},
        DB: {"ResizeBlocked"},
    }


@pytest.mark.parametrize(
    ("row", "decisions", "finished", "unjudged"),
    [
        ("updater:M-8", (left_alone(DB, Reason.NAMESPACE_IGNORED),), (WEB,), {DB}),
        ("updater:M-9", (left_alone(DB, Reason.TARGET_UNRESOLVED),), (WEB,), {DB}),
        ("updater:M-8", (left_alone(DB, Reason.UPDATES_OFF),), (WEB,), set()),
        ("updater:M-21", (about("p0", Reason.ROUND_ENDED),), (WEB, DB), {WEB}),
        (
            "updater:M-21",
            (about("p0", Reason.ROUND_ENDED), left_alone(ObjectRef("Pod", "default", "q0"), Reason.ROUND_ENDED)),
            (WEB,),
            {WEB, DB},
        ),
        ("no pods at all", (), (), set()),
    ],
)
def test_what_a_round_did_not_come_to_stays_as_it_is(
    row: str, decisions: tuple[Decision, ...], finished: tuple[ObjectRef, ...], unjudged: set[ObjectRef]
) -> None:
    assert found(*decisions, finished=finished).unjudged == unjudged, row


def judged(*holding: VpaCondition) -> Verdicts:
    return Verdicts({vpa().ref: holding})


@pytest.mark.parametrize(
    ("row", "shown", "holding", "expected"),
    [
        ("new", (PROVIDED,), (holds(),), (PROVIDED, holds(since=NOW))),
        ("first of all", (), (holds(),), (holds(since=NOW),)),
        ("nothing to tell", (PROVIDED,), (), None),
        ("told already", (PROVIDED, holds(since=EARLIER)), (holds(),), None),
        ("over", (PROVIDED, holds(since=EARLIER)), (), (PROVIDED,)),
        ("the last one is over", (holds(since=EARLIER),), (), ()),
        (
            "another reason since then",
            (PROVIDED, holds(since=EARLIER)),
            (holds(reason="ClaimReleased"),),
            (PROVIDED, holds(reason="ClaimReleased", since=EARLIER)),
        ),
        (
            "holds again",
            (replace(holds(since=EARLIER), status=ConditionStatus.FALSE),),
            (holds(),),
            (holds(since=NOW),),
        ),
        (
            "one of two",
            (holds("QuotaWouldBlock", since=EARLIER), PROVIDED, holds(since=EARLIER)),
            (holds(),),
            (PROVIDED, holds(since=EARLIER)),
        ),
        (
            "sorted",
            (PROVIDED,),
            (holds("TargetConflict"), holds()),
            (PROVIDED, holds(since=NOW), holds("TargetConflict", since=NOW)),
        ),
        ("another's of a type like ours", (holds("ResizeBlockedByMe"),), (), None),
    ],
)
def test_what_is_written(
    row: str,
    shown: tuple[VpaCondition, ...],
    holding: tuple[VpaCondition, ...],
    expected: tuple[VpaCondition, ...] | None,
) -> None:
    assert conditions_due(replace(vpa(), conditions=shown), judged(*holding), None, NOW) == expected, row


@pytest.mark.parametrize(
    ("row", "written", "is_due"),
    [
        ("beyond:B-41", None, True),
        ("beyond:B-41", LONGEST_SILENCE - SECOND, False),
        ("beyond:B-41", LONGEST_SILENCE, True),
    ],
)
def test_a_message_alone_is_written_now_and_then(row: str, written: timedelta | None, is_due: bool) -> None:
    subject = replace(vpa(), conditions=(holds(message="100m missing", since=T0),))
    told = Told(NOW - written, subject.conditions) if written else None
    due = conditions_due(subject, judged(holds(message="150m missing")), told, NOW)
    assert due == ((holds(message="150m missing", since=T0),) if is_due else None), row


def test_what_was_not_judged_is_not_touched() -> None:
    subject = replace(vpa(), conditions=(holds(since=EARLIER),))
    verdict = Verdicts({subject.ref: (holds("QuotaWouldBlock"),)}, unjudged=frozenset({subject.ref}))
    assert conditions_due(subject, verdict, None, NOW) is None


def test_what_somebody_overwrote_comes_back_with_its_old_time() -> None:
    """The recommender may not have seen it yet when it wrote the status as a whole."""
    subject = replace(vpa(), conditions=(PROVIDED,))
    told = Told(NOW - SECOND, (holds(since=EARLIER),))
    assert conditions_due(subject, judged(holds()), told, NOW) == (PROVIDED, holds(since=EARLIER))


@pytest.mark.parametrize(
    ("row", "shown", "told", "due", "news"),
    [
        ("case:23 new", (PROVIDED,), None, (holds("TargetConflict"), PROVIDED), ["TargetConflict"]),
        ("case:23 stays", (holds("TargetConflict"),), None, (holds("TargetConflict", message="n"),), []),
        ("case:23 overwritten", (), (holds("TargetConflict"),), (holds("TargetConflict"),), []),
        ("case:23 over and back", (), (), (holds("TargetConflict"),), ["TargetConflict"]),
        ("one more", (holds(),), None, (holds(), holds("QuotaWouldBlock")), ["QuotaWouldBlock"]),
        ("was false", (replace(holds(), status=ConditionStatus.FALSE),), None, (holds(),), ["ResizeBlocked"]),
        ("not ours", (), None, (PROVIDED, holds("LowConfidence")), []),
        ("over", (holds(),), None, (PROVIDED,), []),
    ],
)
def test_what_is_news_to_the_owner(
    row: str,
    shown: tuple[VpaCondition, ...],
    told: tuple[VpaCondition, ...] | None,
    due: tuple[VpaCondition, ...],
    news: list[str],
) -> None:
    before = None if told is None else Told(EARLIER, told)
    assert [c.type for c in newly_true(replace(vpa(), conditions=shown), due, before)] == news, row


CONDITIONS = st.lists(
    st.sampled_from([*sorted(OWN_TYPES), "RecommendationProvided", "LowConfidence"]), unique=True, max_size=6
).map(lambda kinds: tuple(holds(kind, since=T0) for kind in sorted(kinds)))


@given(CONDITIONS, CONDITIONS)
def test_a_second_look_finds_nothing_to_write_and_other_types_stay(
    shown: tuple[VpaCondition, ...], others_too: tuple[VpaCondition, ...]
) -> None:
    holding = tuple(replace(c, last_transition_time=None) for c in others_too if c.type in OWN_TYPES)
    subject = replace(vpa(), conditions=shown)
    due = conditions_due(subject, judged(*holding), None, NOW)
    after = subject.conditions if due is None else due
    assert conditions_due(replace(vpa(), conditions=after), judged(*holding), Told(NOW, ()), NOW) is None
    assert [c for c in after if c.type not in OWN_TYPES] == [c for c in shown if c.type not in OWN_TYPES]
    assert {c.type for c in after if c.type in OWN_TYPES} == {c.type for c in holding}
