"""Pages of HTML as tests read them."""

from __future__ import annotations

from collections.abc import Iterator
from html.parser import HTMLParser

VOID = frozenset({"meta"})
"""Elements that HTML never closes."""


class Outline(HTMLParser):
    """Reads a page, refuses one whose elements are not closed in turn, and keeps the rows of its tables."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.rows: list[list[str]] = []
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.texts: list[tuple[str, str]] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)
        if tag == "tr":
            self.rows.append([])
        elif tag in {"td", "th"}:
            self.rows[-1].append("")

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if self.open:
            self.texts.append((self.open[-1], data))
        if self.rows and self.open and self.open[-1] in {"td", "th"}:
            self.rows[-1][-1] += data

    def named(self, tag: str, css: str = "") -> Iterator[dict[str, str | None]]:
        """Yield the attributes of elements, of one class if that is given."""
        return (attributes for name, attributes in self.elements if name == tag and attributes.get("class", "") == css)

    def said(self, tag: str) -> list[str]:
        """Return the texts of elements."""
        return [text for name, text in self.texts if name == tag]


def read(text: str) -> Outline:
    outline = Outline()
    outline.feed(text)
    outline.close()
    assert outline.open == []
    return outline
