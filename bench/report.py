"""``python -m bench.report [PAGE [RECORD…]]``: figures that were measured, as tables in Markdown.

Without a page those that are stored are printed. With one, its tables are written anew, with the
figures of the records named in the place of those of the same rows, and the drawing of its curves beside it.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path

import msgspec

from bench.__main__ import RESULTS
from bench.curves import NAME
from bench.page import Line, StoredRecord, growth, render, table
from bench.plot import draw

DRAWING = "scaling.svg"


def stored(files: Iterable[Path]) -> list[StoredRecord]:
    """Read records, in the order of their names."""
    return [msgspec.json.decode(path.read_bytes(), type=StoredRecord) for path in sorted(files)]


def main(words: Sequence[str] | None = None) -> None:
    """Print the table of what is stored, or write a page and its drawing.

    Args:
        words: The command line; that of the process where there is none.
    """
    parser = argparse.ArgumentParser(prog="python -m bench.report", description=__doc__)
    parser.add_argument("page", nargs="?", type=Path, help="such as docs/performance.md")
    parser.add_argument("records", nargs="*", type=Path, metavar="RECORD", help="such as results/bench/R-4.json")
    parser.add_argument("--results", type=Path, default=RESULTS, help="folder with what is printed without a page")
    arguments = parser.parse_args(words)
    if arguments.page is None:
        files = arguments.results.glob("*.json")
        whole = (record for record in stored(files) if not record.quick and record.row != NAME)
        sys.stdout.write(table(Line.of(figure) for record in whole for figure in record.figures))
        return
    page = render(arguments.page.read_text(), stored(arguments.records))
    arguments.page.write_text(page)
    arguments.page.with_name(DRAWING).write_text(draw(growth(page)))


if __name__ == "__main__":
    main()
