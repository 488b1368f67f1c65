"""Short ways to have played strategies on series."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from evenkeel.replay.contest import IN_HINDSIGHT, SCORED_RATIO, Contender, contend, run
from evenkeel.replay.figures import figures_by_source
from evenkeel.replay.outcome import Outcome
from evenkeel.replay.page import Portrait
from evenkeel.replay.pictures import Subject, runs
from evenkeel.replay.trace import Trace
from recommender.strategies.known import OWN_STRATEGIES
from tests.evenkeel.replay.series import MI, trace

DAYS = 4
STEP = 900.0


def contender(name: str) -> Contender:
    return Contender(name) if name in IN_HINDSIGHT else Contender(name, OWN_STRATEGIES[name])


def outcome(series: Sequence[Trace], *strategies: str, against: str = "") -> Outcome:
    """Return what strategies came to."""
    scores = {name: contend(contender(name), series) for name in strategies}
    sources = [each.source for each in series]
    figures = {name: figures_by_source(each, sources) for name, each in scores.items()}
    return Outcome([each.name for each in series], sources, scores, figures, against=against)


def portrait(subject: Subject, series: Sequence[Trace]) -> Portrait:
    """Return a series that is drawn."""
    played = {name: run(contender(name), [series[subject.number]], (SCORED_RATIO,)) for name in subject.strategies}
    return Portrait(subject, {name: runs(*each)[0] for name, each in played.items()})


def lively(name: str, source: str = "s", level: float = 1.0, seed: int = 1) -> Trace:
    """Return four days of use that goes up and down, and of memory that grows."""
    random = np.random.default_rng(seed)
    count = int(DAYS * 86_400 / STEP)
    cpu = level * random.gamma(2.0, 0.1, count)
    memory = level * np.linspace(300 * MI, 900 * MI, count) * random.uniform(0.9, 1.1, count)
    return trace(cpu, memory, step=STEP, name=name, source=source)
