"""What can go wrong while two sides are compared."""

from __future__ import annotations


class DisagreementError(Exception):
    """The two sides did not do the same work, so their times cannot be compared."""


class PeerError(Exception):
    """The peer could not do what it was asked for."""
