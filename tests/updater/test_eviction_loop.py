"""Evictions without effect: told by what replacements ask for, paused, and remembered through a restart."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from autoscaling.objectref import ObjectRef
from autoscaling.pod import ConditionStatus, Pod
from autoscaling.vpa import Recommendation, UpdateMode, Vpa, VpaCondition
from tests.builders import container, pod, recommended
from tests.updater.disruptions import ready, with_only
from tests.updater.situations import (
    GATES_ON,
    HOUR,
    IPOR,
    MINUTE,
    NOW,
    OUT_OF_BOUNDS,
    RECREATE,
    SECOND,
    Played,
    Scene,
    annotated,
    small,
    vpa_of,
)
from updater.circumstances import Memory
from updater.conditions import EVICTION_LOOP
from updater.decision import Action, Decision, Outcome, Reason
from updater.eviction_loop import ATTRIBUTED_FOR, LONGEST_PAUSE, Loop, Loops, lack_of, pause, workload_of
from updater.ledger import Eviction
from updater.selection import ControlledPods, Member
from updater.settings import Settings

HELPS = with_only("eviction_only_when_it_helps")
WANTED = Recommendation((OUT_OF_BOUNDS,))
D = ObjectRef("Deployment", "default", "d")
LACK = "container c has 100m cpu, wanted 250m (150m to 400m)"


@pytest.mark.parametrize(
    ("row", "number", "expected"),
    [
        ("beyond:B-25", 1, 10 * MINUTE),
        ("beyond:B-25", 2, 20 * MINUTE),
        ("beyond:B-25", 6, 320 * MINUTE),
        ("beyond:B-25", 7, 6 * HOUR),
        ("beyond:B-25", 99, 6 * HOUR),
    ],
)
def test_pauses_double(row: str, number: int, expected: timedelta) -> None:
    assert pause(number) == expected, row


@pytest.mark.parametrize(
    ("row", "subject", "expected"),
    [
        ("case:35", small("p", "150m/250Mi"), ""),
        ("case:35", small("p", "400m/500Mi"), ""),
        ("case:35", small("p", "149m/250Mi"), "container c has 149m cpu, wanted 250m (150m to 400m)"),
        ("case:35", small("p", "401m/250Mi"), "container c has 401m cpu, wanted 250m (150m to 400m)"),
        ("case:35", small("p", "200m/-"), "container c has none memory, wanted 300Mi (250Mi to 500Mi)"),
        (
            "case:35",
            small("p", "100m/200Mi"),
            f"{LACK}; container c has 200Mi memory, wanted 300Mi (250Mi to 500Mi)",
        ),
        ("updater:P-4", annotated(small("p", "1m/1Mi"), vpaObservedContainers="other"), ""),
        ("case:35", pod(container("other", "1m/1Mi")), ""),
    ],
)
def test_what_a_replacement_lacks_is_named(row: str, subject: Pod, expected: str) -> None:
    assert lack_of(subject, WANTED) == expected, row


def test_the_series_of_one_workload() -> None:
    loop = Loop().evicting(WANTED, NOW).seeing("a", "less", NOW + MINUTE)
    assert (loop.in_vain, loop.until) == (1, None), "case:35"
    loop = loop.evicting(WANTED, NOW + MINUTE).seeing("b", "less", NOW + 2 * MINUTE)
    assert (loop.in_vain, loop.pauses, loop.until) == (2, 1, NOW + 12 * MINUTE), "case:35"
    tried = loop.evicting(WANTED, NOW + 12 * MINUTE)
    assert (tried.pauses, tried.until) == (2, NOW + 32 * MINUTE), "beyond:B-25"
    again = tried.seeing("c", "less", NOW + 13 * MINUTE)
    assert (again.pauses, again.until, again.in_vain) == (2, NOW + 32 * MINUTE, 3), "beyond:B-25"
    well = tried.seeing("c", "", NOW + 13 * MINUTE)
    assert (well.pauses, well.until, well.in_vain, well.detail) == (0, None, 0, ""), "beyond:B-25"


@pytest.mark.parametrize(
    ("row", "loop", "age", "expected"),
    [
        ("beyond:B-25", Loop(last=NOW), ATTRIBUTED_FOR, False),
        ("beyond:B-25", Loop(last=NOW), ATTRIBUTED_FOR + SECOND, True),
        ("beyond:B-25", Loop(), timedelta(0), True),
        ("beyond:B-25", Loop(until=NOW, pauses=1), LONGEST_PAUSE, False),
        ("beyond:B-25", Loop(until=NOW, pauses=1), LONGEST_PAUSE + SECOND, True),
    ],
)
def test_a_loop_is_forgotten(row: str, loop: Loop, age: timedelta, *, expected: bool) -> None:
    assert loop.is_over(NOW + age) is expected, row
    kept = Loops({D: loop}).looking((), {}, NOW + age)
    assert (D in kept.by_workload) is not expected, row


def test_a_workload_is_what_its_vpa_is_for() -> None:
    assert workload_of(vpa_of(RECREATE)) == D, "case:35"
    untargeted = replace(vpa_of(RECREATE), target_ref=None)
    assert workload_of(untargeted) == untargeted.ref, "case:35"


class Cluster:
    """A ReplicaSet whose evicted pods are replaced, with these requests, before the next round a minute later."""

    def __init__(self, vpa: Vpa, count: int, replacement: str = "100m/200Mi", settings: Settings = HELPS) -> None:
        self.vpa = vpa
        self.pods = [ready(small(f"p{n}")) for n in range(count)]
        self.replacement = replacement
        self.settings = settings
        self.memory = Memory()
        self.now = NOW
        self.made = count
        self.start_delay = 5 * SECOND

    def round(self, outcome: Outcome = Outcome.DONE) -> Played:
        """Play a round and replace the pods that it evicted; a minute passes."""

        def carried_out(decision: Decision) -> Outcome:
            return outcome if decision.action is Action.EVICT else Outcome.DONE

        scene = Scene(self.vpa, tuple(self.pods), settings=self.settings, memory=self.memory, now=self.now)
        played = scene.played(carried_out)
        self.memory = played.memory
        if outcome is Outcome.DONE:
            gone = {d.ref.name for d in played.decisions if d.action is Action.EVICT}
            self.pods = [p for p in self.pods if p.name not in gone]
            for _ in gone:
                fresh = ready(small(f"p{self.made}", self.replacement))
                # A kubelet tells whole seconds.
                self.pods.append(replace(fresh, start_time=(self.now + self.start_delay).replace(microsecond=0)))
                self.made += 1
        self.now += MINUTE
        return played

    def evictions(self, rounds: int) -> list[int]:
        """Return the minutes of the rounds that evicted, one for each pod."""
        found: list[int] = []
        for number in range(rounds):
            found += [number] * self.round().count(Action.EVICT)
        return found


def one_pod(mode: UpdateMode = RECREATE) -> Vpa:
    """Return a VPA that acts on a single pod."""
    return vpa_of(mode, minimum=1)


@pytest.mark.parametrize(
    ("row", "count", "replacement", "settings", "expected"),
    [
        ("case:35", 1, "100m/200Mi", HELPS, [0, 1, 12, 32, 72]),
        ("case:35", 1, "100m/200Mi", GATES_ON, list(range(80))),
        ("case:35", 1, "250m/300Mi", HELPS, [0]),
        ("case:35", 4, "100m/200Mi", HELPS, [0, 0, 11, 31, 71]),
        ("case:35", 1, "250m/200Mi", HELPS, [0, 1, 12, 32, 72]),
    ],
)
def test_evictions_without_effect_stop(
    row: str, count: int, replacement: str, settings: Settings, expected: list[int]
) -> None:
    assert Cluster(one_pod(), count, replacement, settings).evictions(80) == expected, row


@pytest.mark.parametrize("begun", [timedelta(0), timedelta(milliseconds=780), timedelta(milliseconds=999)])
def test_a_replacement_counts_that_starts_in_the_second_of_the_eviction(begun: timedelta) -> None:
    cluster = Cluster(one_pod(), 1)
    cluster.now, cluster.start_delay = NOW + begun, timedelta(milliseconds=140)
    assert cluster.evictions(10) == [0, 1], "case:35"


def test_an_evicted_pod_is_not_its_own_replacement() -> None:
    evicted = replace(ready(small("p0")), uid="u", start_time=NOW)
    loops = Loops().evicting([Eviction(D, "u", WANTED)], NOW + timedelta(milliseconds=780))
    lingering = (ControlledPods(one_pod(), (Member(evicted, D),)),)
    assert loops.looking(lingering, {}, NOW + SECOND).by_workload[D].in_vain == 0, "case:35"


def test_what_holds_evictions_is_named() -> None:
    cluster = Cluster(one_pod(), 1)
    cluster.evictions(2)
    (held,) = cluster.round().decisions
    assert (held.action, held.reason) == (Action.SKIP, Reason.EVICTION_LOOP), "case:35"
    assert held.detail.startswith(LACK), "case:35"


def test_a_replacement_with_all_that_was_wanted_ends_it() -> None:
    cluster = Cluster(one_pod(), 4)
    assert cluster.evictions(3) == [0, 0]
    cluster.replacement = "250m/300Mi"
    # The one that is tried after the pause comes up well, and the others follow at once.
    assert cluster.evictions(12) == [8, 9, 9, 10]


def test_a_refused_eviction_is_none() -> None:
    cluster = Cluster(one_pod(), 1)
    for _ in range(5):
        cluster.round(Outcome.FAILED)
    assert cluster.memory.loops.by_workload == {}
    assert cluster.evictions(3) == [0, 1]


def test_a_recommendation_that_moves_on_is_no_loop() -> None:
    cluster = Cluster(one_pod(), 1, "250m/300Mi")
    for step in range(1, 6):
        cluster.round()
        target = f"{250 + 200 * step}m/300Mi"
        cluster.vpa = vpa_of(RECREATE, recommended("c", target), minimum=1)
        cluster.replacement = target
    assert Cluster(one_pod(), 1).evictions(3) == [0, 1]
    assert cluster.round().count(Action.EVICT) == 1, "case:35"


def test_a_recommendation_may_move_between_eviction_and_creation() -> None:
    cluster = Cluster(one_pod(), 1, "900m/300Mi")
    for _ in range(2):
        cluster.round()
        cluster.vpa = vpa_of(RECREATE, recommended("c", "900m/300Mi"), minimum=1)
    assert cluster.memory.loops.by_workload[D].in_vain == 0, "case:35"


def shown(since: timedelta | None, status: ConditionStatus = ConditionStatus.TRUE) -> Vpa:
    """Return a VPA that shows the condition for so long."""
    at = None if since is None else NOW - since
    return replace(one_pod(), conditions=(VpaCondition(EVICTION_LOOP, status, "EvictionLoop", "", at),))


@pytest.mark.parametrize(
    ("row", "subject", "expected"),
    [
        ("beyond:B-25", shown(timedelta(0)), [10, 30, 70]),
        ("beyond:B-25", shown(4 * MINUTE), [6, 26, 66]),
        ("beyond:B-25", shown(10 * MINUTE - SECOND), [1, 21, 61]),
        ("beyond:B-25", shown(10 * MINUTE), [20, 60]),
        ("beyond:B-25", shown(None), [10, 30, 70]),
        ("beyond:B-25", shown(HOUR, ConditionStatus.FALSE), [0, 1, 12, 32, 72]),
    ],
)
def test_a_restart_does_not_forget(row: str, subject: Vpa, expected: list[int]) -> None:
    assert Cluster(subject, 1).evictions(80) == expected, row


def test_upstream_heeds_no_condition() -> None:
    assert Cluster(shown(timedelta(0)), 1, settings=GATES_ON).evictions(3) == [0, 1, 2]


def test_the_loops_of_others_go_on() -> None:
    loops = Loops().evicting([Eviction(D, "u", WANTED)], NOW)
    other = replace(D, name="e")
    after = loops.evicting([Eviction(other, "v", None)], NOW + MINUTE)
    assert set(after.by_workload) == {D, other}
    assert Loops().evicting([], NOW) == Loops()


@given(st.lists(st.sampled_from(["100m/200Mi", "250m/300Mi"]), min_size=1, max_size=40), st.integers(1, 4))
def test_no_more_is_evicted_in_vain_than_pauses_allow(replacements: list[str], count: int) -> None:
    cluster, in_vain = Cluster(one_pod(), count), 0
    for text in replacements:
        cluster.replacement = text
        before = cluster.memory.loops.by_workload.get(D, Loop())
        evicted = cluster.round().count(Action.EVICT)
        is_held = before.until is not None
        # While two in a row are known to have failed, one at most is tried.
        assert not is_held or evicted <= 1 or cluster.memory.loops.by_workload[D].until is None, "case:35"
        in_vain = in_vain + evicted if text == "100m/200Mi" else 0
    # Within 40 minutes: up to a round's budget twice, then one after each pause of 10 and 20 minutes.
    assert in_vain <= 2 * count + 2, "case:35"


def test_in_place_modes_do_the_same_when_they_evict() -> None:
    cluster = Cluster(one_pod(IPOR), 1)
    found = []
    for number in range(15):
        scene = Scene(cluster.vpa, tuple(cluster.pods), settings=HELPS, memory=cluster.memory, now=cluster.now)
        played = scene.played(lambda d: Outcome.FAILED if d.action is Action.RESIZE else Outcome.DONE)
        cluster.memory = played.memory
        if played.count(Action.EVICT):
            found.append(number)
            cluster.pods = [replace(ready(small(f"q{number}")), start_time=cluster.now + 5 * SECOND)]
        cluster.now += MINUTE
    assert found == [0, 1, 12], "case:35"
