"""When the webhook's own certificates are made, renewed and retired, so that no handshake ever fails.

A new authority is published first, beside the old one; only when every API server has had time to learn of it does it
sign the serving certificate; the old one stays published for as long as somebody might still show what it signed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import Enum

AUTHORITY_LIFETIME = timedelta(days=730)
AUTHORITY_RENEWAL = timedelta(days=180)
"""An authority with less than this left gets a successor."""

SERVING_LIFETIME = timedelta(days=90)
SERVING_RENEWAL = timedelta(days=30)
"""A serving certificate with less than this left is replaced."""

CLOCK_SKEW = timedelta(minutes=5)
"""Certificates are valid from so long before they are made, for peers whose clocks are behind."""

PUBLICATION = timedelta(minutes=10)
"""Time that API servers get to learn of a new authority before it signs anything that they are shown."""

RETIREMENT = timedelta(days=7)
"""Time that an authority stays published after its successor was made."""


class Step(Enum):
    """What is to be done about the certificates now; one step at a time."""

    KEEP = "keep"
    START_OVER = "start over"
    ADD_AUTHORITY = "add authority"
    ISSUE_SERVING = "issue serving certificate"
    RETIRE_AUTHORITIES = "retire authorities"


@dataclass(frozen=True, slots=True)
class AuthorityFacts:
    """What counts of an authority's certificate."""

    not_before: datetime
    not_after: datetime

    @property
    def made(self) -> datetime:
        """When it was made."""
        return self.not_before + CLOCK_SKEW


@dataclass(frozen=True, slots=True)
class ServingFacts:
    """What counts of a serving certificate.

    Args:
        names: Host names and addresses it is valid for.
        signer: Place of its signer among the authorities; None where it is none of them.
        has_key: Whether its own private key is there.
    """

    not_before: datetime
    not_after: datetime
    names: frozenset[str]
    signer: int | None
    has_key: bool = True


@dataclass(frozen=True, slots=True)
class CertificateFacts:
    """Everything that is stored.

    Args:
        authorities: As published, the newest first.
        can_sign: Whether the newest authority's private key is there.
        serving: None where there is none that can be read.
    """

    authorities: tuple[AuthorityFacts, ...]
    can_sign: bool
    serving: ServingFacts | None


NO_CERTIFICATES = CertificateFacts((), can_sign=False, serving=None)


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What the plan depends on beside the certificates.

    Args:
        names: Host names and addresses that the webhook is called by.
        is_published: Whether the newest authority has stood in the webhook's registration for long enough, or nobody
            registers it.
        now: The time.
    """

    names: frozenset[str]
    is_published: bool
    now: datetime


def next_step(facts: CertificateFacts, around: Surroundings) -> Step:
    """Return what is to be done next.

    Nothing here waits: a step that is not due yet is found due by a later look.
    """
    newest = facts.authorities[0] if facts.authorities else None
    serving = facts.serving
    is_usable = serving is not None and _is_usable(serving, around)
    if newest is None or newest.not_after <= around.now:
        return Step.START_OVER
    if not facts.can_sign:
        return Step.ADD_AUTHORITY if is_usable else Step.START_OVER
    if serving is None or not is_usable:
        return Step.ISSUE_SERVING
    if newest.not_after - around.now < AUTHORITY_RENEWAL:
        return Step.ADD_AUTHORITY
    is_known = around.is_published and around.now >= newest.made + PUBLICATION
    is_due = serving.signer != 0 or serving.not_after - around.now < SERVING_RENEWAL
    if is_due and is_known:
        return Step.ISSUE_SERVING
    return Step.RETIRE_AUTHORITIES if len(kept(facts, around.now)) < len(facts.authorities) else Step.KEEP


def _is_usable(serving: ServingFacts, around: Surroundings) -> bool:
    """Say whether a handshake with this certificate can succeed at all."""
    is_valid = serving.not_before <= around.now < serving.not_after
    return is_valid and serving.has_key and serving.signer is not None and around.names <= serving.names


def kept(facts: CertificateFacts, now: datetime) -> Sequence[int]:
    """Return the places of the authorities that stay published: the newest, the signer, and those still overlapping.

    Args:
        facts: What is stored, with at least one authority.
        now: The time.
    """
    signer = facts.serving.signer if facts.serving else None
    overlaps = now < facts.authorities[0].made + RETIREMENT
    return [
        place
        for place, authority in enumerate(facts.authorities)
        if place == 0 or (authority.not_after > now and (place == signer or overlaps))
    ]
