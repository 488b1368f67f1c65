from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest

from autoscaling.pod import ConditionStatus
from autoscaling.vpa import ContainerRecommendation, Recommendation, Vpa, VpaCondition
from recommender.status import (
    CONFIG_DEPRECATED,
    CONFIG_UNSUPPORTED,
    FETCHING_HISTORY,
    HPA_CONFLICT,
    LOW_CONFIDENCE,
    NO_PODS_MATCHED,
    NO_PODS_MESSAGE,
    NO_PODS_REASON,
    RECOMMENDATION_PROVIDED,
    Findings,
    VpaStatus,
    differs,
    has_recommendation,
    is_active,
    status_after,
    status_while_fetching,
    with_others_conditions,
)
from tests.builders import T0, amounts, recommended
from tests.recommender.scene import vpa

EARLIER = T0 - timedelta(days=3)
SOME = Recommendation((recommended("main", "100m/1Gi"),))
NONE = Recommendation()
TRUE, FALSE, UNKNOWN = ConditionStatus.TRUE, ConditionStatus.FALSE, ConditionStatus.UNKNOWN

PROVIDED = VpaCondition(RECOMMENDATION_PROVIDED, TRUE)
NOT_PROVIDED = VpaCondition(RECOMMENDATION_PROVIDED, FALSE)
NOT_PROVIDED_NO_PODS = VpaCondition(RECOMMENDATION_PROVIDED, FALSE, NO_PODS_REASON, NO_PODS_MESSAGE)
NO_PODS = VpaCondition(NO_PODS_MATCHED, TRUE, NO_PODS_REASON, NO_PODS_MESSAGE)
UNSUPPORTED = VpaCondition(CONFIG_UNSUPPORTED, TRUE, "", "no such target")


def at(*conditions: VpaCondition) -> tuple[VpaCondition, ...]:
    """Return conditions that changed at T0."""
    return tuple(replace(condition, last_transition_time=T0) for condition in conditions)


def observed(*conditions: VpaCondition, recommendation: Recommendation | None = None) -> Vpa:
    """Return a VPA as observed, with conditions that changed three days ago."""
    old = tuple(replace(condition, last_transition_time=EARLIER) for condition in conditions)
    return replace(vpa(), conditions=old, recommendation=recommendation, generation=4, observed_generation=4)


@pytest.mark.parametrize(
    ("findings", "expected"),
    [
        (Findings(SOME, has_pods=True), at(PROVIDED)),
        (Findings(NONE, has_pods=True), at(NOT_PROVIDED)),
        (Findings(NONE, has_pods=False), at(NO_PODS, NOT_PROVIDED_NO_PODS)),
        (Findings(SOME, has_pods=False), at(NO_PODS, PROVIDED)),
        (Findings(SOME, has_pods=True, unsupported="no such target"), at(UNSUPPORTED, PROVIDED)),
        (
            Findings(NONE, has_pods=False, unsupported="no such target"),
            at(UNSUPPORTED, NO_PODS, NOT_PROVIDED_NO_PODS),
        ),
    ],
    ids=["provided", "all off", "no pods", "from a checkpoint", "unsupported", "unsupported without pods"],
)
def test_conditions_of_a_new_vpa(findings: Findings, expected: tuple[VpaCondition, ...]) -> None:
    """Spec: recommender:5."""
    status = status_after(observed(), findings, T0)
    assert status.conditions == expected
    assert status.recommendation == findings.recommendation
    assert status.observed_generation == 4


def test_conditions_are_cleared_or_turned_when_their_cause_is_gone() -> None:
    """Spec: recommender:5."""
    before = observed(UNSUPPORTED, NO_PODS, NOT_PROVIDED_NO_PODS, VpaCondition(CONFIG_DEPRECATED, TRUE))
    assert status_after(before, Findings(SOME, has_pods=True), T0).conditions == at(PROVIDED)


def test_the_transition_time_changes_only_when_the_status_flips() -> None:
    """Spec: recommender:5."""
    before = observed(NOT_PROVIDED, replace(NO_PODS, message="another text"), UNSUPPORTED)
    findings = Findings(NONE, has_pods=False, unsupported="another reason")
    conditions = status_after(before, findings, T0).conditions
    assert [c.last_transition_time for c in conditions] == [EARLIER] * 3
    assert [c.message for c in conditions] == ["another reason", NO_PODS_MESSAGE, NO_PODS_MESSAGE]
    flipped = status_after(before, Findings(SOME, has_pods=False), T0).conditions
    assert {c.type: c.last_transition_time for c in flipped} == {NO_PODS_MATCHED: EARLIER, RECOMMENDATION_PROVIDED: T0}
    unknown = status_after(observed(VpaCondition(RECOMMENDATION_PROVIDED, UNKNOWN)), Findings(NONE, has_pods=True), T0)
    assert unknown.conditions == at(NOT_PROVIDED)


def test_other_conditions_are_carried_along_and_all_are_sorted() -> None:
    """Spec: recommender:5."""
    carried = [VpaCondition(kind, TRUE, "r", "m") for kind in ("Zebra", LOW_CONFIDENCE, "Apple", FETCHING_HISTORY)]
    conditions = status_after(observed(*carried), Findings(SOME, has_pods=True), T0).conditions
    assert [c.type for c in conditions] == [
        "Apple",
        FETCHING_HISTORY,
        LOW_CONFIDENCE,
        RECOMMENDATION_PROVIDED,
        "Zebra",
    ]
    assert {c.last_transition_time for c in conditions if c.type != RECOMMENDATION_PROVIDED} == {EARLIER}


def test_only_a_condition_with_status_true_is_active() -> None:
    assert is_active(observed(VpaCondition(FETCHING_HISTORY, TRUE)), FETCHING_HISTORY)
    assert not is_active(observed(VpaCondition(FETCHING_HISTORY, FALSE)), FETCHING_HISTORY)
    assert not is_active(observed(), FETCHING_HISTORY)


@pytest.mark.parametrize(
    ("condition", "recommendation", "expected"),
    [
        (PROVIDED, SOME, True),
        (NOT_PROVIDED, SOME, False),
        (PROVIDED, NONE, False),
        (PROVIDED, None, False),
    ],
)
def test_a_recommendation_counts_when_its_condition_vouches_for_it(
    condition: VpaCondition, recommendation: Recommendation | None, expected: bool
) -> None:
    """Spec: recommender:3.2."""
    assert has_recommendation(observed(condition, recommendation=recommendation)) is expected


def entry(**changes: object) -> Recommendation:
    """Return a recommendation for ``main`` with some vectors replaced."""
    plain = ContainerRecommendation("main", amounts("1/1Gi"), amounts("1/1Gi"), amounts("1/1Gi"), amounts("1/1Gi"))
    return Recommendation((replace(plain, **changes),))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("ours", "theirs", "expected"),
    [
        (entry(), entry(), False),
        (entry(), entry(target=amounts("1000m/1024Mi")), False),
        (entry(target={}), entry(target={}), False),
        (entry(lower_bound={}), entry(lower_bound=None), False),
        (entry(), entry(target=amounts("1/1025Mi")), True),
        (entry(), entry(lower_bound=amounts("1/-")), True),
        (entry(), entry(upper_bound=amounts("2/1Gi")), True),
        (entry(), entry(uncapped_target=None), True),
        (entry(), entry(container_name="side"), True),
        (entry(), NONE, True),
        (entry(), Recommendation(entry().containers * 2), True),
        (NONE, NONE, False),
        (NONE, None, True),
        (None, None, False),
    ],
)
def test_a_status_differs_when_it_means_something_else(
    ours: Recommendation | None, theirs: Recommendation | None, expected: bool
) -> None:
    """Spec: recommender:5."""
    before = observed(PROVIDED, recommendation=theirs)
    assert differs(VpaStatus(before.conditions, ours, 4), before) is expected


def test_a_status_differs_by_its_generation_or_a_condition_alone() -> None:
    """Spec: recommender:5."""
    before = observed(PROVIDED, NO_PODS, recommendation=SOME)
    assert not differs(VpaStatus(before.conditions, SOME, 4), before)
    assert differs(VpaStatus(before.conditions, SOME, 5), before)
    assert differs(VpaStatus(before.conditions[:1], SOME, 4), before)
    assert differs(VpaStatus(before.conditions[::-1], SOME, 4), before)
    assert differs(VpaStatus(at(PROVIDED, NO_PODS), SOME, 4), before)


def test_a_further_condition_is_set_and_removed_where_the_round_judges_it() -> None:
    """Spec: beyond:B-14."""
    judged = frozenset({HPA_CONFLICT})
    conflict = VpaCondition(HPA_CONFLICT, TRUE, "R", "m")
    found = Findings(SOME, has_pods=True, judged=judged, conditions=(conflict,))
    assert status_after(observed(), found, T0).conditions == at(conflict, PROVIDED)
    before = observed(replace(conflict, message="other"), PROVIDED)
    standing = status_after(before, found, T0).conditions
    assert standing == (replace(conflict, last_transition_time=EARLIER), before.conditions[1])
    ended = status_after(before, replace(found, conditions=()), T0).conditions
    assert ended == (before.conditions[1],)
    assert status_after(before, Findings(SOME, has_pods=True), T0).conditions == before.conditions


def test_the_status_while_history_is_loaded() -> None:
    """Spec: beyond:B-8."""
    before = observed(PROVIDED, VpaCondition(FETCHING_HISTORY, FALSE), recommendation=SOME)
    status = status_while_fetching(before, T0)
    assert status is not None
    kinds = [(c.type, c.status, c.last_transition_time) for c in status.conditions]
    assert kinds == [(FETCHING_HISTORY, TRUE, T0), (RECOMMENDATION_PROVIDED, TRUE, EARLIER)]
    assert (status.recommendation, status.observed_generation) == (SOME, 4), "the rest stays as it is"
    assert status_while_fetching(observed(VpaCondition(FETCHING_HISTORY, TRUE)), T0) is None


BLOCKED = VpaCondition("ResizeBlocked", TRUE, "NoRoom", "100m cpu missing")
FETCHING = VpaCondition(FETCHING_HISTORY, TRUE, "LoadingHistory")
MORE_BLOCKED = replace(BLOCKED, message="200m cpu missing")


@pytest.mark.parametrize(
    ("row", "before", "computed", "latest", "expected"),
    [
        ("beyond:B-24 nothing new", (PROVIDED,), (NO_PODS, PROVIDED), (PROVIDED,), (NO_PODS, PROVIDED)),
        ("beyond:B-24 set meanwhile", (PROVIDED,), (PROVIDED,), (PROVIDED, BLOCKED), (PROVIDED, BLOCKED)),
        ("beyond:B-24 removed meanwhile", (PROVIDED, BLOCKED), (PROVIDED, BLOCKED), (PROVIDED,), (PROVIDED,)),
        ("beyond:B-24 changed meanwhile", (BLOCKED,), (PROVIDED, BLOCKED), (MORE_BLOCKED,), (PROVIDED, MORE_BLOCKED)),
        (
            "beyond:B-24 ours removed",
            (NO_PODS, PROVIDED),
            (PROVIDED,),
            (NO_PODS, PROVIDED, BLOCKED),
            (PROVIDED, BLOCKED),
        ),
        ("beyond:B-24 ours flipped", (NOT_PROVIDED,), (PROVIDED,), (NOT_PROVIDED, BLOCKED), (PROVIDED, BLOCKED)),
        ("beyond:B-24 both new", (), (PROVIDED,), (BLOCKED,), (PROVIDED, BLOCKED)),
        ("beyond:B-24 ours wins", (PROVIDED,), (NOT_PROVIDED,), (BLOCKED,), (NOT_PROVIDED, BLOCKED)),
        ("beyond:B-8 ours is seen only now", (), (PROVIDED,), (FETCHING, BLOCKED), (PROVIDED, BLOCKED)),
    ],
)
def test_conditions_that_others_wrote_meanwhile_are_kept(
    row: str,
    before: tuple[VpaCondition, ...],
    computed: tuple[VpaCondition, ...],
    latest: tuple[VpaCondition, ...],
    expected: tuple[VpaCondition, ...],
) -> None:
    merged = with_others_conditions(computed, replace(vpa(), conditions=before), replace(vpa(), conditions=latest))
    assert merged == expected, row
