"""Resizes from the patch to their end."""

from __future__ import annotations

from dataclasses import replace

import pytest

from autoscaling.objectref import ObjectRef
from autoscaling.pod import Pod, PodPhase
from tests.updater.situations import MINUTE, NOW, SECOND, reporting, small
from updater.decision import Action, Decision, Reason
from updater.resize_journeys import Journey, JourneyEnd, Journeys

WANTED = "250m/300Mi"


def journey(pod: Pod, generation: int = 2, reason: Reason = Reason.OUTSIDE_BOUNDS) -> Journey:
    ref = ObjectRef("Pod", pod.namespace, pod.name)
    return Journey(Decision(ref, Action.RESIZE, reason, uid=pod.uid), generation, NOW)


def at_generation(pod: Pod, generation: int, observed: int = 2) -> Pod:
    return replace(pod, generation=generation, observed_generation=observed)


def under_way(pod: Pod) -> Journeys:
    begun, arrivals = Journeys().beginning(journey(pod))
    assert arrivals == ()
    return begun


def running(pod: Pod) -> Pod:
    return replace(pod, statuses=tuple(replace(status, is_running=True) for status in pod.statuses))


RESIZED = running(reporting(small(requests=WANTED), WANTED))
WAITING = running(reporting(small(requests=WANTED), "100m/200Mi"))


@pytest.mark.parametrize(
    ("row", "pods", "end"),
    [
        ("product:10 not seen yet", (at_generation(small(), 1, 1),), None),
        ("beyond:B-45 not observed yet", (at_generation(RESIZED, 2, 1),), None),
        ("beyond:B-45 observed, not in force", (at_generation(WAITING, 2),), None),
        ("beyond:B-45 in force", (at_generation(RESIZED, 2),), JourneyEnd.COMPLETED),
        ("beyond:B-45 in force, and asked for more", (at_generation(RESIZED, 3, 3),), JourneyEnd.OVERTAKEN),
        ("product:10 another pod", (replace(at_generation(RESIZED, 2), uid="other"),), JourneyEnd.GONE),
        ("product:10 no pod", (), JourneyEnd.GONE),
        ("product:10 a pod that goes", (replace(at_generation(WAITING, 2), phase=PodPhase.FAILED),), JourneyEnd.GONE),
    ],
)
def test_a_look_finds_what_has_ended(row: str, pods: tuple[Pod, ...], end: JourneyEnd | None) -> None:
    after, arrivals = under_way(small()).seeing(pods, NOW + SECOND)
    assert [(each.end, each.at) for each in arrivals] == ([(end, NOW + SECOND)] if end else []), row
    assert len(after.by_uid) == (0 if end else 1), row
    assert after.seeing(pods, NOW + MINUTE)[1] == (), "it ends once"


@pytest.mark.parametrize(
    ("row", "reason", "end"),
    [
        ("product:10 a later resize", Reason.WORTHWHILE_CHANGE, JourneyEnd.OVERTAKEN),
        ("beyond:B-24 its claim is given back", Reason.CLAIM_RELEASED, JourneyEnd.FAILED),
    ],
)
def test_another_resize_of_the_pod_ends_the_one_before(row: str, reason: Reason, end: JourneyEnd) -> None:
    second = journey(small(), 3, reason)
    after, arrivals = under_way(small()).beginning(second)
    assert [(each.journey.generation, each.end) for each in arrivals] == [(2, end)], row
    assert after.by_uid == {small().uid: second}


def test_an_eviction_ends_that_pods_resize_only() -> None:
    both, _ = under_way(small("a")).beginning(journey(small("b")))
    after, arrivals = both.ending(small("a").uid, JourneyEnd.FAILED, NOW)
    assert [each.journey.decision.ref.name for each in arrivals] == ["a"]
    assert set(after.by_uid) == {small("b").uid}
    assert after.ending("nobody", JourneyEnd.FAILED, NOW) == (after, ())


def test_what_is_under_way_at_the_end_is_unfinished() -> None:
    assert [each.end for each in under_way(small()).closing(NOW)] == [JourneyEnd.UNFINISHED]
    assert Journeys().closing(NOW) == ()
