"""``python -m bench [ROW…] [--quick]``: run benchmarks, print a line per figure, and keep everything as JSON."""

from __future__ import annotations

import argparse
import gc
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

from bench.catalogue import ROWS
from bench.duel import DuelPool
from bench.errors import DisagreementError, PeerError
from bench.figures import Figure
from bench.record import write_record
from bench.row import Benchmark, Setting, measure
from e2e.cluster.errors import ClusterError

RESULTS = Path("results/bench")


def main(words: Sequence[str] | None = None, rows: Mapping[str, type[Benchmark]] = ROWS) -> int:
    """Run the rows asked for; 1 if the two sides of one did not do the same work.

    Args:
        words: The command line; that of the process where there is none.
        rows: What may be asked for.
    """
    parser = argparse.ArgumentParser(prog="python -m bench", description=__doc__)
    parser.add_argument(
        "rows", nargs="*", metavar="ROW", choices=[[], *rows], help=f"of {', '.join(rows)}; all by default"
    )
    parser.add_argument("--quick", action="store_true", help="a reduced size of each")
    parser.add_argument("--results", type=Path, default=RESULTS, help="folder for the JSON files")
    arguments = parser.parse_args(words)
    with tempfile.TemporaryDirectory(prefix="evenkeel-bench-") as folder:
        setting = Setting(Path(folder), arguments.quick, DuelPool(Path(folder)))
        try:
            failed = [row for row in arguments.rows or rows if not _run(rows[row](setting), arguments.results)]
        finally:
            setting.duels.close()
    if failed:
        print(
            f"bench: {', '.join(failed)} failed: a figure counts only where both sides did the same work",
            file=sys.stderr,
        )
    return 1 if failed else 0


def _run(benchmark: Benchmark, results: Path) -> bool:
    """Run one benchmark and report it; returns whether its figures count."""
    row = benchmark.name
    print(f"bench: {row} {benchmark.title}", flush=True)
    began = time.monotonic()
    try:
        figures = measure(benchmark)
    except (DisagreementError, PeerError, ClusterError) as error:
        print(f"bench: {row} FAILED: {error}", file=sys.stderr, flush=True)
        return False
    finally:
        gc.collect()
    _show(figures)
    print(f"       {row} took {time.monotonic() - began:.0f} s", flush=True)
    write_record(results, row, figures, is_quick=benchmark.setting.is_quick)
    return True


def _show(figures: list[Figure]) -> None:
    for figure in figures:
        print(figure.line(), figure.detail(), sep="\n", flush=True)


if __name__ == "__main__":
    raise SystemExit(main())
