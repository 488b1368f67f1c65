"""Which statuses are written: by columns the same as one by one."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from autoscaling.pod import ConditionStatus
from autoscaling.vpa import Vpa, VpaCondition
from recommender.cautions import Cautions
from recommender.due_statuses import RoundFindings, due_statuses
from recommender.estimator import Estimates
from recommender.grouping import Groups
from recommender.label_sets import TrackedVpa
from recommender.observed_statuses import ObservedStatuses
from recommender.postprocess import recommendations
from recommender.settings import RenderingSettings
from recommender.status import Findings, VpaStatus, status_after, with_others_conditions
from recommender.wire.status_patches import StatusFrame, due_patches, status_frame, status_patch
from recommender.write_rule import LONGEST_SILENCE, WriteRule
from tests.builders import T0
from tests.recommender.rounds import CONDITIONS, PROVIDED, Drawn, carrying, fitted, rounds, stored
from tests.recommender.scene import APP, MINUTE, integers, vpa

JUDGED = frozenset({"LowConfidence", "CappedBelowObservedNeed"})
LOW = VpaCondition("LowConfidence", ConditionStatus.TRUE, "LittleHistory", "m")


def framed(of: Vpa) -> StatusFrame:
    return status_frame(of.name, of)


@st.composite
def findings_of(draw: st.DrawFn, drawn: Drawn) -> RoundFindings:
    """Draw what else a round found out, and let its VPAs carry something."""
    table, vpas = draw(fitted(drawn)), drawn.groups.vpas
    for tracked, computed in zip(vpas, table, strict=True):
        lag = draw(st.sampled_from((0, 0, 1)))
        tracked.vpa = carrying(tracked, draw(stored(computed)), draw(CONDITIONS), lag)
    rarely = st.sampled_from((False, False, False, True))
    cautions: Cautions = {tracked: (LOW,) for tracked in vpas if draw(rarely)}
    return RoundFindings(
        table,
        np.array([draw(st.sampled_from((0, 1, 3, 3))) for _ in vpas], dtype=np.int64),
        {tracked.key: draw(st.sampled_from(("", "", "", "no target"))) for tracked in vpas},
        draw(st.sampled_from((frozenset[str](), JUDGED))),
        cautions,
        draw(st.sampled_from(((), (), ()))) or ((replace(LOW, type="UsageFallback"),) if draw(rarely) else ()),
        frozenset(tracked.key for tracked in vpas if draw(rarely)),
    )


def one_by_one(findings: RoundFindings, rule: WriteRule) -> dict[str, VpaStatus]:
    """Return the statuses that are due by name, each decided from the objects alone (recommender 5)."""
    due: dict[str, VpaStatus] = {}
    columns = zip(findings.vpas, findings.recommendations, findings.pod_counts.tolist(), strict=True)
    for tracked, recommendation, pod_count in columns:
        if tracked.key in findings.unreadable:
            continue
        found = Findings(
            recommendation,
            pod_count > 0,
            findings.problems[tracked.key] or None,
            findings.judged,
            findings.cautions.get(tracked, ()) + findings.standing,
        )
        status = status_after(tracked.vpa, found, T0)
        if rule.is_due(status, tracked.vpa, T0):
            due[tracked.vpa.name] = status
    return due


@given(rounds(), st.sampled_from((0.0, 0.01, 0.2)), st.data())
def test_columns_decide_and_write_as_is_done_one_by_one(drawn: Drawn, threshold: float, data: st.DataObject) -> None:
    """Spec: recommender:5, beyond:B-8."""
    rule = WriteRule(threshold, T0 - timedelta(days=1))
    findings = data.draw(findings_of(drawn))
    for tracked in drawn.groups.vpas:
        rule.note(tracked.vpa, T0 - data.draw(st.sampled_from((MINUTE, LONGEST_SILENCE))))
    observed = ObservedStatuses(framed)
    observed.look(drawn.groups)
    due = due_statuses(findings, observed, rule, T0)
    expected = one_by_one(findings, rule)
    written = {path: body for _, path, body in due_patches(due, observed.frames, {})}
    assert written == {name: status_patch(status) for name, status in expected.items()}
    assert len(due) == len(expected)


@given(rounds(), st.data())
def test_what_is_kept_between_rounds_is_written_as_if_it_were_made_anew(drawn: Drawn, data: st.DataObject) -> None:
    """Spec: recommender:5, beyond:B-24: conditions and generations change, and others write meanwhile."""
    observed, rule, vpas = ObservedStatuses(framed), WriteRule(0.0, T0), drawn.groups.vpas
    for factor in range(1, 4):
        estimates = Estimates(drawn.estimates.cpu // factor, drawn.estimates.memory // factor)
        latest: dict[tuple[str, str], Vpa] = {}
        for tracked in vpas:
            if factor == 1 or data.draw(st.booleans()):
                # A status that is behind is due.
                seen, generation = (
                    data.draw(st.just((PROVIDED,)) | CONDITIONS),
                    data.draw(st.sampled_from((0, 2, 3, 4))),
                )
                tracked.vpa = replace(carrying(tracked, None, seen, 0), generation=generation, observed_generation=1)
            if data.draw(st.booleans()):
                latest[tracked.key] = replace(tracked.vpa, conditions=tuple(data.draw(CONDITIONS)))
        table = data.draw(fitted(replace(drawn, estimates=estimates)))
        findings = RoundFindings(table, integers(*[1] * len(vpas)), {tracked.key: "" for tracked in vpas})
        observed.look(drawn.groups)
        due = due_statuses(findings, observed, rule, T0)
        written = {of.name: body for of, _, body in due_patches(due, observed.frames, latest)}
        anew = one_by_one(findings, rule)
        for tracked in vpas:
            status, now = anew[tracked.vpa.name], latest.get(tracked.key, tracked.vpa)
            conditions = with_others_conditions(status.conditions, tracked.vpa, now)
            anew[tracked.vpa.name] = replace(status, conditions=conditions)
        assert written == {name: status_patch(status) for name, status in anew.items()}


def few(count: int) -> tuple[Groups, RoundFindings]:
    """Return VPAs whose recommendations differ from what they carry, and what a round found out about them."""
    every = [TrackedVpa(vpa(f"v{number}"), APP, linked={"main": [0]}) for number in range(count)]
    for tracked in every:
        tracked.vpa = carrying(tracked, None, [PROVIDED], 0)
    groups = Groups.of(every)
    same = np.full((3, count), 1000, dtype=np.int64)
    table = recommendations(groups, Estimates(same, same), RenderingSettings())
    return groups, RoundFindings(table, integers(*[1] * count), {tracked.key: "" for tracked in every})


@pytest.mark.parametrize(
    ("row", "threshold", "order"), [("recommender:5", 0.0, [0, 1, 2]), ("recommender:5", 0.01, [2, 0, 1])]
)
def test_with_a_threshold_those_come_first_that_wait_longest(row: str, threshold: float, order: list[int]) -> None:
    groups, findings = few(3)
    rule = WriteRule(threshold, T0)
    for place, minutes in enumerate((5, 1, 9)):
        rule.note(groups.vpas[place].vpa, T0 - minutes * MINUTE)
    observed = ObservedStatuses(framed)
    observed.look(groups)
    assert list(due_statuses(findings, observed, rule, T0).places) == order, row


def test_what_others_have_written_meanwhile_is_kept() -> None:
    """Spec: beyond:B-24."""
    groups, findings = few(3)
    first, second = groups.vpas[0].vpa, groups.vpas[1].vpa
    blocked = VpaCondition("ResizeBlocked", ConditionStatus.TRUE, "NoRoom", "m")
    latest = {
        ("default", "v0"): replace(first, conditions=(PROVIDED, blocked)),
        ("default", "v1"): replace(second, resource_version="2"),
    }
    observed = ObservedStatuses(framed)
    observed.look(groups)
    due = due_statuses(findings, observed, WriteRule(0.0, T0), T0)
    bodies = {path: body for _, path, body in due_patches(due, observed.frames, latest)}
    assert {path: b"ResizeBlocked" in body for path, body in bodies.items()} == {"v0": True, "v1": False, "v2": False}
    assert all(b"RecommendationProvided" in body for body in bodies.values())


def test_many_statuses_are_written_each_with_its_own_recommendation() -> None:
    """More than are made at a time."""
    count = 2500
    groups, findings = few(count)
    amounts = np.arange(1, count + 1) * np.ones((3, 1), dtype=np.int64)
    table = recommendations(groups, Estimates(amounts, amounts), RenderingSettings())
    observed = ObservedStatuses(framed)
    observed.look(groups)
    due = due_statuses(replace(findings, recommendations=table), observed, WriteRule(0.0, T0), T0)
    for number, (of, path, body) in enumerate(due_patches(due, observed.frames, {})):
        assert (of.name, path) == (f"v{number}", f"v{number}")
        assert body == status_patch(VpaStatus(of.conditions, table[number], of.generation))
    assert len(due) == count
