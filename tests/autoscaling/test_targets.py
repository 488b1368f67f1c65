"""The pods of a VPA's target, and targets that cannot be used."""

from __future__ import annotations

from dataclasses import replace

import pytest

from autoscaling.matching import EVERYTHING, NOTHING, Selector, of_labels
from autoscaling.ownership import ControllerKey, OwnerLookupError, OwnerNotCachedError, ScaleAnswer
from autoscaling.pod import Owner
from autoscaling.targets import KnownControllers, resolve_target, target_key, target_selector
from autoscaling.vpa import TargetRef, Vpa
from autoscaling.workload import Workload
from tests.builders import vpa

APP = of_labels({"app": "a"})
ROLLOUT = ControllerKey("default", "Rollout", "r", "argo/v1")
DEPLOYMENT = Workload("Deployment", "default", "d", APP, "apps/v1")
CHILD = Workload(
    "ReplicaSet", "default", "rs", APP, "apps/v1", owners=(Owner("apps/v1", "Deployment", "d", controller=True),)
)
LOOP = Workload("Job", "default", "j", APP, owners=(Owner("batch/v1", "Job", "j", controller=True),))


def known(*scales: ScaleAnswer) -> KnownControllers:
    return KnownControllers.of([DEPLOYMENT, CHILD, LOOP], dict.fromkeys((ROLLOUT,), scales[0]) if scales else {})


def aiming(kind: str, name: str, api_version: str = "apps/v1") -> Vpa:
    return replace(vpa(), target_ref=TargetRef(kind, name, api_version))


@pytest.mark.parametrize(
    ("row", "the_vpa", "controllers", "problem"),
    [
        ("recommender:11.3 usable", aiming("Deployment", "d"), known(), ""),
        ("recommender:11.3 own api version kept", aiming("Deployment", "d", "apps/v7"), known(), ""),
        ("recommender:11.3 missing", aiming("Deployment", "x"), known(), "Deployment default/x does not exist"),
        ("recommender:11.3 parent", aiming("ReplicaSet", "rs"), known(), "has a parent, apps/v1.Deployment/d"),
        ("recommender:11.3 circle", aiming("Job", "j", "batch/v1"), known(), "circle"),
        (
            "recommender:11.1 scalable",
            aiming("Rollout", "r", "argo/v1"),
            known(ScaleAnswer(is_found=True, selector="app=a")),
            "",
        ),
        (
            "recommender:11.1 no selector",
            aiming("Rollout", "r", "argo/v1"),
            known(ScaleAnswer(is_found=True)),
            "unhandled targetRef argo/v1 / Rollout / r: its scale names no selector",
        ),
        (
            "recommender:11.1 unreadable selector",
            aiming("Rollout", "r", "argo/v1"),
            known(ScaleAnswer(is_found=True, selector="(")),
            "unhandled targetRef argo/v1 / Rollout / r: selector",
        ),
        (
            "recommender:11.1 no scale",
            aiming("Rollout", "r", "argo/v1"),
            known(ScaleAnswer(is_found=False)),
            "it has no scale subresource",
        ),
        (
            "recommender:11.1 failure",
            aiming("Rollout", "r", "argo/v1"),
            known(ScaleAnswer(is_found=False, failure="forbidden")),
            "forbidden",
        ),
        ("recommender:11.3 no target", replace(vpa(), target_ref=None), known(), "has no targetRef"),
    ],
)
def test_resolving(row: str, the_vpa: Vpa, controllers: KnownControllers, problem: str) -> None:
    resolved = resolve_target(the_vpa, controllers)
    if problem:
        assert resolved.selector == NOTHING, row
        assert problem in resolved.problem, row
    else:
        assert (resolved.selector, resolved.problem) == (APP, ""), row


@pytest.mark.parametrize(
    ("row", "the_vpa", "controllers"),
    [
        ("beyond:B-14 topmost", aiming("Deployment", "d"), ["Deployment/d"]),
        ("beyond:B-14 below the top", aiming("ReplicaSet", "rs"), ["ReplicaSet/rs", "Deployment/d"]),
        ("beyond:B-14 gone", aiming("Deployment", "x"), ["Deployment/x"]),
        ("beyond:B-14 circle", aiming("Job", "j", "batch/v1"), ["Job/j"]),
        ("beyond:B-14 no target", replace(vpa(), target_ref=None), []),
    ],
)
def test_which_controllers_stand_for_a_target(row: str, the_vpa: Vpa, controllers: list[str]) -> None:
    found = resolve_target(the_vpa, known()).controllers
    assert [f"{key.kind}/{key.name}" for key in found] == controllers, row


def test_a_scale_that_was_not_looked_up_is_asked_for() -> None:
    for resolve in (resolve_target, target_selector):
        with pytest.raises(OwnerNotCachedError) as caught:
            resolve(aiming("Rollout", "r", "argo/v1"), known())
        assert caught.value.key == ROLLOUT


def test_the_updater_takes_a_target_below_the_top_as_well() -> None:
    assert target_selector(aiming("ReplicaSet", "rs"), known()) == APP, "updater:M-8"
    with pytest.raises(OwnerLookupError, match="does not exist"):
        target_selector(aiming("DaemonSet", "x"), known())


def test_keys_and_the_climb() -> None:
    assert target_key(replace(vpa(), target_ref=None)) is None
    key = target_key(aiming("ReplicaSet", "rs"))
    assert key is not None
    assert known().topmost(key) == ControllerKey("default", "Deployment", "d", "apps/v1")
    assert len(known().workloads) == 3


NIGHTLY = ControllerKey("default", "CronJob", "nightly", "batch/v1")


def with_cron_job(selector: Selector = NOTHING, *, by_owner: bool = True) -> KnownControllers:
    """Return a CronJob with one known run."""
    owners = (Owner("batch/v1", "CronJob", "nightly", controller=True),)
    workloads = [
        Workload("CronJob", "default", "nightly", selector, "batch/v1"),
        Workload("Job", "default", "nightly-29300000", APP, "batch/v1", owners=owners),
        Workload("Job", "default", "nightly-29300009", APP, "batch/v1"),
    ]
    return replace(KnownControllers.of(workloads, {}), runs_match_by_owner=by_owner)


@pytest.mark.parametrize(
    ("row", "by_owner", "selector", "expected"),
    [
        ("case:22 no labels", True, NOTHING, EVERYTHING),
        ("case:22 labels", True, APP, EVERYTHING),
        ("recommender:11.1 no labels", False, NOTHING, NOTHING),
        ("recommender:11.1 labels", False, APP, APP),
    ],
)
def test_whose_labels_do_not_matter(row: str, by_owner: bool, selector: Selector, expected: Selector) -> None:
    resolved = resolve_target(aiming("CronJob", "nightly"), with_cron_job(selector, by_owner=by_owner))
    assert (resolved.selector, resolved.problem) == (expected, ""), row


@pytest.mark.parametrize(
    ("row", "name", "by_owner", "top"),
    [
        ("beyond:B-19 known", "nightly-29300000", True, "nightly"),
        ("beyond:B-19 not known yet, or no longer", "nightly-29300001", True, "nightly"),
        ("beyond:B-19 a Job of its own with such a name", "nightly-29300009", True, "nightly-29300009"),
        ("beyond:B-19 of another CronJob", "weekly-29300001", True, None),
        ("beyond:B-19 no run", "nightly-by-hand", True, None),
        ("recommender:11.2", "nightly-29300001", False, None),
    ],
)
def test_runs_that_are_not_known(row: str, name: str, by_owner: bool, top: str | None) -> None:
    controllers, job = with_cron_job(by_owner=by_owner), ControllerKey("default", "Job", name, "batch/v1")
    if top is None:
        with pytest.raises(OwnerLookupError, match="does not exist"):
            controllers.topmost(job)
    else:
        found = controllers.topmost(job)
        assert found is not None
        assert found.name == top, row


def test_a_job_that_is_gone_is_no_target() -> None:
    """Spec: beyond:B-19."""
    for name in ("nightly-29300001", "other"):
        assert "does not exist" in resolve_target(aiming("Job", name), with_cron_job()).problem
    assert resolve_target(aiming("CronJob", "nightly"), with_cron_job()).controllers[0].name == NIGHTLY.name
