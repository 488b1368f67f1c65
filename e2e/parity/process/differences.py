"""Where two sides part: what, by which rule first, and what either of them did."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Difference:
    """One difference.

    Args:
        case: What it was found on.
        rule: The first rule at which the two part, such as ``updater R-6``.
        upstream: What upstream did or wrote.
        ours: What ours did or wrote.
        hints: What else helps to find the cause.
    """

    case: str
    rule: str
    upstream: str
    ours: str
    hints: tuple[str, ...] = ()

    def lines(self) -> Iterator[str]:
        """Yield it as text."""
        yield f"{self.case}: they part at {self.rule}"
        yield f"    upstream: {self.upstream}"
        yield f"    ours:     {self.ours}"
        for hint in self.hints:
            yield f"    {hint}"


@dataclass(slots=True)
class Report:
    """What a comparison came to.

    Args:
        title: What was compared.
        cases: How many cases there were.
        differences: All differences.
        notes: Figures that tell how much was looked at.
    """

    title: str
    cases: int = 0
    differences: list[Difference] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    def lines(self) -> Iterator[str]:
        """Yield it as text."""
        yield f"{self.title}: {self.cases} cases, {len(self.differences)} differences"
        for note in self.notes:
            yield f"    {note}"
        for difference in self.differences:
            yield from difference.lines()


def first_apart(upstream: object, ours: object, path: str = "") -> tuple[str, object, object] | None:
    """Return the first place at which two documents differ, with what either has there; None when they are equal.

    Members of objects are looked at by name, so that the first place is always the same one.
    """
    if isinstance(upstream, dict) and isinstance(ours, dict):
        for key in sorted({*upstream, *ours}):
            found = first_apart(upstream.get(key), ours.get(key), f"{path}.{key}" if path else key)
            if found is not None:
                return found
        return None
    if isinstance(upstream, list) and isinstance(ours, list) and len(upstream) == len(ours):
        for index, (one, other) in enumerate(zip(upstream, ours, strict=True)):
            found = first_apart(one, other, f"{path}.{index}" if path else str(index))
            if found is not None:
                return found
        return None
    return None if upstream == ours else (path, upstream, ours)
