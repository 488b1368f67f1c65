"""Disruption budgets, minReplicas and requirements: whom a change may disrupt."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from autoscaling.disruption_budget import DisruptionBudget
from autoscaling.matching import EVERYTHING, NOTHING, of_labels
from autoscaling.pod import Pod, PodCondition
from autoscaling.vpa import ChangeRequirement, EvictionRequirement, UpdateMode
from tests.builders import recommended
from tests.updater.disruptions import budget, protected, ready, unready, with_only
from tests.updater.situations import (
    DEFERRED,
    EVENKEEL,
    GATES_ON,
    HOUR,
    IN_PLACE,
    IN_PROGRESS,
    INFEASIBLE,
    IPOR,
    NOW,
    OUT_OF_BOUNDS,
    RECREATE,
    SKIPPING,
    Played,
    Scene,
    owned,
    pending,
    reporting,
    resizing,
    restarting,
    small,
    vpa_of,
)
from updater.circumstances import Memory
from updater.decision import Action, Decision, Outcome, Reason
from updater.protection import budgets_used
from updater.resize_watch import ResizeWatch
from updater.service import is_about_to_restart
from updater.settings import Settings
from updater.shaping import Hindrance

PDBS, SINGLES = with_only("pdbs_are_read_too"), with_only("single_replicas")
BOTH = with_only("pdbs_are_read_too", "single_replicas")
HEEDING = with_only("pdbs_are_read_too", "single_replicas", "infeasible_memory")
"""With this last one mode InPlace heeds what stands in the way of a resize."""
WIDER = of_labels({"app": "b"})
B = budget().ref


def under_way(name: str = "p0", *conditions: PodCondition) -> Pod:
    """Return a Ready pod that a resize of an earlier round is about to restart, as its node has not begun yet."""
    return ready(resizing(reporting(restarting(small(name)), "100m/100Mi"), *(conditions or (IN_PROGRESS,))))


@pytest.mark.parametrize(
    ("row", "subject", "budgets", "spent", "expected"),
    [
        ("beyond:B-43", ready(small()), (), 0, ()),
        ("beyond:B-43", ready(small()), (budget(0, selector=WIDER),), 0, ()),
        ("beyond:B-43", ready(small()), (budget(0, selector=NOTHING),), 0, ()),
        ("beyond:B-43", ready(small()), (budget(0, selector=EVERYTHING),), 0, Reason.PDB_BLOCKS),
        ("beyond:B-43", ready(small()), (budget(1),), 0, (B,)),
        ("beyond:B-43", ready(small()), (budget(1),), 1, Reason.PDB_BLOCKS),
        ("beyond:B-43", ready(small()), (budget(2),), 1, (B,)),
        ("beyond:B-43", ready(small()), (budget(0),), 0, Reason.PDB_BLOCKS),
        ("beyond:B-43", ready(small()), (budget(-1),), 0, Reason.PDB_BLOCKS),
        ("beyond:B-43", ready(small()), (replace(budget(9), is_observed=False),), 0, Reason.PDB_BLOCKS),
        ("beyond:B-43", ready(small()), (budget(9), budget(9, name="c")), 0, Reason.SEVERAL_PDBS),
        ("beyond:B-43", ready(small()), (budget(1), budget(0, name="c", selector=WIDER)), 0, (B,)),
        ("beyond:B-43", unready(small()), (budget(9), budget(9, name="c")), 0, Reason.SEVERAL_PDBS),
        ("beyond:B-43", unready(small()), (budget(0, healthy=2, desired=2),), 9, ()),
        ("beyond:B-43", unready(small()), (budget(0, healthy=1, desired=2),), 0, Reason.PDB_BLOCKS),
        ("beyond:B-43", unready(small()), (budget(1, healthy=1, desired=2),), 0, (B,)),
        ("beyond:B-43", unready(small()), (budget(0, healthy=1, desired=0),), 0, Reason.PDB_BLOCKS),
        ("beyond:B-43", unready(small()), (replace(budget(0, healthy=0), spares_unhealthy=True),), 0, ()),
        ("beyond:B-43", ready(small()), (replace(budget(0), spares_unhealthy=True),), 0, Reason.PDB_BLOCKS),
        ("beyond:B-43", small(), (replace(budget(0, healthy=0), spares_unhealthy=True),), 0, ()),
        ("updater:K-20", under_way(), (budget(1),), 1, ()),
        ("updater:K-20", under_way(), (budget(1),), 2, Reason.PDB_BLOCKS),
        ("updater:K-20", under_way(), (budget(0),), 1, Reason.PDB_BLOCKS),
        ("updater:K-20", unready(under_way()), (budget(0, healthy=2, desired=2),), 0, ()),
    ],
)
def test_what_a_budget_allows(
    row: str,
    subject: Pod,
    budgets: tuple[DisruptionBudget, ...],
    spent: int,
    expected: Reason | tuple[object, ...],
) -> None:
    found = budgets_used(subject, budgets, {B: spent}, EVENKEEL.behaviour)
    assert (found.reason if isinstance(found, Hindrance) else found) == expected, row


def test_what_blocks_is_named() -> None:
    one = budgets_used(ready(small()), (budget(1, healthy=3, desired=2),), {B: 1}, EVENKEEL.behaviour)
    two = budgets_used(ready(small()), (budget(name="z"), budget(name="a")), {}, EVENKEEL.behaviour)
    assert isinstance(one, Hindrance)
    assert isinstance(two, Hindrance)
    assert (
        one.detail == f"{B} needs 2 healthy pods and has 3; 1 of them are disrupted in this round or about to restart"
    )
    assert two.detail == f"{budget(name='a').ref}, {budget(name='z').ref}"


def pods(count: int) -> tuple[Pod, ...]:
    """Return so many Ready pods that are to be updated and restart for more memory."""
    return tuple(ready(restarting(small(f"p{n}"))) for n in range(count))


def scene(
    mode: UpdateMode,
    subjects: tuple[Pod, ...],
    *budgets: DisruptionBudget,
    settings: Settings = BOTH,
    minimum: int | None = None,
) -> Scene:
    """Return pods with their budgets; the group bears any number of disruptions."""
    settings = replace(settings, eviction_tolerance=1.0)
    return Scene(vpa_of(mode, minimum=minimum), subjects, settings=settings, surroundings=protected(*budgets))


def refused(played: Played) -> Counter[Reason]:
    """Return why pods were left alone."""
    return Counter(d.reason for d in played.decisions if d.action in {Action.SKIP, Action.WAIT})


@pytest.mark.parametrize("mode", [RECREATE, IPOR, IN_PLACE])
@pytest.mark.parametrize(
    ("row", "budgets", "settings", "count", "left"),
    [
        ("beyond:B-43", (), BOTH, 4, {}),
        ("beyond:B-43", (budget(3),), BOTH, 3, {Reason.PDB_BLOCKS: 1}),
        ("beyond:B-43", (budget(0),), BOTH, 0, {Reason.PDB_BLOCKS: 4}),
        ("beyond:B-43", (budget(0),), PDBS, 0, {Reason.PDB_BLOCKS: 4}),
        ("beyond:B-43", (budget(9), budget(9, name="c")), BOTH, 0, {Reason.SEVERAL_PDBS: 4}),
        ("updater:R-7", (budget(0),), GATES_ON, 4, {}),
        ("updater:R-7", (budget(0),), SINGLES, 4, {}),
    ],
)
def test_disruptions_keep_to_budgets(
    row: str,
    budgets: tuple[DisruptionBudget, ...],
    settings: Settings,
    count: int,
    left: dict[Reason, int],
    mode: UpdateMode,
) -> None:
    played = scene(mode, pods(4), *budgets, settings=settings).played()
    assert played.count(Action.EVICT if mode is RECREATE else Action.RESIZE) == count, row
    assert refused(played) == left, row


def test_budgets_that_are_not_known_are_left_to_the_api() -> None:
    for mode, action in ((RECREATE, Action.EVICT), (IPOR, Action.RESIZE)):
        played = replace(scene(mode, pods(4)), surroundings=replace(protected(), budgets=None)).played()
        assert played.count(action) == 4, "beyond:B-43"


def test_a_refused_eviction_spends_no_budget() -> None:
    refusals = iter([Outcome.FAILED, Outcome.DONE, Outcome.DONE, Outcome.DONE])
    played = scene(RECREATE, pods(4), budget(2)).played(
        lambda d: next(refusals) if d.action is Action.EVICT else Outcome.DONE
    )
    assert played.count(Action.EVICT) == 2, "beyond:B-43"


def test_the_budget_of_a_pending_pod_does_not_count() -> None:
    subjects = (pending(small("p0")), ready(small("p1")))
    played = scene(RECREATE, subjects, budget(0)).played()
    assert played.said == ["p0 evict outside_bounds", "p1 skip pdb_blocks"], "beyond:B-43"


def of_others(subject: Pod) -> Pod:
    """Return a pod of another workload, which no VPA controls but the same budgets protect."""
    return owned(subject, "ReplicaSet", "others")


@pytest.mark.parametrize("mode", [RECREATE, IPOR, IN_PLACE])
@pytest.mark.parametrize(
    ("row", "other", "settings", "count"),
    [
        ("beyond:B-43", under_way("q0"), BOTH, 1),
        ("beyond:B-43", under_way("q0", DEFERRED), BOTH, 1),
        ("beyond:B-43", under_way("q0"), PDBS, 1),
        ("beyond:B-43", under_way("q0", INFEASIBLE), BOTH, 2),
        ("beyond:B-43", ready(restarting(small("q0"))), BOTH, 2),
        ("beyond:B-43", ready(resizing(reporting(small("q0"), "100m/100Mi"), IN_PROGRESS)), BOTH, 2),
        ("beyond:B-43", ready(resizing(reporting(restarting(small("q0")), "50m/200Mi"), IN_PROGRESS)), BOTH, 2),
        ("updater:K-20", unready(under_way("q0")), BOTH, 2),
        ("updater:K-20", replace(under_way("q0"), is_terminating=True), BOTH, 2),
        ("beyond:B-43", replace(under_way("q0"), labels={"app": "b"}), BOTH, 2),
        ("beyond:B-43", replace(under_way("q0"), namespace="elsewhere"), BOTH, 2),
        ("updater:R-7", under_way("q0"), GATES_ON, 4),
    ],
)
def test_a_restart_still_to_come_takes_from_budgets(
    row: str, other: Pod, settings: Settings, count: int, mode: UpdateMode
) -> None:
    played = scene(mode, (*pods(4), of_others(other)), budget(2), settings=settings).played()
    assert played.count(Action.EVICT if mode is RECREATE else Action.RESIZE) == count, row


CPU_ONLY = recommended("c", "250m/200Mi", lower="150m/200Mi", upper="400m/200Mi")


@pytest.mark.parametrize(
    ("row", "live", "in_force", "settings", "expected"),
    [
        ("updater:K-16", 4, "100m/200Mi", PDBS, 4),
        ("updater:K-16", 4, "100m/100Mi", PDBS, 0),
        ("updater:K-16", 4, "100m/200Mi", GATES_ON, 2),
        ("updater:K-16", 4, "100m/200Mi", SKIPPING, 2),
        ("case:27", 1, "100m/200Mi", BOTH, 1),
        ("case:27", 1, "100m/100Mi", BOTH, 0),
        ("case:27", 1, "100m/200Mi", SINGLES, 1),
        ("case:27", 1, "100m/100Mi", SINGLES, 0),
        ("case:27", 1, "100m/200Mi", GATES_ON, 0),
        ("case:27", 1, "100m/200Mi", PDBS, 0),
        ("case:27", 1, "100m/200Mi", EVENKEEL, 1),
        ("case:27", 1, "100m/100Mi", replace(BOTH, min_replicas=1, skips_disruption_budget=True), 0),
    ],
)
def test_what_restarts_is_told_by_what_changes(
    row: str, live: int, in_force: str, settings: Settings, expected: int
) -> None:
    subjects = tuple(reporting(restarting(ready(small(f"p{n}"))), in_force) for n in range(live))
    around = protected(budget(0))
    played = Scene(vpa_of(IPOR, CPU_ONLY), subjects, settings=settings, surroundings=around).played()
    assert played.count(Action.RESIZE) == expected, row
    assert played.count(Action.EVICT) == 0, row


@pytest.mark.parametrize(
    ("row", "settings", "live", "minimum", "expected"),
    [
        ("beyond:B-26", BOTH, 1, None, ["p0 skip below_min_replicas"]),
        ("beyond:B-26", BOTH, 1, 1, ["p0 resize outside_bounds"]),
        ("beyond:B-26", SINGLES, 1, None, ["p0 skip below_min_replicas"]),
        ("updater:C-4", replace(BOTH, skips_disruption_budget=True), 1, None, ["p0 resize outside_bounds"]),
        ("updater:K-2", BOTH, 2, None, ["p0 resize outside_bounds", "p1 skip budget_used_up"]),
        ("updater:R-6", SINGLES, 2, None, ["p0 resize outside_bounds", "p1 skip budget_used_up"]),
    ],
)
@pytest.mark.parametrize("mode", [IPOR, IN_PLACE])
def test_a_restart_needs_the_group(
    row: str, settings: Settings, live: int, minimum: int | None, expected: list[str], mode: UpdateMode
) -> None:
    settings = replace(settings, behaviour=replace(settings.behaviour, infeasible_memory=True))
    subject = Scene(vpa_of(mode, minimum=minimum), pods(live), settings=settings, surroundings=protected())
    assert subject.played().said == expected, row


def test_what_restarts_nothing_leaves_the_budget_to_others() -> None:
    free, restarts = ready(small("p0", "50m/200Mi")), ready(restarting(small("p1")))
    played = Scene(vpa_of(IPOR), (free, restarts), settings=PDBS, surroundings=protected()).played()
    assert played.said == ["p0 resize outside_bounds", "p1 resize outside_bounds"], "beyond:B-43"
    assert [d.disrupts for d in played.decisions] == [False, True], "beyond:B-43"


LONG = Memory(watch=ResizeWatch({small().ref: NOW - 2 * HOUR}))


@pytest.mark.parametrize(
    ("row", "condition", "switches", "expected"),
    [
        ("case:27", INFEASIBLE, ("single_replicas",), "p0 skip below_min_replicas"),
        ("case:27", DEFERRED, ("single_replicas",), "p0 skip below_min_replicas"),
        ("case:27", INFEASIBLE, ("single_replicas", "free_room"), "p0 resize claim_released"),
        ("case:27", INFEASIBLE, (), "p0 skip below_min_replicas"),
    ],
)
def test_below_the_minimum_nothing_is_evicted(
    row: str, condition: PodCondition, switches: tuple[str, ...], expected: str
) -> None:
    subject = resizing(reporting(small(), "50m/100Mi"), condition)
    made = Scene(vpa_of(IPOR), (subject,), settings=with_only(*switches), memory=LONG)
    assert made.played().said == [expected], row


LESS_MEMORY = (EvictionRequirement(("memory",), ChangeRequirement.TARGET_LOWER),)
MORE_MEMORY = (EvictionRequirement(("memory",), ChangeRequirement.TARGET_HIGHER),)


@pytest.mark.parametrize(
    ("row", "mode", "requirements", "settings", "expected"),
    [
        ("case:31", IPOR, LESS_MEMORY, SINGLES, ["p0 resize outside_bounds", "p0 skip requirements_unmet"]),
        ("case:31", IPOR, MORE_MEMORY, SINGLES, ["p0 resize outside_bounds", "p0 evict resize_refused"]),
        ("case:31", IN_PLACE, LESS_MEMORY, SINGLES, ["p0 resize outside_bounds"]),
        ("case:31", RECREATE, LESS_MEMORY, SINGLES, ["p0 skip requirements_unmet"]),
        ("updater:P-9", IPOR, LESS_MEMORY, GATES_ON, ["p0 skip requirements_unmet"]),
    ],
)
def test_requirements_bind_evictions_only(
    row: str, mode: UpdateMode, requirements: tuple[EvictionRequirement, ...], settings: Settings, expected: list[str]
) -> None:
    subject = vpa_of(mode, OUT_OF_BOUNDS, minimum=1, requirements=requirements)
    played = Scene(subject, (ready(small()),), settings=settings).played(
        lambda d: Outcome.FAILED if d.action is Action.RESIZE else Outcome.DONE
    )
    assert played.said == expected, row


KINDS = st.sampled_from(["free", "restarts", "unready", "pending"])
MADE = {
    "free": lambda name: ready(small(name)),
    "restarts": lambda name: ready(restarting(small(name))),
    "unready": lambda name: unready(restarting(small(name))),
    "pending": lambda name: pending(small(name)),
}
BUDGETS = st.builds(
    lambda allowed, healthy, selector, observed, spares, name: replace(
        budget(allowed, healthy, 2, name, selector), is_observed=observed, spares_unhealthy=spares
    ),
    st.integers(0, 4),
    st.integers(0, 4),
    st.sampled_from([EVERYTHING, WIDER, of_labels({"app": "a"})]),
    st.booleans(),
    st.booleans(),
    st.sampled_from("bcd"),
)


@given(
    st.lists(KINDS, max_size=7),
    st.lists(BUDGETS, max_size=3, unique_by=lambda b: b.name),
    st.sampled_from([RECREATE, IPOR, IN_PLACE]),
    st.sampled_from([0.0, 0.5, 1.0]),
    st.lists(st.sampled_from([Outcome.DONE, Outcome.FAILED]), max_size=9),
)
def test_no_round_disrupts_more_than_its_budgets_allow(
    kinds: list[str],
    budgets: list[DisruptionBudget],
    mode: UpdateMode,
    tolerance: float,
    left: list[Outcome],
) -> None:
    made = {f"p{n}": kind for n, kind in enumerate(kinds)}
    subject = scene(mode, tuple(MADE[kind](name) for name, kind in made.items()), *budgets)
    queue = list(left)

    def outcome(decision: Decision) -> Outcome:
        return queue.pop() if queue and decision.action in {Action.RESIZE, Action.EVICT} else Outcome.DONE

    played = replace(subject, settings=replace(HEEDING, eviction_tolerance=tolerance)).played(outcome)
    matching = [b for b in budgets if b.selector is not WIDER]
    disrupted = 0
    for decision, came in zip(played.decisions, played.outcomes, strict=True):
        kind = made[decision.ref.name]
        is_resize, is_eviction = decision.action is Action.RESIZE, decision.action is Action.EVICT
        assert not is_resize or decision.disrupts is (kind != "free"), "beyond:B-43"
        takes = (is_eviction and kind != "pending") or (is_resize and kind != "free")
        assert not takes or len(matching) < 2, "beyond:B-43"
        disrupted += takes and came is Outcome.DONE and kind != "unready"
    assert not matching or disrupted <= max(matching[0].disruptions_allowed, 0), "beyond:B-43"
    # Of the group's pods that run no more than its budget bears are restarted or evicted, taken together.
    running = sum(kind != "pending" for kind in kinds)
    bearable = max(running - (len(kinds) - int(len(kinds) * tolerance)), 1)
    disrupting = sum(
        d.disrupts and d.action in {Action.RESIZE, Action.EVICT} and made[d.ref.name] != "pending" and o is Outcome.DONE
        for d, o in zip(played.decisions, played.outcomes, strict=True)
    )
    assert disrupting <= bearable, "updater:R-6"


OTHERS: Mapping[str, Callable[[str], Pod]] = {
    "free": lambda name: ready(resizing(reporting(small(name), "100m/100Mi"), IN_PROGRESS)),
    "under way": under_way,
    "put off": lambda name: under_way(name, DEFERRED),
    "down": lambda name: unready(under_way(name)),
}


@given(
    st.lists(st.sampled_from(["free", "restarts"]), max_size=6),
    st.lists(st.sampled_from(sorted(OTHERS)), max_size=6),
    st.lists(st.sampled_from(["under way", "put off"]), max_size=2),
    st.integers(0, 6),
    st.sampled_from([RECREATE, IPOR, IN_PLACE]),
)
def test_no_more_pods_are_down_or_about_to_be_than_a_budget_allows(
    kinds: list[str], others: list[str], own: list[str], allowed: int, mode: UpdateMode
) -> None:
    subjects = [MADE[kind](f"p{n}") for n, kind in enumerate(kinds)]
    subjects += [OTHERS[kind](f"o{n}") for n, kind in enumerate(own)]
    subjects += [of_others(OTHERS[kind](f"q{n}")) for n, kind in enumerate(others)]
    # Those put off long ago may be evicted for that, which takes nothing more than their restart did.
    long_ago = ResizeWatch({one.ref: NOW - 2 * HOUR for one in subjects})
    played = replace(
        scene(mode, tuple(subjects), budget(allowed), settings=replace(HEEDING, min_replicas=1)),
        memory=Memory(watch=long_ago),
    ).played()
    before = {one.name for one in subjects if is_about_to_restart(one, HEEDING.behaviour)}
    hit = {
        d.ref.name for d in played.decisions if d.action is Action.EVICT or (d.action is Action.RESIZE and d.disrupts)
    }
    assert len(before | hit) <= max(allowed, len(before)), "beyond:B-43"
    assert not hit or len(before | hit) <= allowed, "beyond:B-43"


@given(st.integers(1, 8), st.sampled_from([IPOR, IN_PLACE]), st.integers(1, 9), st.floats(0, 1))
def test_what_restarts_nothing_is_bound_by_no_budget(
    count: int, mode: UpdateMode, minimum: int, tolerance: float
) -> None:
    subjects = tuple(ready(small(f"p{n}")) for n in range(count))
    settings = replace(BOTH, eviction_tolerance=tolerance)
    around = protected(budget(0))
    made = Scene(vpa_of(mode, minimum=minimum), subjects, replicas=9, settings=settings, surroundings=around)
    assert made.played().count(Action.RESIZE) == count, "beyond:B-43"
