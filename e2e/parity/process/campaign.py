"""Whole processes compared on many made-up clusters, and in the scenarios that upstream's programs take part in."""

from __future__ import annotations

import asyncio
import shutil
import tempfile
from collections.abc import Awaitable, Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from e2e.parity.process.burning import burn
from e2e.parity.process.copies import EngineEndedError
from e2e.parity.process.differences import Difference, Report
from e2e.parity.process.engines import Program
from e2e.parity.process.rounds import Course, RoundCutOffError
from e2e.parity.process.side_by_side import play_side_by_side
from e2e.parity.process.trials import TRIALS, Trial, compare_takeovers
from e2e.parity.process.upstream import Upstream, find_upstream
from e2e.parity.process.whole.trial import compare_on_embedded, compare_on_real

BURN, DEMO, TAKEOVER, WHOLE, REAL = "burn", "demo", "takeover", "whole", "real"
PARTS = (BURN, DEMO, TAKEOVER, WHOLE, *(program.value for program in TRIALS))
ON_REQUEST = (REAL,)
"""Parts that need what not every machine has, here etcd."""

DEFAULT_CASES = 500
_WIDTH = 3000
_SHARES = {Program.UPDATER: 0.25, Program.RECOMMENDER: 0.3, Program.ADMISSION: 0.45}


@dataclass(frozen=True, slots=True)
class Wishes:
    """What was asked for.

    Args:
        parts: Which parts, of ``PARTS`` and ``ON_REQUEST``.
        cases: About how many cases on made-up clusters.
        seed: From what they are made up.
    """

    parts: Sequence[str] = PARTS
    cases: int = DEFAULT_CASES
    seed: str = "1"


def clusters(wishes: Wishes) -> list[tuple[Program, int]]:
    """Return the program and the number of each cluster; at least one for each program that is asked for."""
    wanted = [program for program in TRIALS if program.value in wishes.parts]
    whole = sum(_SHARES[program] for program in wanted)
    found: list[tuple[Program, int]] = []
    for program in wanted:
        cases = wishes.cases * _SHARES[program] / whole
        found += [(program, number) for number in range(max(1, round(cases / TRIALS[program][1])))]
    return sorted(found, key=lambda one: one[1])


async def run(wishes: Wishes, upstream: Upstream, tell: Callable[[Report], None]) -> tuple[int, int]:
    """Compare everything that was asked for, one after the other.

    Args:
        wishes: What was asked for.
        upstream: Upstream's programs.
        tell: Given each report as it is there.

    Returns:
        How many cases there were, and how many differences.
    """
    cases = differences = 0
    for name, part in _parts(wishes, upstream):
        report = await _with_folder(name, part)
        tell(report)
        cases += report.cases
        differences += len(report.differences)
    return cases, differences


def _parts(wishes: Wishes, upstream: Upstream) -> Iterator[tuple[str, Callable[[Path], Awaitable[Report]]]]:
    """Yield what there is to do, each given the folder for its logs."""
    if BURN in wishes.parts:
        yield BURN, partial(burn, upstream)
    if DEMO in wishes.parts:
        yield DEMO, partial(play_side_by_side, upstream)
    if TAKEOVER in wishes.parts:
        yield TAKEOVER, partial(_try, compare_takeovers, f"{wishes.seed}/{TAKEOVER}", upstream)
    for place, compare in ((WHOLE, compare_on_embedded), (REAL, compare_on_real)):
        if place in wishes.parts:
            yield place, partial(_try, compare, wishes.seed, upstream)
    for program, number in clusters(wishes):
        trial, _ = TRIALS[program]
        yield f"{program.value}-{number}", partial(_try, trial, f"{wishes.seed}/{number}", upstream)


async def _try(trial: Trial, seed: str, upstream: Upstream, folder: Path) -> Report:
    return await trial(seed, upstream, Course(folder, upstream.definitions()))


async def _with_folder(name: str, part: Callable[[Path], Awaitable[Report]]) -> Report:
    """Do one part with a folder for its logs, which is kept where something differs."""
    folder = Path(await asyncio.to_thread(tempfile.mkdtemp, prefix=f"parity-{name}-"))
    try:
        report = await part(folder)
    except (EngineEndedError, RoundCutOffError, TimeoutError) as error:
        report = Report(name, 1, [Difference(name, "the end, which it did not come to", repr(error), "")])
    if report.differences:
        report.notes.append(f"logs are in {folder}")
    else:
        await asyncio.to_thread(shutil.rmtree, folder)
    return report


def tell(report: Report) -> None:
    """Print a report, its longest lines cut."""
    for line in report.lines():
        print(line[:_WIDTH], flush=True)


def compare_processes(seed: str) -> tuple[int, int]:
    """Compare all parts to the default extent, and return how many cases and differences there were.

    Raises:
        ClusterError: Upstream's programs cannot be had.
    """
    return asyncio.run(run(Wishes(seed=seed), find_upstream(), tell))
