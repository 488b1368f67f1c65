"""Taking CPU start-up boosts back."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timedelta

import pytest

from autoscaling.behaviour import Behaviour, Profile
from autoscaling.disruption_budget import DisruptionBudget
from autoscaling.errors import InvalidObjectError
from autoscaling.limitrange import NO_LIMITS
from autoscaling.matching import SelectingVpa, of_labels
from autoscaling.objectref import ObjectRef
from autoscaling.placement import Placement
from autoscaling.pod import ConditionStatus, Owner, Pod, PodCondition, PodPhase, ResizePolicy
from autoscaling.vpa import BoostType, ContainerRecommendation, CpuBoost, StartupBoost, UpdateMode, Vpa
from autoscaling.workload import Workload
from tests.builders import T0, container, pod, recommended, vpa
from tests.updater.disruptions import budget, protected
from tests.updater.disruptions import ready as is_ready
from tests.updater.situations import IN_PROGRESS, reporting, resizing, restarting, small
from updater.decision import Action, Reason
from updater.settings import Settings
from updater.unboost import Step, UnboostContext, Verdict, is_worth_a_look, next_step, unboost

SECOND = timedelta(seconds=1)
ANNOTATION = "vpaCpuStartupBoost/c"
ORIGINAL = '{"requests":{"cpu":"100m"},"limits":{}}'
UPSTREAM = Settings(behaviour=Behaviour.of(Profile.UPSTREAM), is_startup_boost_on=True)


def boosted_pod(
    *, ready: bool = True, name: str = "p", text: str = ORIGINAL, annotated: tuple[str, ...] = ("c",)
) -> Pod:
    """Return a running pod whose container runs at 300m instead of 100m, Ready since T0."""
    status = ConditionStatus.TRUE if ready else ConditionStatus.FALSE
    return replace(
        pod(container("c", "300m"), name=name),
        annotations={f"vpaCpuStartupBoost/{each}": text for each in annotated},
        conditions=(PodCondition("Ready", status, last_transition_time=T0),),
    )


def boosting_vpa(
    *entries: ContainerRecommendation, mode: UpdateMode = UpdateMode.RECREATE, seconds: int | None = 10
) -> Vpa:
    boost = StartupBoost(CpuBoost(BoostType.FACTOR, factor=3, duration_seconds=seconds))
    return replace(vpa(*entries, mode=mode), startup_boost=boost)


def around(the_vpa: Vpa, *pods: Pod, replicas: int = 2, settings: Settings = UPSTREAM) -> UnboostContext:
    selector = of_labels({"app": "a"})
    replica_set = Workload("ReplicaSet", "default", "rs", selector, replicas=replicas)
    return UnboostContext(
        SelectingVpa(the_vpa, selector),
        pods,
        {ObjectRef("ReplicaSet", "default", "rs"): replica_set},
        NO_LIMITS,
        settings,
    )


def sent(the_pod: Pod, the_vpa: Vpa, expired: tuple[str, ...] = ("c",)) -> tuple[list[object], list[object]]:
    """Return both patches as they are sent."""
    decision = unboost(the_pod, expired, around(the_vpa, the_pod, boosted_pod(name="other")))
    assert decision.patches is not None, decision.reason
    patches = decision.patches
    return [op.as_json() for op in patches.resize], [op.as_json() for op in patches.annotations]


@pytest.mark.parametrize(
    ("row", "the_pod", "worth"),
    [
        ("updater:UQ-1", boosted_pod(), True),
        ("updater:UQ-8 another one is left", boosted_pod(annotated=("d",)), True),
        ("updater:UQ-1 not Ready", boosted_pod(ready=False), False),
        ("updater:UQ-1 not boosted", replace(boosted_pod(), annotations={}), False),
        ("updater:UQ-1 ignored", replace(boosted_pod(), namespace="ignored"), False),
    ],
)
def test_what_is_put_into_the_queue(row: str, the_pod: Pod, *, worth: bool) -> None:
    assert is_worth_a_look(the_pod, replace(UPSTREAM, ignored_namespaces=frozenset({"ignored"}))) is worth, row


@pytest.mark.parametrize(
    ("row", "the_pod", "the_vpa", "now", "step"),
    [
        ("updater:UQ-4 gone", None, boosting_vpa(), T0, Step(Verdict.FORGET)),
        ("updater:UQ-4 not boosted", replace(boosted_pod(), annotations={}), boosting_vpa(), T0, Step(Verdict.FORGET)),
        ("updater:UQ-4 no VPA", boosted_pod(), None, T0, Step(Verdict.UNKNOWN_VPA)),
        ("updater:UQ-4 over", boosted_pod(), boosting_vpa(), T0 + 11 * SECOND, Step(Verdict.ATTEMPT, expired=("c",))),
        ("updater:UQ-4 time left", boosted_pod(), boosting_vpa(), T0 + 4 * SECOND, Step(Verdict.LATER, 6 * SECOND)),
        ("updater:W-19 exactly at the end", boosted_pod(), boosting_vpa(), T0 + 10 * SECOND, Step(Verdict.BACK_OFF)),
        ("updater:UQ-4 not Ready", boosted_pod(ready=False), boosting_vpa(), T0, Step(Verdict.BACK_OFF)),
        (
            "updater:D-64, updater:K-26 the VPA has no boost any more",
            boosted_pod(),
            vpa(),
            T0,
            Step(Verdict.ATTEMPT, expired=("c",)),
        ),
    ],
)
def test_the_next_step(row: str, the_pod: Pod | None, the_vpa: Vpa | None, now: datetime, step: Step) -> None:
    assert next_step(the_pod, the_vpa, now) == step, row


@pytest.mark.parametrize(
    ("row", "the_vpa", "cpu"),
    [
        ("updater:W-19 mode Off", boosting_vpa(recommended("c", "150m"), mode=UpdateMode.OFF), "100m"),
        ("updater:W-19 mode Recreate", boosting_vpa(recommended("c", "150m")), "150m"),
        ("updater:D-5, updater:U-6", boosting_vpa(recommended("c", "150m"), mode=UpdateMode.INITIAL), "150m"),
        ("updater:U-5 no recommendation", boosting_vpa(), "100m"),
    ],
)
def test_what_a_container_goes_back_to(row: str, the_vpa: Vpa, cpu: str) -> None:
    resize, annotations = sent(boosted_pod(), the_vpa)
    assert resize == [{"op": "add", "path": "/spec/containers/0/resources/requests/cpu", "value": cpu}], row
    assert annotations == [
        {"op": "add", "path": "/metadata/annotations/vpaInPlaceUpdated", "value": "true"},
        {"op": "remove", "path": "/metadata/annotations/vpaCpuStartupBoost~1c", "value": None},
    ], row


FORGED = '{"requests":{"cpu":"7","memory":"1Gi"},"limits":{"cpu":"8"}}'


@pytest.mark.parametrize(
    ("row", "entries", "cpu"),
    [
        ("admission:13.13 believed where nothing is recommended", (), "7"),
        ("admission:13.13 not asked where something is", (recommended("c", "150m"),), "150m"),
    ],
)
def test_what_the_annotation_says_is_believed(row: str, entries: tuple[ContainerRecommendation, ...], cpu: str) -> None:
    resize, _ = sent(boosted_pod(text=FORGED), boosting_vpa(*entries))
    assert {"op": "add", "path": "/spec/containers/0/resources/requests/cpu", "value": cpu} in resize, row


def test_siblings_follow_their_recommendation_but_not_while_they_are_boosted() -> None:
    two = replace(boosted_pod(), containers=(*boosted_pod().containers, *pod(container("d", "1")).containers))
    the_vpa = boosting_vpa(recommended("c", "150m"), recommended("d", "2"))
    paths = [op["path"] for op in sent(two, the_vpa)[0] if isinstance(op, dict)]
    assert paths == [f"/spec/containers/{index}/resources/requests/cpu" for index in (0, 1)], "updater:K-25"
    still = replace(two, annotations={ANNOTATION: ORIGINAL, "vpaCpuStartupBoost/d": ORIGINAL})
    paths = [op["path"] for op in sent(still, the_vpa)[0] if isinstance(op, dict)]
    assert paths == ["/spec/containers/0/resources/requests/cpu"], "updater:U-5"


MID_RESIZE = (PodCondition("PodResizePending", ConditionStatus.TRUE, "Deferred"),)


@pytest.mark.parametrize(
    ("row", "the_pod", "replicas", "others", "reason"),
    [
        ("updater:D-51 mid-resize", replace(boosted_pod(), conditions=MID_RESIZE), 2, 1, Reason.RESIZE_PENDING),
        ("updater:U-3 Pending", replace(boosted_pod(), phase=PodPhase.PENDING), 2, 1, Reason.POD_PENDING),
        ("updater:UQ-7 short of pods", boosted_pod(), 5, 1, Reason.TOO_FEW_RUNNING),
        ("updater:R-4 no replicas", boosted_pod(), 0, 1, Reason.REPLICAS_UNKNOWN),
    ],
)
def test_what_keeps_an_attempt_for_later(row: str, the_pod: Pod, replicas: int, others: int, reason: Reason) -> None:
    pods = [the_pod, *(boosted_pod(name=f"other{i}") for i in range(others))]
    decision = unboost(the_pod, ("c",), around(boosting_vpa(recommended("c", "150m")), *pods, replicas=replicas))
    assert (decision.action, decision.reason) == (Action.WAIT, reason), row


def test_a_group_below_its_minimum_is_let_in_by_the_boost() -> None:
    the_pod = boosted_pod()
    decision = unboost(the_pod, ("c",), around(boosting_vpa(recommended("c", "150m")), the_pod, replicas=1))
    assert decision.action is Action.RESIZE, "updater:R-3"


@pytest.mark.parametrize("text", ["", "{", "[]", '{"requests": {"cpu": "much"}, "limits": {}}'])
@pytest.mark.parametrize("entries", [(), (recommended("c", "150m"),)])
def test_an_annotation_that_cannot_be_read_is_named(text: str, entries: tuple[ContainerRecommendation, ...]) -> None:
    """Spec: updater:U-1."""
    the_pod = boosted_pod(text=text)
    with pytest.raises(InvalidObjectError, match="Pod default/p: annotation vpaCpuStartupBoost/c cannot be read"):
        unboost(the_pod, ("c",), around(boosting_vpa(*entries), the_pod, replicas=1))


@pytest.mark.parametrize(
    ("row", "mode", "annotated"),
    [
        ("updater:U-5 mode Off", UpdateMode.OFF, ("c",)),
        ("updater:U-5 still boosted", UpdateMode.RECREATE, ("c", "d")),
    ],
)
def test_a_container_that_is_left_out_gets_no_empty_resources(
    row: str, mode: UpdateMode, annotated: tuple[str, ...]
) -> None:
    the_pod = boosted_pod(annotated=annotated)
    with_bare = replace(the_pod, containers=(*the_pod.containers, container("d")))
    resize, _ = sent(with_bare, boosting_vpa(recommended("c", "150m"), mode=mode))
    assert len(resize) == 1, row


@pytest.mark.parametrize("text", ["null", "{}", '{"requests": null}', '{"limits": {}}'])
def test_an_annotation_that_keeps_nothing_gives_nothing_back(text: str) -> None:
    the_pod = boosted_pod(text=text)
    decision = unboost(the_pod, ("c",), around(boosting_vpa(), the_pod, replicas=1))
    assert (decision.action, decision.patches) == (Action.FAIL, None), "updater:U-5"


def test_pods_of_other_owners_and_labels_do_not_count() -> None:
    the_pod = boosted_pod()
    stranger = replace(boosted_pod(name="x"), labels={"app": "b"})
    bare = replace(boosted_pod(name="y"), owners=(Owner("v1", "Node", "n"),))
    decision = unboost(
        the_pod, ("c",), around(boosting_vpa(recommended("c", "150m")), the_pod, stranger, bare, replicas=1)
    )
    assert decision.scope is not None
    assert decision.scope.pods == 1, "updater:UQ-6"


def test_profile_evenkeel_names_the_uid() -> None:
    the_pod = boosted_pod()
    decision = unboost(
        the_pod, ("c",), around(boosting_vpa(), the_pod, replicas=1, settings=replace(UPSTREAM, behaviour=Behaviour()))
    )
    assert decision.is_guarded, "beyond:B-31"
    assert decision.patches is not None
    assert decision.patches.resize[0].path == "/metadata/uid"


BOTH_BUDGETS = replace(UPSTREAM, behaviour=UPSTREAM.behaviour.with_overrides({"pdbs_are_read_too": "true"}))


@pytest.mark.parametrize(
    ("row", "is_restarting", "settings", "replicas", "budgets", "expected"),
    [
        ("beyond:B-43", False, BOTH_BUDGETS, 9, (budget(0),), Reason.BOOST_OVER),
        ("beyond:B-43", True, BOTH_BUDGETS, 9, (), Reason.TOO_FEW_RUNNING),
        ("beyond:B-43", True, BOTH_BUDGETS, 2, (budget(0),), Reason.PDB_BLOCKS),
        ("beyond:B-43", True, BOTH_BUDGETS, 2, (budget(1),), Reason.BOOST_OVER),
        ("updater:U-3", False, UPSTREAM, 9, (), Reason.TOO_FEW_RUNNING),
        ("updater:U-3", True, UPSTREAM, 2, (budget(0),), Reason.BOOST_OVER),
    ],
)
def test_what_the_end_of_a_boost_disrupts(
    row: str,
    is_restarting: bool,
    settings: Settings,
    replicas: int,
    budgets: tuple[DisruptionBudget, ...],
    expected: Reason,
) -> None:
    one, other = boosted_pod(), boosted_pod(name="other")
    if is_restarting:
        policies = (ResizePolicy("cpu", restarts_container=True),)
        one = replace(one, containers=tuple(replace(c, resize_policy=policies) for c in one.containers))
    context = around(boosting_vpa(), one, other, replicas=replicas, settings=settings)
    decision = unboost(one, ("c",), replace(context, surroundings=protected(*budgets)))
    assert decision.reason is expected, row
    assert (decision.action is Action.RESIZE) is (expected is Reason.BOOST_OVER), row


@pytest.mark.parametrize(
    ("row", "memory_in_force", "allowed", "expected"),
    [
        ("beyond:B-43", "100Mi", 1, Reason.PDB_BLOCKS),
        ("beyond:B-43", "100Mi", 2, Reason.BOOST_OVER),
        ("beyond:B-43", "200Mi", 1, Reason.BOOST_OVER),
    ],
)
def test_a_restart_still_to_come_leaves_less_for_the_end_of_a_boost(
    row: str, memory_in_force: str, allowed: int, expected: Reason
) -> None:
    policies = (ResizePolicy("cpu", restarts_container=True),)
    one = boosted_pod()
    one = replace(one, containers=tuple(replace(c, resize_policy=policies) for c in one.containers))
    waiting = is_ready(resizing(reporting(restarting(small("q0")), f"100m/{memory_in_force}"), IN_PROGRESS))
    context = around(boosting_vpa(), one, boosted_pod(name="other"), waiting, settings=BOTH_BUDGETS)
    context = replace(context, surroundings=protected(budget(allowed)))
    assert unboost(one, ("c",), context).reason is expected, row


@pytest.mark.parametrize(
    ("row", "placement", "expected"),
    [
        ("beyond:B-17", Placement(has_pod_resources=True), (Action.WAIT, Reason.POD_HAS_RESOURCES)),
        ("beyond:B-17", Placement(), (Action.RESIZE, Reason.BOOST_OVER)),
    ],
)
def test_a_pod_with_resources_of_its_own_stays_as_it_is(
    row: str, placement: Placement, expected: tuple[Action, Reason]
) -> None:
    subject, settings = replace(boosted_pod(), placement=placement), Settings(is_startup_boost_on=True)
    decision = unboost(subject, ("c",), around(boosting_vpa(), subject, boosted_pod(name="other"), settings=settings))
    assert (decision.action, decision.reason) == expected, row
