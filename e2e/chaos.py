"""``python -m e2e.chaos [--minutes N] [--seed N]``: simulated days at speed with faults and kills.

It needs neither root nor a real cluster: all of it is played on the embedded one.
"""

from __future__ import annotations

import argparse
import asyncio
import random
import sys
import tempfile
import time
from pathlib import Path

from tests.chaos.course import Course, Report, buckets_apart, with_troubles, without_troubles
from tests.forking import preload

MIB = 1 << 20
_STORMY_SHARE = 0.6
"""Of the real time, what the troubles get; the rest is for the calm after them and for the days without."""


def main() -> int:
    """Play and report; exit code 1 if something does not hold."""
    parser = argparse.ArgumentParser(prog="python -m e2e.chaos", description="Faults and kills at random.")
    parser.add_argument("--minutes", type=float, default=60.0, help="real time, about (default 60)")
    parser.add_argument("--seed", type=int, help="of everything that is left to chance (default: at random)")
    parser.add_argument("--calm-hours", type=float, default=6.0, help="simulated, after the troubles (default 6)")
    options = parser.parse_args()
    seed = random.SystemRandom().randrange(1 << 32) if options.seed is None else options.seed
    preload()
    print(f"chaos: seed {seed}, {options.minutes:g} minutes", flush=True)
    return asyncio.run(_play(seed, options.minutes * 60.0, options.calm_hours))


async def _play(seed: int, seconds: float, calm_hours: float) -> int:
    began = time.monotonic()
    with tempfile.TemporaryDirectory() as stormy, tempfile.TemporaryDirectory() as calm:
        days = 24.0 * 365
        course = Course(
            Path(stormy), seed, days, calm_hours, seconds * _STORMY_SHARE, lambda line: print(line, flush=True)
        )
        report = await with_troubles(course)
        quiet = await without_troubles(Course(Path(calm), seed, 0.0, 0.0), report.simulated_hours)
    apart = buckets_apart(report.targets, quiet.targets)
    _tell(report, time.monotonic() - began)
    for (name, resource), distance in apart.items():
        print(f"chaos: {name} {resource}: {distance:.2f} buckets from the run without troubles")
    is_well = not report.problems and not report.losses and max(apart.values()) <= 1.0
    print(f"chaos: {'everything held' if is_well else 'FAILED'}, seed {seed}")
    return 0 if is_well else 1


def _tell(report: Report, seconds: float) -> None:
    print(f"chaos: {report.simulated_hours:.1f} simulated hours in {seconds / 60:.1f} minutes")
    for title, counts in (("troubles", report.troubles), ("changes", report.changes), ("ends", report.exits)):
        print(f"chaos: {title}: {', '.join(f'{count} {name}' for name, count in counts.most_common())}")
    quarter = max(len(report.memory) // 4, 1)
    for title, part in (("first", report.memory[:quarter]), ("last", report.memory[-quarter:])):
        largest = {
            name: max(hour.get(name, 0) for hour in part) // MIB for name in sorted({n for h in part for n in h})
        }
        print(f"chaos: resident memory in the {title} quarter, at most: {largest} MiB")
    for line in (*report.problems[:40], *report.losses[:40]):
        print(f"chaos: {line}")


if __name__ == "__main__":
    sys.exit(main())
