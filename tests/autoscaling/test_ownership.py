"""The climb from a pod to its topmost controller."""

from __future__ import annotations

from dataclasses import replace

import pytest

from autoscaling.matching import EVERYTHING
from autoscaling.ownership import (
    ControllerKey,
    Controllers,
    NodeOwnerError,
    OwnerLookupError,
    OwnerNotCachedError,
    ScaleAnswer,
    pod_controller,
)
from autoscaling.pod import Owner
from autoscaling.workload import Workload, controllers_of
from tests.builders import pod

RS = ControllerKey("ns", "ReplicaSet", "rs", "apps/v1")
DEPLOYMENT = ControllerKey("ns", "Deployment", "d", "apps/v1")
ROLLOUT = ControllerKey("ns", "Rollout", "r", "argo/v1")
SET = ControllerKey("ns", "Set", "s", "c/v1")


def owner(key: ControllerKey, *, controller: bool | None = True) -> Owner:
    return Owner(key.api_version, key.kind, key.name, controller)


def known(*objects: tuple[ControllerKey, tuple[Owner, ...]], **scales: ScaleAnswer) -> Controllers:
    by_name = {"rollout": ROLLOUT, "set": SET}
    return Controllers(
        {(k.namespace, k.kind, k.name): owners for k, owners in objects},
        {by_name[name]: answer for name, answer in scales.items()},
    )


@pytest.mark.parametrize(
    ("row", "controllers", "start", "top"),
    [
        ("recommender:11.2 alone", known((RS, ())), RS, RS),
        ("recommender:11.2 parent", known((RS, (owner(DEPLOYMENT),)), (DEPLOYMENT, ())), RS, DEPLOYMENT),
        ("recommender:11.2 no controller", known((RS, (owner(DEPLOYMENT, controller=None),))), RS, RS),
        (
            "recommender:11.2 first controller counts",
            known((RS, (owner(DEPLOYMENT), owner(ROLLOUT))), (DEPLOYMENT, ())),
            RS,
            DEPLOYMENT,
        ),
        (
            "recommender:11.2 scalable parent",
            known((RS, (owner(ROLLOUT),)), rollout=ScaleAnswer(is_found=True)),
            RS,
            ROLLOUT,
        ),
        (
            "recommender:11.2 parent without scale is walked through",
            known((RS, (owner(ROLLOUT),)), rollout=ScaleAnswer(is_found=False)),
            RS,
            RS,
        ),
        (
            "case:25 a custom parent of a custom controller",
            known(
                (RS, (owner(ROLLOUT),)),
                rollout=ScaleAnswer(is_found=True, owners=(owner(SET),)),
                set=ScaleAnswer(is_found=True),
            ),
            RS,
            SET,
        ),
        ("recommender:11.2 nothing", known(rollout=ScaleAnswer(is_found=False)), ROLLOUT, None),
        (
            "recommender:11.2 parent of a scale object",
            known((DEPLOYMENT, ()), rollout=ScaleAnswer(is_found=True, owners=(owner(DEPLOYMENT),))),
            ROLLOUT,
            DEPLOYMENT,
        ),
    ],
)
def test_topmost(row: str, controllers: Controllers, start: ControllerKey, top: ControllerKey | None) -> None:
    assert controllers.topmost(start) == top, row


@pytest.mark.parametrize(
    ("row", "controllers", "start", "error", "message"),
    [
        ("recommender:11.2", known(), RS, OwnerLookupError, "ReplicaSet ns/rs does not exist"),
        ("recommender:11.2", known((RS, (owner(DEPLOYMENT),))), RS, OwnerLookupError, "Deployment ns/d does not exist"),
        ("recommender:11.2", known((RS, (owner(RS),))), RS, OwnerLookupError, "circle"),
        (
            "recommender:11.2",
            known((RS, (owner(DEPLOYMENT),)), (DEPLOYMENT, (owner(RS),))),
            RS,
            OwnerLookupError,
            "circle",
        ),
        (
            "recommender:11.2",
            known((RS, (owner(ROLLOUT),)), rollout=ScaleAnswer(is_found=False, failure="forbidden")),
            RS,
            OwnerLookupError,
            "unhandled targetRef argo/v1 / Rollout / r: forbidden",
        ),
        (
            "case:25 the owner and what failed are named",
            known((DEPLOYMENT, (owner(SET),)), set=ScaleAnswer(is_found=False, failure="GET of its scale: status 500")),
            DEPLOYMENT,
            OwnerLookupError,
            "unhandled targetRef c/v1 / Set / s: GET of its scale: status 500",
        ),
        (
            "recommender:11.2",
            known(),
            ControllerKey("ns", "Node", "n", "v1"),
            NodeOwnerError,
            "a node is no controller",
        ),
        ("beyond", known((RS, (owner(ROLLOUT),))), RS, OwnerNotCachedError, "has not been read yet"),
    ],
)
def test_chains_that_cannot_be_followed(
    row: str,
    controllers: Controllers,
    start: ControllerKey,
    error: type[OwnerLookupError],
    message: str,
) -> None:
    with pytest.raises(error, match=message):
        controllers.topmost(start)
    assert row


@pytest.mark.parametrize(
    ("row", "owners", "wanted"),
    [
        ("admission:6.3 none", (), None),
        ("admission:6.3 unset", (owner(RS, controller=None),), None),
        ("admission:6.3 last wins", (owner(RS), owner(DEPLOYMENT)), DEPLOYMENT),
        ("updater:K-31a unset first", (owner(ROLLOUT, controller=None), owner(RS)), RS),
    ],
)
def test_direct_controller_of_a_pod(row: str, owners: tuple[Owner, ...], wanted: ControllerKey | None) -> None:
    assert pod_controller(replace(pod(namespace="ns"), owners=owners)) == wanted, row


def test_owner_map_of_workloads() -> None:
    workloads = [
        Workload("ReplicaSet", "ns", "rs", EVERYTHING, "apps/v1", owners=(owner(DEPLOYMENT),)),
        Workload("Deployment", "ns", "d", EVERYTHING, "apps/v1"),
    ]
    assert controllers_of(workloads, {}).topmost(RS) == DEPLOYMENT
    assert str(workloads[0].ref) == "ReplicaSet ns/rs"
