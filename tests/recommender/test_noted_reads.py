"""What answers about controllers were told by."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

import pytest

from autoscaling.matching import of_labels
from autoscaling.ownership import ControllerKey, OwnerLookupError, ScaleAnswer
from autoscaling.pod import Owner
from autoscaling.targets import KnownControllers
from autoscaling.workload import Workload
from recommender.noted_reads import NotedControllers

ROLLOUT = ControllerKey("default", "Rollout", "r", "argo/v1")
SET = ControllerKey("default", "ReplicaSet", "rs", "apps/v1")
OWNER = Owner("argo/v1", "Rollout", "r", controller=True)
WORKLOADS = {
    ("default", "ReplicaSet", "rs"): Workload("ReplicaSet", "default", "rs", of_labels({}), "apps/v1", owners=(OWNER,)),
    ("default", "Deployment", "other"): Workload("Deployment", "default", "other", of_labels({}), "apps/v1"),
}
SCALES = {ROLLOUT: ScaleAnswer(is_found=True, selector="app=a")}


def known(workloads: Mapping[str, Workload | None] | None = None, scale: ScaleAnswer | None = None) -> KnownControllers:
    """Return what is known, with other workloads of some names; None removes one."""
    changed = workloads or {}
    kept = {key: changed.get(key[2], each) for key, each in WORKLOADS.items()}
    return KnownControllers(
        {key: each for key, each in kept.items() if each is not None}, SCALES if scale is None else {ROLLOUT: scale}
    )


def copy_of(name: str) -> Workload:
    """Return another object that says the same."""
    return next(replace(each) for key, each in WORKLOADS.items() if key[2] == name)


@pytest.mark.parametrize(
    ("row", "later", "holds", "holds_as_before"),
    [
        ("recommender:11.2", known(), True, True),
        ("recommender:11.2", known({"other": copy_of("other")}), True, True),
        ("recommender:11.2", known({"rs": copy_of("rs")}), False, True),
        ("recommender:11.2", known({"rs": None}), False, True),
        ("recommender:11.2", known(scale=ScaleAnswer(is_found=True)), False, False),
    ],
)
def test_an_answer_holds_as_long_as_what_told_it(
    row: str, later: KnownControllers, holds: bool, holds_as_before: bool
) -> None:
    noted = NotedControllers(known())
    assert noted.known.topmost(SET) == ROLLOUT
    reads = noted.reads()
    assert reads.hold(later, are_workloads_as_before=False) is holds, row
    assert reads.hold(later, are_workloads_as_before=True) is holds_as_before


@pytest.mark.parametrize(
    ("row", "ask"),
    [
        ("recommender:11.2", lambda noted: noted.topmost(replace(SET, name="x"))),
        ("recommender:11.1", lambda noted: noted.selector(replace(SET, name="x"))),
    ],
)
def test_what_is_not_there_is_noted_too(row: str, ask: Callable[[KnownControllers], object]) -> None:
    noted = NotedControllers(known())
    with pytest.raises(OwnerLookupError):
        ask(noted.known)
    later = KnownControllers({**WORKLOADS, ("default", "ReplicaSet", "x"): copy_of("rs")}, SCALES)
    assert noted.reads().hold(known(), are_workloads_as_before=False), row
    assert not noted.reads().hold(later, are_workloads_as_before=False)


def test_noting_changes_nothing_that_is_known() -> None:
    noted = NotedControllers(known()).known
    assert (dict(noted.workloads), dict(noted.scales)) == (WORKLOADS, SCALES)
    assert (len(noted.workloads), len(noted.scales)) == (2, 1)
