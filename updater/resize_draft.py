"""What a resize sends if no rule changes it, reckoned once for a candidate however often it comes up."""

from __future__ import annotations

from dataclasses import dataclass

from autoscaling.target_resources import ContainerTarget
from updater.admissible import targets_for
from updater.candidates import Candidate
from updater.circumstances import Circumstances
from updater.patches import Patch, resize_patch
from updater.shaping import Targets
from updater.templates import with_own_ratios


@dataclass(frozen=True, slots=True)
class Draft:
    """A candidate's resize before any rule has looked at it.

    Args:
        candidate: Whose; as long as this lives, its identity names it.
        targets: What the recommendation comes to.
        resize: The operations that set just that.
    """

    candidate: Candidate
    targets: tuple[ContainerTarget, ...]
    resize: Patch

    def patch_for(self, targets: Targets) -> Patch:
        """Return the operations that set targets, which mostly are still those of the draft."""
        return self.resize if targets is self.targets else resize_patch(self.candidate.member.pod, targets)


def draft(candidate: Candidate, circumstances: Circumstances) -> Draft:
    """Return a candidate's draft.

    A candidate is made anew when its pod, its controller, the VPA or a LimitRange changes (see ``opening``), so it
    stands for them.
    """
    drafts = circumstances.memory.recall.drafts
    found = drafts.find(id(candidate))
    if found is None:
        pod, vpa = candidate.member.pod, circumstances.vpa
        # What a pod LimitRange makes of the requests alone is reason to evict, but nothing to resize to (P-2 step 1).
        processed = candidate.processed if vpa.recommendation is not None else None
        template = circumstances.template_of(candidate.member)
        basis = with_own_ratios(pod, template, vpa, circumstances.limits.items)
        targets = targets_for(pod, basis, processed, circumstances)
        found = Draft(candidate, targets, resize_patch(pod, targets))
    drafts.keep(id(candidate), found)
    return found
