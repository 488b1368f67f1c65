"""The steps of a round, of groups and of calls in profile upstream, rule by rule."""

from __future__ import annotations

from dataclasses import replace

import pytest

from autoscaling.pod import Owner, Pod, PodCondition
from autoscaling.vpa import ContainerRecommendation, TargetRef, UpdateMode
from tests.builders import recommended
from tests.updater.situations import (
    AUTO,
    DEFERRED,
    DEPLOYMENT,
    GATES_ON,
    HOUR,
    IN_PLACE,
    INFEASIBLE,
    IPOR,
    NOW,
    OUT_OF_BOUNDS,
    RECREATE,
    Scene,
    owned,
    pending,
    play,
    refusing,
    replica_set,
    resizing,
    sent,
    several,
    small,
    vpa_of,
)
from updater.circumstances import Memory
from updater.decision import Action, Outcome
from updater.plan import Plan
from updater.resize_watch import ResizeWatch
from updater.snapshot import Snapshot

SPREAD = recommended("c", "250m/300Mi", lower="150m/250Mi", upper="400m/500Mi")
DOWN, NEAR, FAR = small("down", "2/4Gi"), small("near", "149m/300Mi"), small("far", "50m/300Mi")
"""In order of urgency: far, near, down."""
IN_RANGE = recommended("c", "100m/200Mi", lower="50m/100Mi", upper="400m/500Mi")
LONG_AGO = Memory(watch=ResizeWatch({each.ref: NOW - 2 * HOUR for each in several(4)}))


@pytest.mark.parametrize("mode", [RECREATE, AUTO, IPOR, IN_PLACE])
def test_the_same_thresholds_and_order_in_all_modes(mode: UpdateMode) -> None:
    """Scale-ups go first, the larger difference before the smaller one; being out of bounds does not count."""
    everyone = replace(GATES_ON, eviction_tolerance=1.0)
    inside = replace(small("in", "250m/300Mi"), start_time=NOW - HOUR)
    made = Scene(vpa_of(mode, SPREAD, minimum=1), (DOWN, NEAR, inside, FAR), settings=everyone)
    acting = [d.ref.name for d in made.played().decisions if d.action in {Action.RESIZE, Action.EVICT}]
    assert acting == ["far", "near", "down"], "updater:P-1, updater:P-8, updater:M-16, updater:M-17"


@pytest.mark.parametrize(
    ("row", "pods", "expected"),
    [
        ("updater:R-1", several(4), 2),
        ("updater:R-1", (*several(2), *(owned(p, "ReplicaSet", "old") for p in several(4)[2:])), 2),
        ("updater:R-1", (*several(3), owned(small("p3"), "ReplicaSet", "old")), 1),
        ("updater:R-2", (*several(3), pending(small("p3"))), 2),
        ("updater:R-2", (*several(3), replace(small("p3"), is_terminating=True)), 1),
    ],
)
def test_who_is_counted_together(row: str, pods: tuple[Pod, ...], expected: int) -> None:
    """Budgets belong to direct controllers; live pods count towards minReplicas, Pending ones included (M-13)."""
    by_owner = [pod.owners[0].name for pod in pods]
    made = Scene(
        vpa_of(RECREATE),
        pods,
        replicas=by_owner.count("rs"),
        workloads=(replica_set(by_owner.count("old"), name="old"),),
    )
    assert made.played().count(Action.EVICT) == expected, f"{row}, updater:M-13"


@pytest.mark.parametrize("names", [("d", "e"), ("e", "d")])
def test_vpas_come_in_the_order_that_they_are_given_in(names: tuple[str, str]) -> None:
    made = Scene(vpa_of(RECREATE), several(2)).snapshot
    others = tuple(owned(small(f"q{number}"), "ReplicaSet", "of-e") for number in range(2))
    owner = replace(replica_set(2, name="of-e"), owners=(Owner("apps/v1", "Deployment", "e", controller=True),))
    vpas = {
        name: replace(made.vpas[0], vpa=replace(vpa_of(RECREATE), name=name, target_ref=TargetRef("Deployment", name)))
        for name in names
    }
    workloads = (DEPLOYMENT, replace(DEPLOYMENT, name="e"), replica_set(2), owner)
    cluster = Snapshot.of(vpas.values(), (*others, *made.pods), workloads, {}, ())
    decisions = play(Plan.of(cluster, NOW, Memory(), GATES_ON)).decisions
    order = [d.scope.vpa.name for d in decisions if d.action is Action.EVICT and d.scope is not None]
    assert tuple(order) == names, "updater:M-12"


@pytest.mark.parametrize(
    ("row", "mode", "condition", "wanted", "expected"),
    [
        ("updater:C-6", IPOR, INFEASIBLE, OUT_OF_BOUNDS, Action.EVICT),
        ("updater:C-6 recommendation back in range", IPOR, INFEASIBLE, IN_RANGE, Action.SKIP),
        ("updater:M-18", RECREATE, DEFERRED, OUT_OF_BOUNDS, Action.EVICT),
        ("updater:M-18 recommendation back in range", RECREATE, DEFERRED, IN_RANGE, Action.SKIP),
    ],
)
def test_what_the_fallback_needs(
    row: str, mode: UpdateMode, condition: PodCondition, wanted: ContainerRecommendation, expected: Action
) -> None:
    made = Scene(vpa_of(mode, wanted, minimum=1), (resizing(small("p0"), condition),), memory=LONG_AGO)
    assert made.played().decisions[-1].action is expected, row


def test_the_eviction_list_is_looked_at_again() -> None:
    """A pod put there for its failed resize goes only if the budget that others have used meanwhile still bears it."""
    made = Scene(vpa_of(IPOR), several(4))
    said = made.played(lambda d: Outcome.FAILED if d.ref.name == "p0" else Outcome.DONE).said
    assert said[:2] == ["p0 resize outside_bounds", "p0 skip budget_used_up"], "updater:M-18, updater:C-6"


@pytest.mark.parametrize("mode", [IPOR, IN_PLACE])
@pytest.mark.parametrize("outcome", [Outcome.FAILED, Outcome.OVER_QUOTA, Outcome.GONE, Outcome.UNTIMELY])
def test_every_error_of_a_resize_is_treated_alike(mode: UpdateMode, outcome: Outcome) -> None:
    played = Scene(vpa_of(mode, minimum=1), (small(),)).played(refusing(Action.RESIZE, outcome=outcome))
    evicts = ["p0 evict resize_refused"] if mode is IPOR else []
    assert played.said == ["p0 resize outside_bounds", *evicts], "updater:X-9"


def test_a_resize_without_a_group_is_not_sent() -> None:
    made = Scene(vpa_of(IN_PLACE), (small(),))
    (decision,) = made.played().decisions
    assert (decision.action, decision.patches) == (Action.FAIL, None), "updater:X-1"


def test_a_resize_counts_once_the_api_server_has_it() -> None:
    """Nothing waits for the node, and the annotations of the webhook stay as they are."""
    made = Scene(vpa_of(IPOR), several(4))
    played = made.played()
    assert played.count(Action.RESIZE) == 2, "updater:X-8"
    noted = played.decisions[0].patches
    assert noted is not None
    assert [op["path"] for op in sent(noted.annotations)] == [
        "/metadata/annotations",
        "/metadata/annotations/vpaInPlaceUpdated",
    ], "updater:X-6"


def test_requirements_are_those_of_the_pods_own_vpa() -> None:
    bare = replace(vpa_of(RECREATE, minimum=1), update_policy=None)
    played = Scene(bare, several(2)).played()
    assert played.count(Action.EVICT) == 1, "updater:M-11"
