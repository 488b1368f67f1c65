"""Targets that are kept from round to round: what is kept is what would be found anew."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from autoscaling.matching import of_labels
from autoscaling.ownership import ControllerKey, OwnerNotCachedError, ScaleAnswer
from autoscaling.pod import Owner
from autoscaling.targets import KnownControllers, WorkloadKey, resolve_target
from autoscaling.vpa import TargetRef, Vpa
from autoscaling.workload import Workload
from recommender.kept_targets import KeptTargets
from tests.recommender.scene import vpa

ROLLOUT = ControllerKey("default", "Rollout", "r", "argo/v1")
REFS = (
    TargetRef("Deployment", "d", "apps/v1"),
    TargetRef("ReplicaSet", "rs", "apps/v1"),
    TargetRef("Job", "nightly-29300000", "batch/v1"),
    TargetRef("CronJob", "nightly", "batch/v1"),
    TargetRef("Rollout", "r", "argo/v1"),
    None,
)
OWNERS = (
    (),
    (Owner("apps/v1", "Deployment", "d", controller=True),),
    (Owner("argo/v1", "Rollout", "r", controller=True),),
    (Owner("batch/v1", "CronJob", "nightly", controller=True),),
)


def aiming(target_ref: TargetRef | None, name: str = "v") -> Vpa:
    return replace(vpa(name), target_ref=target_ref)


@st.composite
def worlds(draw: st.DrawFn) -> KnownControllers:
    """Draw what is known of the controllers that VPAs aim at."""
    workloads: dict[WorkloadKey, Workload] = {}
    for ref in REFS[:4]:
        if ref is not None and draw(st.sampled_from((True, True, True, False))):
            selector = of_labels({"app": draw(st.sampled_from("ab"))})
            workloads["default", ref.kind, ref.name] = Workload(
                ref.kind, "default", ref.name, selector, ref.api_version, owners=draw(st.sampled_from(OWNERS))
            )
    answer = ScaleAnswer(draw(st.booleans()), draw(st.sampled_from(("", "app=a", "("))))
    return KnownControllers(workloads, {ROLLOUT: answer} if draw(st.booleans()) else {})


@st.composite
def histories(draw: st.DrawFn) -> list[tuple[KnownControllers, list[TargetRef | None]]]:
    """Draw rounds: what is known in each, and what the VPAs aim at; much stays as it was."""
    rounds: list[tuple[KnownControllers, list[TargetRef | None]]] = []
    for _ in range(draw(st.integers(1, 5))):
        known = draw(worlds())
        keeps_workloads, keeps_scales = draw(st.tuples(st.booleans(), st.booleans()))
        if rounds and keeps_workloads:
            before, keys = rounds[-1][0], sorted(known.workloads)
            kept = {key: before.workloads[key] for key in keys if key in before.workloads and draw(st.booleans())}
            known = replace(known, workloads={**known.workloads, **kept})
        if rounds and keeps_scales:
            known = replace(known, scales=rounds[-1][0].scales)
        rounds.append((known, draw(st.lists(st.sampled_from(REFS), min_size=3, max_size=3))))
    return rounds


@given(histories(), st.booleans())
def test_what_is_kept_is_what_would_be_found(
    history: list[tuple[KnownControllers, list[TargetRef | None]]], runs_match_by_owner: bool
) -> None:
    """Spec: recommender:11.3, beyond:B-19."""
    targets, before = KeptTargets(), KnownControllers({}, {})
    for each, refs in history:
        known = replace(each, runs_match_by_owner=runs_match_by_owner)
        is_as_before = dict(known.workloads) == dict(before.workloads) and all(
            known.workloads[key] is before.workloads[key] for key in known.workloads
        )
        for number, ref in enumerate(refs):
            followed = aiming(ref, f"v{number}")
            found = targets.find(followed, known, are_workloads_as_before=is_as_before)
            try:
                expected = resolve_target(followed, known)
            except OwnerNotCachedError:
                assert found is None
                targets.keep_only(())
                continue
            assert found is None or found == expected
            assert targets.resolve(followed, known) == expected
            assert targets.find(replace(followed, generation=7), known, are_workloads_as_before=False) == expected
        before = known


DEPLOYMENT = Workload("Deployment", "default", "d", of_labels({"app": "a"}), "apps/v1")
KNOWN = KnownControllers.of([DEPLOYMENT], {})


@pytest.mark.parametrize(
    ("row", "followed", "known", "is_kept"),
    [
        ("recommender:11.3", aiming(REFS[0]), KNOWN, True),
        ("recommender:11.3", replace(aiming(REFS[0]), resource_version="2"), KNOWN, True),
        ("recommender:11.3", aiming(TargetRef("Deployment", "d", "apps/v1")), KNOWN, True),
        ("recommender:11.3", aiming(TargetRef("Deployment", "e", "apps/v1")), KNOWN, False),
        ("recommender:11.3", aiming(None), KNOWN, False),
        ("recommender:11.3", aiming(REFS[0], "w"), KNOWN, False),
        ("recommender:11.3", aiming(REFS[0]), KnownControllers.of([replace(DEPLOYMENT)], {}), False),
        ("recommender:11.3", aiming(REFS[0]), KnownControllers.of([], {}), False),
    ],
)
def test_when_a_target_is_kept(row: str, followed: Vpa, known: KnownControllers, is_kept: bool) -> None:
    targets = KeptTargets()
    first = targets.resolve(aiming(REFS[0]), KNOWN)
    found = targets.find(followed, known, are_workloads_as_before=False)
    assert found is (first if is_kept else None), row


def test_a_vpa_that_was_not_served_for_a_while_is_resolved_anew() -> None:
    targets = KeptTargets()
    for name in ("v", "w"):
        targets.resolve(aiming(REFS[0], name), KNOWN)
    targets.keep_only({("default", "w")})
    assert len(targets) == 1
    assert targets.find(aiming(REFS[0], "v"), KNOWN, are_workloads_as_before=True) is None
    assert targets.find(aiming(REFS[0], "w"), KNOWN, are_workloads_as_before=True) is not None
