"""Every link leads somewhere, and every page can be found."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from pathlib import Path
from urllib.parse import unquote

import pytest
import yaml

from tests.documentation.pages import DOCS, ROOT, Page, all_pages, parsed, read
from tests.manifests.structural import as_list, as_object

PAGES = all_pages()
RULES = ROOT / "manifests" / "monitoring" / "rules.yaml"


@cache
def _page(path: Path) -> Page:
    return read(path)


def _anchors(target: Page | Path) -> frozenset[str]:
    """Return what can be led to within a page, or within a file."""
    if isinstance(target, Page):
        return target.anchors
    return _page(target).anchors if target.suffix == ".md" else frozenset()


def broken(page: Page) -> list[str]:
    """Return each link of a page that leads to no file of the repository, or to no heading in it."""
    found: list[str] = []
    for link in page.links:
        if "://" in link.target or link.target.startswith("mailto:"):
            continue
        path, _, anchor = unquote(link.target).partition("#")
        target = ((ROOT / page.name).parent / path).resolve() if path else ROOT / page.name
        is_there = not path or (target.exists() and target.is_relative_to(ROOT))
        if not is_there or (anchor and anchor not in _anchors(page if not path else target)):
            found.append(f"{page.name}:{link.line}: {link.target}")
    return found


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_link_leads_to_a_file_and_a_heading(page: Page) -> None:
    assert broken(page) == []


@pytest.mark.parametrize(
    ("target", "is_broken"),
    [
        ("metrics.md", False),
        ("metrics.md#updater-evenkeel-updater", False),
        ("#here", False),
        ("../manifests/", False),
        ("https://example.com/nowhere.md#at-all", False),
        ("metric.md", True),
        ("metrics.md#updaters", True),
        ("#there", True),
        ("scaling.svg#part", True),
        ("../../elsewhere.md", True),
    ],
)
def test_a_broken_link_is_found(target: str, is_broken: bool) -> None:
    assert broken(parsed("docs/tried.md", f"# Here\n\n[link]({target})\n")) == (
        [f"docs/tried.md:3: {target}"] if is_broken else []
    )


def test_the_index_leads_to_every_page() -> None:
    index = DOCS / "README.md"
    led_to = {(DOCS / link.target.partition("#")[0]).resolve() for link in read(index).links}
    assert sorted(str(path) for path in set(DOCS.rglob("*.md")) - led_to - {index}) == []


def test_the_readme_leads_to_the_index() -> None:
    assert "docs/README.md" in {link.target for link in read(ROOT / "README.md").links}


def _alerts() -> Iterator[tuple[str, str]]:
    """Yield the name and the address of the runbook of every alert."""
    for group in as_list(as_object(yaml.safe_load(RULES.read_text()))["groups"]):
        for rule in as_list(as_object(group)["rules"]):
            of_one = as_object(rule)
            yield str(of_one["alert"]), str(as_object(of_one["annotations"])["runbook_url"])


def test_every_alert_has_its_heading_and_every_heading_of_one_its_alert() -> None:
    headings = [heading for heading in read(DOCS / "operations.md").headings if heading.startswith("Alert ")]
    assert sorted(headings) == sorted({f"Alert {name}" for name, _ in _alerts()})


@pytest.mark.parametrize(("alert", "address"), sorted(set(_alerts())))
def test_the_address_of_a_runbook_leads_to_its_heading(alert: str, address: str) -> None:
    assert broken(parsed("tried.md", f"[{alert}]({address})")) == []
    assert address.endswith(f"#alert-{alert.lower()}")
