"""What the work on a VPA begins with, and for how long it holds (performance:U-1)."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest

from autoscaling.pod import Pod
from tests.builders import recommended
from tests.updater.situations import (
    DEFERRED,
    GATES_ON,
    HOUR,
    IN_PLACE,
    INFEASIBLE,
    IPOR,
    MINUTE,
    NOW,
    SECOND,
    Scene,
    killed,
    play,
    progressing,
    resizing,
    small,
    vpa_of,
)
from updater.infeasible import InfeasibleMemory

WITHIN = recommended("c", "110m/210Mi", lower="50m/100Mi", upper="400m/500Mi")
AGE = 12 * HOUR - 5 * MINUTE
"""After so long pods are old enough to be updated although they are within their bounds (updater:P-7)."""


def scene(*pods: Pod) -> Scene:
    """Return pods that are left alone for now."""
    return Scene(vpa_of(IPOR, WITHIN), pods)


def is_kept(first: Scene, later: Scene) -> bool:
    """Say whether a round goes by what the one before it has reckoned."""
    plan = first.plan
    return plan.settled is replace(later, memory=play(plan).memory).plan.settled


@pytest.mark.parametrize(
    ("row", "passed", "expected"),
    [
        ("performance:U-1", timedelta(0), True),
        ("updater:P-7", AGE - SECOND, True),
        ("updater:P-7", AGE, False),
        ("performance:U-1", -SECOND, False),
    ],
)
def test_what_depends_on_the_age_of_pods_holds_until_they_are_old_enough(
    row: str, passed: timedelta, *, expected: bool
) -> None:
    one = scene(small("p0"), small("p1"))
    assert is_kept(one, replace(one, now=NOW + passed)) is expected, row


@pytest.mark.parametrize(("passed", "expected"), [(4 * MINUTE - SECOND, True), (4 * MINUTE, False)])
def test_what_depends_on_a_kill_holds_until_that_is_long_ago(passed: timedelta, *, expected: bool) -> None:
    """Spec: updater:P-6."""
    dead = killed(small("p0"), MINUTE, 6 * MINUTE)
    other = replace(
        dead,
        statuses=tuple(
            replace(s, last_terminated=replace(s.last_terminated, reason="Error"))
            for s in dead.statuses
            if s.last_terminated is not None
        ),
    )
    one = scene(other, small("p1"))
    assert is_kept(one, replace(one, now=NOW + passed)) is expected, "updater:P-6"


@pytest.mark.parametrize("condition", [DEFERRED, INFEASIBLE, progressing()])
def test_pods_in_the_middle_of_a_resize_are_looked_at_in_every_round(condition: object) -> None:
    one = scene(resizing(small("p0"), condition), small("p1"))  # type: ignore[arg-type]
    assert not is_kept(one, one), "updater:C-5"


def test_whatever_changes_makes_it_anew() -> None:
    """Spec: performance:U-1."""
    one = scene(small("p0"), small("p1"))
    assert is_kept(one, one)
    for other in (
        replace(one, vpa=vpa_of(IPOR, WITHIN)),
        replace(one, pods=one.pods[:1]),
        replace(one, pods=(replace(one.pods[0], labels={"app": "a", "more": "b"}), one.pods[1])),
        replace(one, replicas=3),
        replace(one, settings=replace(GATES_ON, min_replicas=1)),
    ):
        assert not is_kept(one, other)


def test_mode_in_place_looks_anew_at_pods_with_a_remembered_refusal() -> None:
    """Spec: updater:M-20."""
    one = Scene(vpa_of(IN_PLACE, WITHIN), (small("p0"), small("p1")))
    assert is_kept(one, one)
    plan = one.plan
    recommendation = one.vpa.recommendation
    assert recommendation is not None
    memory = replace(play(plan).memory, infeasible=InfeasibleMemory({one.pods[0].uid: recommendation}))
    assert replace(one, memory=memory).plan.settled is not plan.settled
