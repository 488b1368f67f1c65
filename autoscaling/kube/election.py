"""Who leads: decided from what a Lease says and how long it has said so."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime
from enum import Enum

JITTER = 1.2
"""Share of the retry period that a waiting candidate adds at random."""


class Step(Enum):
    """What a candidate does about the Lease."""

    CREATE = "create"
    TAKE = "take"
    RENEW = "renew"
    WAIT = "wait"


@dataclass(frozen=True, slots=True)
class ElectionSettings:
    """One leader election.

    Args:
        namespace: Of the Lease.
        name: Of the Lease.
        identity: Of this process; no other may have the same.
        lease_seconds: How long a silent leader is left alone.
        renew_seconds: How long a leader goes on without having renewed.
        retry_seconds: Pause between two looks at the Lease.

    Spec: updater M-3, recommender 6.1.
    """

    namespace: str
    name: str
    identity: str
    lease_seconds: float = 15.0
    renew_seconds: float = 10.0
    retry_seconds: float = 2.0

    def problem(self) -> str:
        """What makes these settings unusable; empty when nothing does.

        A leader must notice that it lost the Lease before another may take it, and must get at least one try.
        """
        if self.lease_seconds <= self.renew_seconds:
            return f"lease duration {self.lease_seconds:g} s must exceed the renew deadline {self.renew_seconds:g} s"
        if self.retry_seconds <= 0:
            return f"retry period {self.retry_seconds:g} s must be positive"
        if self.renew_seconds <= JITTER * self.retry_seconds:
            retries = f"{JITTER:g} times the retry period {self.retry_seconds:g} s"
            return f"renew deadline {self.renew_seconds:g} s must exceed {retries}"
        return ""


@dataclass(frozen=True, slots=True)
class LeaseState:
    """What a Lease says about its holder.

    Args:
        holder: Identity; empty when it was released.
        duration_seconds: How long the holder wants to be left alone after a renewal.
        acquired: When the holder took it.
        renewed: When the holder last renewed it.
        transitions: How often it changed hands; None where nobody counts.
    """

    holder: str = ""
    duration_seconds: int = 0
    acquired: datetime | None = None
    renewed: datetime | None = None
    transitions: int | None = None


@dataclass(frozen=True, slots=True)
class Sighting:
    """What was last seen, and since when it has not changed.

    The age is taken from our own clock: the times inside the Lease are another machine's.

    Args:
        state: None when there is no Lease.
        since_seconds: Monotonic time at which this state was first seen.
    """

    state: LeaseState | None
    since_seconds: float

    def after(self, state: LeaseState | None, now_seconds: float) -> Sighting:
        """Look again: an unchanged state keeps its age."""
        return self if state == self.state else Sighting(state, now_seconds)


def next_step(sighting: Sighting, identity: str, now_seconds: float) -> Step:
    """Decide what a candidate or leader does about the Lease.

    Args:
        sighting: What is known of it.
        identity: Our own.
        now_seconds: Monotonic time.

    Spec: updater M-3.
    """
    state = sighting.state
    if state is None:
        return Step.CREATE
    if state.holder == identity:
        return Step.RENEW
    if state.holder and sighting.since_seconds + state.duration_seconds > now_seconds:
        return Step.WAIT
    return Step.TAKE


def state_after(step: Step, known: LeaseState | None, settings: ElectionSettings, now: datetime) -> LeaseState:
    """What to write into the Lease to carry out a step.

    Args:
        step: Anything but WAIT.
        known: What the Lease says now.
        settings: Identity and duration.
        now: Wall clock.

    Raises:
        ValueError: The step writes nothing.
    """
    previous = known or LeaseState()
    ours = replace(previous, holder=settings.identity, duration_seconds=int(settings.lease_seconds), renewed=now)
    match step:
        case Step.RENEW:
            return ours
        case Step.TAKE:
            return replace(ours, acquired=now, transitions=(previous.transitions or 0) + 1)
        case Step.CREATE:
            return replace(ours, acquired=now, transitions=0)
        case Step.WAIT:
            raise ValueError("a waiting candidate writes nothing into the Lease")


def released(known: LeaseState, now: datetime) -> LeaseState:
    """What to write into the Lease so that the next candidate need not wait."""
    return replace(known, holder="", duration_seconds=1, acquired=now, renewed=now)


def is_overdue(renewed_seconds: float, settings: ElectionSettings, now_seconds: float) -> bool:
    """Say whether a leader that last renewed at ``renewed_seconds`` must stop leading."""
    return now_seconds - renewed_seconds >= settings.renew_seconds
