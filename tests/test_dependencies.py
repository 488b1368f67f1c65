"""docs/dependencies.md: every package that is asked for, at the version that is locked, with what is known of it."""

from __future__ import annotations

import re
import tomllib
from collections import defaultdict
from datetime import date
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
_PAGE = (ROOT / "docs" / "dependencies.md").read_text()
_PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())
_COLUMNS = ["package", "version", "released", "what for", "licence", "kept by"]


def _locked() -> dict[str, set[str]]:
    """Return the locked versions of every package; some have one for each of several Pythons."""
    found: defaultdict[str, set[str]] = defaultdict(set)
    for name, version in re.findall(
        r"^([a-z0-9-]+)==([^ \\]+)", (ROOT / "requirements.lock").read_text(), re.MULTILINE
    ):
        found[name].add(version)
    return found


def _asked_for(requirements: list[str]) -> set[str]:
    return {re.split(r"[<>=,\[ ;]", requirement)[0] for requirement in requirements}


def _table(heading: str) -> list[list[str]]:
    """Return the rows of the table below a heading."""
    part = _PAGE.partition(f"## {heading}\n")[2].partition("\n## ")[0]
    lines = [
        [cell.strip() for cell in line.strip("|").split("|")] for line in part.splitlines() if line.startswith("|")
    ]
    assert lines[0] == _COLUMNS
    return lines[2:]


_TABLES = [
    ("In the image", _asked_for(_PROJECT["project"]["dependencies"])),
    ("For replay of large sets", _asked_for(_PROJECT["project"]["optional-dependencies"]["replay"])),
    ("For tests and builds only", _asked_for(_PROJECT["dependency-groups"]["dev"])),
]


@pytest.mark.parametrize(("heading", "asked_for"), _TABLES)
def test_every_direct_dependency_is_described_at_its_locked_version(heading: str, asked_for: set[str]) -> None:
    """Spec: product:7."""
    described: defaultdict[str, set[str]] = defaultdict(set)
    for name, version, *_ in _table(heading):
        described[name].add(version)
    assert described == {name: _locked()[name] for name in asked_for}


@pytest.mark.parametrize("heading", [heading for heading, _ in _TABLES])
def test_each_has_a_date_and_words(heading: str) -> None:
    rows = _table(heading)
    assert [row[0] for row in rows]
    for _, _, released, *words in rows:
        assert date(2020, 1, 1) < date.fromisoformat(released)
        assert all(words)
        assert len(words) == 3


def test_what_is_young_is_named() -> None:
    """A release younger than a week when the lock was looked at has a sentence of its own."""
    looked = re.search(r"last looked at, on (\d{4}-\d\d-\d\d)", _PAGE)
    assert looked is not None
    day = date.fromisoformat(looked[1])
    rules = _PAGE.partition("## How a version comes in")[2]
    for heading, _ in _TABLES:
        for name, version, released, *_ in _table(heading):
            age = (day - date.fromisoformat(released)).days
            assert age >= 0, f"{name} {version} came after the lock was looked at; look again"
            assert age >= 7 or f"{name} {version}" in rules, f"{name} {version} is {age} days old"


def test_every_locked_file_has_its_hash_and_no_address_is_named() -> None:
    """Spec: product:7."""
    lock = (ROOT / "requirements.lock").read_text()
    blocks = re.split(r"^(?=[a-z0-9-]+==)", lock, flags=re.MULTILINE)
    assert not blocks[0].strip()
    assert all("--hash=sha256:" in block for block in blocks[1:])
    assert "://" not in lock
    assert "@" not in lock
