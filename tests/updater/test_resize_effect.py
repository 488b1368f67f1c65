"""Resizes that are reported as done and change nothing."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import timedelta

import pytest

from autoscaling.pod import ContainerStatus, Pod, Termination
from autoscaling.vpa import ChangeRequirement, EvictionRequirement, UpdateMode
from tests.builders import amounts, recommended
from tests.updater.disruptions import budget, protected, with_only
from tests.updater.situations import (
    GATES_ON,
    HOUR,
    IN_PLACE,
    IPOR,
    MINUTE,
    NOW,
    RECREATE,
    SECOND,
    Scene,
    annotated,
    small,
    vpa_of,
)
from updater.conditions import RESIZE_WITHOUT_EFFECT, TYPE_OF_REASON
from updater.decision import Action, Reason
from updater.resize_effect import without_effect
from updater.resize_request import REQUESTED_ANNOTATION
from updater.settings import Settings

EFFECT = with_only("resize_without_effect")
ALL = with_only("resize_without_effect", "memory_shrink_guard", "single_replicas", "pdbs_are_read_too")
REQUESTED = NOW - HOUR
WANTED = recommended("c", "250m/300Mi", lower="150m/250Mi", upper="400m/500Mi")
ENOUGH = "250m/300Mi"


def looping(
    requests: str = ENOUGH,
    restarts: int = 5,
    noted: int | None = 2,
    ended: timedelta = MINUTE,
    reason: str = "OOMKilled",
    *,
    runs: bool = True,
) -> Pod:
    """Return a pod that was resized an hour ago, with its container's restarts then and now and its last end."""
    subject = small("p0", requests)
    if noted is not None:
        text = json.dumps({"generation": 1, "at": REQUESTED.isoformat(), "restarts": {"c": noted}})
        subject = annotated(subject, **{REQUESTED_ANNOTATION: text})
    end = Termination(reason, NOW - ended - SECOND, NOW - ended)
    resources = subject.containers[0].resources
    status = ContainerStatus(
        "c", resources, amounts(requests), restart_count=restarts, is_running=runs, last_terminated=end
    )
    return replace(subject, statuses=(status,))


def half_done(subject: Pod) -> Pod:
    """Return a pod whose node still gives it the amounts of before."""
    (status,) = subject.statuses
    return replace(subject, statuses=(replace(status, resources=small().containers[0].resources),))


@pytest.mark.parametrize(
    ("row", "subject", "expected"),
    [
        ("case:32", looping(restarts=5, noted=2), "container c was killed 3 times"),
        ("case:32", looping(restarts=4, noted=2), ""),
        ("case:32", looping(restarts=9, noted=0, runs=False), "container c was killed 9 times"),
        ("case:32", looping(ended=HOUR - SECOND), "container c was killed 3 times"),
        ("case:32", looping(ended=HOUR), ""),
        ("case:32", looping(reason="Error"), ""),
        ("case:32", looping(noted=None), ""),
        ("beyond:B-45", half_done(looping()), ""),
        ("beyond:B-45", replace(looping(), generation=2), ""),
        ("beyond:B-27", replace(looping(), statuses=()), ""),
    ],
)
def test_kills_count_from_the_beginning_of_their_series(row: str, subject: Pod, expected: str) -> None:
    assert without_effect(subject) == expected, row


MORE_CPU = (EvictionRequirement(("cpu",), ChangeRequirement.TARGET_HIGHER),)


@pytest.mark.parametrize(
    ("row", "mode", "settings", "expected"),
    [
        ("case:32", IPOR, EFFECT, "p0 evict resize_without_effect"),
        ("case:32", IPOR, ALL, "p0 evict resize_without_effect"),
        ("case:32", IN_PLACE, EFFECT, "p0 skip resize_without_effect"),
        ("case:32", IN_PLACE, ALL, "p0 skip resize_without_effect"),
        ("beyond:B-27", RECREATE, EFFECT, "p0 skip oom_without_change"),
        ("beyond:B-27", IPOR, GATES_ON, "p0 skip oom_without_change"),
    ],
)
def test_what_becomes_of_the_pod(row: str, mode: UpdateMode, settings: Settings, expected: str) -> None:
    made = Scene(vpa_of(mode, WANTED, minimum=1), (looping(),), settings=settings, surroundings=protected())
    assert made.played().said == [expected], row


def test_the_eviction_is_bound_as_any_other() -> None:
    made = Scene(vpa_of(IPOR, WANTED, minimum=1), (looping(),), settings=ALL, surroundings=protected(budget(0, 0)))
    assert made.played().said == ["p0 skip pdb_blocks"], "beyond:B-43"
    bound = replace(made, vpa=vpa_of(IPOR, WANTED, minimum=1, requirements=MORE_CPU), surroundings=protected())
    assert bound.played().said == ["p0 skip requirements_unmet"], "case:31"
    below = replace(made, vpa=vpa_of(IPOR, WANTED), surroundings=protected())
    assert below.played().said == ["p0 skip below_min_replicas"], "beyond:B-26"


def test_it_is_told_on_the_vpa() -> None:
    for reason in (Reason.RESIZE_WITHOUT_EFFECT, Reason.CONTAINER_NOT_RUNNING):
        assert TYPE_OF_REASON[reason] == RESIZE_WITHOUT_EFFECT, "case:32"
    made = Scene(vpa_of(IN_PLACE, WANTED, minimum=1), (looping(),), settings=EFFECT)
    (held,) = made.played().decisions
    assert held.detail == "container c was killed 3 times", "case:32"


@pytest.mark.parametrize(
    ("row", "subject", "mode", "settings", "expected"),
    [
        ("resize:6.6", looping("100m/200Mi", 2, None, runs=False), IPOR, EFFECT, "p0 skip container_not_running"),
        ("case:32", looping("100m/200Mi", 3, None, runs=False), IPOR, EFFECT, "p0 evict container_not_running"),
        ("case:32", looping("100m/200Mi", 3, 1, runs=False), IPOR, EFFECT, "p0 skip container_not_running"),
        ("case:32", looping("100m/200Mi", 3, None, runs=False), IN_PLACE, EFFECT, "p0 skip container_not_running"),
        ("resize:6.6", looping("100m/200Mi", 9, None), IPOR, EFFECT, "p0 resize outside_bounds"),
        ("resize:6.6", looping("100m/200Mi", 9, None, runs=False), IPOR, GATES_ON, "p0 resize outside_bounds"),
        (
            "resize:6.6",
            looping("100m/200Mi", 9, None, reason="Completed", runs=False),
            IPOR,
            EFFECT,
            "p0 resize outside_bounds",
        ),
        ("resize:6.6", looping("100m/300Mi", 9, None, runs=False), IPOR, EFFECT, "p0 resize outside_bounds"),
    ],
)
def test_what_does_not_run_gets_no_memory(
    row: str, subject: Pod, mode: UpdateMode, settings: Settings, expected: str
) -> None:
    made = Scene(vpa_of(mode, WANTED, minimum=1), (subject,), settings=settings)
    assert made.played().said == [expected], row


def test_a_status_that_tells_of_its_end_counts_as_well() -> None:
    (status,) = looping(runs=False).statuses
    ended = replace(status, terminated=status.last_terminated, last_terminated=None)
    assert without_effect(replace(looping(), statuses=(ended,))), "case:32"


@pytest.mark.parametrize("extra", range(4))
def test_below_three_kills_nothing_is_evicted(extra: int) -> None:
    made = Scene(vpa_of(IPOR, WANTED, minimum=1), (looping(restarts=2 + extra),), settings=EFFECT)
    assert made.played().count(Action.EVICT) == (1 if extra == 3 else 0), "case:32"
