"""What is still to be tried for a pod, what has been, and what is not to be tried yet."""

from __future__ import annotations

from dataclasses import dataclass

from autoscaling.pod import Pod
from updater.candidates import Candidate
from updater.circumstances import Circumstances
from updater.decision import Action, Decision, Reason
from updater.ledger import Ledger
from updater.patches import Patch


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


def why_not_sent(pod: Pod, resize: Patch, circumstances: Circumstances, ledger: Ledger) -> Reason | None:
    """Return why a resize is not sent after what came of earlier calls, None where it may be (beyond:B-21)."""
    if not circumstances.settings.behaviour.errors_are_classified:
        return None
    if Action.RESIZE.value in ledger.stopped:
        return Reason.NOT_PERMITTED
    return circumstances.memory.backoff.holds_back(pod.uid, resize, circumstances.now)


def why_not_evicted(pod: Pod, circumstances: Circumstances, ledger: Ledger) -> Reason | None:
    """Return why no eviction is tried after what came of earlier ones, None where one may be (beyond:B-21)."""
    if not circumstances.settings.behaviour.errors_are_classified:
        return None
    if Action.EVICT.value in ledger.stopped:
        return Reason.NOT_PERMITTED
    return circumstances.memory.backoff.holds_back_eviction(pod.uid, circumstances.now)
