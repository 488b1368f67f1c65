"""Many cases over all processors: drawn, put to both sides, counted."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import dataclass, field
from multiprocessing import get_context
from pathlib import Path
from typing import Final

from e2e.parity.labs import KINDS
from e2e.parity.trial import Outcome, Verdict, our_answer, outcome
from e2e.parity.upstream import Upstream

_CHUNK: Final = 25
_SHARE: Final = 250
_MANY: Final = 10


@dataclass(frozen=True, slots=True)
class Share:
    """Cases that one worker takes on: ``count`` of a kind from ``first`` on."""

    kind: str
    seed: str
    first: int
    count: int


@dataclass(frozen=True, slots=True)
class Finding:
    """A case that did not come out the same."""

    kind: str
    number: int
    outcome: Outcome


@dataclass(slots=True)
class Tally:
    """What came of many cases.

    Attributes:
        verdicts: How many came out how, by kind.
        differences: Cases that differ.
        crashes: An example of each crash of upstream, with how many there were.
    """

    verdicts: Counter[tuple[str, Verdict]] = field(default_factory=Counter)
    differences: list[Finding] = field(default_factory=list)
    crashes: dict[str, tuple[Finding, int]] = field(default_factory=dict)

    def add(self, finding: Finding) -> None:
        """Count one case."""
        verdict = finding.outcome.verdict
        self.verdicts[finding.kind, verdict] += 1
        if verdict is Verdict.DIFFERENT:
            self.differences.append(finding)
        elif verdict is Verdict.CRASHED:
            self._add_crash(finding, 1)

    def merge(self, other: Tally) -> None:
        """Take over what another one counted."""
        self.verdicts.update(other.verdicts)
        self.differences += other.differences
        for finding, count in other.crashes.values():
            self._add_crash(finding, count)

    def _add_crash(self, finding: Finding, count: int) -> None:
        example, before = self.crashes.get(finding.outcome.crash, (finding, 0))
        self.crashes[finding.outcome.crash] = (example, before + count)

    def cases(self, kind: str | None = None) -> int:
        """Return how many cases there were, of one kind or of all."""
        return sum(count for (of, _), count in self.verdicts.items() if kind in {None, of})

    def count(self, verdict: Verdict, kind: str | None = None) -> int:
        """Return how many cases came out so, of one kind or of all."""
        return sum(count for (of, how), count in self.verdicts.items() if how is verdict and kind in {None, of})


def shares(counts: Mapping[str, int], seed: str) -> list[Share]:
    """Cut the cases of each kind into shares, the kinds taking turns."""
    cut = {
        kind: [Share(kind, seed, first, min(_SHARE, count - first)) for first in range(0, count, _SHARE)]
        for kind, count in counts.items()
    }
    places = [(index / len(of_kind), share) for of_kind in cut.values() for index, share in enumerate(of_kind)]
    return [share for _, share in sorted(places, key=lambda place: place[0])]


def run(program: Path, work: Sequence[Share], workers: int = 0) -> Iterator[tuple[Share, Tally]]:
    """Put cases to both sides, in as many processes as there are processors.

    Args:
        program: The oracle.
        work: What to do.
        workers: Processes; 0 for one for each processor.

    Yields:
        Each share with what came of it, as they get done.
    """
    context = get_context("forkserver")
    with ProcessPoolExecutor(workers or os.cpu_count(), context, _begin, (program,)) as pool:
        jobs = {pool.submit(_take, share): share for share in work}
        for job in as_completed(jobs):
            yield jobs[job], job.result()


_UPSTREAM: list[Upstream] = []
"""The worker's oracle; a process of the pool lives for the whole campaign."""


def _begin(program: Path) -> None:
    _UPSTREAM.append(Upstream(program))


def _take(share: Share) -> Tally:
    return taken(share, _UPSTREAM[0])


def taken(share: Share, upstream: Upstream) -> Tally:
    """Do one share."""
    tally, kind = Tally(), KINDS[share.kind]
    for first in range(share.first, share.first + share.count, _CHUNK):
        numbers = range(first, min(first + _CHUNK, share.first + share.count))
        cases = [kind.case(share.seed, number) for number in numbers]
        sent = upstream.send(kind, cases)
        ours = [our_answer(kind, case) for case in cases]
        replies = upstream.receive(sent)
        for number, case, mine, reply in zip(numbers, cases, ours, replies, strict=True):
            # Where much differs, it is not worth the time to find out what does so by chance.
            doubted = upstream if len(tally.differences) < _MANY else None
            tally.add(Finding(kind.name, number, outcome(kind, case, mine, reply, doubted)))
    return tally
