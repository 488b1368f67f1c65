"""Containers that no pod has any more (beyond:B-6)."""

from __future__ import annotations

from datetime import datetime, timedelta

import pytest

from autoscaling.behaviour import Behaviour
from autoscaling.pod import PodPhase
from autoscaling.vpa import ContainerPolicy, ScalingMode
from recommender.checkpointing import checkpoints_of, load_checkpoints
from recommender.recommending import recommend
from recommender.removed_containers import without_removed
from recommender.settings import EstimatorSettings, RenderingSettings
from tests.builders import T0
from tests.recommender.scene import DAY, HOUR, MINUTE, SECOND, Scene, pod, vpa

EVENKEEL = Behaviour()


def recommended(one: Scene, now: datetime, name: str = "v") -> dict[str, str]:
    """Return the CPU targets of a VPA's containers."""
    groups = without_removed(one.model, one.model.groups(), now)
    found = recommend(one.model, groups, EstimatorSettings(), RenderingSettings(), EVENKEEL)
    entries = found.recommendations[groups.vpas.index(one.tracked(name))].containers
    return {entry.container_name: str(entry.target.get("cpu")) for entry in entries}


def renamed() -> Scene:
    """Return a scene in which pod ``p`` with container ``old`` gave way to ``q`` with ``new`` at T0."""
    one = Scene().follow(vpa()).observe(pod("p", "old"), pod("q", "new"))
    one.cpu(T0, 1, "old", "p")
    one.cpu(T0, 1, "new", "q")
    one.model.forget_pod("default", "p")
    return one


@pytest.mark.parametrize(
    ("row", "after", "targets"),
    [
        # The whole minimum of 25m is the new container's at once.
        ("beyond:B-6 at once", timedelta(0), {"new": "25m", "old": "25m"}),
        ("beyond:B-6 grace", HOUR, {"new": "25m", "old": "25m"}),
        ("beyond:B-6 over", HOUR + SECOND, {"new": "25m"}),
        ("beyond:B-6 much later", 7 * DAY, {"new": "25m"}),
    ],
)
def test_a_renamed_container(row: str, after: timedelta, targets: dict[str, str]) -> None:
    """Spec: recommender:13.6."""
    assert recommended(renamed(), T0 + after) == targets, row


def test_upstream_keeps_it_and_shares_the_minimum() -> None:
    """Spec: recommender:13.6."""
    entries = renamed().recommendation().containers
    assert {entry.container_name: str(entry.target["cpu"]) for entry in entries} == {"new": "12m", "old": "12m"}


@pytest.mark.parametrize(
    ("row", "phase", "stays"),
    [
        ("beyond:B-6 running", PodPhase.RUNNING, True),
        ("beyond:B-6 unknown", PodPhase.UNKNOWN, True),
        ("beyond:B-6 ended", PodPhase.SUCCEEDED, False),
        ("beyond:B-6 failed", PodPhase.FAILED, False),
    ],
)
def test_which_pods_keep_a_container(row: str, phase: PodPhase, *, stays: bool) -> None:
    one = renamed().observe(pod("p", "old", phase=phase))
    assert ("old" in recommended(one, T0 + DAY)) is stays, row


def test_a_vpa_of_which_no_pod_runs_has_lost_nothing() -> None:
    one = renamed()
    one.observe(pod("q", "new", phase=PodPhase.SUCCEEDED))
    assert recommended(one, T0 + 7 * DAY) == {"new": "12m", "old": "12m"}
    one.model.forget_pod("default", "q")
    assert recommended(one, T0 + 7 * DAY) == {"new": "12m", "old": "12m"}


def test_pods_of_others_keep_nothing() -> None:
    one = renamed().observe(pod("r", "old", labels={"app": "b"}))
    assert recommended(one, T0 + DAY) == {"new": "25m"}


def test_a_rollback_brings_a_container_back_with_its_history() -> None:
    one = Scene().follow(vpa()).observe(pod("p", "old"), pod("q", "new"))
    one.cpu(T0, 500, "old", "p")
    one.cpu(T0, 1, "new", "q")
    one.model.forget_pod("default", "p")
    assert set(recommended(one, T0 + DAY)) == {"new"}
    one.observe(pod("p2", "old"))
    assert recommended(one, T0 + DAY)["old"] == "587m"


def test_several_kinds_of_pods_count_together() -> None:
    one = Scene().follow(vpa()).observe(pod("p", "a", labels={"app": "a", "track": "x"}), pod("q", "b"))
    one.cpu(T0, 1, "a", "p")
    one.cpu(T0, 1, "b", "q")
    assert recommended(one, T0 + DAY) == {"a": "12m", "b": "12m"}


def test_a_container_that_is_switched_off_stays_so() -> None:
    one = (
        Scene().follow(vpa("v", ContainerPolicy("new", mode=ScalingMode.OFF))).observe(pod("p", "old"), pod("q", "new"))
    )
    one.cpu(T0, 1, "old", "p")
    one.model.forget_pod("default", "p")
    assert recommended(one, T0) == {"old": "25m"}
    assert recommended(one, T0 + DAY) == {}


def test_a_restart_does_not_bring_a_removed_container_back() -> None:
    one = renamed()
    stored = checkpoints_of(one.model, [one.tracked()], T0 + DAY)[0]
    assert {checkpoint.container_name for checkpoint in stored} == {"new", "old"}, "its history stays stored"
    again = Scene().follow(vpa()).observe(pod("q", "new"))
    load_checkpoints(again.model, stored, T0 + DAY)
    assert recommended(again, T0 + DAY) == {"new": "25m"}


def test_without_removed_containers_nothing_is_copied() -> None:
    one = Scene().follow(vpa()).observe(pod("q", "new"))
    one.cpu(T0 + MINUTE, 1, "new", "q")
    groups = one.model.groups()
    assert without_removed(one.model, groups, T0 + DAY) is groups
    assert recommended(Scene().follow(vpa()), T0) == {}
