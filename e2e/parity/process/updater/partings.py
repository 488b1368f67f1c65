"""The first step of an updater's round at which two of them part: told from what they asked, and why ours did.

Spec: updater M-8 to M-21, P-2 to P-9, R-3 to R-6, C-3 to C-5, X-2 to X-10.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from e2e.parity.process.differences import first_apart
from e2e.parity.process.updater.rounds import Answered

RULES: Final[Mapping[str, str]] = {
    "updates_off": "M-15",
    "new_pods_only": "M-15",
    "gate_off": "M-15",
    "namespace_ignored": "M-8",
    "target_unresolved": "M-8",
    "boosted": "M-14",
    "below_min_replicas": "R-3",
    "replicas_unknown": "R-4",
    "too_few_running": "R-6",
    "budget_used_up": "R-6",
    "pod_pending": "C-3",
    "no_recommendation": "C-3",
    "infeasible_remembered": "C-3",
    "no_less_for_the_pod": "P-7",
    "resize_pending": "C-5",
    "resize_failed": "C-5",
    "resize_timed_out": "C-5",
    "outside_bounds": "P-5",
    "worthwhile_change": "P-7",
    "quick_oom": "P-6",
    "no_start_time": "P-7",
    "too_young": "P-7",
    "change_too_small": "P-7",
    "oom_without_change": "P-7",
    "requirements_unmet": "P-9",
    "nothing_to_apply": "X-4",
    "resize_refused": "X-9",
    "invalid_object": "P-2",
    "round_ended": "M-21",
}
"""The rule behind each reason of our updater."""

_STEPS: Final = {"M": "filter", "P": "acceptance", "R": "group budget", "C": "in-place decision", "X": "the call"}
"""What the rules of each chapter are about."""

_ELSEWHERE: Final = {"P-2": "priority", "P-5": "priority", "P-8": "priority"}
"""Rules that are about something else than most of their chapter."""

_PATCHES: Final = {"patch pods/resize": "X-2 or X-3", "patch pods": "X-5"}
_UNKNOWN_RULE: Final = "M-9"


def named(rule: str) -> str:
    """Return a rule with the step that it belongs to, such as ``group budget, updater R-6``."""
    return f"{_ELSEWHERE.get(rule, _STEPS[rule[0]])}, updater {rule}"


def decision_rule(reason: str) -> str:
    """Return the step and the rule at which two decisions about a pod part.

    Args:
        reason: Why ours decided as it did, as its log has it; empty where it says nothing.
    """
    return named(RULES.get(reason, _UNKNOWN_RULE))


def write_rule(theirs: Answered, ours: Answered, *, is_alike: bool) -> str:
    """Return the step and the rule at which two writes of the same kind part, or the two answers to equal ones.

    Args:
        theirs: What upstream asked.
        ours: What ours asked at the same place of the round.
        is_alike: Whether the two pods differ in nothing but name and uid.
    """
    if not is_alike:
        return f"{named('P-8')}, the order of the pods"
    apart = first_apart(theirs[0].body, ours[0].body)
    if apart is None:
        return f"the API server: {theirs[1]} and {ours[1]}"
    return f"{named(_PATCHES.get(theirs[0].what, 'X-10'))}, at {apart[0]}"
