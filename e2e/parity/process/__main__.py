"""Whole processes against upstream's: ``python -m e2e.parity.process``."""

from __future__ import annotations

import argparse
import asyncio
import sys

from e2e.cluster.errors import ClusterError
from e2e.parity.process.campaign import DEFAULT_CASES, ON_REQUEST, PARTS, Wishes, run, tell
from e2e.parity.process.upstream import find_upstream


def main() -> int:
    """Compare; the status is 1 where anything differs, and 2 where upstream's programs cannot be had."""
    options = _parser().parse_args()
    try:
        upstream = find_upstream()
    except ClusterError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    wishes = Wishes(options.only or PARTS, options.cases, options.seed)
    cases, differences = asyncio.run(run(wishes, upstream, tell))
    print(f"parity: {cases} cases, {differences} differences")
    return 1 if differences else 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m e2e.parity.process", description="Our processes and upstream's own on equal simulated clusters."
    )
    parser.add_argument(
        "--only",
        choices=(*PARTS, *ON_REQUEST),
        action="append",
        help=f"one part, may be repeated; all but {', '.join(ON_REQUEST)} by default",
    )
    about = f"about how many cases on made-up clusters (default {DEFAULT_CASES})"
    parser.add_argument("--cases", type=int, default=DEFAULT_CASES, help=about)
    parser.add_argument("--seed", default="1", help="what the clusters are made up from (default 1)")
    return parser


if __name__ == "__main__":
    sys.exit(main())
