"""The worked examples, each from its inputs to what is sent."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime, timedelta

import pytest

from autoscaling.limitrange import LimitRangeItem, LimitType
from autoscaling.pod import ConditionStatus, Pod, PodCondition
from autoscaling.vpa import (
    ChangeRequirement,
    ContainerPolicy,
    ContainerRecommendation,
    ControlledValues,
    EvictionRequirement,
    Recommendation,
    UpdateMode,
)
from tests.builders import T0, amounts, container, pod, recommended
from tests.updater.situations import (
    DEFERRED,
    ERROR,
    GATES_ON,
    HOUR,
    IN_PLACE,
    IN_PROGRESS,
    INFEASIBLE,
    IPOR,
    MINUTE,
    NOW,
    RECREATE,
    SECOND,
    SKIPPING,
    UPSTREAM,
    Played,
    Scene,
    all_done,
    annotated,
    killed,
    pending,
    progressing,
    refusing,
    resizing,
    restarting,
    sent,
    several,
    small,
    vpa_of,
)
from updater.circumstances import Memory
from updater.decision import Action, Outcome
from updater.priority import Priority, score

AS_UPSTREAM = replace(GATES_ON, behaviour=UPSTREAM)


def alone(mode: UpdateMode, subject: Pod, *recommendations: ContainerRecommendation) -> Scene:
    """Return a scene of one pod that may be disrupted, with patches as upstream sends them."""
    return Scene(vpa_of(mode, *recommendations, minimum=1), (subject,), settings=AS_UPSTREAM)


def resize_of(played: Played) -> dict[str, object]:
    """Return path and value of each operation of the only resize."""
    (decision,) = (d for d in played.decisions if d.action is Action.RESIZE)
    assert decision.patches is not None
    prefix = "/spec/containers/0/"
    return {str(o["path"]).removeprefix(prefix): o["value"] for o in sent(decision.patches.resize)}


def test_w1_recreate() -> None:
    """updater:W-1."""
    played = Scene(vpa_of(RECREATE), several(3)).played()
    assert score(small(), Recommendation((recommended("c", "250m/300Mi", "150m/250Mi", "400m/500Mi"),))) == Priority(
        True, True, 2.0
    )
    assert played.count(Action.EVICT) == 1
    assert [d.reason.value for d in played.decisions if d.action is Action.SKIP] == ["budget_used_up"] * 2


@pytest.mark.parametrize(
    ("row", "target", "age", "said"),
    [
        ("updater:W-2", "950m/-", HOUR, "skip too_young"),
        ("updater:W-2", "950m/-", 13 * HOUR, "skip change_too_small"),
        ("updater:W-2", "900m/-", 12 * HOUR, "evict worthwhile_change"),
        ("updater:W-2", "900m/-", 12 * HOUR - SECOND, "skip too_young"),
    ],
)
def test_w2_in_range(row: str, target: str, age: timedelta, said: str) -> None:
    scene = alone(RECREATE, small("p0", "1/-"), recommended("c", target, "800m/-", "1200m/-"))
    assert replace(scene, now=T0 + age).played().said == [f"p0 {said}"]


def test_w3_order() -> None:
    """updater:W-3."""
    first, second = small("a", "200m/-"), small("b", "2/4Gi")
    growing = recommended("c", "210m/-", "205m/-", "400m/-")
    shrinking = recommended("c", "500m/1Gi", "400m/512Mi", "1/2Gi")
    found = [score(first, Recommendation((growing,))), score(second, Recommendation((shrinking,)))]
    assert found == [Priority(True, True, 0.05), Priority(True, False, 1.5)]
    assert found[0].rank < found[1].rank


def test_w4_cancelling() -> None:
    """updater:W-4."""
    subject = pod(container("c1", "100m/-"), container("c2", "200m/-"), name="p0")
    rows = (recommended("c1", "200m/-"), recommended("c2", "100m/-"))
    assert score(subject, Recommendation(rows)) == Priority(True, True, 0.0)
    scene = alone(RECREATE, subject, *rows)
    assert scene.played().said == ["p0 evict outside_bounds"]
    for ago, said in ((MINUTE, "skip oom_without_change"), (10 * MINUTE, "evict outside_bounds")):
        status = replace(killed(subject, MINUTE, ago).statuses[0], name="c1")
        assert replace(scene, pods=(replace(subject, statuses=(status,)),)).played().said == [f"p0 {said}"]


def test_w5_missing_request() -> None:
    """updater:W-5."""
    subject, row = small("p0", "100m/-"), recommended("c", "100m/100Mi")
    assert score(subject, Recommendation((row,))) == Priority(True, True, 104857599999.0)
    higher = (EvictionRequirement(("cpu", "memory"), ChangeRequirement.TARGET_HIGHER),)
    vpa = vpa_of(RECREATE, row, minimum=1, requirements=higher)
    assert Scene(vpa, (subject,)).played().said == ["p0 evict outside_bounds"]


@pytest.mark.parametrize(
    ("row", "annotation", "outside"),
    [("updater:W-6", "c1", False), ("updater:W-6", "c1,c2", True), ("updater:W-6", "c1, c2", True)],
)
def test_w6_observed_containers(row: str, annotation: str, outside: bool) -> None:
    """Spec: admission:7.3.5; what is no list of names counts for nothing."""
    subject = annotated(pod(container("c1", "100m/-"), container("c2")), vpaObservedContainers=annotation)
    rows = (recommended("c1", "100m/-"), recommended("c2", "100m/-"))
    assert score(subject, Recommendation(rows)).is_outside_bounds is outside


def test_w7_upstreams_own_case() -> None:
    """updater:W-7, an old OOM kill of a pod in range."""
    subject = killed(small("p0", "1/-"), 2 * MINUTE, timedelta(days=10), now=T0 + 11 * HOUR)
    scene = alone(RECREATE, subject, recommended("c", "1250m/-", "900m/-", "2/-"))
    assert replace(scene, now=T0 + 11 * HOUR).played().said == ["p0 skip too_young"]


BURN = small("p0", "50m/32Mi", "500m/64Mi")
BURN_ROW = recommended("c", "400m/100Mi")


def test_w8_the_burn_workload_in_place() -> None:
    """updater:W-8, and admission:13.24: its pod came in as its template has it."""
    assert score(BURN, Recommendation((BURN_ROW,))) == Priority(True, True, 9.125)
    played = alone(IPOR, BURN, BURN_ROW).played()
    assert resize_of(played) == {
        "resources/requests/cpu": "400m",
        "resources/requests/memory": "100Mi",
        "resources/limits/cpu": "4",
        "resources/limits/memory": "200Mi",
    }
    assert played.decisions[0].patches is not None
    assert sent(played.decisions[0].patches.annotations) == [
        {"op": "add", "path": "/metadata/annotations", "value": {}},
        {"op": "add", "path": "/metadata/annotations/vpaInPlaceUpdated", "value": "true"},
    ]
    assert Scene(vpa_of(IPOR, BURN_ROW), (BURN,)).played().said == ["p0 skip below_min_replicas"]


@pytest.mark.parametrize(
    ("row", "target", "operations"),
    [
        ("updater:W-9", "333m/-", {"resources/requests/cpu": "333m", "resources/limits/cpu": "832m"}),
        (
            "updater:W-9",
            "333m/500Mi",
            {
                "resources/requests/cpu": "333m",
                "resources/requests/memory": "500Mi",
                "resources/limits/cpu": "832m",
                "resources/limits/memory": "500Mi",
            },
        ),
    ],
)
def test_w9_rounding_and_partial_targets(row: str, target: str, operations: dict[str, object]) -> None:
    played = alone(IPOR, small("p0", "100m/-", "250m/1Gi"), recommended("c", target)).played()
    assert resize_of(played) == operations


def test_w10_requests_only() -> None:
    """updater:W-10."""
    only_requests = (ContainerPolicy("c", controlled_values=ControlledValues.REQUESTS_ONLY),)
    subject = small("p0", "100m/100Mi", "200m/200Mi")
    for mode, said in ((IPOR, ["p0 resize outside_bounds", "p0 evict resize_refused"]), (IN_PLACE, None)):
        vpa = vpa_of(mode, recommended("c", "300m/300Mi"), minimum=1, policies=only_requests)
        scene = Scene(vpa, (subject,), settings=AS_UPSTREAM)
        assert resize_of(scene.played()) == {"resources/requests/cpu": "200m", "resources/requests/memory": "200Mi"}
        refused = scene.played(refusing(Action.RESIZE))
        assert refused.said == (said or ["p0 resize outside_bounds"])
        assert refused.memory.infeasible.recommendations == {}


def test_w11_best_effort() -> None:
    """updater:W-11."""
    subject, row = small("p0", "-"), recommended("c", "25m/250Mi")
    assert score(subject, Recommendation((row,))) == Priority(True, True, 262144000023.0)
    scene = alone(IPOR, subject, row)
    assert resize_of(scene.played()) == {
        "resources": {},
        "resources/requests": {},
        "resources/requests/cpu": "25m",
        "resources/requests/memory": "250Mi",
    }
    assert scene.played(refusing(Action.RESIZE)).said == ["p0 resize outside_bounds", "p0 evict resize_refused"]


@dataclass
class Clock:
    """Rounds of one updater process, one after the other."""

    scene: Scene
    memory: Memory

    def at(self, time: str, *conditions: PodCondition) -> str:
        """Return what is said of the pod at a time of the day."""
        moment = datetime.fromisoformat(f"2026-01-01T{time}:00+00:00")
        pods = tuple(resizing(p, *conditions) for p in self.scene.pods)
        played = replace(self.scene, now=moment, pods=pods, memory=self.memory).played()
        self.memory = played.memory
        return played.said[0]


def test_w12_five_minutes() -> None:
    """updater:W-12."""
    clock = Clock(alone(IPOR, small()), Memory())
    assert clock.at("10:00") == "p0 resize outside_bounds"
    for time in ("10:01", "10:02", "10:05", "10:06"):
        assert clock.at(time, DEFERRED) == "p0 wait resize_pending"
    assert clock.at("10:07", DEFERRED) == "p0 evict resize_timed_out"


def test_w13_a_stale_timer() -> None:
    """updater:W-13."""
    clock = Clock(alone(IPOR, small()), Memory())
    assert clock.at("09:00", IN_PROGRESS) == "p0 wait resize_pending"
    assert clock.at("11:00") == "p0 resize outside_bounds"
    assert clock.at("11:01", DEFERRED) == "p0 evict resize_timed_out"
    restarted = Clock(alone(IPOR, small()), Memory())
    for time in ("11:01", "11:06"):
        assert restarted.at(time, DEFERRED) == "p0 wait resize_pending"
    assert restarted.at("11:07", DEFERRED) == "p0 evict resize_timed_out"


@pytest.mark.parametrize(
    ("row", "mode", "skipping", "pods", "resized"),
    [
        ("updater:W-14", IPOR, False, several(3), 1),
        ("updater:W-14", IN_PLACE, False, several(3), 3),
        ("updater:W-14", IPOR, True, several(3), 3),
        ("updater:W-14", IPOR, True, tuple(restarting(p) for p in several(3)), 1),
    ],
)
def test_w14_budget_in_both_modes(
    row: str, mode: UpdateMode, skipping: bool, pods: tuple[Pod, ...], resized: int
) -> None:
    played = Scene(vpa_of(mode), pods, settings=SKIPPING if skipping else GATES_ON).played()
    assert played.count(Action.RESIZE) == resized
    assert {d.scope.updatable for d in played.decisions if d.scope} == {3}


def test_w15_one_pot() -> None:
    """updater:W-15."""
    scene = Scene(vpa_of(IPOR), (resizing(small("p0"), INFEASIBLE), *several(4)[1:]))
    assert scene.played().said == [
        "p0 skip budget_used_up",
        "p1 resize outside_bounds",
        "p2 resize outside_bounds",
        "p3 skip budget_used_up",
    ]


@dataclass
class InPlaceMemory:
    """Rounds of a VPA in mode InPlace whose recommendation changes."""

    memory: Memory

    def round(self, target: str, *conditions: PodCondition) -> str:
        """Return what is said of the pod when this is recommended."""
        scene = alone(IN_PLACE, resizing(small("p0", "1/1Gi"), *conditions), recommended("c", target))
        played = replace(scene, memory=self.memory).played()
        self.memory = played.memory
        return played.said[0]


def test_w16_memory_of_infeasible_resizes() -> None:
    """updater:W-16."""
    rounds = InPlaceMemory(Memory())
    assert rounds.round("2/4Gi", INFEASIBLE) == "p0 resize outside_bounds"
    assert rounds.round("2/4Gi", INFEASIBLE) == "p0 skip infeasible_remembered"
    assert rounds.round("2/3Gi", INFEASIBLE) == "p0 resize outside_bounds"
    assert rounds.round("2100m/3Gi") == "p0 skip infeasible_remembered"
    assert rounds.round("2100m/2Gi") == "p0 resize outside_bounds"
    assert rounds.round("2100m/3Gi") == "p0 skip infeasible_remembered"


def test_w16_an_error_is_not_remembered() -> None:
    """updater:W-16 as changed by upstream-1.8.1:2.8."""
    rounds = InPlaceMemory(Memory())
    assert [rounds.round("2/4Gi", ERROR) for _ in range(3)] == ["p0 resize outside_bounds"] * 3
    assert rounds.memory.infeasible.recommendations == {}


def test_w17_requirements() -> None:
    """updater:W-17."""
    higher = (EvictionRequirement(("memory",), ChangeRequirement.TARGET_HIGHER),)
    vpa = vpa_of(IPOR, recommended("c", "300m/512Mi"), minimum=1, requirements=higher)
    for conditions in ((), (INFEASIBLE,)):
        scene = Scene(vpa, (resizing(small("p0", "100m/1Gi"), *conditions),))
        assert scene.played().said == ["p0 skip requirements_unmet"]


def test_w18_a_pending_pod() -> None:
    """updater:W-18, the row of two pods one of which is pending."""
    assert Scene(vpa_of(RECREATE), (pending(small("p0")), small("p1"))).played().said == [
        "p0 evict outside_bounds",
        "p1 skip too_few_running",
    ]


def test_w20_condition_order() -> None:
    """updater:W-20."""
    finished = progressing(status=ConditionStatus.FALSE)
    assert alone(IPOR, resizing(small(), finished, DEFERRED)).played().said == ["p0 resize outside_bounds"]
    assert alone(IPOR, resizing(small(), DEFERRED, finished)).played().said == ["p0 wait resize_pending"]


def test_w21_a_single_replica_whose_resize_is_refused() -> None:
    """updater:W-21."""
    scene = Scene(vpa_of(IPOR), (small(),), settings=SKIPPING)
    for minute in range(3):
        played = replace(scene, now=NOW + minute * MINUTE).played(refusing(Action.RESIZE))
        assert played.said == ["p0 resize outside_bounds", "p0 skip below_min_replicas"]
        assert played.outcomes[0] is Outcome.FAILED


def test_a_limit_range_default_gives_a_limit() -> None:
    """updater:X-2: the ratio is that of the default limit, where the container states none."""
    item = LimitRangeItem(LimitType.CONTAINER, default=amounts("1/500Mi"))
    scene = replace(alone(IPOR, small("p0", "100m/100Mi"), recommended("c", "200m/200Mi")), limits=(item,))
    assert resize_of(scene.played(all_done)) == {
        "resources/requests/cpu": "200m",
        "resources/requests/memory": "200Mi",
        "resources/limits": {},
        "resources/limits/cpu": "2",
        "resources/limits/memory": "1000Mi",
    }
