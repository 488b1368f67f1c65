"""A comparison as the blocks of text that a terminal shows, and as the value that programs read.

Spec: beyond:B-35.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from autoscaling.quantity import Quantity
from evenkeel.comparison.comparing import Comparison, Row, Verdict
from evenkeel.comparison.distance import Nearer
from evenkeel.inspection.documents import Block, Table

_NOTHING = "-"
_COLUMNS = (
    "NAMESPACE",
    "NAME",
    "CONTAINER",
    "RESOURCE",
    "OURS",
    "THEIRS",
    "DISTANCE",
    "VERDICT",
    "USED",
    "NEARER",
    "FIRST DIFFERENCE",
)


@dataclass(frozen=True, slots=True)
class Measure:
    """What targets were held against.

    Args:
        source: Where use was taken from, with the time that it covers; empty where none was looked at.
        percentile: Of the samples of CPU, and of the pods' peaks of memory, above 0, at most 100.
        threshold_percent: Distance that is too far; None where none is.
    """

    source: str
    percentile: float
    threshold_percent: float | None


@dataclass(frozen=True, slots=True)
class Summary:
    """All rows in figures.

    Args:
        rows: How many there are.
        same: With the same target on both sides.
        higher: With a higher target of ours.
        lower: With a lower target of ours.
        one_sided: With a target on one side only.
        nearer_ours: With ours nearer to what was used.
        nearer_theirs: With upstream's nearer to what was used.
        beyond: Farther apart than the threshold; 0 where there is none.
        largest_distance_percent: Of rows with two targets.
    """

    rows: int
    same: int
    higher: int
    lower: int
    one_sided: int
    nearer_ours: int
    nearer_theirs: int
    beyond: int
    largest_distance_percent: float


@dataclass(frozen=True, slots=True)
class Report:
    """A comparison with what it was measured by.

    Args:
        measure: What targets were held against.
        summary: All rows in figures.
        rows: One for each resource of each container.
        notes: What there is nothing to compare of, and why.
    """

    measure: Measure
    summary: Summary
    rows: tuple[Row, ...]
    notes: tuple[str, ...]

    @property
    def verdict(self) -> str:
        """The whole in one sentence."""
        figures = self.summary
        told = f"{figures.rows} targets: {figures.same} the same, {figures.higher} higher and {figures.lower} lower "
        told += f"with us, {figures.one_sided} on one side only"
        if self.measure.source:
            told += f"; nearer to use: {figures.nearer_ours} ours, {figures.nearer_theirs} theirs"
        if self.measure.threshold_percent is not None:
            told += f"; {figures.beyond} beyond {self.measure.threshold_percent:g} %"
        return f"{told}."


def report(comparison: Comparison, measure: Measure) -> Report:
    """Return the report on a comparison."""
    rows, threshold = comparison.rows, measure.threshold_percent
    verdicts = [row.verdict for row in rows]
    nearer = [row.nearer for row in rows]
    summary = Summary(
        rows=len(rows),
        same=verdicts.count(Verdict.SAME),
        higher=verdicts.count(Verdict.HIGHER),
        lower=verdicts.count(Verdict.LOWER),
        one_sided=verdicts.count(Verdict.ONLY_OURS) + verdicts.count(Verdict.ONLY_THEIRS),
        nearer_ours=nearer.count(Nearer.OURS),
        nearer_theirs=nearer.count(Nearer.THEIRS),
        beyond=sum(row.is_beyond(threshold) for row in rows) if threshold is not None else 0,
        largest_distance_percent=max((row.distance_percent or 0.0 for row in rows), default=0.0),
    )
    return Report(measure, summary, rows, comparison.notes)


def report_blocks(made: Report) -> Iterator[Block]:
    """Yield a report as a terminal shows it."""
    if made.rows:
        yield Table("", _COLUMNS, tuple(_cells(row) for row in made.rows))
    yield f"{made.verdict}\n{measured(made.measure)}" if made.measure.source else made.verdict


def measured(measure: Measure) -> str:
    """Say what targets were held against."""
    return (
        f"Use is percentile {measure.percentile:g} of the samples of CPU and of the pods' peaks of memory, "
        f"{measure.source}."
    )


def _cells(row: Row) -> tuple[str, ...]:
    return (
        row.namespace,
        row.name,
        row.container,
        row.resource,
        amount(row.ours),
        amount(row.theirs),
        percent(row.distance_percent),
        row.verdict.value,
        amount(row.used),
        row.nearer.value if row.nearer else _NOTHING,
        why(row),
    )


def amount(value: Quantity | None) -> str:
    """Return an amount as text, a hyphen for none."""
    return _NOTHING if value is None else str(value)


def percent(value: float | None) -> str:
    """Return a distance as text: of one that is no more than a tenth of a percent, that it is not nothing."""
    if value is None:
        return _NOTHING
    return "<0.1 %" if 0.0 < value < 0.1 else f"{value:.1f} %"


def why(row: Row) -> str:
    """Return the first step at which the two sides differ, with the amounts there; a hyphen where they do not."""
    if row.step is None:
        return _NOTHING
    amounts = f" ({amount(row.ours_at_step)} and {amount(row.theirs_at_step)})" if row.ours_at_step is not None else ""
    return f"{row.step.value}{amounts}: {row.detail}"
