"""A page of HTML as one file: no script, no style sheet, no picture and no font elsewhere."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final
from xml.etree.ElementTree import Element, SubElement, tostring

BASE_STYLE: Final = """
:root { color-scheme: light dark; --line: #8884; }
body { font: 15px/1.45 system-ui, sans-serif; margin: 1.5rem; }
table { border-collapse: collapse; }
th, td { text-align: left; vertical-align: top; padding: .35rem .7rem .35rem 0; border-bottom: 1px solid var(--line); }
td.number { text-align: right; white-space: nowrap; font-variant-numeric: tabular-nums; }
svg line, svg polyline { fill: none; stroke-width: 2; }
svg .axis { stroke: var(--line); stroke-width: 1; }
"""
"""Style that all pages have in common."""


@dataclass(frozen=True, slots=True, eq=False)
class Page:
    """A page that is being filled.

    Args:
        root: All of it.
        body: What is shown.
    """

    root: Element
    body: Element

    @classmethod
    def begun(cls, title: str, style: str) -> Page:
        """Return a page with a title and nothing below it.

        Args:
            title: Of the page, also its heading.
            style: Rules beside those that all pages have.
        """
        root = Element("html", {"lang": "en"})
        head, body = SubElement(root, "head"), SubElement(SubElement(root, "body"), "main")
        SubElement(head, "meta", {"charset": "utf-8"})
        SubElement(head, "meta", {"name": "viewport", "content": "width=device-width, initial-scale=1"})
        SubElement(head, "title").text = title
        SubElement(head, "style").text = BASE_STYLE + style
        SubElement(body, "h1").text = title
        return cls(root, body)

    def text(self) -> str:
        """Return the page as it is written to a file."""
        return f"<!DOCTYPE html>\n{tostring(self.root, encoding='unicode', method='html')}\n"


def add_heading(table: Element, names: Iterable[str], of_words: Iterable[str] = ()) -> None:
    """Give a table a row of headings.

    Args:
        table: Has no rows yet.
        names: Of the columns.
        of_words: Those of them that hold words.
    """
    heading = SubElement(SubElement(table, "thead"), "tr")
    words = frozenset(of_words)
    for name in names:
        SubElement(heading, "th", {"scope": "col"} | ({"class": "words"} if name in words else {})).text = name


def add_table(parent: Element, caption: str, columns: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
    """Add a table that scrolls by itself where it is wider than the page, also by keyboard.

    Args:
        parent: Where it stands.
        caption: What it is about.
        columns: Names of the columns; the first cell of each row is its heading.
        rows: Cells as text; what is not in the first column nor words is set as a number.
    """
    region = SubElement(parent, "div", {"class": "wide", "role": "region", "tabindex": "0", "aria-label": caption})
    table = SubElement(region, "table")
    SubElement(table, "caption").text = caption
    lines = [tuple(row) for row in rows]
    words = {name for row in lines for name, cell in zip(columns, row, strict=True) if _is_text(cell)}
    add_heading(table, columns, words)
    body = SubElement(table, "tbody")
    for first, *cells in lines:
        line = SubElement(body, "tr")
        SubElement(line, "th", {"scope": "row"}).text = first
        for cell in cells:
            SubElement(line, "td", {"class": "words" if _is_text(cell) else "number"}).text = cell


def _is_text(cell: str) -> bool:
    return cell[:1].isalpha()
