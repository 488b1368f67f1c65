"""The first step from a recommendation to a pod's amounts at which two webhooks part, told from what they note.

Each of them notes in an annotation by what amounts were bounded. Where only one side does, or another amount differs,
that tells the step.

Spec: admission 7.1, limits.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

_NOTED: Final = (
    ("minAllowed", "policy caps, admission 7.1"),
    ("maxAllowed", "policy caps, admission 7.1"),
    ("to container limit", "container limit, admission 7.1"),
    ("in container LimitRange", "LimitRange for containers, limits"),
)
"""What notes are about, in the order in which amounts are bounded, with the step and where it is specified."""


def amounts_rule(theirs: str, ours: str, paths: Iterable[str]) -> str:
    """Return the first step at which the amounts of a pod part.

    Args:
        theirs: What upstream notes; empty for nothing.
        ours: What ours notes.
        paths: JSON pointers, or dotted paths, of the amounts that differ.
    """
    for word, step in _NOTED:
        if theirs.count(word) != ours.count(word):
            return step
    parts = {part for path in paths for part in path.replace(".", "/").split("/")}
    if "requests" in parts or "limits" not in parts:
        return "recommendation or LimitRange for pods, admission 7.1 and limits (the requests)"
    return "limits in proportion, limits (requests are equal)"
