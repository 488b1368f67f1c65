"""The rules that resizes and evictions go through before they are sent, in the order in which they apply."""

from __future__ import annotations

from updater import evicting, shaping
from updater.circumstances import Circumstances
from updater.evicting import EvictionProposal
from updater.ledger import Ledger
from updater.shaping import Hindrance, Proposal

RESIZES: tuple[shaping.Step, ...] = ()
"""What a resize goes through."""

EVICTIONS: tuple[evicting.Step, ...] = ()
"""What an eviction goes through."""


def shape(proposal: Proposal, circumstances: Circumstances, ledger: Ledger) -> Proposal | Hindrance:
    """Put a resize through every rule; the first hindrance ends it.

    Args:
        proposal: What the recommendation asks for, whole.
        ledger: What the changes before it in this round take up.
    """
    for step in RESIZES:
        found = step(proposal, circumstances, ledger)
        if isinstance(found, Hindrance):
            return found
        proposal = found
    return proposal


def weigh(proposal: EvictionProposal, circumstances: Circumstances, ledger: Ledger) -> EvictionProposal | Hindrance:
    """Put an eviction through every rule; the first hindrance ends it.

    Args:
        ledger: What the changes before it in this round take up.
    """
    for step in EVICTIONS:
        found = step(proposal, circumstances, ledger)
        if isinstance(found, Hindrance):
            return found
        proposal = found
    return proposal
