"""Targets that cannot be resolved for a while, and selectors that change (beyond:B-1, case:17, case:18)."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest

from autoscaling.matching import NOTHING, Selector, parse_selector
from autoscaling.targets import ResolvedTarget
from autoscaling.vpa import TargetRef, Vpa
from recommender.checkpoint import ContainerCheckpoint
from recommender.checkpointing import checkpoints_of, load_checkpoints
from recommender.grouping import merged_samples
from recommender.instants import NEVER, instant, moment
from recommender.label_sets import TrackedVpa
from recommender.vanishing_targets import (
    Sighting,
    is_as_observed,
    late_checkpoints,
    may_replace,
    newly_served,
    observe_target,
)
from tests.builders import T0
from tests.recommender.scene import APP, DAY, HOUR, MINUTE, SECOND, Scene, pod, vpa

GI = 2**30
MISSING = ResolvedTarget(NOTHING, "does not exist", is_unresolved=True)
BELOW = ResolvedTarget(NOTHING, "has a parent")
OTHER = parse_selector("app=b")
V = vpa("v")


def found(selector: Selector = APP) -> ResolvedTarget:
    return ResolvedTarget(selector)


def see(one: Scene, target: ResolvedTarget, the_vpa: Vpa = V, after: timedelta = timedelta(0)) -> TrackedVpa:
    return observe_target(one.model, Sighting(the_vpa, target, target.selector), T0 + after, keeps_history=True)


def two_weeks() -> ContainerCheckpoint:
    """Return the checkpoint of two weeks in which 2Gi were used."""
    one = Scene().follow(vpa()).observe(pod())
    for day in range(14):
        one.cpu(T0 + day * DAY, 250)
        one.memory(T0 + day * DAY, 2 * GI)
    (stored,) = checkpoints_of(one.model, [one.tracked()], T0 + 15 * DAY)[0]
    return stored


def loaded(target: ResolvedTarget) -> Scene:
    """Return a recommender that has just started, with a checkpoint of two weeks and with such a target."""
    one = Scene()
    see(one, target)
    assert load_checkpoints(one.model, [two_weeks()], T0 + 15 * DAY) == ()
    return one


def memory(one: Scene) -> int | None:
    entry = one.recommendation().of("main")
    return None if entry is None else entry.target["memory"].value()


def samples(one: Scene) -> tuple[object, int]:
    """Return the first sample and the number of samples of the only container."""
    first, _, count = merged_samples(one.model.aggregates, one.model.groups())
    return moment(int(first[0])), int(count[0])


def test_a_target_that_is_missing_at_the_start_and_then_found() -> None:
    """Spec: case:17."""
    one = loaded(MISSING)
    before, history = memory(one), samples(one)
    assert history == (T0, 14)
    see(one, found())
    assert (memory(one), samples(one)) == (before, history)
    one.observe(pod())
    one.cpu(T0 + 15 * DAY, 250)
    assert samples(one) == (T0, 15), "pods that come are linked"


def test_upstream_loses_it() -> None:
    """Spec: recommender:13.2."""
    one = loaded(MISSING)
    for target in (found(), MISSING):
        tracked = observe_target(one.model, Sighting(V, target, target.selector), T0, keeps_history=False)
        assert memory(one) is None
        assert (str(tracked.selector), tracked.pod_selector) == (str(target.selector), target.selector)
        assert tracked.target_missing_at == NEVER


def test_what_pods_are_looked_for_stays_while_the_target_is_missing() -> None:
    """Spec: beyond:B-1."""
    one = Scene()
    assert see(one, MISSING).pod_selector == NOTHING
    assert see(one, found()).pod_selector == APP
    assert see(one, MISSING).pod_selector == APP
    assert see(one, found(OTHER)).pod_selector == OTHER


def test_a_target_that_goes_and_comes_back() -> None:
    """Spec: beyond:B-1, recommender:13.2."""
    one = loaded(found()).observe(pod())
    one.cpu(T0 + 15 * DAY, 250)
    before = memory(one), samples(one), one.aggregate()
    tracked = see(one, MISSING, after=HOUR)
    assert (memory(one), samples(one), one.aggregate()) == before
    assert (str(tracked.selector), tracked.pod_count) == (str(APP), 1), "its pods are still its pods"
    assert see(one, found()) is tracked
    assert (memory(one), samples(one), one.aggregate()) == before


@pytest.mark.parametrize(
    ("row", "target", "the_vpa", "keeps"),
    [
        ("beyond:B-1 cannot be resolved", MISSING, V, True),
        ("beyond:B-1 is not the topmost", BELOW, V, True),
        ("beyond:B-1 another selector", found(OTHER), V, True),
        ("beyond:B-1 another target, missing", MISSING, replace(V, target_ref=TargetRef("Deployment", "x")), False),
        ("beyond:B-1 another target, found", found(OTHER), replace(V, target_ref=TargetRef("Job", "v")), False),
    ],
)
def test_what_keeps_loaded_history(row: str, target: ResolvedTarget, the_vpa: Vpa, *, keeps: bool) -> None:
    one = loaded(found())
    see(one, target, the_vpa)
    assert (memory(one) is not None) is keeps, row


def test_what_only_the_former_selector_selects_counts_as_history() -> None:
    """Spec: beyond:B-1; a blue-green switch."""
    one = Scene()
    see(one, found(parse_selector("app=a,color=blue")))
    one.observe(pod("p", labels={"app": "a", "color": "blue"}), pod("q", "side", labels={"app": "a", "color": "blue"}))
    one.cpu(T0, 250)
    one.cpu(T0, 250, "side", "q")
    one.memory(T0, 2 * GI)
    before = one.figures(), one.figures("side")
    written = one.tracked().checkpoint_written = instant(T0 + MINUTE)
    see(one, found(parse_selector("app=a,color=green")), after=HOUR)
    assert (one.figures(), one.figures("side")) == before
    assert one.tracked().checkpoint_written == written
    one.observe(pod("r", labels={"app": "a", "color": "green"}))
    one.cpu(T0 + HOUR, 250, pod="r")
    (main, _) = checkpoints_of(one.model, [one.tracked()], T0 + 2 * HOUR)[0]
    assert (main.container_name, main.sample_count) == ("main", 2)


def test_what_counts_as_history_joins_what_was_loaded() -> None:
    """Spec: beyond:B-1."""
    one = loaded(found()).observe(pod())
    one.cpu(T0 + 15 * DAY, 250)
    see(one, found(OTHER), after=15 * DAY)
    assert samples(one) == (T0, 15)


def test_pods_that_both_selectors_select_count_once() -> None:
    one = Scene()
    see(one, found())
    one.observe(pod())
    one.cpu(T0, 250)
    see(one, found(parse_selector("app in (a)")))
    assert one.tracked().initial == {}
    assert samples(one) == (T0, 1)


def stored_with(count: int, updated: timedelta = timedelta(0)) -> ContainerCheckpoint:
    return ContainerCheckpoint("default", "v", "main", None, None, sample_count=count, updated=T0 + updated)


@pytest.mark.parametrize(
    ("row", "missing_at", "new", "stored", "after", "may"),
    [
        ("case:17 never missing", None, 5, 10, HOUR, True),
        ("case:17 nothing stored", timedelta(0), 5, None, HOUR, True),
        ("case:17 as many", timedelta(0), 10, 10, HOUR, True),
        ("case:17 fewer, still missing", HOUR, 9, 10, HOUR, False),
        ("case:17 fewer, just back", timedelta(0), 9, 10, DAY - SECOND, False),
        ("case:17 fewer, back for an interval", timedelta(0), 9, 10, DAY, True),
    ],
)
def test_which_checkpoints_are_written(
    row: str, missing_at: timedelta | None, new: int, stored: int | None, after: timedelta, *, may: bool
) -> None:
    one = Scene().follow(V)
    tracked = one.tracked()
    assert tracked.target_missing_at == NEVER
    if missing_at is not None:
        see(one, MISSING, after=missing_at)
    old = None if stored is None else stored_with(stored)
    assert may_replace(stored_with(new, after), old, tracked, DAY) is may, row


def test_the_time_of_the_loss_outlives_a_change_of_the_selector() -> None:
    one = Scene()
    see(one, found())
    see(one, MISSING, after=HOUR)
    see(one, found(OTHER), after=2 * HOUR)
    assert moment(one.tracked().target_missing_at) == T0 + HOUR


@pytest.mark.parametrize(
    ("row", "checkpoint", "is_taken"),
    [
        ("case:18 written during its life", stored_with(1, MINUTE), True),
        ("case:18 written as it was made", stored_with(1), True),
        ("case:18 of an older one of the name", stored_with(1, -MINUTE), False),
        ("case:18 without a time", replace(stored_with(1), updated=None), False),
        ("case:18 of another VPA", replace(stored_with(1), vpa_name="w"), False),
        ("case:18 of another namespace", replace(stored_with(1), namespace="other"), False),
    ],
)
def test_what_a_newly_served_vpa_takes_over(row: str, checkpoint: ContainerCheckpoint, *, is_taken: bool) -> None:
    one = Scene().follow(V)
    assert late_checkpoints([one.tracked()], [checkpoint]) == ((checkpoint,) if is_taken else ()), row
    ageless = Scene().follow(replace(V, created=None))
    assert late_checkpoints([ageless.tracked()], [checkpoint]) == ()


def test_which_vpas_are_newly_served() -> None:
    one = Scene().follow(V)
    before = frozenset(one.model.vpas)
    one.follow(vpa("w"))
    assert newly_served(one.model, before) == [one.tracked("w")]


@pytest.mark.parametrize(
    ("row", "again", "target", "is_shared", "expected"),
    [
        ("beyond:B-1", V, found(), False, True),
        ("beyond:B-1", replace(V), found(), False, False),
        ("beyond:B-1", V, MISSING, False, False),
        ("recommender:3.2", V, found(), True, False),
    ],
)
def test_what_need_not_be_observed_again(
    row: str, again: Vpa, target: ResolvedTarget, *, is_shared: bool, expected: bool
) -> None:
    one = Scene()
    see(one, found()).is_shared = is_shared
    assert is_as_observed(one.model.vpas.get(("default", "v")), again, target) is expected, row
    assert not is_as_observed(None, V, found())
