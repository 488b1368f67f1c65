"""Rounds whose calls are on their way side by side: what was sent counts as done until it lands (performance:U-2)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from autoscaling.matching import SelectingVpa
from autoscaling.pod import Pod
from autoscaling.vpa import TargetRef, UpdateMode
from autoscaling.workload import Workload
from tests.updater.situations import (
    DEPLOYMENT,
    EVENKEEL,
    GATES_ON,
    IN_PLACE,
    IPOR,
    NOW,
    RECREATE,
    SELECTOR,
    Played,
    Scene,
    all_done,
    owned,
    pending,
    play,
    replica_set,
    several,
    small,
    vpa_of,
)
from updater.circumstances import Memory
from updater.decision import Action, Decision, Outcome, Reason
from updater.plan import Plan
from updater.settings import Settings
from updater.snapshot import Snapshot
from updater.storm_levels import Bucket, Span, StormFlag, StormFlags

CALLS = {Action.RESIZE, Action.EVICT}
TIGHT = replace(EVENKEEL, storms=StormFlags(cluster=StormFlag(burst=5), namespace=StormFlag(burst=4)))


def fly(plan: Plan, outcome: Callable[[Decision], Outcome], turns: Sequence[int]) -> Played:
    """Carry a plan out with up to four calls on their way.

    Args:
        turns: Which of the flights lands next each time, and whether one lands although more could be sent.
    """
    decisions: list[Decision] = []
    outcomes: dict[int, Outcome] = {}
    flying: list[Decision] = []
    step = 0
    while (decision := plan.next()) is not None or flying:
        turn = turns[step % len(turns)] if turns else 0
        step += 1
        if decision is None or len(flying) == 4 or (flying and turn % 2):
            landing = flying.pop(turn % len(flying))
            plan = plan.landed(landing, outcomes[id(landing)])
            continue
        decisions.append(decision)
        outcomes[id(decision)] = outcome(decision)
        if decision.action in CALLS and outcomes[id(decision)] is not Outcome.RATE_LIMITED:
            plan = plan.sent(decision)
            flying.append(decision)
        else:
            plan = plan.after(decision, outcomes[id(decision)])
    assert not plan.flights
    assert not plan.parked
    return Played(tuple(decisions), plan.memory, tuple(outcomes[id(d)] for d in decisions))


@st.composite
def clusters(draw: st.DrawFn) -> Snapshot:
    """Up to three VPAs of any mode, each with up to five pods that are too small, in one or two groups."""
    vpas: list[SelectingVpa] = []
    made: list[Pod] = []
    workloads: list[Workload] = []
    for number in range(draw(st.integers(1, 3))):
        name = f"d{number}"
        one = vpa_of(draw(st.sampled_from([RECREATE, IPOR, IN_PLACE])), minimum=draw(st.sampled_from([1, 2])))
        target = TargetRef(api_version="apps/v1", kind="Deployment", name=name)
        vpas.append(SelectingVpa(replace(one, name=f"v{number}", target_ref=target), SELECTOR))
        sizes = Counter[str]()
        for place in range(draw(st.integers(0, 5))):
            group = f"{name}-{draw(st.sampled_from(['a', 'b']))}"
            subject = small(f"{name}-{place}", f"{100 + 7 * place}m/200Mi")
            subject = pending(subject) if draw(st.integers(0, 5)) == 0 else subject
            made.append(owned(replace(subject, uid=f"uid-{name}-{place}"), "ReplicaSet", group))
            sizes[group] += 1
        workloads.append(replace(DEPLOYMENT, name=name))
        for group, size in sizes.items():
            owners = tuple(replace(owner, name=name) for owner in replica_set(1).owners)
            workloads.append(replace(replica_set(size, group), owners=owners))
    return Snapshot.of(vpas, made, workloads, {}, ())


SETTINGS = st.sampled_from([GATES_ON, EVENKEEL, TIGHT, replace(TIGHT, eviction_tolerance=1.0)])
TURNS = st.lists(st.integers(0, 7), max_size=12)
FAILURES = [Outcome.FAILED, Outcome.NO_NODE_CAPACITY, Outcome.UNTIMELY, Outcome.GONE, Outcome.NOT_PERMITTED]
OUTCOMES = st.lists(st.sampled_from([Outcome.DONE, *FAILURES, Outcome.RATE_LIMITED]), max_size=12)


def outcomes_of(drawn: list[Outcome]) -> Callable[[Decision], Outcome]:
    """Return these outcomes for calls, and success after them."""
    left = list(drawn)
    return lambda decision: left.pop() if decision.action in CALLS and left else all_done(decision)


@given(clusters(), SETTINGS, TURNS)
def test_where_no_call_fails_a_round_side_by_side_is_the_round_one_by_one(
    cluster: Snapshot, settings: Settings, turns: list[int]
) -> None:
    plan = Plan.of(cluster, NOW, Memory(), settings)
    assert fly(plan, all_done, turns) == play(plan, all_done), "performance:U-2"


@given(clusters(), SETTINGS, OUTCOMES, TURNS)
def test_budgets_hold_whatever_fails(
    cluster: Snapshot, settings: Settings, drawn: list[Outcome], turns: list[int]
) -> None:
    found = fly(Plan.of(cluster, NOW, Memory(), settings), outcomes_of(drawn), turns)
    attempts = [(d, o) for d, o in zip(found.decisions, found.outcomes, strict=True) if d.action in CALLS]
    done = [decision for decision, outcome in attempts if outcome is Outcome.DONE]
    assert len({d.ref for d in done}) == len(done), "no pod is changed twice"
    pods = {pod.ref: pod for pod in cluster.pods}
    running = Counter(pod.owners[0].name for pod in cluster.pods if pod.phase.value == "Running")
    configured = {w.name: w.replicas or 0 for w in cluster.workloads.values()}
    # In profile upstream mode InPlace heeds no budget (K-2), in profile evenkeel no resize that restarts nothing does.
    heedful = {Action.EVICT} if settings.behaviour.pdbs_are_read_too else CALLS
    spent = [d for d in done if d.action in heedful and d.scope is not None and d.scope.mode is not IN_PLACE]
    disrupted = Counter(pods[d.ref].owners[0].name for d in spent if pods[d.ref].phase.value == "Running")
    for group, count in disrupted.items():
        tolerance = int(configured[group] * settings.eviction_tolerance)
        assert running[group] - count >= configured[group] - tolerance or count == 1, "updater:R-6"
    if settings.behaviour.free_room:
        tokens = Counter(bucket for d, o in attempts if o is not Outcome.RATE_LIMITED for bucket in d.claim.changes)
        limits = settings.storms.limits(1)
        assert all(count <= limits.of(bucket.span).burst for bucket, count in tokens.items()), "beyond:B-24"
        assert found.memory.storms.missing.get(Bucket(Span.CLUSTER), 0) == tokens[Bucket(Span.CLUSTER)]


@given(clusters(), SETTINGS, OUTCOMES, TURNS)
def test_every_pod_gets_a_final_decision_whatever_fails(
    cluster: Snapshot, settings: Settings, drawn: list[Outcome], turns: list[int]
) -> None:
    found = fly(Plan.of(cluster, NOW, Memory(), settings), outcomes_of(drawn), turns)
    said = Counter(decision.ref for decision in found.decisions)
    assert {pod.ref for pod in cluster.pods} <= set(said)
    again = {d.ref for d, o in zip(found.decisions, found.outcomes, strict=True) if o is not Outcome.DONE}
    assert all(count == 1 or ref in again for ref, count in said.items())


def test_what_is_on_its_way_counts_against_the_budget() -> None:
    """Spec: performance:U-3, updater:R-6."""
    plan = Scene(vpa_of(IPOR), several(4)).plan
    first = plan.next()
    assert first is not None
    plan = plan.sent(first)
    second = plan.next()
    assert second is not None
    plan = plan.sent(second)
    third = plan.next()
    assert (first.action, second.action) == (Action.RESIZE, Action.RESIZE)
    assert third is not None
    assert third.reason is Reason.BUDGET_USED_UP


@pytest.mark.parametrize(
    ("row", "mode", "outcome", "expected"),
    [
        ("updater:D-25", IPOR, Outcome.FAILED, ("p0 evict resize_refused", "p0")),
        ("updater:D-48", IN_PLACE, Outcome.NO_NODE_CAPACITY, None),
        ("updater:R-6", RECREATE, Outcome.FAILED, None),
    ],
)
def test_what_fails_after_the_round_has_come_to_other_vpas(
    row: str, mode: UpdateMode, outcome: Outcome, expected: tuple[str, str] | None
) -> None:
    cluster = two_vpas(mode)
    plan = Plan.of(cluster, NOW, Memory(), replace(GATES_ON, eviction_tolerance=1.0))
    first, other = plan.next(), None
    assert first is not None
    plan = plan.sent(first)
    other = plan.next()
    assert other is not None
    assert plan.work is not None
    assert plan.work.scope.vpa.name == "v1"
    plan = plan.sent(other)
    assert plan.next() is None, "all is on its way"
    plan = plan.landed(first, outcome)
    late = plan.next()
    said = None if late is None else (f"{late.ref.name} {late.action.value} {late.reason.value}", late.ref.name)
    assert said == expected, row
    plan = plan.landed(other, Outcome.DONE)
    if mode is IN_PLACE:
        assert plan.memory.infeasible.recommendations.keys() == {first.uid}, row


def two_vpas(mode: UpdateMode) -> Snapshot:
    """Return two VPAs with one pod each."""
    target = TargetRef(api_version="apps/v1", kind="Deployment", name="other")
    second = replace(vpa_of(RECREATE, minimum=1), name="v1", target_ref=target)
    owners = tuple(replace(owner, name="other") for owner in replica_set(1).owners)
    return Snapshot.of(
        (SelectingVpa(replace(vpa_of(mode, minimum=1), name="v0"), SELECTOR), SelectingVpa(second, SELECTOR)),
        (small("p0"), owned(replace(small("p1"), uid="u1"), "ReplicaSet", "o")),
        (DEPLOYMENT, replace(DEPLOYMENT, name="other"), replica_set(1), replace(replica_set(1, "o"), owners=owners)),
        {},
        (),
    )


def test_only_what_was_sent_can_land_and_only_calls_are_sent() -> None:
    plan = Scene(vpa_of(IPOR), several(4)).plan
    first = plan.next()
    assert first is not None
    with pytest.raises(ValueError, match="no such decision is on its way"):
        plan.landed(first, Outcome.DONE)
    sent = plan.sent(first)
    with pytest.raises(ValueError, match="not the next decision"):
        sent.sent(first)
    idle = Scene(vpa_of(UpdateMode.OFF), several(1)).plan
    quiet = idle.next()
    assert quiet is not None
    with pytest.raises(ValueError, match="calls nothing"):
        idle.sent(quiet)
