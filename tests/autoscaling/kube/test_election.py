"""Who leads, decided without a server."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest

from autoscaling.kube.election import (
    ElectionSettings,
    LeaseState,
    Sighting,
    Step,
    is_overdue,
    next_step,
    released,
    state_after,
)
from tests.autoscaling.kube.clocks import T0

ME, OTHER = "me_1", "other_2"
SETTINGS = ElectionSettings("kube-system", "vpa-updater", ME)
LATER = T0 + timedelta(seconds=30)
HELD = LeaseState(OTHER, 15, T0, T0, 3)


@pytest.mark.parametrize(
    ("spec", "state", "age", "step"),
    [
        ("updater:M-3", None, 0.0, Step.CREATE),
        ("updater:M-3", HELD, 0.0, Step.WAIT),
        ("updater:M-3", HELD, 14.999, Step.WAIT),
        ("updater:M-3", HELD, 15.0, Step.TAKE),
        ("updater:M-3", replace(HELD, duration_seconds=60), 15.0, Step.WAIT),
        ("updater:M-3", replace(HELD, holder=""), 0.0, Step.TAKE),
        ("updater:M-3", replace(HELD, holder=ME), 0.0, Step.RENEW),
        ("updater:M-3", replace(HELD, holder=ME), 1000.0, Step.RENEW),
    ],
)
def test_next_step(spec: str, state: LeaseState | None, age: float, step: Step) -> None:
    assert next_step(Sighting(state, 100.0), ME, 100.0 + age) is step


def test_an_unchanged_lease_keeps_its_age_and_a_changed_one_does_not() -> None:
    """Spec: updater M-3 (the times inside the Lease are another machine's)."""
    first = Sighting(None, 0.0).after(HELD, 5.0)
    assert first == Sighting(HELD, 5.0)
    assert first.after(replace(HELD), 9.0) == first
    assert first.after(replace(HELD, renewed=LATER), 9.0) == Sighting(replace(HELD, renewed=LATER), 9.0)
    assert first.after(None, 9.0) == Sighting(None, 9.0)


@pytest.mark.parametrize(
    ("spec", "step", "known", "written"),
    [
        ("updater:M-3", Step.CREATE, None, LeaseState(ME, 15, LATER, LATER, 0)),
        ("updater:M-3", Step.TAKE, HELD, LeaseState(ME, 15, LATER, LATER, 4)),
        ("updater:M-3", Step.TAKE, replace(HELD, transitions=None), LeaseState(ME, 15, LATER, LATER, 1)),
        ("updater:M-3", Step.RENEW, replace(HELD, holder=ME), LeaseState(ME, 15, T0, LATER, 3)),
    ],
)
def test_what_a_step_writes(spec: str, step: Step, known: LeaseState | None, written: LeaseState) -> None:
    assert state_after(step, known, SETTINGS, LATER) == written


def test_waiting_writes_nothing() -> None:
    with pytest.raises(ValueError, match="a waiting candidate writes nothing"):
        state_after(Step.WAIT, HELD, SETTINGS, LATER)


def test_a_released_lease_can_be_taken_at_once() -> None:
    """Spec: updater M-3, upstream-1.8.1 M-3."""
    state = released(replace(HELD, holder=ME), LATER)
    assert state == LeaseState("", 1, LATER, LATER, 3)
    assert next_step(Sighting(state, 100.0), OTHER, 100.0) is Step.TAKE


@pytest.mark.parametrize(("spec", "since", "overdue"), [("updater:M-3", 9.99, False), ("updater:M-3", 10.0, True)])
def test_a_leader_gives_up_after_the_renew_deadline(spec: str, since: float, overdue: bool) -> None:
    assert is_overdue(100.0, SETTINGS, 100.0 + since) is overdue


@pytest.mark.parametrize(
    ("lease", "renew", "retry", "problem"),
    [
        (15.0, 10.0, 2.0, ""),
        (10.0, 10.0, 2.0, "lease duration 10 s must exceed the renew deadline 10 s"),
        (10.1, 10.0, 2.0, ""),
        (15.0, 2.4, 2.0, "renew deadline 2.4 s must exceed 1.2 times the retry period 2 s"),
        (15.0, 2.5, 2.0, ""),
        (15.0, 10.0, 0.0, "retry period 0 s must be positive"),
    ],
)
def test_times_that_cannot_work_together(lease: float, renew: float, retry: float, problem: str) -> None:
    assert ElectionSettings("n", "l", ME, lease, renew, retry).problem() == problem
