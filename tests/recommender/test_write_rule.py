"""Which changed statuses are written (recommender:5; performance, status writes)."""

from __future__ import annotations

import itertools
from dataclasses import replace
from datetime import datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from autoscaling.pod import ConditionStatus
from autoscaling.vpa import ContainerRecommendation, Recommendation, Vpa, VpaCondition
from recommender.status import VpaStatus, differs
from recommender.write_rule import LONGEST_SILENCE, WriteRule, has_moved
from tests.builders import T0, amounts, recommended
from tests.recommender.scene import vpa

TRUE, FALSE = ConditionStatus.TRUE, ConditionStatus.FALSE
PROVIDED = VpaCondition("RecommendationProvided", TRUE, last_transition_time=T0)
LOW = VpaCondition("LowConfidence", TRUE, "ShortHistory", "3 h of 24 h", T0)
OLD = Recommendation((recommended("main", "1000m/1000Mi"),))
SECOND = timedelta(seconds=1)


def stored(recommendation: Recommendation | None = OLD, *conditions: VpaCondition) -> Vpa:
    """Return a VPA as observed."""
    return replace(
        vpa(), recommendation=recommendation, conditions=conditions or (PROVIDED,), generation=1, observed_generation=1
    )


def computed(
    recommendation: Recommendation | None, *conditions: VpaCondition, observed_generation: int = 1
) -> VpaStatus:
    """Return a status."""
    return VpaStatus(conditions or (PROVIDED,), recommendation, observed_generation)


def of(entry: ContainerRecommendation) -> Recommendation:
    return Recommendation((entry,))


def rule(threshold: float = 0.01, *, minutes_ago: float = 1) -> WriteRule:
    """Return a rule that knows of a write so long ago."""
    made = WriteRule(threshold, T0 - timedelta(days=1))
    made.note(stored(), T0 - timedelta(minutes=minutes_ago))
    return made


MAIN = OLD.containers[0]


@pytest.mark.parametrize(
    ("row", "status", "expected"),
    [
        ("recommender:5", computed(OLD), False),
        ("recommender:5", computed(of(replace(MAIN, target=amounts("1010m/1000Mi")))), False),
        ("recommender:5", computed(of(replace(MAIN, target=amounts("1011m/1000Mi")))), True),
        ("recommender:5", computed(of(replace(MAIN, target=amounts("990m/1000Mi")))), False),
        ("recommender:5", computed(of(replace(MAIN, target=amounts("989m/1000Mi")))), True),
        ("recommender:5", computed(of(replace(MAIN, lower_bound=amounts("1000m/989Mi")))), True),
        ("recommender:5", computed(of(replace(MAIN, upper_bound=amounts("1000m/1010Mi")))), False),
        ("recommender:5", computed(of(replace(MAIN, upper_bound=amounts("1000m/1011Mi")))), True),
        ("recommender:5", computed(of(replace(MAIN, uncapped_target=amounts("2/1000Mi")))), True),
        ("recommender:5", computed(of(replace(MAIN, uncapped_target=None))), True),
        ("recommender:5", computed(of(recommended("side", "1000m/1000Mi"))), True),
        ("recommender:5", computed(Recommendation()), True),
        ("recommender:5", computed(None), True),
        ("recommender:5", computed(OLD, observed_generation=2), True),
        ("recommender:5", computed(OLD, replace(PROVIDED, status=FALSE)), True),
        ("recommender:5", computed(OLD, replace(PROVIDED, reason="Other")), True),
        ("recommender:5", computed(OLD, replace(PROVIDED, message="other words")), False),
        ("recommender:5", computed(OLD, LOW, PROVIDED), True),
    ],
)
def test_what_is_written_at_once(row: str, status: VpaStatus, expected: bool) -> None:
    assert rule().is_due(status, stored(), T0) is expected, row


@pytest.mark.parametrize(
    ("row", "since", "expected"),
    [
        ("recommender:5", LONGEST_SILENCE - SECOND, False),
        ("recommender:5", LONGEST_SILENCE, True),
    ],
)
def test_small_changes_are_written_after_ten_minutes(row: str, since: timedelta, expected: bool) -> None:
    status = computed(of(replace(MAIN, target=amounts("1001m/1000Mi"))))
    made = WriteRule(0.01, T0)
    made.note(stored(), T0 - since)
    assert made.is_due(status, stored(), T0) is expected, row
    assert not made.is_due(computed(OLD), stored(), T0)


def test_a_threshold_of_zero_writes_every_difference() -> None:
    status = computed(OLD, replace(PROVIDED, message="other words"))
    assert rule(0.0).is_due(status, stored(), T0)
    assert not rule(0.0).is_due(computed(OLD), stored(), T0)


def test_after_a_start_small_changes_of_many_do_not_fall_due_together() -> None:
    made = WriteRule(0.01, T0)
    many = [replace(stored(), name=f"v{number}") for number in range(1000)]
    status = computed(of(replace(MAIN, target=amounts("1001m/1000Mi"))))
    by_minute = [sum(made.is_due(status, each, T0 + timedelta(minutes=m)) for each in many) for m in range(11)]
    assert by_minute[0] == 0
    assert by_minute[-1] == 1000
    assert all(50 <= later - earlier <= 150 for earlier, later in itertools.pairwise(by_minute))


def test_what_is_remembered_of_a_vpa_goes_with_it() -> None:
    made = rule()
    made.forget(("default", "v"))
    made.forget(("default", "v"))
    assert made.written == {}


amount = st.integers(1, 10**6)


@given(amount, amount, st.floats(0, 1))
def test_a_change_has_moved_exactly_where_it_is_beyond_the_share(old: int, new: int, threshold: float) -> None:
    before = of(ContainerRecommendation("main", amounts(f"{old}m/1Mi")))
    after = of(ContainerRecommendation("main", amounts(f"{new}m/1Mi")))
    assert has_moved(after, before, threshold) == (abs(new - old) * 10**6 > threshold * (old * 10**6))
    assert not has_moved(before, before, threshold)


@given(st.lists(amount, min_size=1, max_size=30))
def test_no_status_lags_by_more_than_the_threshold_or_ten_minutes(series: list[int]) -> None:
    """One round a minute: what is stored is never off by more than a share for longer than ten minutes."""
    made, known, wrong_since = WriteRule(0.01, T0), stored(), None
    moment: datetime
    for minute, figure in enumerate(series):
        moment = T0 + timedelta(minutes=minute)
        status = computed(of(replace(MAIN, target=amounts(f"{figure}m/1000Mi"))))
        if made.is_due(status, known, moment):
            made.note(known, moment)
            known = replace(known, recommendation=status.recommendation)
        assert not has_moved(status.recommendation, known.recommendation, 0.01)
        wrong_since = (wrong_since or moment) if differs(status, known) else None
        assert wrong_since is None or moment - wrong_since < LONGEST_SILENCE
