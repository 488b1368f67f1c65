"""What a resize would set on a pod, shaped step by step until it does no harm, or why it is better not sent now."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from autoscaling.capping import ProcessedRecommendation
from autoscaling.pod import Pod
from autoscaling.target_resources import ContainerTarget
from updater.circumstances import Circumstances
from updater.decision import Reason
from updater.group import Group
from updater.ledger import NO_CLAIM, Amounts, Claim, Ledger

Targets = tuple[ContainerTarget | None, ...]
"""What each container of a pod gets, in order; None for one that is left out altogether."""


@dataclass(frozen=True, slots=True)
class Proposal:
    """A resize that may be sent.

    Args:
        pod: Whose.
        targets: What it would set.
        processed: The recommendation behind it, with its bounds; None where there is none.
        claim: What it would take up.
        expired: Containers whose start-up boost is taken back with it.
        missing: What the pod's node lacks for all that the recommendation asks for, in nano-units by resource.
        group: The pod's group as it stands at this point of the round; None where no budget of it counts.
    """

    pod: Pod
    targets: Targets
    processed: ProcessedRecommendation | None
    claim: Claim = NO_CLAIM
    expired: tuple[str, ...] = ()
    missing: Amounts = field(default_factory=dict)
    group: Group | None = None

    @property
    def sets_anything(self) -> bool:
        """Whether any request or limit is set at all."""
        return any(target is not None and (target.requests or target.limits) for target in self.targets)


@dataclass(frozen=True, slots=True)
class Hindrance:
    """Why a resize is not sent now.

    Args:
        detail: What no reason can say, such as the amount that is missing.
        missing: What the pod's node lacks, in nano-units by resource.
        helps_to_evict: Whether a new pod would not meet the same, so that mode InPlaceOrRecreate may evict.
    """

    reason: Reason
    detail: str = ""
    helps_to_evict: bool = False
    missing: Amounts = field(default_factory=dict)


Step = Callable[[Proposal, Circumstances, Ledger], Proposal | Hindrance]
"""One rule; it looks at its own switch, and hands the proposal on as it is where that is off."""


def shape(
    proposal: Proposal, steps: Iterable[Step], circumstances: Circumstances, ledger: Ledger
) -> Proposal | Hindrance:
    """Put a resize through every step; the first hindrance ends it.

    Args:
        proposal: What the recommendation asks for, whole.
        steps: The rules in the order in which they apply.
        ledger: What the changes before it in this round take up.
    """
    for step in steps:
        found = step(proposal, circumstances, ledger)
        if isinstance(found, Hindrance):
            return found
        proposal = found
    return proposal
