"""Whole rounds on nodes with little room, and what holds of them whatever the cluster looks like."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta

import pytest
from hypothesis import given as given_any
from hypothesis import strategies as st

from autoscaling.limitrange import LimitType
from autoscaling.matching import SelectingVpa
from autoscaling.node import Node
from autoscaling.pod import ConditionStatus, Pod, PodCondition
from autoscaling.quantity import NANO
from autoscaling.resources import CONTROLLED
from autoscaling.vpa import CpuBoost, StartupBoost, UpdatePolicy
from tests.builders import limit_range, recommended
from tests.updater.rooms import FREE_ROOM, ROOMY, around, filling, given, node, on
from tests.updater.situations import (
    AUTO,
    DEFERRED,
    DEPLOYMENT,
    EVENKEEL,
    GATES_ON,
    IN_PLACE,
    IN_PROGRESS,
    INFEASIBLE,
    IPOR,
    MINUTE,
    NOW,
    RECREATE,
    SECOND,
    SELECTOR,
    UPSTREAM,
    Played,
    Scene,
    about,
    all_done,
    owned,
    play,
    replica_set,
    resizing,
    restarting,
    sent,
    vpa_of,
)
from tests.updater.situations import small as small_pod
from updater.circumstances import Memory
from updater.decision import Action, Decision, Outcome, Reason
from updater.plan import Plan
from updater.pod_requests import hold_of
from updater.resize_watch import ResizeWatch
from updater.room_watch import RoomWatch
from updater.settings import Settings
from updater.snapshot import Snapshot
from updater.storm_levels import Bucket, Span, StormFlag, StormFlags, StormLevels
from updater.surroundings import Surroundings

BIG = recommended("c", "1/1Gi", lower="900m/900Mi", upper="2/2Gi")
VPA = vpa_of(IPOR, BIG)
FULL, ROOM = filling("o", "3900m/1Gi"), filling("o", "1/1Gi")


def small(name: str = "p0", requests: str = "100m/200Mi") -> Pod:
    """Return a running pod of the VPA that has what it asks for."""
    return on(given(small_pod(name, requests), requests))


def stuck(name: str = "p0") -> Pod:
    """Return a pod that asks for more than its node has given it."""
    return on(given(small_pod(name, "1/1Gi"), "100m/200Mi"))


def scene(*pods: Pod, nodes: tuple[Node, ...] = (node(),), **changes: object) -> Scene:
    """Return a round on these nodes; pods that are not the VPA's only take up room."""
    made = Scene(VPA, pods, replicas=sum(bool(p.owners) for p in pods), settings=ROOMY, surroundings=around(*nodes))
    return replace(made, **changes)  # type: ignore[arg-type]


def watched(*pods: Pod, ago: timedelta) -> Memory:
    """Return what is remembered of pods that have been mid-resize for so long."""
    return Memory(watch=ResizeWatch({p.ref: NOW - ago for p in pods}))


def test_two_pods_never_grow_beyond_the_room_of_their_node() -> None:
    played = scene(small("p0"), small("p1"), filling("o", "2200m/1Gi")).played()
    assert played.said == ["p0 resize outside_bounds", "p1 resize outside_bounds"]
    second = played.decisions[1]
    assert second.claim.rooms["node1"]["cpu"] == 700 * 10**6, "beyond:B-24"
    assert second.missing == {"cpu": 200 * 10**6}, "beyond:B-41"


@pytest.mark.parametrize(
    ("row", "least", "expected"),
    [
        ("beyond:B-12", "100m/200Mi", "p0 resize outside_bounds"),
        # Without room for more cpu the pod would keep what the LimitRange has come to forbid.
        ("beyond:B-12", "101m/200Mi", "p0 skip limit_range_would_block"),
    ],
)
def test_what_is_cut_to_the_room_still_keeps_to_limit_ranges(row: str, least: str, expected: str) -> None:
    full = scene(small("p0"), filling("o", "3900m/1Gi"))
    bounded = replace(full, settings=EVENKEEL, limits=(limit_range(LimitType.CONTAINER, minimum=least),))
    around_it = replace(bounded.surroundings, memory={})
    assert replace(bounded, surroundings=around_it).played().said == [expected], row


def test_what_shrinks_comes_before_what_grows() -> None:
    shrinking = small("p1", "3/3Gi")
    played = scene(small("p0", "100m/100Mi"), shrinking, small("p2")).played()
    assert next(d.ref.name for d in played.decisions if d.action is Action.RESIZE) == "p1", "beyond:B-24"
    assert played.decisions[-3].claim.changes == (), "what shrinks and restarts nothing needs no token"


def test_what_shrinks_and_restarts_needs_a_token() -> None:
    played = scene(restarting(small("p1", "3/3Gi"))).played()
    assert Bucket(Span.NODE, "node1") in played.decisions[0].claim.changes, "beyond:B-24"


def test_two_nodes_do_not_share_their_room() -> None:
    pods = (on(small("p0"), "node1"), on(small("p1"), "node2"), FULL)
    played = scene(*pods, nodes=(node(), node("node2"))).played()
    assert played.said == ["p0 resize outside_bounds", "p1 resize outside_bounds"]
    assert played.decisions[0].missing or played.decisions[1].missing


@pytest.mark.parametrize(
    ("row", "nodes", "waited", "expected"),
    [
        ("beyond:B-24", (node(),), 0 * MINUTE, "p0 skip no_room"),
        ("beyond:B-24", (node(), node("node2")), 5 * MINUTE, "p0 skip no_room"),
        ("beyond:B-24", (node(), node("node2")), 5 * MINUTE + SECOND, "p0 evict no_room"),
        ("beyond:B-24", (node(),), 5 * MINUTE + SECOND, "p0 skip resize_blocked"),
    ],
)
def test_a_pod_that_lacks_room_waits_as_a_deferred_one_does(
    row: str, nodes: tuple[Node, ...], waited: timedelta, expected: str
) -> None:
    watch = RoomWatch()
    for moment in (NOW - waited, NOW - waited / 2, NOW):
        watch = watch.seeing(["uid-p0"], [], moment)
    full = filling("o", "3900m/8Gi")
    played = scene(small(), full, nodes=nodes, memory=Memory(rooms=watch)).played()
    assert played.said == [expected], row
    if "evict" not in expected:
        assert played.decisions[-1].missing["cpu"] == 900 * 10**6, "beyond:B-41"


@pytest.mark.parametrize(
    ("row", "seconds", "waited", "expected"),
    [
        ("beyond:B-20", 60, MINUTE, "p0 skip no_room"),
        ("beyond:B-20", 60, MINUTE + SECOND, "p0 evict no_room"),
        ("beyond:B-20", 600, 5 * MINUTE + SECOND, "p0 skip no_room"),
    ],
)
def test_a_vpa_may_say_how_long_a_pod_waits_for_room(row: str, seconds: int, waited: timedelta, expected: str) -> None:
    patient = replace(VPA, update_policy=UpdatePolicy(IPOR, deferred_timeout_seconds=seconds, min_replicas=1))
    memory = Memory(rooms=RoomWatch().seeing(["uid-p0"], [], NOW - waited).seeing(["uid-p0"], [], NOW))
    settings = replace(ROOMY, behaviour=replace(ROOMY.behaviour, timers=True))
    nodes = (node(), node("node2"))
    full = filling("o", "3900m/8Gi")
    played = scene(small(), full, nodes=nodes, memory=memory, vpa=patient, settings=settings).played()
    assert played.said == [expected], row


def test_the_time_without_room_is_handed_on() -> None:
    played = scene(small(), filling("o", "3900m/8Gi")).played()
    later = scene(small(), filling("o", "3900m/8Gi"), memory=played.memory, now=NOW + 4 * MINUTE).played()
    assert later.memory.rooms.waited("uid-p0", NOW + 4 * MINUTE) == 4 * MINUTE, "beyond:B-24"


@pytest.mark.parametrize("condition", [DEFERRED, INFEASIBLE])
def test_after_its_time_a_pod_moves_where_another_node_takes_it(condition: object) -> None:
    subject = resizing(stuck(), condition)  # type: ignore[arg-type]
    memory = watched(subject, ago=5 * MINUTE + SECOND)
    nodes = (node(), node("node2"))
    played = scene(subject, FULL, nodes=nodes, memory=memory).played()
    reason = Reason.RESIZE_TIMED_OUT if condition is DEFERRED else Reason.RESIZE_FAILED
    assert [(d.action, d.reason) for d in played.decisions] == [(Action.EVICT, reason)], "beyond:B-24"
    assert set(played.decisions[0].claim.rooms) == {"node2"}


@pytest.mark.parametrize("condition", [DEFERRED, INFEASIBLE])
def test_else_it_gives_its_claim_back_and_waits_longer_each_time(condition: object) -> None:
    subject = resizing(stuck(), condition)  # type: ignore[arg-type]
    memory, now = watched(subject, ago=5 * MINUTE + SECOND), NOW
    for minutes in (5, 10, 20, 40, 60, 60):
        played = scene(subject, FULL, memory=memory, now=now).played()
        (decision,) = played.decisions
        assert (decision.action, decision.reason) == (Action.RESIZE, Reason.CLAIM_RELEASED), "beyond:B-24"
        assert decision.patches is not None
        values = [(op["path"].rsplit("/", 1)[1], op["value"]) for op in sent(decision.patches.resize)]  # type: ignore[attr-defined]
        assert values == [("cpu", "100m"), ("memory", "200Mi")]
        assert (decision.claim.rooms, decision.claim.changes) == ({}, ()), "it takes nothing, so it always may"
        memory = played.memory
        # Back at what it has, with room that has come up meanwhile, it is tried again in its time.
        early = scene(small(), ROOM, memory=memory, now=now + minutes * MINUTE - SECOND).played()
        assert early.said == ["p0 skip resize_blocked"], "beyond:B-24"
        now += minutes * MINUTE
        assert scene(small(), ROOM, memory=memory, now=now).played().said == ["p0 resize outside_bounds"]


@pytest.mark.parametrize(
    ("row", "generation", "settings", "expected"),
    [
        ("updater:K-19", 2, EVENKEEL, "p0 resize claim_released"),
        # The node has not yet looked at what the pod asks for now.
        ("updater:K-19", 1, EVENKEEL, "p0 wait resize_pending"),
        ("updater:K-19", 1, ROOMY, "p0 resize claim_released"),
    ],
)
def test_a_whole_round_believes_only_what_the_node_says_of_the_present_spec(
    row: str, generation: int, settings: Settings, expected: str
) -> None:
    subject = resizing(replace(stuck(), generation=2, observed_generation=2), about(INFEASIBLE, generation))
    ready = replace(subject, conditions=(*subject.conditions, PodCondition("Ready", ConditionStatus.TRUE)))
    alone = vpa_of(IPOR, BIG, minimum=1)
    assert scene(ready, FULL, vpa=alone, settings=settings).played().said == [expected], row


@pytest.mark.parametrize(
    ("row", "room", "is_on", "expected"),
    [
        ("beyond:B-25", "2/8Gi", True, "p0 evict outside_bounds"),
        ("beyond:B-25", "1999m/8Gi", True, "p0 skip no_other_node"),
        ("beyond:B-25", "1/8Gi", False, "p0 evict outside_bounds"),
    ],
)
def test_a_pod_is_evicted_only_where_its_replacement_fits_with_its_boost(
    row: str, room: str, *, is_on: bool, expected: str
) -> None:
    boosting = replace(vpa_of(RECREATE, BIG, minimum=1), startup_boost=StartupBoost(CpuBoost(factor=2)))
    nodes = (node(room="500m/8Gi"), node("node2", room))
    settings = replace(ROOMY, is_startup_boost_on=is_on)
    assert scene(small(), nodes=nodes, vpa=boosting, settings=settings).played().said == [expected], row


def test_a_pod_that_may_go_soon_keeps_its_claim() -> None:
    subject = resizing(stuck(), INFEASIBLE)
    used_up = StormLevels().taking({Bucket(Span.CLUSTER): 20}, StormFlags().limits(2), NOW)
    two = scene(subject, FULL, nodes=(node(), node("node2")), memory=Memory(storms=used_up))
    assert two.played().said == ["p0 skip storm_budget"], "beyond:B-24"


def test_a_claim_that_could_not_be_given_back_is_tried_again() -> None:
    subject = resizing(stuck(), INFEASIBLE)
    played = scene(subject, FULL).played(lambda _: Outcome.FAILED)
    assert played.said == ["p0 resize claim_released"], "no eviction follows"
    assert played.memory.rooms.pauses == {}


@pytest.mark.parametrize(
    ("row", "changes", "expected"),
    [
        # Where nothing is known of nodes, upstream's way is all there is.
        ("beyond:B-24", {"surroundings": Surroundings()}, "p0 evict resize_failed"),
        ("beyond:B-24", {"surroundings": replace(around(node()), sees_all_pods=False)}, "p0 evict resize_failed"),
        ("updater:D-29", {"settings": replace(ROOMY, behaviour=UPSTREAM)}, "p0 evict resize_failed"),
        ("beyond:B-24", {}, "p0 resize claim_released"),
        # What another has asked for is not ours to give back.
        ("beyond:B-25", {"vpa": vpa_of(RECREATE, BIG)}, "p0 skip no_other_node"),
        ("beyond:B-25", {"vpa": vpa_of(AUTO, BIG)}, "p0 skip no_other_node"),
    ],
)
def test_what_becomes_of_an_infeasible_resize(row: str, changes: dict[str, object], expected: str) -> None:
    subject = resizing(given(on(small_pod("p0", "1/1Gi")), "100m/200Mi"), INFEASIBLE)
    full = replace(scene(subject, filling("o", "4/1Gi")), **changes)  # type: ignore[arg-type]
    assert full.played().said == [expected], row


def test_mode_in_place_waits_and_never_evicts() -> None:
    watch = RoomWatch().seeing(["uid-p0"], [], NOW - 5 * MINUTE).seeing(["uid-p0"], [], NOW - 2 * MINUTE)
    memory = Memory(rooms=watch.seeing(["uid-p0"], [], NOW))
    played = scene(small(), filling("o", "3900m/8Gi"), vpa=vpa_of(IN_PLACE, BIG), memory=memory, now=NOW + MINUTE)
    assert played.played().said == ["p0 skip no_room"], "beyond:B-24"


@pytest.mark.parametrize(
    ("row", "flags", "count"),
    [
        ("beyond:B-24", StormFlags(StormFlag(2), StormFlag(5), StormFlag(5)), 2),
        ("beyond:B-24", StormFlags(StormFlag(9), StormFlag(3), StormFlag(5)), 3),
        ("beyond:B-24", StormFlags(StormFlag(9), StormFlag(9), StormFlag(4)), 4),
        ("beyond:B-24", StormFlags(StormFlag(2, -1.0), StormFlag(2, -1.0), StormFlag(2, -1.0)), 6),
        ("beyond:B-24", StormFlags(), 6),
    ],
)
@pytest.mark.parametrize("mode", [IPOR, RECREATE])
def test_no_more_changes_than_the_budgets_hold(row: str, flags: StormFlags, count: int, mode: object) -> None:
    pods = tuple(small(f"p{n}") for n in range(6))
    settings = replace(ROOMY, storms=flags)
    subject = scene(*pods, nodes=(node(room="40/80Gi"),), settings=settings)
    played = replace(subject, vpa=vpa_of(mode, BIG)).played()  # type: ignore[arg-type]
    assert played.count(Action.RESIZE) + played.count(Action.EVICT) == count, row
    waiting = [d for d in played.decisions if d.reason is Reason.STORM_BUDGET]
    assert len(waiting) == 6 - count
    assert all(d.action is Action.SKIP and "used up" in d.detail for d in waiting)


def test_failed_attempts_use_tokens_up() -> None:
    settings = replace(ROOMY, storms=StormFlags(StormFlag(3)))
    pods = tuple(small(f"p{n}") for n in range(6))
    subject = scene(*pods, nodes=(node(room="40/80Gi"),), settings=settings)
    played = subject.played(lambda _: Outcome.FAILED)
    assert sum(d.action in {Action.RESIZE, Action.EVICT} for d in played.decisions) == 3, "beyond:B-24"


SIZES = st.sampled_from(["100m/200Mi", "600m/500Mi", "1500m/600Mi", "3/3Gi"])
CONDITIONS = st.sampled_from([None, None, None, DEFERRED, INFEASIBLE, IN_PROGRESS])


@st.composite
def clusters(draw: st.DrawFn) -> Snapshot:
    """Up to eight pods of one VPA on up to three nodes, some of them mid-resize, and others that only take room."""
    nodes = tuple(
        replace(
            node(f"node{n}", draw(st.sampled_from(["1/1Gi", "3/3Gi", "5/8Gi"]))), is_ready=draw(st.integers(0, 5)) > 0
        )
        for n in range(1, draw(st.integers(1, 3)) + 1)
    )
    pods: list[Pod] = []
    for number in range(draw(st.integers(0, 8))):
        size = draw(SIZES)
        subject = on(given(small_pod(f"p{number}", draw(SIZES)), size), f"node{draw(st.integers(1, 3))}")
        condition = draw(CONDITIONS)
        subject = resizing(subject, condition) if condition else given(on(small_pod(f"p{number}", size)), size)
        subject = replace(subject, node_name=f"node{draw(st.integers(1, 3))}")
        pods.append(owned(restarting(subject) if draw(st.booleans()) else subject, "ReplicaSet", "rs"))
    pods += [
        filling(f"o{n}", draw(SIZES), node_name=f"node{draw(st.integers(1, 3))}")
        for n in range(draw(st.integers(0, 3)))
    ]
    mode = draw(st.sampled_from([IPOR, IN_PLACE, RECREATE, AUTO]))
    vpa = vpa_of(mode, recommended("c", draw(SIZES), lower=draw(SIZES), upper="8/8Gi"), minimum=1)
    made = Snapshot.of((SelectingVpa(vpa, SELECTOR),), pods, (DEPLOYMENT, replica_set(len(pods) or 1)), {}, ())
    return replace(made, surroundings=around(*nodes))


FLAGS = st.builds(
    StormFlags, *[st.builds(StormFlag, st.integers(1, 5), st.sampled_from([0.0, 30.0])) for _ in range(3)]
)
OUTCOMES = st.lists(st.sampled_from([Outcome.DONE, Outcome.FAILED, Outcome.NOT_RESERVED]), max_size=12)


def outcomes(left: list[Outcome]) -> Callable[[Decision], Outcome]:
    """Return these outcomes for what is attempted, then success."""
    queue = list(left)
    return lambda d: queue.pop() if d.action in {Action.RESIZE, Action.EVICT} and queue else all_done(d)


def attempted(played: Played) -> list[tuple[Decision, Outcome]]:
    """Return what was attempted and what came of it."""
    pairs = zip(played.decisions, played.outcomes, strict=True)
    return [(d, o) for d, o in pairs if d.action in {Action.RESIZE, Action.EVICT} and o is not Outcome.NOT_RESERVED]


def patched(subject: Pod, decision: Decision) -> Pod:
    """Return a pod as its spec is after a resize."""
    (container,) = subject.containers
    from autoscaling.quantity import Quantity  # noqa: PLC0415 only what is sent is read as text

    assert decision.patches is not None
    wanted = {
        str(op["path"]).rsplit("/", 1)[1]: Quantity.parse(str(op["value"]))
        for op in sent(decision.patches.resize)
        if "/requests/" in str(op["path"])
    }
    requests = {**(container.resources.requests or {}), **wanted}
    resources = replace(container.resources, requests=requests)
    return replace(subject, containers=(replace(container, resources=resources),), conditions=())


@given_any(clusters(), OUTCOMES)
def test_what_grows_never_exceeds_the_room_of_a_node(cluster: Snapshot, left: list[Outcome]) -> None:
    plan = Plan.of(cluster, NOW, Memory(), ROOMY)
    played = play(plan, outcomes(left))
    pods = {p.name: p for p in cluster.pods}
    rooms = plan.round.rooms
    assert rooms is not None
    grown: defaultdict[tuple[str, str], int] = defaultdict(int)
    for decision, outcome in attempted(played):
        if decision.action is not Action.RESIZE or outcome is not Outcome.DONE:
            continue
        before, after = (
            hold_of(p).total for p in (pods[decision.ref.name], patched(pods[decision.ref.name], decision))
        )
        for name in CONTROLLED:
            grown[pods[decision.ref.name].node_name, name] += max(after[name] - before[name], 0)
    for (where, name), amount in grown.items():
        assert amount == 0 or amount <= max(rooms.free.get(where, {}).get(name, 0), 0), "beyond:B-24"


@given_any(clusters(), FLAGS, OUTCOMES)
def test_buckets_hold(cluster: Snapshot, flags: StormFlags, left: list[Outcome]) -> None:
    settings = replace(ROOMY, storms=flags)
    plan = Plan.of(cluster, NOW, Memory(), settings)
    played = play(plan, outcomes(left))
    used = Counter(bucket for d, _ in attempted(played) for bucket in d.claim.changes)
    limits = plan.round.storms
    assert limits is not None
    for bucket, count in used.items():
        limit = limits.of(bucket.span)
        assert limit.rate <= 0 or count <= limit.burst, "beyond:B-24"
        level = played.memory.storms.tokens(bucket, limits, NOW)
        assert limit.rate <= 0 or level == pytest.approx(limit.burst - count)


@given_any(clusters(), FLAGS, st.integers(0, 12), st.integers(1, 6))
def test_a_restart_between_any_two_decisions_allows_no_more(
    cluster: Snapshot, flags: StormFlags, stop: int, chunk: int
) -> None:
    settings = replace(ROOMY, storms=flags)

    def spent(decisions: list[Decision]) -> Counter[Bucket]:
        return Counter(bucket for d in decisions for bucket in d.claim.changes)

    plan = Plan.of(cluster, NOW, Memory(), settings)
    limits = plan.round.storms
    assert limits is not None
    written, reserved, done = StormLevels(), 0, list[Decision]()
    while (decision := plan.next()) is not None and len(done) < stop:
        if decision.claim.changes:
            if reserved == 0:
                written, reserved = plan.storms.reserving(chunk, limits, NOW), chunk
            reserved -= 1
        done.append(decision)
        plan = plan.after(decision, all_done(decision))
    # The next process knows but what is written, and sees the cluster as it was: the worst that can be.
    again = play(Plan.of(cluster, NOW, Memory(storms=written), settings))
    for bucket, count in (spent(done) + spent([d for d, _ in attempted(again)])).items():
        limit = limits.of(bucket.span)
        assert limit.rate <= 0 or count <= limit.burst, "beyond:B-24"


@given_any(clusters(), st.sampled_from([GATES_ON, Settings()]), OUTCOMES)
def test_with_the_switch_off_nothing_is_different(cluster: Snapshot, settings: Settings, left: list[Outcome]) -> None:
    settings = replace(settings, behaviour=replace(FREE_ROOM, free_room=False))
    known = play(Plan.of(cluster, NOW, Memory(), settings), outcomes(left))
    unknown = play(Plan.of(replace(cluster, surroundings=Surroundings()), NOW, Memory(), settings), outcomes(left))
    assert known == unknown
    assert all(not d.missing and not d.claim.rooms and not d.claim.changes for d in known.decisions)


def test_a_place_among_the_pods_of_a_node_is_room_too() -> None:
    full_of_pods = node("node2", pods=1)
    subject = scene(small(), filling("o", "3900m/8Gi"), on(filling("x", "-"), "node2"), nodes=(node(), full_of_pods))
    played = replace(subject, vpa=vpa_of(RECREATE, BIG)).played()
    assert played.said == ["p0 skip no_other_node"], "beyond:B-25"
    roomier = replace(subject, vpa=vpa_of(RECREATE, BIG), surroundings=around(node(), node("node2", pods=2)))
    assert roomier.played().decisions[-1].claim.rooms["node2"]["pods"] == NANO
