"""Parts of pages that are generated."""

from __future__ import annotations

import pytest

from evenkeel.cli.generated_part import GeneratedPart

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
