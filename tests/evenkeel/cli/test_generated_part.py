"""Parts of pages that are generated."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from evenkeel.cli.generated_part import GeneratedPart

ROOT = Path(__file__).parents[3]
GENERATED = re.compile(r"This file is generated|`make docs` writes")
PART = GeneratedPart("<!-- begin -->", "<!-- end -->")
PAGE = "# Title\n\n<!-- begin -->\n\n| a |\n|---|\n\n<!-- end -->\n\nMore.\n"


def test_a_part_is_read_and_written_and_the_rest_stays() -> None:
    assert PART.read(PAGE) == "| a |\n|---|"
    assert PART.write(PAGE, "| b |\n") == PAGE.replace("| a |\n|---|", "| b |")
    assert PART.write(PAGE, f"{PART.read(PAGE)}\n") == PAGE


@pytest.mark.parametrize("gone", ["<!-- begin -->\n", "<!-- end -->\n"])
def test_a_page_that_does_not_mark_it_is_refused(gone: str) -> None:
    page = PAGE.replace(gone, "")
    with pytest.raises(ValueError, match="put these lines back"):
        PART.read(page)
    with pytest.raises(ValueError, match="'<!-- begin -->' and '<!-- end -->'"):
        PART.write(page, "")


@pytest.mark.parametrize(
    ("page", "writer"),
    [
        ("decisions.md", "-m evenkeel.cli.document_decisions"),
        ("flags.md", "-m evenkeel.cli.document_flags"),
        ("metrics.md", "-m evenkeel.cli.document_metrics"),
        ("parity.md", "-m evenkeel.cli.document_switches docs/parity.md"),
        ("performance.md", "-m bench.report docs/performance.md"),
    ],
)
def test_make_docs_writes_every_generated_page(page: str, writer: str) -> None:
    recipe = (ROOT / "Makefile").read_text().partition("\ndocs: ")[2].partition("\n\n")[0]
    assert f"{writer}\n" in f"{recipe}\n"
    assert GENERATED.search((ROOT / "docs" / page).read_text())


def test_no_other_page_says_that_it_is_generated() -> None:
    pages = {path.name for path in (ROOT / "docs").glob("*.md") if GENERATED.search(path.read_text())}
    assert pages == {"api-reference.md", "decisions.md", "flags.md", "metrics.md", "parity.md", "performance.md"}
