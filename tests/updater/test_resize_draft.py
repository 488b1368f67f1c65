"""What a resize sends if no rule changes it (performance:U-1)."""

from __future__ import annotations

from dataclasses import replace

from autoscaling.target_resources import ContainerTarget
from tests.builders import amounts
from tests.updater.situations import IPOR, Scene, circumstances, play, small, vpa_of, without_recommendation
from updater.patches import resize_patch
from updater.resize_draft import draft


def test_a_draft_is_made_once_for_a_candidate_and_its_patch_once_for_its_targets() -> None:
    """Spec: performance:U-1, updater:X-3."""
    plan = Scene(vpa_of(IPOR), (small("p0"), small("p1"))).plan
    assert plan.work is not None
    candidate = plan.work.resizes[0]
    around = plan.work.circumstances
    made = draft(candidate, around)
    assert draft(candidate, around) is made
    assert draft(replace(candidate), around) is not made
    assert made.resize == resize_patch(candidate.member.pod, made.targets)
    assert made.patch_for(made.targets) is made.resize
    less = (ContainerTarget(amounts("150m/250Mi"), {}),)
    assert made.patch_for(less) == resize_patch(candidate.member.pod, less) != made.resize


def test_a_draft_goes_from_round_to_round() -> None:
    scene = Scene(vpa_of(IPOR), (small("p0"), small("p1")))
    first = scene.plan
    again = replace(scene, memory=play(first).memory).plan
    one, other = first.next(), again.next()
    assert one is not None
    assert other is not None
    assert one.patches is not None
    assert other.patches is not None
    assert one.patches.resize is other.patches.resize


def test_without_a_recommendation_nothing_is_drafted() -> None:
    """Spec: updater:P-2."""
    plan = Scene(vpa_of(IPOR), (small("p0"), small("p1"))).plan
    assert plan.work is not None
    made = draft(replace(plan.work.resizes[0]), circumstances(without_recommendation(vpa_of(IPOR))))
    assert made.resize == ()
