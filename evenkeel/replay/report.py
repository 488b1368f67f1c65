"""Figures as the tables that a terminal shows, also beside those of another run (spec: quality Q-19, Q-22)."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from evenkeel.inspection.documents import Table
from evenkeel.replay.figures import ALL, OVERRUN_WEIGHTS, Figures
from evenkeel.replay.intervals import Difference, Interval

ByStrategy = Mapping[str, Mapping[str, Figures]]
"""Figures by strategy, and there over all series and over those of each source."""

LIMITS: Final = (
    "Means over minutes hide peaks, and use is what the limits of its time let through. Some scales are nominal, and"
    " totals of pools or what a hypervisor calls active memory say nothing of containers that run out of memory."
)
"""What is to be known beside every figure."""

TOLERANCE: Final = 0.01
"""Share by which a figure may be off."""

_NOTHING: Final = "-"
_PAIRS: Final = (
    ("CPU SLACK", "cpu_slack", ("median", "mean")),
    ("CPU OVERRUN", "cpu_overrun", ("median", "mean")),
    ("TIME OVER", "cpu_overrun_share", ("median", "mean")),
    ("MEMORY SLACK", "memory_slack", ("median", "mean")),
    ("OOMS 1.0", "ooms_1", ("mean", "pooled")),
    ("OOMS 1.5", "ooms_1.5", ("mean", "pooled")),
    ("RESIZES", "resizes", ("median", "mean")),
)
"""Heading, name and kinds of the figures of a column."""


@dataclass(frozen=True, slots=True)
class Deviation:
    """A figure beside the one it should be.

    Args:
        strategy: Of which strategy.
        series: ``all`` or a source.
        figure: Its name.
        expected: What it should be.
        found: What it is; NaN where there is none.
    """

    strategy: str
    series: str
    figure: str
    expected: float
    found: float

    @property
    def share(self) -> float:
        """How far it is off, in shares of what it should be; infinite where that is nothing, or there is no figure."""
        if self.found == self.expected:
            return 0.0
        if math.isnan(self.found) or self.expected == 0.0:
            return math.inf
        return (self.found - self.expected) / abs(self.expected)

    @property
    def is_beyond(self) -> bool:
        """Whether it is off by more than may be."""
        return abs(self.share) > TOLERANCE


def deviations(expected: ByStrategy, found: ByStrategy) -> tuple[Deviation, ...]:
    """Hold figures against those that they should be.

    Args:
        expected: Every one of these is looked for.
        found: What there is.
    """
    return tuple(
        Deviation(strategy, series, name, value, found.get(strategy, {}).get(series, {}).get(name, math.nan))
        for strategy, by_series in expected.items()
        for series, named in by_series.items()
        for name, value in named.items()
    )


def verdict(compared: Sequence[Deviation]) -> str:
    """Return how many figures were compared and how many are off, in a line."""
    beyond = sum(each.is_beyond for each in compared)
    return f"replay: {len(compared)} figures, {beyond} beyond {TOLERANCE:.0%}"


def deviation_table(compared: Sequence[Deviation]) -> Table:
    """Return a row for each figure that was compared."""
    return Table(
        "Beside the reference",
        ("STRATEGY", "SERIES", "FIGURE", "REFERENCE", "FOUND", "OFF BY"),
        tuple(
            (
                each.strategy,
                each.series,
                each.figure,
                _text(each.expected),
                _text(each.found),
                f"{each.share:+.2%}" if math.isfinite(each.share) else "no figure" if math.isnan(each.found) else "all",
            )
            for each in compared
        ),
    )


def difference_table(against: str, found: Mapping[str, Sequence[Difference]]) -> Table:
    """Return a row for each score of each strategy beside that of another one.

    Args:
        against: Name of the other one.
        found: Differences by strategy.
    """
    return Table(
        f"Beside {against}, series by series, with 95% intervals",
        ("STRATEGY", "SCORE", "SERIES", "MEAN DIFFERENCE", "MEDIAN DIFFERENCE"),
        tuple(
            (strategy, each.figure, str(each.series), _interval_text(each.mean), _interval_text(each.median))
            for strategy, apart in found.items()
            for each in apart
        ),
    )


def figure_tables(found: ByStrategy) -> Iterator[Table]:
    """Yield a table of the figures over all series, then one for each source where there are several."""
    names = list(dict.fromkeys(series for by_series in found.values() for series in by_series))
    names = names if len(names) > 2 else [ALL]
    costs = tuple(f"J{weight:g} MEAN" for weight in OVERRUN_WEIGHTS)
    columns = ("STRATEGY", *(f"{head} {'/'.join(kinds).upper()}" for head, _, kinds in _PAIRS), *costs, "J10 MEDIAN")
    for series in names:
        rows = tuple((strategy, *_cells(by_series[series])) for strategy, by_series in found.items())
        yield Table("All series" if series == ALL else series, columns, rows)


def _cells(figures: Figures) -> Iterator[str]:
    for _, name, kinds in _PAIRS:
        yield " / ".join(_text(figures.get(f"{name}_{kind}", math.nan)) for kind in kinds)
    for weight in OVERRUN_WEIGHTS:
        yield _text(figures.get(f"j{weight:g}_mean", math.nan))
    yield _text(figures.get("j10_median", math.nan))


def _text(value: float) -> str:
    return _NOTHING if math.isnan(value) else f"{value:.4g}"


def _interval_text(interval: Interval) -> str:
    return f"{interval.value:+.4g} [{interval.low:+.4g}, {interval.high:+.4g}]"
