"""What is still to be tried for a pod, and what has been."""

from __future__ import annotations

from dataclasses import dataclass

from updater.candidates import Candidate
from updater.decision import Action, Decision, Reason


@dataclass(frozen=True, slots=True)
class PendingEviction:
    """A pod that is to be evicted when the resizes are done, and why."""

    candidate: Candidate
    reason: Reason


@dataclass(frozen=True, slots=True)
class Attempt:
    """A call that is taken for successful until its outcome is known."""

    decision: Decision
    candidate: Candidate

    @property
    def gives_back(self) -> bool:
        """Whether a pod only gives back what it has claimed in vain, which disrupts nothing (beyond:B-24)."""
        return self.decision.reason is Reason.CLAIM_RELEASED

    @property
    def is_disruption(self) -> bool:
        """Whether it uses up the budget of the pod's group (updater R-6, beyond:B-43)."""
        is_call = self.decision.action in {Action.RESIZE, Action.EVICT}
        return is_call and self.decision.disrupts and not self.gives_back
