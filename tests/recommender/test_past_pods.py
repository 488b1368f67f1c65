"""Whose pods of the past were."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from autoscaling.matching import EVERYTHING, NOTHING, Selector, of_labels
from autoscaling.ownership import ControllerKey
from autoscaling.pod import Owner, Pod
from autoscaling.targets import KnownControllers
from autoscaling.workload import Workload
from recommender.past_pods import VOLATILE_LABELS, PastOwners, stable_labels

APP = of_labels({"app": "a"})
DEPLOYMENT = (Owner("apps/v1", "Deployment", "web", controller=True),)


def workload(kind: str, name: str, selector: Selector = APP, owners: tuple[Owner, ...] = ()) -> Workload:
    return Workload(kind, "default", name, selector, owners=owners)


def owner(pod: str, *workloads: Workload, labels: Mapping[str, str] | None = None) -> str | None:
    """Return kind and name of the owner of a pod of the past."""
    past = PastOwners.of(KnownControllers.of(workloads, {}), ())
    found = past.owner_of(Pod("default", pod, labels={"app": "a"} if labels is None else labels))
    return f"{found.kind}/{found.name}" if found else None


NAMES: list[tuple[str, str, str]] = [
    ("StatefulSet", "web", "web-12"),
    ("Deployment", "web", "web-6d4cf56db6-x2x4z"),
    ("ReplicaSet", "web", "web-x2x4z"),
    ("ReplicationController", "web", "web-x2x4z"),
    ("DaemonSet", "web", "web-x2x4z"),
    ("Job", "web", "web-x2x4z"),
    ("Job", "web", "web-3-x2x4z"),
    ("CronJob", "web", "web-29300000-x2x4z"),
    ("CronJob", "web", "web-29300000-0-x2x4z"),
]


@pytest.mark.parametrize(("kind", "name", "pod"), NAMES)
def test_a_pod_is_named_after_its_controller(kind: str, name: str, pod: str) -> None:
    """Spec: beyond:B-3, case:23."""
    rival = workload("StatefulSet" if kind != "StatefulSet" else "DaemonSet", "other")
    assert owner(pod, rival, workload(kind, name)) == f"{kind}/{name}"
    assert owner(f"x{pod}", rival, workload(kind, name)) is None


@pytest.mark.parametrize(
    ("row", "pod", "workloads", "expected"),
    [
        ("the longest name", "web-api-0", ("web", "web-api"), "StatefulSet/web-api"),
        ("the only one, by labels", "other", ("web",), "StatefulSet/web"),
        ("two, by labels", "other", ("web", "api"), None),
        ("none", "web-0", (), None),
    ],
)
def test_of_several_the_best_counts(row: str, pod: str, workloads: tuple[str, ...], expected: str | None) -> None:
    assert owner(pod, *(workload("StatefulSet", name) for name in workloads)) == expected, row


def test_labels_come_first() -> None:
    assert owner("web-0", workload("StatefulSet", "web"), labels={"app": "b"}) is None
    assert owner("web-0", workload("StatefulSet", "web", NOTHING)) is None


def test_a_cron_job_that_is_told_by_owners_needs_the_name() -> None:
    """Spec: case:22."""
    workloads = {("default", "CronJob", "nightly"): workload("CronJob", "nightly", NOTHING)}
    past = PastOwners.of(KnownControllers(workloads, {}, runs_match_by_owner=True), ())
    key = ControllerKey("default", "CronJob", "nightly")
    assert past.owner_of(Pod("default", "nightly-29300000-x2x4z")) == key
    assert past.owner_of(Pod("default", "web-6d4cf56db6-x2x4z")) is None
    assert past.owner_of(Pod("other", "nightly-29300000-x2x4z")) is None


def test_what_has_a_controller_is_no_owner() -> None:
    owned = workload("ReplicaSet", "web-6d4cf56db6", APP, DEPLOYMENT)
    assert owner("web-6d4cf56db6-x2x4z", owned, workload("Deployment", "web")) == "Deployment/web"


def test_targets_of_other_kinds_count() -> None:
    rollout = ControllerKey("default", "Rollout", "r", "example.com/v1")
    job = ControllerKey("default", "Job", "r", "batch/v1")
    past = PastOwners.of(KnownControllers({}, {}), ((rollout, APP), (job, EVERYTHING)))
    assert past.owner_of(Pod("default", "r-anything", labels={"app": "a"})) == rollout


def test_labels_that_change_with_every_pod_are_left_out() -> None:
    """Spec: beyond:B-3, case:39."""
    assert stable_labels({"app": "a", **dict.fromkeys(VOLATILE_LABELS, "x")}) == {"app": "a"}
    assert {"job-name", "controller-uid", "pod-template-hash", "apps.kubernetes.io/pod-index"} < VOLATILE_LABELS
