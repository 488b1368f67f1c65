"""Writes the table of switches in docs/parity.md; run as ``python -m evenkeel.cli.document_switches PAGE``."""

from __future__ import annotations

import sys
from dataclasses import fields
from pathlib import Path

from autoscaling.behaviour import Behaviour
from evenkeel.cli.generated_part import GeneratedPart

_TABLE = GeneratedPart("<!-- The table is generated: `make docs` writes it. -->", "<!-- End of the table. -->")


def render_switches(page: str) -> str:
    """Return a page with its table of switches written anew.

    Raises:
        ValueError: The page does not mark where the table is.
    """
    return _TABLE.write(page, _table())


def _table() -> str:
    """Return one row for each switch, in the order of their declaration."""
    rows = "".join(f"| `{f.name}` | {f.metadata['rule']} | {f.metadata['effect']} |\n" for f in fields(Behaviour))
    return f"| switch | rule | effect when on |\n|---|---|---|\n{rows}"


def main() -> None:
    """Write the table of the page that is named on the command line."""
    path = Path(sys.argv[1])
    path.write_text(render_switches(path.read_text()))


if __name__ == "__main__":
    main()
