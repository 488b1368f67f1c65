"""The pages that people read, as a Markdown parser sees them: headings with their anchors, links, code."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

from markdown_it import MarkdownIt
from markdown_it.token import Token

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
_PARSER = MarkdownIt("commonmark").enable("table")
_LINKS = {"link_open": "href", "image": "src"}
_CODE = {"fence", "code_block", "code_inline"}


@dataclass(frozen=True, slots=True)
class Link:
    """A link or an image.

    Args:
        target: Where it leads.
        line: Of the paragraph that has it, from 1.
    """

    target: str
    line: int


@dataclass(frozen=True, slots=True)
class Page:
    """One page.

    Args:
        name: Path below the repository.
        headings: Texts of the headings in order.
        anchors: What the headings are found by.
        links: Where it leads.
        code: Blocks and words that are set as code, in order.
        prose: Words that are not.
        blocks: Language and text of each block of code that names its language, in order.
    """

    name: str
    headings: tuple[str, ...]
    anchors: frozenset[str]
    links: tuple[Link, ...]
    code: tuple[str, ...]
    prose: tuple[str, ...]
    blocks: tuple[tuple[str, str], ...]

    @property
    def text(self) -> str:
        """All words, code included, one piece a line."""
        return "\n".join((*self.prose, *self.code))

    @property
    def lines_of_code(self) -> tuple[str, ...]:
        """Lines of all code; one that ends with a backslash is joined with the next."""
        return tuple(line for piece in self.code for line in piece.replace("\\\n", " ").splitlines() if line.strip())


def slug(heading: str) -> str:
    """Return the anchor of a heading as forges make it: lower case, dashes for spaces, no other signs."""
    return re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")


def anchors_of(headings: Sequence[str]) -> frozenset[str]:
    """Return the anchors of headings; of equal ones all but the first are numbered."""
    seen: Counter[str] = Counter()
    found: set[str] = set()
    for heading in headings:
        base = slug(heading)
        found.add(f"{base}-{seen[base]}" if seen[base] else base)
        seen[base] += 1
    return frozenset(found)


def parsed(name: str, text: str) -> Page:
    """Return a page from its Markdown."""
    tokens = _PARSER.parse(text)
    headings = tuple(_plain(inline) for opening, inline in pairwise(tokens) if opening.type == "heading_open")
    pieces = list(_pieces(tokens))
    return Page(
        name=name,
        headings=headings,
        anchors=anchors_of(headings),
        links=tuple(Link(str(token.attrs[_LINKS[token.type]]), line) for token, line in pieces if token.type in _LINKS),
        code=tuple(token.content for token, _ in pieces if token.type in _CODE),
        prose=tuple(token.content for token, _ in pieces if token.type == "text"),
        blocks=tuple((token.info, token.content) for token, _ in pieces if token.type == "fence" and token.info),
    )


def read(path: Path) -> Page:
    """Return the page in a file of the repository."""
    return parsed(str(path.relative_to(ROOT)), path.read_text(encoding="utf-8"))


def all_pages() -> tuple[Page, ...]:
    """Return the pages at the top of the repository, and all below docs and manifests."""
    top = (ROOT / name for name in ("README.md", "CONTRIBUTING.md", "CHANGELOG.md"))
    below = (path for folder in (DOCS, ROOT / "manifests") for path in sorted(folder.rglob("*.md")))
    return tuple(read(path) for path in (*top, *below))


def guides() -> tuple[Page, ...]:
    """Return those that say how things are now: neither the changelog nor records of decisions."""
    return tuple(page for page in all_pages() if page.name != "CHANGELOG.md" and "/adr/" not in page.name)


def _pieces(tokens: Sequence[Token]) -> Iterator[tuple[Token, int]]:
    """Yield every token that has no others in it, with its line."""
    line = 1
    for token in tokens:
        line = token.map[0] + 1 if token.map else line
        if token.children is None:
            yield token, line
        else:
            yield from ((child, line) for child in token.children)


def _plain(inline: Token) -> str:
    """Return the words of a heading."""
    return "".join(child.content for child in inline.children or () if child.type in {"text", "code_inline"})
