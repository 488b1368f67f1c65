"""What pages name exists: flags, commands, targets, modules, files, metrics, annotations, reasons, log lines."""

from __future__ import annotations

import dataclasses
import re
from functools import cache

import pytest

from autoscaling.behaviour import Behaviour
from evenkeel.cli.document_metrics import families
from tests.documentation.pages import ROOT, Page, guides
from tests.documentation.programs import FLAG, OTHERS, commands_in, complaint, known_flags
from updater.decision import Reason

PAGES = guides()
PACKAGES = ("autoscaling", "recommender", "updater", "admission", "evenkeel")
EACH_PAGE = pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
_SAMPLES_OF_HISTOGRAMS = ("_bucket", "_count", "_sum")


@cache
def _sources() -> str:
    """Return all that the product is made of, the manifests included, as one text."""
    files = [path for package in PACKAGES for path in (ROOT / package).rglob("*.py")]
    files += [path for ending in ("yaml", "json", "tpl") for path in (ROOT / "manifests").rglob(f"*.{ending}")]
    return "\n".join(path.read_text(encoding="utf-8") for path in files)


@cache
def _words() -> frozenset[str]:
    """Return the words of the product; reasons of decisions also as conditions have them."""
    as_conditions = {"".join(word.capitalize() for word in reason.value.split("_")) for reason in Reason}
    return frozenset(re.findall(r"\w+", _sources())) | as_conditions


@cache
def _metrics() -> frozenset[str]:
    """Return the names of all metric families, of the parts of histograms and of labels."""
    found = [family for of_one in families().values() for family in of_one]
    names = {name for family in found for name in (family.name, *family.labels)}
    return frozenset(names | {f"{family.name}{ending}" for family in found for ending in _SAMPLES_OF_HISTOGRAMS})


@EACH_PAGE
def test_every_flag_is_one_of_some_program(page: Page) -> None:
    assert set(FLAG.findall(page.text)) - known_flags() == set()


@EACH_PAGE
def test_every_command_takes_the_flags_that_it_is_given(page: Page) -> None:
    said = [complaint(words) for line in page.lines_of_code for words in commands_in(line)]
    assert [text for text in said if text] == []


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("evenkeel list -A  # all of them", None),
        ("kubectl evenkeel explain vpa web -o json", None),
        ("kubectl logs x | evenkeel list --history --log - -A", None),
        ("sudo PATH=/bin evenkeel-updater --min-replicas=1", None),
        ('sudo env PATH="$PATH" evenkeel list --histories', "evenkeel list has no --histories"),
        ("evenkeel", None),
        ("make demo", None),
        ("evenkeel lists -A", "there is no command lists"),
        ("evenkeel list --histories", "evenkeel list has no --histories"),
        ("evenkeel shadow sync --histories", "evenkeel shadow sync has no --histories"),
        ("cat x | evenkeel doctor --history", "evenkeel doctor has no --history"),
        ("evenkeel --min-replicas=1", "evenkeel itself has no --min-replicas"),
        ("evenkeel-recommender --min-replicas 1", "evenkeel-recommender has no --min-replicas"),
        ("kubectl apply --server-sided -f x", "kubectl has no --server-sided"),
    ],
)
def test_a_command_that_does_not_exist_is_found(line: str, said: str | None) -> None:
    assert next((text for words in commands_in(line) if (text := complaint(words))), None) == said


def test_flags_of_others_are_listed_only_while_a_page_has_them() -> None:
    mentioned = {flag for page in PAGES for flag in FLAG.findall(page.text)}
    assert sorted(flag for flags in OTHERS.values() for flag in flags - mentioned) == []


@EACH_PAGE
def test_every_target_of_make_exists(page: Page) -> None:
    targets = set(re.findall(r"^([a-z0-9-]+):", (ROOT / "Makefile").read_text(), flags=re.MULTILINE))
    called = (words for line in page.lines_of_code for words in commands_in(line) if words[0] == "make")
    named = {word for words in called for word in words[1:] if re.fullmatch(r"[a-z][a-z0-9-]*", word)}
    assert named - targets == set()


@EACH_PAGE
def test_every_module_that_is_run_exists(page: Page) -> None:
    named = set(re.findall(r"python3? -m ((?:evenkeel|e2e|tests|bench)[a-z0-9_.]*[a-z0-9_])", page.text))
    paths = {name: ROOT.joinpath(*name.split(".")) for name in named}
    missing = {
        n for n, path in paths.items() if not (path / "__main__.py").exists() and not path.with_suffix(".py").exists()
    }
    assert missing == set()


@EACH_PAGE
def test_every_file_of_the_repository_exists(page: Page) -> None:
    folders = "|".join((*PACKAGES, "manifests", "tests", "e2e", "bench", "docs"))
    named = set(re.findall(rf"(?<![\w./-])(?:{folders})/[\w./-]*\w", page.text))
    placeholders = {name for name in named if re.search(r"/[A-Z]+$", name)}
    assert {name for name in named - placeholders if not (ROOT / name).exists()} == set()


@EACH_PAGE
def test_every_metric_and_label_is_shown_by_some_process(page: Page) -> None:
    named = set(re.findall(r"\b(?:evenkeel|vpa|kubelet)_[a-z0-9_]*[a-z0-9]\b(?!_?\*)", page.text))
    assert named - _metrics() == set()


@EACH_PAGE
def test_every_annotation_and_label_of_ours_is_used(page: Page) -> None:
    named = set(re.findall(r"(?<![\w.-])evenkeel\.dev/[a-z-]*[a-z]", page.text))
    assert {name for name in named if name not in _sources()} == set()


@EACH_PAGE
def test_every_condition_event_and_reason_is_known_to_the_product(page: Page) -> None:
    """Or is a word of Kubernetes that the product goes by, too."""
    named = {piece for piece in page.code if re.fullmatch(r"(?:[A-Z][a-z]+){2,}[A-Z]{0,4}", piece)}
    assert named - _words() == set()


@EACH_PAGE
def test_every_line_of_the_log_is_logged(page: Page) -> None:
    text = (ROOT / page.name).read_text(encoding="utf-8")
    named = set(re.findall(r"\blog(?: lines?)?(?: has| says)?\s`([a-z][a-z ]+ [a-z]+)`", text))
    assert {line for line in named if f'"{line}"' not in _sources()} == set()


@EACH_PAGE
def test_every_switch_exists(page: Page) -> None:
    named = set(re.findall(r"--behaviour[ =]([a-z_]+)=", page.text)) - {"name"}
    assert named - {field.name for field in dataclasses.fields(Behaviour)} == set()
