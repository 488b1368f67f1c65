"""What the repository as a whole promises: the wheel, no clashing names, generated pages, a test for every id."""

from __future__ import annotations

import configparser
import csv
import importlib.metadata
import re
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from evenkeel.cli.document_decisions import render_decisions
from evenkeel.cli.document_flags import render_flags
from evenkeel.cli.document_switches import render_switches
from recommender.strategies.known import OWN_NAMES

ROOT = Path(__file__).parent.parent
PACKAGES = ("autoscaling", "recommender", "updater", "admission", "evenkeel")


@pytest.fixture(scope="session")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Build the wheel once."""
    folder = tmp_path_factory.mktemp("wheel")
    command = [sys.executable, "-m", "hatchling", "build", "--target", "wheel", "--directory", str(folder)]
    subprocess.run(command, cwd=ROOT, check=True, capture_output=True)
    return next(folder.glob("*.whl"))


def test_the_wheel_holds_the_five_packages_and_nothing_else(wheel: Path) -> None:
    names = zipfile.ZipFile(wheel).namelist()
    tops = {name.split("/")[0] for name in names if ".dist-info/" not in name}
    assert tops == set(PACKAGES)
    for package in PACKAGES:
        shipped = {name for name in names if name.startswith(f"{package}/")}
        files = subprocess.run(
            ["git", "ls-files", package], cwd=ROOT, check=True, capture_output=True, text=True
        ).stdout
        assert shipped >= {f for f in files.split() if (ROOT / f).exists()}


def test_the_wheel_has_its_console_scripts_and_licence(wheel: Path) -> None:
    archive = zipfile.ZipFile(wheel)
    entry_points = next(name for name in archive.namelist() if name.endswith("entry_points.txt"))
    points = configparser.ConfigParser()
    points.read_string(archive.read(entry_points).decode())
    assert set(points["evenkeel.strategies"]) == OWN_NAMES, "beyond:B-10"
    assert set(points["console_scripts"]) == {
        "evenkeel",
        "kubectl-evenkeel",
        "kubectl_complete-evenkeel",
        "evenkeel-recommender",
        "evenkeel-updater",
        "evenkeel-admission-controller",
    }
    assert any(name.endswith("LICENSE") for name in archive.namelist())


def test_no_other_distribution_brings_one_of_our_import_names() -> None:
    owners = importlib.metadata.packages_distributions()
    for package in PACKAGES:
        assert set(owners.get(package, ["evenkeel"])) == {"evenkeel"}, package


def test_the_page_of_flags_is_current() -> None:
    assert (ROOT / "docs" / "flags.md").read_text() == render_flags(), "run `make docs`"


def test_the_page_of_decisions_is_current() -> None:
    assert (ROOT / "docs" / "decisions.md").read_text() == render_decisions(), "run `make docs`"


def test_the_table_of_switches_is_current() -> None:
    page = (ROOT / "docs" / "parity.md").read_text()
    assert page == render_switches(page), "run `make docs`"


def test_a_page_without_a_place_for_the_table_is_refused() -> None:
    with pytest.raises(ValueError, match="put these lines back"):
        render_switches("# Parity")


def _tested_rules() -> set[str]:
    """Return the rules that tests name."""
    folders = (ROOT / "tests", ROOT / "e2e")
    text = "\n".join(path.read_text() for folder in folders for path in folder.rglob("test_*.py"))
    return set(RULE_ID.findall(text))


def test_every_golden_example_has_a_test() -> None:
    """Spec: recommender:12."""
    assert sorted({f"recommender:E{number}" for number in range(1, 15)} - _tested_rules()) == []


UPDATER_RULES = {"M": 22, "P": 9, "R": 8, "C-3": 11, "U": 6, "UQ": 9, "X": 11, "D": 64, "W": 22, "K": 35}
"""How many rules of each kind the updater has."""
UPDATER_BEYOND = (12, *range(20, 29), 30, 31, 32, 41, 42, 43, 45)
UPDATER_CASES = (4, 14, 23, 25, 27, 28, 29, 31, 32, 34, 35, 38, 46, 47)


def _rules_of_the_updater() -> set[str]:
    """Return every rule of the updater's part; C-3 is a table with a rule in each row."""
    rules = {f"updater:C-{number}" for number in (1, 2, 4, 5, 6)}
    for kind, count in UPDATER_RULES.items():
        rules |= {f"updater:{kind}{'.' if '-' in kind else '-'}{number}" for number in range(1, count + 1)}
    return rules | {f"beyond:B-{n}" for n in UPDATER_BEYOND} | {f"case:{n}" for n in UPDATER_CASES}


ADMISSION_RULES = {
    "1": 7, "2": 9, "3": 14, "4": 5, "4.3": 7, "5": 26, "6": 11, "7.1": 7, "7.2": 4, "7.3": 5, "8": 11, "9": 7,
    "10": 24, "11": 5, "12": 8, "13": 24,
}  # fmt: skip
"""How many rules each section of the admission controller has: its numbered ones or its rows, then what is said beside
them."""
ADMISSION_BEYOND = (12, 16, 17, 25, 32)
ADMISSION_CASES = (1, 4, 5, 6, 8, 22, 35, 36, 46, 47)


def _rules_of_admission() -> set[str]:
    """Return every rule of the admission controller's part; limits has rows by number, and sections with an S."""
    rules = {f"admission:{section}.{n}" for section, count in ADMISSION_RULES.items() for n in range(1, count + 1)}
    rules |= {f"limits:{row}" for row in range(1, 62)} | {f"limits:S8.{number}" for number in range(1, 17)}
    rules |= {f"limits:S{section}" for section in ("1", "2", "3", "4.1", "4.2", "4.3", "5", "6")}
    rules |= {"api:1.1", "api:1.3", "api:3", "api:6", "api:7.1", "api:7.2", "api:7.3", "api:7.4"}
    return rules | {f"beyond:B-{n}" for n in ADMISSION_BEYOND} | {f"case:{n}" for n in ADMISSION_CASES}


RECOMMENDER_SECTIONS = {"1": 4, "2": 3, "3": 5, "4": 4, "6": 4, "8": 3, "9": 3, "11": 3, "13": 20}
"""How many parts each section of the recommender has; those without parts are listed below."""
RECOMMENDER_BEYOND = (*range(1, 9), 10, 11, 14, 15, 16, 19, 32, 44)
RECOMMENDER_CASES = (9, 11, 12, 15, 16, 17, 18, 20, 22, 39, 40, 43, 45)


def _rules_of_the_recommender() -> set[str]:
    """Return every rule of the recommender's part: sections, appendices, golden examples, and how fast it is."""
    rules = {
        f"recommender:{section}.{n}" for section, count in RECOMMENDER_SECTIONS.items() for n in range(1, count + 1)
    }
    rules |= {f"recommender:{name}" for name in ("0", "5", "7", "10", "12", "A", "B")}
    rules |= {f"recommender:E{number}" for number in range(1, 15)} | {f"performance:R-{n}" for n in range(1, 10)}
    return rules | {f"beyond:B-{n}" for n in RECOMMENDER_BEYOND} | {f"case:{n}" for n in RECOMMENDER_CASES}


def _listed() -> list[dict[str, str]]:
    """Return the rows of the list of rules."""
    with (ROOT / "docs" / "spec-ids.csv").open(newline="") as file:
        return list(csv.DictReader(file))


def test_every_rule_of_the_updater_is_listed_and_has_a_test() -> None:
    rules = _rules_of_the_updater()
    assert sorted(rules - {row["id"] for row in _listed()}) == []
    assert sorted(rules - _tested_rules()) == []


def test_every_rule_of_admission_is_listed_and_has_a_test() -> None:
    rules = _rules_of_admission()
    assert sorted(rules - {row["id"] for row in _listed()}) == []
    assert sorted(rules - _tested_rules()) == []


def test_every_rule_of_the_recommender_is_listed_and_has_a_test() -> None:
    rules = _rules_of_the_recommender()
    assert sorted(rules - {row["id"] for row in _listed()}) == []
    assert sorted(rules - _tested_rules()) == []


def test_every_rule_of_replay_is_listed_and_has_a_test() -> None:
    rules = {f"quality:Q-{number}" for number in (*range(1, 18), 19, 22)}
    assert sorted(rules - {row["id"] for row in _listed()}) == []
    assert sorted(rules - _tested_rules()) == []


def test_every_listed_rule_has_a_test() -> None:
    tested, rows = _tested_rules(), _listed()
    ids = [row["id"] for row in rows]
    assert len(ids) == len(set(ids))
    assert all(row["rule"].strip() for row in rows)
    assert sorted(set(ids) - tested) == []


RULE_ID = re.compile(
    r"\b(?:api|admission|limits|recommender|updater|resize|beyond|case|performance|quality):[A-Za-z0-9-]+(?:\.[0-9]+)*"
)
FORBIDDEN = re.compile(r"/root/|/work/|/home/|index-url|find-links")


def test_nothing_committed_names_this_machine_or_an_index() -> None:
    files = subprocess.run(["git", "ls-files"], cwd=ROOT, check=True, capture_output=True, text=True).stdout.split()
    skipped = {"tests/test_architecture.py", "Makefile"}
    for name in files:
        path = ROOT / name
        if name in skipped or path.suffix in {".gz", ".sum"} or not path.exists():
            continue
        match = FORBIDDEN.search(path.read_text(errors="replace"))
        assert match is None, f"{name}: {match and match.group()}"
