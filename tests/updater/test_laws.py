"""What holds of every round, whatever the cluster looks like."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from autoscaling.matching import SelectingVpa
from autoscaling.pod import Pod, PodCondition
from autoscaling.vpa import UpdateMode, Vpa
from autoscaling.workload import Workload
from tests.builders import T0
from tests.updater.situations import (
    DEFERRED,
    DEPLOYMENT,
    ERROR,
    HOUR,
    IN_PROGRESS,
    INFEASIBLE,
    NOW,
    SELECTOR,
    UPSTREAM,
    Played,
    all_done,
    annotated,
    killed,
    owned,
    pending,
    play,
    replica_set,
    resizing,
    restarting,
    small,
    vpa_of,
    waiting,
)
from updater.circumstances import Memory
from updater.decision import Action, Decision, Outcome, Reason
from updater.group import Group, form_groups
from updater.plan import Plan
from updater.resize_watch import ResizeWatch
from updater.selection import select
from updater.settings import Settings
from updater.snapshot import Snapshot

CONDITIONS: list[PodCondition | None] = [None, None, None, DEFERRED, IN_PROGRESS, INFEASIBLE, ERROR, waiting("Odd")]
ATTEMPTS = {Action.RESIZE, Action.EVICT, Action.FAIL}


@st.composite
def pods(draw: st.DrawFn, number: int) -> Pod:
    """Any pod of one of two ReplicaSets, each with an amount of CPU of its own, so that no two are equally urgent."""
    subject = small(f"p{number}", f"{100 + 7 * number + draw(st.sampled_from([0, 300]))}m/200Mi")
    condition = draw(st.sampled_from(CONDITIONS))
    if condition is not None:
        subject = resizing(subject, condition)
    if draw(st.integers(0, 5)) == 0:
        subject = pending(subject)
    if draw(st.integers(0, 5)) == 0:
        subject = killed(subject, HOUR / 60, HOUR / 60)
    if draw(st.integers(0, 5)) == 0:
        subject = restarting(subject)
    if draw(st.integers(0, 9)) == 0:
        subject = annotated(subject, boost="{}")
    if draw(st.integers(0, 9)) == 0:
        subject = replace(subject, is_terminating=True)
    return owned(subject, "ReplicaSet", draw(st.sampled_from(["rs", "other"])))


@st.composite
def clusters(draw: st.DrawFn) -> Snapshot:
    """Any VPA with up to eight pods."""
    mode = draw(st.sampled_from(UpdateMode))
    minimum = draw(st.sampled_from([None, 1, 2]))
    made = tuple(draw(pods(number)) for number in range(draw(st.integers(0, 8))))
    sizes = [draw(st.integers(0, 8)) for _ in range(2)]
    workloads = (DEPLOYMENT, replica_set(sizes[0]), replica_set(sizes[1], "other"))
    return snapshot(vpa_of(mode, minimum=minimum), made, workloads)


def snapshot(vpa: Vpa, made: tuple[Pod, ...], workloads: tuple[Workload, ...]) -> Snapshot:
    """Return a cluster of one VPA."""
    return Snapshot.of((SelectingVpa(vpa, SELECTOR),), made, workloads, {}, ())


SETTINGS = st.builds(
    Settings,
    eviction_tolerance=st.sampled_from([0.0, 0.1, 0.5, 1.0]),
    skips_disruption_budget=st.booleans(),
    is_in_place_on=st.booleans(),
    is_startup_boost_on=st.booleans(),
    behaviour=st.sampled_from([Settings().behaviour, UPSTREAM]),
)
MEMORIES = st.sampled_from([Memory(), Memory(watch=ResizeWatch({small(f"p{n}").ref: T0 - HOUR for n in range(8)}))])
OUTCOMES = st.lists(st.sampled_from([Outcome.DONE, Outcome.FAILED, Outcome.NO_NODE_CAPACITY]), max_size=20)


def played(cluster: Snapshot, settings: Settings, memory: Memory, outcomes: list[Outcome] | None = None) -> Played:
    """Return a round with these outcomes, and success after them."""
    left = list(outcomes or ())

    def outcome(decision: Decision) -> Outcome:
        attempted = decision.action in {Action.RESIZE, Action.EVICT}
        return left.pop() if attempted and left else all_done(decision)

    return play(Plan.of(cluster, NOW, memory, settings), outcome)


def controlled(cluster: Snapshot, settings: Settings) -> list[str]:
    """Return the names of the live pods that take part."""
    return [m.pod.name for c in select(cluster, settings).controlled for m in c.members]


@given(clusters(), SETTINGS, MEMORIES, OUTCOMES)
def test_every_controlled_pod_gets_one_final_decision(
    cluster: Snapshot, settings: Settings, memory: Memory, outcomes: list[Outcome]
) -> None:
    found = played(cluster, settings, memory, outcomes)
    said: dict[str, list[tuple[Decision, Outcome]]] = {}
    for decision, outcome in zip(found.decisions, found.outcomes, strict=True):
        if decision.ref.kind == "Pod":
            said.setdefault(decision.ref.name, []).append((decision, outcome))
    assert sorted(said) == sorted(controlled(cluster, settings))
    for decisions in said.values():
        # A second decision follows only on an attempt to resize that failed.
        assert len(decisions) <= 2
        assert all(d.action in {Action.RESIZE, Action.FAIL} and o is not Outcome.DONE for d, o in decisions[:-1])
        # Events are found by it.
        told = [d for d, _ in decisions if d.action is not Action.FAIL and d.reason is not Reason.ROUND_ENDED]
        assert all(d.uid == f"uid-{d.ref.name}" for d in told)


@given(clusters(), SETTINGS, MEMORIES)
def test_a_round_without_refusals_is_short(cluster: Snapshot, settings: Settings, memory: Memory) -> None:
    found = played(cluster, settings, memory)
    pods_in_it = controlled(cluster, settings)
    assert len([d for d in found.decisions if d.ref.kind == "Pod"]) <= 2 * len(pods_in_it)


@given(clusters(), SETTINGS, MEMORIES, OUTCOMES)
def test_no_group_loses_more_than_its_budget(
    cluster: Snapshot, settings: Settings, memory: Memory, outcomes: list[Outcome]
) -> None:
    settings = replace(settings, skips_disruption_budget=False)
    found = played(cluster, settings, memory, outcomes)
    for taking_part in select(cluster, settings).controlled:
        groups = form_groups(taking_part.members, taking_part.vpa, cluster.workloads, settings)
        running = {m.pod.name: m.group for m in taking_part.members if m.pod.phase.value != "Pending"}
        disrupted = [
            d.ref.name
            for d, o in zip(found.decisions, found.outcomes, strict=True)
            if d.action in {Action.RESIZE, Action.EVICT} and o is Outcome.DONE and d.disrupts and d.ref.name in running
        ]
        if taking_part.vpa.update_mode is UpdateMode.IN_PLACE:
            continue
        pods_by_name = {m.pod.name: m.pod for m in taking_part.members}
        for name in disrupted:
            group = groups.of(running[name])
            assert isinstance(group, Group)
            assert group.bears(pods_by_name[name])
            groups = groups.after_disruption(running[name])


@given(clusters(), SETTINGS, MEMORIES)
def test_growing_pods_come_first(cluster: Snapshot, settings: Settings, memory: Memory) -> None:
    found = played(cluster, settings, memory)
    requests = {p.name: p.containers[0].resources.request("cpu").milli_value() for p in cluster.pods}
    for action in (Action.RESIZE, Action.EVICT):
        attempted = [requests[d.ref.name] for d in found.decisions if d.action is action]
        # All pods want more memory, so all grow; the smaller the CPU request, the larger the change.
        assert attempted == sorted(attempted, key=lambda milli: -abs(milli - 250) / milli)


@given(clusters(), SETTINGS, MEMORIES, st.permutations(range(8)))
def test_the_order_of_the_cache_does_not_matter(
    cluster: Snapshot, settings: Settings, memory: Memory, order: list[int]
) -> None:
    shuffled = tuple(cluster.pods[n] for n in order if n < len(cluster.pods))
    other, found = played(replace(cluster, pods=shuffled), settings, memory), played(cluster, settings, memory)
    assert other.said == found.said
    assert other.memory == found.memory


@given(clusters(), SETTINGS, MEMORIES, OUTCOMES)
def test_a_round_is_repeatable(cluster: Snapshot, settings: Settings, memory: Memory, outcomes: list[Outcome]) -> None:
    assert played(cluster, settings, memory, outcomes) == played(cluster, settings, memory, outcomes)


@given(clusters(), SETTINGS, MEMORIES, OUTCOMES)
def test_mode_in_place_never_evicts_and_idle_modes_do_nothing(
    cluster: Snapshot, settings: Settings, memory: Memory, outcomes: list[Outcome]
) -> None:
    mode = cluster.vpas[0].vpa.update_mode
    actions = {d.action for d in played(cluster, settings, memory, outcomes).decisions}
    if mode in {UpdateMode.OFF, UpdateMode.INITIAL} or (mode is UpdateMode.IN_PLACE and not settings.is_in_place_on):
        assert actions <= {Action.SKIP}
    elif mode is UpdateMode.IN_PLACE:
        assert Action.EVICT not in actions
    elif mode in {UpdateMode.RECREATE, UpdateMode.AUTO}:
        assert not actions & {Action.RESIZE, Action.FAIL}


@given(clusters(), SETTINGS, MEMORIES, st.integers(0, 8))
def test_nothing_is_attempted_after_the_rate_limiter_refused(
    cluster: Snapshot, settings: Settings, memory: Memory, allowed: int
) -> None:
    tokens = [Outcome.DONE] * allowed

    def outcome(decision: Decision) -> Outcome:
        if decision.action not in ATTEMPTS:
            return Outcome.DONE
        return tokens.pop() if tokens else Outcome.RATE_LIMITED

    found = play(Plan.of(cluster, NOW, memory, settings), outcome)
    attempted = [o for d, o in zip(found.decisions, found.outcomes, strict=True) if d.action in ATTEMPTS]
    assert len(attempted) <= allowed + 1
    assert {d.ref.name for d in found.decisions if d.ref.kind == "Pod"} == set(controlled(cluster, settings))
