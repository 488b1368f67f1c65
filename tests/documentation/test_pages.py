"""The reader of pages itself."""

from __future__ import annotations

import pytest

from tests.documentation.pages import Link, anchors_of, parsed, slug

_TEXT = """\
# A page: `--flag`

See [that](other.md#there) and ![a picture](drawn.svg).

| a | b |
|---|---|
| `x` | [y](y.md) |

```
evenkeel list \\
  -A
[no](link.md)
```

```yaml
a: 1
```

## Again
## Again
"""


@pytest.mark.parametrize(
    ("heading", "anchor"),
    [
        ("Alert EvenkeelEvictionLoop", "alert-evenkeelevictionloop"),
        ("compare, shadow: what?", "compare-shadow-what"),
        ("Recommender (`evenkeel-recommender`)", "recommender-evenkeel-recommender"),
        ("snake_case stays", "snake_case-stays"),
        ("a - b", "a---b"),
    ],
)
def test_an_anchor_is_that_of_a_forge(heading: str, anchor: str) -> None:
    assert slug(heading) == anchor


def test_equal_headings_are_numbered() -> None:
    assert anchors_of(["Again", "Again", "Other", "Again"]) == {"again", "again-1", "other", "again-2"}


def test_headings_links_and_code_are_told_apart() -> None:
    page = parsed("page.md", _TEXT)
    assert page.headings == ("A page: --flag", "Again", "Again")
    assert page.links == (Link("other.md#there", 3), Link("drawn.svg", 3), Link("y.md", 7))
    assert page.code == ("--flag", "x", "evenkeel list \\\n  -A\n[no](link.md)\n", "a: 1\n")
    assert page.lines_of_code == ("--flag", "x", "evenkeel list    -A", "[no](link.md)", "a: 1")
    assert page.blocks == (("yaml", "a: 1\n"),)
    assert "that" in page.prose
    assert "evenkeel list" not in " ".join(page.prose)
