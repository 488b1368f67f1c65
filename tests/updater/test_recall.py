"""What rounds before have reckoned makes rounds quicker and nothing else (performance:U-1)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from autoscaling.limitrange import LimitRange
from autoscaling.matching import SelectingVpa, of_labels
from autoscaling.pod import Pod
from autoscaling.vpa import UpdateMode
from autoscaling.workload import Workload
from tests.builders import recommended
from tests.updater.situations import (
    DEFERRED,
    DEPLOYMENT,
    EVENKEEL,
    GATES_ON,
    HOUR,
    IN_PROGRESS,
    INFEASIBLE,
    IPOR,
    MINUTE,
    NOW,
    OFF,
    OUT_OF_BOUNDS,
    SECOND,
    SELECTOR,
    Scene,
    all_done,
    killed,
    owned,
    pending,
    play,
    replica_set,
    resizing,
    small,
    vpa_of,
)
from updater.circumstances import Memory
from updater.decision import Action, Decision, Outcome
from updater.plan import Plan
from updater.recall import Kept, Recall
from updater.settings import Settings
from updater.snapshot import Snapshot

WITHIN = recommended("c", "110m/210Mi", lower="50m/100Mi", upper="400m/500Mi")
"""Pods made by ``small`` are within these bounds, and differ from the target by a tenth in one amount."""

PODS: list[Callable[[Pod], Pod]] = [
    lambda pod: pod,
    pending,
    lambda pod: resizing(pod, DEFERRED),
    lambda pod: resizing(pod, INFEASIBLE),
    lambda pod: resizing(pod, IN_PROGRESS),
    resizing,
    lambda pod: killed(pod, MINUTE, MINUTE),
    lambda pod: replace(pod, is_terminating=not pod.is_terminating),
    lambda pod: replace(pod, labels={"app": "b"}),
    lambda pod: replace(pod, labels={"app": "a"}),
    lambda pod: owned(pod, "ReplicaSet", "other"),
    lambda pod: replace(pod, owners=()),
]


class World:
    """A cluster that changes bit by bit; what does not change stays the same object, as in the caches."""

    def __init__(self, mode: UpdateMode) -> None:
        self.vpa = vpa_of(mode, minimum=1)
        self.pods = {f"p{n}": small(f"p{n}") for n in range(4)}
        self.workloads: dict[str, Workload] = {"d": DEPLOYMENT, "rs": replica_set(4), "other": replica_set(2, "other")}
        self.limits: tuple[LimitRange, ...] = ()
        self.selector = SELECTOR
        self.now = NOW

    def change(self, draw: Callable[[st.SearchStrategy[int]], int]) -> None:
        """Change one thing."""
        which, how = draw(st.integers(0, 9)), draw(st.integers(0, len(PODS) - 1))
        name = f"p{how % 5}"
        if which < 3:
            self.pods[name] = PODS[how](self.pods.get(name, small(name)))
        elif which == 3:
            self.pods.pop(name, None)
        elif which == 4:
            entry = (OUT_OF_BOUNDS, WITHIN)[how % 2]
            self.vpa = replace(self.vpa, recommendation=vpa_of(IPOR, entry).recommendation)
        elif which == 5:
            self.workloads["rs"] = replica_set(how % 6)
        elif which == 6:
            self.now += (SECOND, MINUTE, 9 * MINUTE, 7 * HOUR)[how % 4]
        elif which == 7:
            self.selector = of_labels({"app": "ab"[how % 2]})
        elif which == 8:
            mode = list(UpdateMode)[how % len(UpdateMode)]
            self.vpa = replace(self.vpa, update_policy=vpa_of(mode, minimum=1 + how % 2).update_policy)
        else:
            self.now -= MINUTE

    def snapshot(self) -> Snapshot:
        """Return it as a round sees it."""
        selecting = (SelectingVpa(self.vpa, self.selector),)
        return Snapshot.of(selecting, self.pods.values(), self.workloads.values(), {}, self.limits)


@given(st.data(), st.sampled_from(UpdateMode), st.sampled_from([GATES_ON, EVENKEEL]))
def test_a_round_decides_as_if_there_had_been_no_round_before(
    data: st.DataObject, mode: UpdateMode, settings: Settings
) -> None:
    """Spec: performance:U-1."""
    world, memory = World(mode), Memory()
    for _ in range(data.draw(st.integers(2, 6))):
        for _ in range(data.draw(st.integers(0, 2))):
            world.change(data.draw)
        refused = data.draw(st.sampled_from([None, Outcome.FAILED, Outcome.NO_NODE_CAPACITY, Outcome.UNTIMELY]))
        outcome = outcomes(refused)
        snapshot = world.snapshot()
        quick = play(Plan.of(snapshot, world.now, memory, settings), outcome)
        anew = play(Plan.of(snapshot, world.now, replace(memory, recall=Recall()), settings), outcome)
        assert quick == anew
        memory = quick.memory


def outcomes(refused: Outcome | None) -> Callable[[Decision], Outcome]:
    """Return the outcomes of a cluster that refuses all resizes in one way, or nothing."""
    if refused is None:
        return all_done
    return lambda decision: refused if decision.action is Action.RESIZE else all_done(decision)


def test_what_nobody_asks_for_in_a_round_is_forgotten() -> None:
    kept: Kept[str, int] = Kept()
    kept.keep("a", 1)
    second = Kept(kept)
    assert second.find("a") == 1
    assert Kept(second).find("a") is None
    second.keep("a", 2)
    assert second.find("a") == 2


def test_a_round_without_vpas_that_take_part_forgets_the_pods() -> None:
    first = Scene(vpa_of(IPOR), (small("p0"),)).plan
    after = Scene(vpa_of(OFF), (small("p0"),), memory=play(first).memory).plan
    assert first.round.memory.recall.placed.present
    assert not after.round.memory.recall.placed.present


@pytest.mark.parametrize(
    ("row", "passed", "settings", "is_good"),
    [
        ("performance:U-1", timedelta(0), GATES_ON, True),
        ("performance:U-1", -SECOND, GATES_ON, False),
        ("performance:U-1", MINUTE, replace(GATES_ON, min_replicas=1), False),
    ],
)
def test_a_round_goes_by_what_was_reckoned_earlier_under_the_same_settings(
    row: str, passed: timedelta, settings: Settings, *, is_good: bool
) -> None:
    first = Scene(vpa_of(IPOR), (small("p0"),)).plan
    assert bool(first.memory.recall.next_round(settings, NOW + passed).placed.former) is is_good, row
