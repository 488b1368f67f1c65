"""A replay as a page of HTML (beyond:B-36, quality:Q-22)."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest

from autoscaling.quantity import Quantity
from autoscaling.vpa import ContainerPolicy
from evenkeel.replay.intervals import SEED, differences
from evenkeel.replay.outcome import Outcome
from evenkeel.replay.page import MOST_SOURCES, Origin, Portrait, replay_page
from evenkeel.replay.pictures import subjects
from evenkeel.replay.report import LIMITS
from evenkeel.replay.variants import Variant
from tests.evenkeel.outline import Outline, read
from tests.evenkeel.replay.results import lively, outcome, portrait
from tests.evenkeel.replay.series import trace

SERIES = [lively("shop/web/main", "x"), lively("shop/<b>/main", "y", seed=2)]
STRATEGIES = ("vpa-default", "krr-simple", "oracle")
ORIGIN = Origin("evenkeel replay 'a b'", "0.1.0", 768)


@pytest.fixture(scope="module")
def found() -> Outcome:
    return outcome(SERIES, *STRATEGIES)


@pytest.fixture(scope="module")
def portraits(found: Outcome) -> list[Portrait]:
    return [portrait(each, SERIES) for each in subjects(found, 2)]


@pytest.fixture(scope="module")
def text(found: Outcome, portraits: list[Portrait]) -> str:
    return replay_page(found, portraits, ORIGIN)


@pytest.fixture(scope="module")
def outline(text: str) -> Outline:
    return read(text)


def test_it_needs_nothing_beside_it(text: str, outline: Outline) -> None:
    """beyond:B-36: works offline, is read without a script, and escapes what it is told."""
    assert "://" not in text
    assert "url(" not in text
    assert "@import" not in text
    assert {"script", "link", "img", "iframe", "b"} & {tag for tag, _ in outline.elements} == set()
    assert any("shop/<b>/main" in each for each in outline.said("h3"))


def test_it_can_be_used_by_everybody(outline: Outline) -> None:
    """beyond:B-36: language, title, captions, headings of cells, words for pictures, scrolling by keyboard."""
    tags = [tag for tag, _ in outline.elements]
    assert next(outline.named("html"))["lang"] == "en"
    assert tags.count("h1") == tags.count("main") == 1
    assert tags.count("table") == tags.count("caption") == len(list(outline.named("div", "wide")))
    assert all(each["tabindex"] == "0" and each["aria-label"] for each in outline.named("div", "wide"))
    assert all(each["scope"] in {"row", "col"} for tag, each in outline.elements if tag == "th")
    drawn = [each for tag, each in outline.elements if tag == "svg"]
    assert all(each.get("role") == "img" or each.get("aria-hidden") == "true" for each in drawn)
    levels = [int(tag[1]) for tag in tags if tag in {"h1", "h2", "h3"}]
    assert levels[0] == 1
    assert all(below - above <= 1 for above, below in pairwise(levels))


def test_pictures_of_every_strategy(outline: Outline) -> None:
    """beyond:B-36: two series, two resources, three strategies, with words below each, and two frontiers."""
    drawn = [each for tag, each in outline.elements if tag == "svg" and each.get("role") == "img"]
    assert len(drawn) == 2 * 2 * 3 + 2
    captions = outline.said("figcaption")
    assert sum(each.startswith("krr-simple, CPU: slack ") for each in captions) == 2
    assert sum(each.startswith("oracle, memory: slack ") and "OOM kill" in each for each in captions) == 2


def test_figures_by_source_and_money(outline: Outline) -> None:
    """beyond:B-36: tables of all series, of each source, and of what it costs."""
    captions = outline.said("caption")
    assert captions[:3] == ["All series", "x", "y"]
    assert captions[3].startswith("Cost of a month in core-hours")
    cells = {tuple(row[:2]) for row in outline.rows}
    assert {("vpa-default", "all"), ("oracle", "y")} <= cells
    heading = next(row for row in outline.rows if "Waste" in row)
    assert heading == ["Strategy", "Series", "Requests", "Use", "Waste", "Wasted share"]


def test_limits_stand_beside_figures(outline: Outline) -> None:
    """quality:Q-22: at the top, with the pictures and with the scores."""
    assert outline.said("p").count(LIMITS) == 3


def test_how_to_repeat_it(outline: Outline) -> None:
    """beyond:B-36: command, version and seed."""
    assert outline.said("code") == [ORIGIN.command]
    assert any("Evenkeel 0.1.0." in each and str(SEED) in each for each in outline.said("p"))


def test_what_variants_set_is_told(found: Outcome) -> None:
    """beyond:B-36: a name alone tells nothing."""
    policy = ContainerPolicy("*", max_allowed={"cpu": Quantity.parse("2")})
    variants = (Variant("calm", policy=policy, flags=("--target-cpu-percentile=0.95",)), Variant("plain"))
    page = read(replay_page(found, [], replace(ORIGIN, variants=variants)))
    assert ["calm", 'target-cpu-percentile=0.95, maxAllowed {"cpu": "2"}'] in page.rows
    assert ["plain", "nothing"] in page.rows


def test_differences_are_told(found: Outcome) -> None:
    """quality:Q-10."""
    apart = differences(
        found.scores["krr-simple"], found.scores["vpa-default"], found.sources, np.random.default_rng(SEED)
    )
    page = read(replay_page(replace(found, against="vpa-default", apart={"krr-simple": apart}), [], ORIGIN))
    assert "Beside vpa-default, series by series, with 95% intervals" in page.said("caption")


def test_many_sources_do_not_fill_it() -> None:
    """beyond:B-36: those with the most series have tables; what is left out is said."""
    series = [trace([1.0] * 24, name=f"{number}", source=f"s{number:02}") for number in range(MOST_SOURCES + 3)]
    page = read(replay_page(outcome(series, "static"), [], ORIGIN))
    assert len(page.said("caption")) == 1 + MOST_SOURCES + 1
    assert any(each.startswith("Of 3 sources with fewer series") for each in page.said("p"))


def test_without_memory_there_is_no_frontier_of_it() -> None:
    """beyond:B-36."""
    page = read(replay_page(outcome([trace([1.0] * 24)], "static"), [], ORIGIN))
    assert "No series has enough Memory to be scored." in page.said("p")


def test_its_size_has_a_bound(found: Outcome, portraits: list[Portrait]) -> None:
    """beyond:B-36: 24 series, as many as can be asked for, of lively use."""
    assert len(replay_page(found, portraits * 12, ORIGIN)) < 2_000_000
