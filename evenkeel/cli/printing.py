"""Findings on standard output: tables for people, JSON and YAML for programs."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Final

import typer
import yaml
from rich.console import Console
from rich.table import Table as RichTable
from rich.text import Text

from evenkeel.cli.options import Output
from evenkeel.inspection.documents import Block, Json, Table, document

_WIDE: Final = 10_000
"""Columns of an output that is no terminal: nothing is folded for whoever reads it line by line."""

_LEVEL: Final = "LEVEL"
_STYLES: Final[Mapping[str, str]] = {"ok": "green", "warning": "yellow", "problem": "bold red"}
"""How the cells of a column of levels are drawn at a terminal."""


def emit(output: Output, finding: object, blocks: Iterable[Block]) -> None:
    """Print a finding.

    Args:
        output: In which form.
        finding: The value that JSON and YAML show.
        blocks: What a table shows.
    """
    if output is Output.TABLE:
        show(blocks)
    else:
        typer.echo(text_of(output, document(finding)), nl=False)


class _Dumper(yaml.SafeDumper):
    """Writes text of several lines as it stands."""


def _text_node(dumper: yaml.SafeDumper, text: str) -> yaml.ScalarNode:
    """Return text as a block where it has several lines."""
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style="|" if "\n" in text else None)


_Dumper.add_representer(str, _text_node)


def text_of(output: Output, value: Json) -> str:
    """Return a value as JSON or YAML."""
    if output is Output.YAML:
        return yaml.dump(value, Dumper=_Dumper, sort_keys=False, allow_unicode=True)
    return json.dumps(value, indent=2, ensure_ascii=False) + "\n"


def show(blocks: Iterable[Block]) -> None:
    """Print blocks with an empty line between two; in colours only at a terminal, and not where NO_COLOR is set."""
    console = Console(highlight=False)
    if not console.is_terminal:
        console = Console(highlight=False, width=_WIDE, color_system=None)
    elif console.no_color:
        console = Console(highlight=False, color_system=None)
    for number, block in enumerate(blocks):
        if number:
            typer.echo()
        if isinstance(block, str):
            typer.echo(block)
        else:
            _show_table(console, block)


def _show_table(console: Console, table: Table) -> None:
    """Print a table without the blanks that fill its last column."""
    drawn = RichTable(box=None, pad_edge=False, header_style="bold")
    for name in table.columns:
        drawn.add_column(Text(name), overflow="fold")
    for row in table.rows:
        styles = (
            _STYLES.get(cell, "") if name == _LEVEL else "" for name, cell in zip(table.columns, row, strict=True)
        )
        drawn.add_row(*(Text(cell, style=style) for cell, style in zip(row, styles, strict=True)))
    if table.title:
        console.print(Text(table.title, style="bold"), soft_wrap=True)
    with console.capture() as capture:
        console.print(drawn)
    typer.echo("\n".join(line.rstrip() for line in capture.get().rstrip("\n").split("\n")), color=console.is_terminal)


def warn(problems: Iterable[object]) -> None:
    """Name on standard error what could not be read."""
    for problem in problems:
        typer.echo(f"evenkeel: {problem}", err=True)
