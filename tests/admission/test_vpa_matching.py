"""Which VPA a new pod belongs to (spec: admission:6)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from datetime import timedelta

import pytest

from admission.verdict import Reason
from admission.vpa_matching import ClusterView, match_vpa
from autoscaling.matching import EVERYTHING, NOTHING, Selector, of_labels
from autoscaling.ownership import ControllerKey, ScaleAnswer
from autoscaling.pod import ConditionStatus, Owner, Pod
from autoscaling.targets import KnownControllers
from autoscaling.vpa import ContainerPolicy, StartupBoost, TargetRef, UpdateMode, UpdatePolicy, Vpa, VpaCondition
from autoscaling.workload import Workload
from tests.builders import T0, pod, vpa

REPLICA_SET = Owner("apps/v1", "ReplicaSet", "rs", controller=True)
DEPLOYMENT = Owner("apps/v1", "Deployment", "d", controller=True)
ROLLOUT = Owner("example.com/v1", "Rollout", "r", controller=True)
CHAIN = {("default", "ReplicaSet", "rs"): (DEPLOYMENT,), ("default", "Deployment", "d"): ()}
SELECTED = {("default", "Deployment", "d"): of_labels({"app": "a"})}
FOR_ROLLOUT = TargetRef("Rollout", "r", "example.com/v1")


def rollout_key(name: str = "r") -> ControllerKey:
    return ControllerKey("default", "Rollout", name, "example.com/v1")


def view(
    *vpas: Vpa,
    owners: Mapping[tuple[str, str, str], tuple[Owner, ...]] = CHAIN,
    selectors: Mapping[tuple[str, str, str], Selector] = SELECTED,
    scales: Mapping[ControllerKey, ScaleAnswer] | None = None,
) -> ClusterView:
    indexed: dict[str, dict[tuple[str, str], tuple[Vpa, ...]]] = {}
    for one in vpas:
        if one.target_ref is not None:
            targets = indexed.setdefault(one.namespace, {})
            key = (one.target_ref.kind, one.target_ref.name)
            targets[key] = (*targets.get(key, ()), one)
    workloads = {
        key: Workload(key[1], key[0], key[2], selectors.get(key, NOTHING), owners=above)
        for key, above in owners.items()
    }
    return ClusterView(True, indexed, KnownControllers(workloads, scales or {}), {})


def named(name: str, *, age_days: int = 0, mode: UpdateMode = UpdateMode.RECREATE) -> Vpa:
    created = T0 - timedelta(days=age_days)
    return replace(vpa(), name=name, created=created, update_policy=UpdatePolicy(mode=mode))


def chosen(given_view: ClusterView, given_pod: Pod | None = None) -> str | None:
    match = match_vpa(given_pod or pod(), given_view)
    return match.vpa.name if match.vpa else None


def test_the_topmost_controller_is_what_counts() -> None:
    """Spec: admission:6.4."""
    at_replica_set = replace(vpa(), name="low", target_ref=TargetRef("ReplicaSet", "rs", "apps/v1"))
    selectors = SELECTED | {("default", "ReplicaSet", "rs"): of_labels({"app": "a"})}
    assert chosen(view(at_replica_set, named("top"), selectors=selectors)) == "top"
    assert chosen(view(at_replica_set, selectors=selectors)) is None


@pytest.mark.parametrize(
    ("row", "api_version", "compares", "expected"),
    [
        ("updater:K-28", "apps/v1", True, "v"),
        ("updater:K-28", "extensions/v1beta1", True, "v"),
        ("updater:K-28", "example.com/v1", True, None),
        ("updater:K-28", "example.com/v1", False, "v"),
    ],
)
def test_a_target_may_be_told_by_its_group(row: str, api_version: str, *, compares: bool, expected: str | None) -> None:
    """Spec: beyond:B-30, admission:13.6."""
    foreign = replace(named("v"), target_ref=TargetRef("Deployment", "d", api_version))
    assert chosen(replace(view(foreign), compares_groups=compares)) == expected


def test_the_last_controller_reference_wins() -> None:
    """Spec: admission:6.3."""
    owners = (replace(REPLICA_SET, name="other"), REPLICA_SET, replace(ROLLOUT, controller=False))
    assert chosen(view(named("v")), replace(pod(), owners=owners)) == "v"


def test_the_api_version_of_the_target_does_not_count() -> None:
    """Spec: admission:6.5."""
    assert chosen(view(replace(vpa(), target_ref=TargetRef("Deployment", "d", "example.com/v9")))) == "v"


REASONS: list[tuple[str, Pod, ClusterView, Reason]] = [
    ("admission:6.3", replace(pod(), owners=()), view(named("v")), Reason.NO_CONTROLLER),
    (
        "admission:6.3",
        replace(pod(), owners=(replace(REPLICA_SET, controller=None),)),
        view(named("v")),
        Reason.NO_CONTROLLER,
    ),
    (
        "admission:6.4",
        replace(pod(), owners=(Owner("v1", "Node", "n", controller=True),)),
        view(named("v")),
        Reason.STATIC_POD,
    ),
    ("admission:6.4", pod(), view(named("v"), owners={}), Reason.OWNER_NOT_KNOWN),
    (
        "admission:13.8 a ReplicaSet that is not in the cache yet",
        pod(),
        view(named("v"), owners={("default", "Deployment", "d"): ()}),
        Reason.OWNER_NOT_KNOWN,
    ),
    (
        "admission:6.4",
        pod(),
        view(
            named("v"),
            owners={
                ("default", "ReplicaSet", "rs"): (DEPLOYMENT,),
                ("default", "Deployment", "d"): (REPLICA_SET,),
            },
        ),
        Reason.OWNER_NOT_KNOWN,
    ),
    (
        "admission:6.4",
        replace(pod(), owners=(ROLLOUT,)),
        view(named("v"), scales={rollout_key(): ScaleAnswer(is_found=False)}),
        Reason.OWNER_NOT_SCALABLE,
    ),
    (
        "admission:6.4",
        replace(pod(), owners=(ROLLOUT,)),
        view(named("v"), scales={rollout_key(): ScaleAnswer(is_found=False, failure="403")}),
        Reason.OWNER_NOT_KNOWN,
    ),
    ("admission:6.5", pod(), view(), Reason.NO_MATCHING_VPA),
    ("admission:6.5", pod(), view(replace(vpa(), target_ref=None)), Reason.NO_MATCHING_VPA),
    ("admission:6.5", pod(namespace="elsewhere"), view(named("v")), Reason.NO_MATCHING_VPA),
    (
        "admission:6.5",
        pod(),
        view(replace(vpa(), target_ref=TargetRef("Deployment", "e", "apps/v1"))),
        Reason.NO_MATCHING_VPA,
    ),
    ("admission:6.6", pod(), view(named("v", mode=UpdateMode.OFF)), Reason.NO_MATCHING_VPA),
    ("admission:6.7", pod(), view(named("v"), selectors={}), Reason.NO_MATCHING_VPA),
    ("admission:6.8", replace(pod(), labels={"app": "b"}), view(named("v")), Reason.NO_MATCHING_VPA),
    (
        "admission:6.8",
        pod(),
        view(named("v"), selectors={("default", "Deployment", "d"): NOTHING}),
        Reason.NO_MATCHING_VPA,
    ),
]


@pytest.mark.parametrize(("row", "given_pod", "given_view", "reason"), REASONS)
def test_no_match_has_a_reason(row: str, given_pod: Pod, given_view: ClusterView, reason: Reason) -> None:
    match = match_vpa(given_pod, given_view)
    assert (match.vpa, match.reason) == (None, reason), row


def test_nobody_is_looked_up_where_there_are_no_vpas() -> None:
    match = match_vpa(replace(pod(), owners=(ROLLOUT,)), view())
    assert (match.reason, match.to_look_up) == (Reason.NO_MATCHING_VPA, None)


def test_an_owner_that_was_not_looked_up_is_named() -> None:
    match = match_vpa(replace(pod(), owners=(ROLLOUT,)), view(named("v")))
    assert (match.reason, match.to_look_up) == (Reason.OWNER_NOT_CACHED, rollout_key())
    assert "default" in match.detail


def test_off_counts_with_a_boost_only() -> None:
    """Spec: admission:6.6, whatever the feature gate says."""
    off = named("v", mode=UpdateMode.OFF)
    assert chosen(view(replace(off, startup_boost=StartupBoost()))) == "v"
    policies = (ContainerPolicy("c", startup_boost=StartupBoost()),)
    assert chosen(view(replace(off, container_policies=policies))) == "v"


def test_the_older_one_wins_then_the_smaller_name() -> None:
    """Spec: admission:6.9; an older Off object shadows nobody, an older Initial one does."""
    assert chosen(view(named("a"), named("b", age_days=1))) == "b"
    assert chosen(view(named("b"), named("a"))) == "a"
    assert chosen(view(named("a"), named("b", age_days=1, mode=UpdateMode.OFF))) == "a"
    assert chosen(view(named("a"), named("b", age_days=1, mode=UpdateMode.INITIAL))) == "b"


def test_the_recommender_and_the_recommendation_do_not_count() -> None:
    """Spec: admission:6.10, admission:13.16."""
    assert chosen(view(replace(vpa(), recommenders=("other",), recommendation=None))) == "v"
    unsure = VpaCondition("LowConfidence", ConditionStatus.TRUE, "LittleHistory", "m")
    unusable = VpaCondition("ConfigUnsupported", ConditionStatus.TRUE, "TargetRef", "m")
    assert chosen(view(replace(vpa(), conditions=(unsure, unusable)))) == "v"


SCALED: list[tuple[str, ScaleAnswer, str | None]] = [
    ("admission:6.7", ScaleAnswer(is_found=True, selector="app=a"), "v"),
    ("admission:6.7", ScaleAnswer(is_found=True, selector="app in (b)"), None),
    ("admission:6.7", ScaleAnswer(is_found=True, selector=""), None),
    ("admission:6.7", ScaleAnswer(is_found=True, selector="app in ("), None),
]


@pytest.mark.parametrize(("row", "answer", "name"), SCALED)
def test_another_kind_is_known_by_its_scale_subresource(row: str, answer: ScaleAnswer, name: str | None) -> None:
    rollout_vpa = replace(vpa(), target_ref=FOR_ROLLOUT)
    given_view = view(rollout_vpa, scales={rollout_key(): answer})
    assert chosen(given_view, replace(pod(), owners=(ROLLOUT,))) == name, row


def test_a_scalable_owner_above_a_deployment_takes_its_place() -> None:
    """Spec: admission:6.4."""
    owners = CHAIN | {("default", "Deployment", "d"): (ROLLOUT,)}
    selectors = SELECTED | {("default", "Deployment", "d"): EVERYTHING}
    scalable = {rollout_key(): ScaleAnswer(is_found=True, selector="app=a")}
    other = {rollout_key(): ScaleAnswer(is_found=False)}
    rollout_vpa = replace(named("high"), target_ref=FOR_ROLLOUT)
    low = named("low")
    assert chosen(view(low, rollout_vpa, owners=owners, selectors=selectors, scales=scalable)) == "high"
    assert chosen(view(low, owners=owners, selectors=selectors, scales=scalable)) is None
    assert chosen(view(low, owners=owners, selectors=selectors, scales=other)) == "low"


def test_a_target_that_was_not_looked_up_is_left_out() -> None:
    owners = CHAIN | {("default", "Deployment", "d"): ()}
    odd = replace(vpa(), target_ref=TargetRef("Deployment", "d"))
    assert chosen(view(odd, owners=owners)) == "v"
    other = replace(FOR_ROLLOUT, api_version="example.com/v2")
    scalable = {rollout_key(): ScaleAnswer(is_found=True, selector="app=a")}
    match = match_vpa(
        replace(pod(), owners=(ROLLOUT,)), view(replace(vpa(), target_ref=other), named("w"), scales=scalable)
    )
    key = replace(rollout_key(), api_version="example.com/v2")
    assert (match.vpa, match.reason, match.to_look_up) == (None, Reason.OWNER_NOT_CACHED, key)


NIGHTLY = TargetRef("CronJob", "nightly", "batch/v1")
CRON_JOB = Owner("batch/v1", "CronJob", "nightly", controller=True)
RUNS = {("default", "Job", "nightly-29300000"): (CRON_JOB,), ("default", "CronJob", "nightly"): ()}


@pytest.mark.parametrize(
    ("row", "by_owner", "job", "labels", "name"),
    [
        ("case:22 no labels", True, "nightly-29300000", {}, "v"),
        ("case:22 other labels", True, "nightly-29300000", {"app": "b"}, "v"),
        ("beyond:B-19 the Job is not known yet", True, "nightly-29300001", {}, "v"),
        ("beyond:B-19 not of this CronJob", True, "other-29300001", {}, None),
        ("admission:6.7 no labels", False, "nightly-29300000", {}, None),
    ],
)
def test_new_runs_are_told_by_their_owners(
    row: str, by_owner: bool, job: str, labels: dict[str, str], name: str | None
) -> None:
    """Mode Initial acts on new pods."""
    given_view = view(replace(named("v", mode=UpdateMode.INITIAL), target_ref=NIGHTLY), owners=RUNS)
    given_view = replace(given_view, controllers=replace(given_view.controllers, runs_match_by_owner=by_owner))
    owners = (Owner("batch/v1", "Job", job, controller=True),)
    assert chosen(given_view, replace(pod(), name="", labels=labels, owners=owners)) == name, row
