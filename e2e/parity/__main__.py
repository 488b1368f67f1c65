"""The parity lab's command line: ``python -m e2e.parity run|replay|case``."""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import time
import warnings
from pathlib import Path
from typing import Final

from e2e.cluster.errors import ClusterError
from e2e.parity.campaign import Finding, Tally, run, shares
from e2e.parity.kinds import Case
from e2e.parity.labs import KINDS, LABS, counts_of
from e2e.parity.process.campaign import compare_processes
from e2e.parity.shrinking import shrunk
from e2e.parity.trial import Outcome, Verdict, our_answer, still_differs, tried
from e2e.parity.upstream import Upstream, build

_SHOWN: Final = 5
_PROGRESS_SECONDS: Final = 20.0
_WIDTH: Final = 3000
_MEANINGS: Final = {
    Verdict.UNDECIDED: "upstream gives several answers to the same question, and ours is made of them",
    Verdict.WANTED: "the answers differ for a reason that docs/parity.md names",
}


def main() -> int:
    """Do what the arguments say; the exit code is 1 where anything differs."""
    options = _parser().parse_args()
    try:
        program = options.program or build()
    except ClusterError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    match options.command:
        case "replay":
            return _replay(program, options.files)
        case "case":
            print(json.dumps(KINDS[options.kind].case(options.seed, options.number)))
            return 0
        case _:
            return _run(program, options)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m e2e.parity", description="Generated cases, answered by us and by upstream's own packages."
    )
    parser.add_argument("--program", type=Path, help="an oracle that is built already")
    commands = parser.add_subparsers(dest="command", required=True)
    running = commands.add_parser("run", help="draw cases and compare")
    running.add_argument("--only", choices=sorted(LABS), help="one lab; all by default")
    running.add_argument("--cases", type=int, help="how many cases in all; else each lab's own number")
    running.add_argument("--seed", default="1", help="what cases are drawn from (default 1)")
    running.add_argument(
        "--processes", action="store_true", help="compare whole processes as well, to a bounded extent"
    )
    replaying = commands.add_parser("replay", help="compare cases that were stored, such as those of differences")
    replaying.add_argument("files", type=Path, nargs="+", metavar="FILE")
    showing = commands.add_parser("case", help="print a drawn case")
    showing.add_argument("kind", choices=sorted(KINDS))
    showing.add_argument("number", type=int)
    showing.add_argument("--seed", default="1")
    return parser


def _run(program: Path, options: argparse.Namespace) -> int:
    counts = counts_of(options.only, options.cases)
    work = shares(counts, options.seed)
    print(f"parity: seed {options.seed}, {sum(counts.values())} cases", flush=True)
    tally, started, told = Tally(), time.monotonic(), time.monotonic()
    for _, one in run(program, work):
        tally.merge(one)
        for finding in one.differences:
            print(f"parity: differs: {finding.kind} {finding.number}", flush=True)
        if time.monotonic() - told > _PROGRESS_SECONDS:
            told = time.monotonic()
            print(f"parity: {tally.cases()} cases so far, {len(tally.differences)} differences", flush=True)
    _tell(tally, counts, time.monotonic() - started)
    _tell_differences(program, options.seed, tally.differences)
    cases, differences = compare_processes(options.seed) if options.processes else (0, 0)
    return _ended(tally.cases() + cases, len(tally.differences) + differences)


def _ended(cases: int, differences: int) -> int:
    print(f"parity: {cases} cases, {differences} differences")
    return 1 if differences else 0


def _tell(tally: Tally, counts: dict[str, int], seconds: float) -> None:
    print(f"parity: took {seconds:.0f} s")
    for kind in counts:
        told = ", ".join(f"{tally.count(verdict, kind)} {verdict.value}" for verdict in Verdict)
        print(f"  {kind:<12}{tally.cases(kind):>8} cases: {told}")
    for verdict, meaning in _MEANINGS.items():
        if tally.count(verdict):
            print(f"{verdict.value}: {meaning}")
    for crash, (example, count) in sorted(tally.crashes.items(), key=lambda each: -each[1][1]):
        print(f"crash of upstream, {count} times, for example {example.kind} {example.number}: {crash}")


def _tell_differences(program: Path, seed: str, differences: list[Finding]) -> None:
    """Show the first differences, each by a small case that can be replayed."""
    for finding in differences[_SHOWN:]:
        print(f"difference: {finding.kind} {finding.number} {_cut(finding.outcome)}")
    with Upstream(program) as upstream:
        for finding in differences[:_SHOWN]:
            small, left = _small(finding, seed, upstream)
            stored = Path(tempfile.gettempdir()) / f"parity-{finding.kind}-{seed}-{finding.number}.json"
            stored.write_text(json.dumps(small, indent=1))
            print(f"difference: {finding.kind} {finding.number} {_cut(left)}")
            print(f"  replay with: python -m e2e.parity replay {stored}")
            print(f"  {json.dumps(small)}")


def _small(finding: Finding, seed: str, upstream: Upstream) -> tuple[Case, Outcome]:
    """Return a small case that differs in the same way, and its outcome."""
    kind, first = KINDS[finding.kind], finding.outcome.difference
    case = kind.case(seed, finding.number)
    if first is not None:
        with warnings.catch_warnings(action="ignore"):
            # Smaller cases may make no sense, such as intervals of no length, and are dropped.
            case = shrunk(case, lambda smaller: still_differs(kind, smaller, first, upstream))
    return case, tried(kind, case, upstream)


def _replay(program: Path, files: list[Path]) -> int:
    differences = 0
    with Upstream(program) as upstream:
        for file in files:
            case = json.loads(file.read_text())
            kind = KINDS[case["kind"]]
            outcome = tried(kind, case, upstream)
            differences += outcome.verdict is Verdict.DIFFERENT
            print(f"{file}: {outcome.verdict.value} {_cut(outcome)}")
            print(f"  ours:     {str(our_answer(kind, case))[:_WIDTH]}")
            print(f"  upstream: {str(upstream.ask(kind, case))[:_WIDTH]}")
    return _ended(len(files), differences)


def _cut(outcome: Outcome) -> str:
    return str(outcome.difference or outcome.crash or "")[:_WIDTH]


if __name__ == "__main__":
    sys.exit(main())
