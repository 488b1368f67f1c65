"""What strategies did to single series: use, requests, limits, OOM kills and resizes over time (spec: beyond B-36)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from typing import Final

import numpy as np
from numpy.typing import NDArray

from evenkeel.replay.contest import IN_HINDSIGHT
from evenkeel.replay.course import CPU_PLACE, MEMORY_PLACE, Course
from evenkeel.replay.outcome import Outcome
from evenkeel.replay.steps import Steps

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

MOST_STRATEGIES: Final = 3
"""Strategies that are drawn of one series."""

_OVERRUN_WEIGHT: Final = 10.0
_LEAST_COST: Final = 1e-3
"""Costs below which strategies are as good as each other."""


@dataclass(frozen=True, slots=True, eq=False)
class Run:
    """One series with one strategy.

    Args:
        seconds: float64[n], time from the first step.
        uses: float64[2, n], cores and bytes; NaN where there is no sample.
        requests: float64[2, n], likewise; NaN in the warm-up.
        limits: float64[n], bytes.
        kills: float64[kills], seconds at which OOM events begin.
        resizes: float64[resizes], seconds from which other requests are in force.
    """

    seconds: Floats
    uses: Floats
    requests: Floats
    limits: Floats
    kills: Floats
    resizes: Floats


@dataclass(frozen=True, slots=True)
class Subject:
    """A series that is drawn.

    Args:
        number: Its place among all series.
        name: Of the series.
        source: Of the series.
        strategies: Which strategies are drawn.
    """

    number: int
    name: str
    source: str
    strategies: tuple[str, ...]


def subjects(outcome: Outcome, most: int) -> tuple[Subject, ...]:
    """Return the series in which strategies differ most in costs, of each source in turn.

    Args:
        outcome: What the strategies came to.
        most: How many series there are at most.
    """
    costs = np.stack([scores.costs(_OVERRUN_WEIGHT) for scores in outcome.scores.values()])
    names = list(outcome.scores)
    followed = [place for place, name in enumerate(names) if name not in IN_HINDSIGHT]
    compared = costs[followed] if len(followed) > 1 else costs
    bounded = np.log(np.maximum(compared, _LEAST_COST))
    spread = bounded.max(axis=0) - bounded.min(axis=0)
    ordered = [int(place) for place in np.argsort(-spread, kind="stable") if not np.isnan(spread[place])]
    by_source = {each: [place for place in ordered if outcome.sources[place] == each] for each in outcome.sources}
    in_turn = [place for turn in zip_longest(*by_source.values()) for place in turn if place is not None]
    return tuple(
        Subject(place, outcome.names[place], outcome.sources[place], _drawn(outcome, names, costs[:, place]))
        for place in in_turn[:most]
    )


def _drawn(outcome: Outcome, names: Sequence[str], costs: Floats) -> tuple[str, ...]:
    """Return the strategies that are drawn of a series, in their order.

    These are the one that others are held against, or the first one, then the cheapest and the dearest that can be
    followed, then what is left.
    """
    by_cost = sorted(range(len(names)), key=lambda place: (names[place] in IN_HINDSIGHT, costs[place]))
    followed = [place for place in by_cost if names[place] not in IN_HINDSIGHT] or by_cost
    first = names.index(outcome.against) if outcome.against in names else 0
    wanted = dict.fromkeys([first, followed[0], followed[-1], *range(len(names))])
    return tuple(names[place] for place in sorted(list(wanted)[:MOST_STRATEGIES]))


def runs(steps: Steps, course: Course) -> tuple[Run, ...]:
    """Return each series of a course by itself.

    Args:
        steps: What was played.
        course: What became of it.
    """
    return tuple(_run(steps, course, np.flatnonzero(steps.rows == row)) for row in range(steps.count))


def _run(steps: Steps, course: Course, chosen: Integers) -> Run:
    times, requests = steps.times[chosen], course.requests[:, chosen]
    is_other = (np.diff(requests, axis=1) != 0.0) & ~np.isnan(requests[:, :-1])
    return Run(
        times,
        np.stack((steps.cpu_cores[chosen], steps.memory_bytes[chosen])),
        requests,
        course.limits[chosen],
        times[course.are_killed[chosen]],
        times[1:][is_other.any(axis=0)],
    )


def texts(outcome: Outcome, subject: Subject, strategy: str) -> Mapping[int, str]:
    """Return in words what a strategy came to on a series, by the place of each resource that is scored.

    Args:
        outcome: What the strategies came to.
        subject: The series.
        strategy: The strategy.
    """
    scores, number = outcome.scores[strategy], subject.number
    found: dict[int, str] = {}
    for place in (CPU_PLACE, MEMORY_PLACE):
        if scores.are_scored[place, number]:
            slack, overrun = scores.slack[place, number], scores.overrun[place, number]
            found[place] = f"slack {slack:.3g}, overrun {overrun:.3g}, {_count(scores.resizes[number], 'resize')}"
    if MEMORY_PLACE in found:
        found[MEMORY_PLACE] += f", {_count(scores.ooms[-1, number], 'OOM kill')}"
    return found


def _count(number: int, name: str) -> str:
    return f"{number} {name}" if number == 1 else f"{number} {name}s"
