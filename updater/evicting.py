"""Whether an eviction would help, put through step by step, or why the pod is better left where it is."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from autoscaling.capping import ProcessedRecommendation
from autoscaling.pod import Pod
from updater.circumstances import Circumstances
from updater.decision import Reason
from updater.ledger import NO_CLAIM, Claim, Ledger
from updater.shaping import Hindrance


@dataclass(frozen=True, slots=True)
class EvictionProposal:
    """An eviction that may be sent.

    Args:
        pod: Whose.
        processed: The recommendation that its replacement would get; None where there is none.
        reason: Why it is to go.
        claim: What the eviction would take up.
        made_anew: The pod as its controller would make it in its place; None where its template is not known.
    """

    pod: Pod
    processed: ProcessedRecommendation | None
    reason: Reason
    claim: Claim = NO_CLAIM
    made_anew: Pod | None = None


Step = Callable[[EvictionProposal, Circumstances, Ledger], EvictionProposal | Hindrance]
"""One rule; it looks at its own switch, and hands the proposal on where that is off."""


def weigh(
    proposal: EvictionProposal, steps: Iterable[Step], circumstances: Circumstances, ledger: Ledger
) -> EvictionProposal | Hindrance:
    """Put an eviction through every step; the first hindrance ends it.

    Args:
        steps: The rules in the order in which they apply.
        ledger: What the changes before it in this round take up.
    """
    for step in steps:
        found = step(proposal, circumstances, ledger)
        if isinstance(found, Hindrance):
            return found
        proposal = found
    return proposal
