"""The page about performance: its tables and its drawing are current, whole, and agree with themselves."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from bench.catalogue import ROWS, TARGETS
from bench.curves import CURVES
from bench.figures import measured
from bench.page import FIGURES, growth, lines, render
from bench.plot import draw
from bench.report import DRAWING

PAGE = Path(__file__).parents[2] / "docs" / "performance.md"


def test_the_page_is_current() -> None:
    page = PAGE.read_text()
    assert page == render(page), "run `make docs`"


def test_the_drawing_is_current() -> None:
    page = PAGE.read_text()
    assert PAGE.with_name(DRAWING).read_text() == draw(growth(page)), "run `make docs`"
    assert f"({DRAWING})" in page


def test_every_row_stands_in_the_tables_and_in_the_description() -> None:
    page = PAGE.read_text()
    assert sorted({line.row for line in lines(page)}) == sorted(ROWS)
    assert [curve.row for curve in growth(page)] == list(CURVES)
    described = re.findall(r"^\| ([A-Z]-\d(?:, [A-Z]-\d)*) \|", page.split(FIGURES.begin)[0], flags=re.MULTILINE)
    assert sorted(row for cell in described for row in cell.split(", ")) == sorted(ROWS)


def test_every_figure_with_a_target_is_there() -> None:
    named = {line.name for line in lines(PAGE.read_text())}
    # Of the steps of a round only those that take either side long enough are fitted.
    assert sorted(name for name in TARGETS if not name.startswith("R-9/") and name not in named) == []


def test_ratios_are_those_of_the_figures_within_rounding() -> None:
    for line in lines(PAGE.read_text()):
        assert (line.peer == "-") == (line.ratio == "-"), line
        if line.peer != "-":
            ours, peer = measured(line.ours), measured(line.peer)
            ratio = ours / peer if line.ours.endswith("/s") else peer / ours
            assert float(line.ratio) == pytest.approx(ratio, rel=0.015), line


def test_what_misses_its_target_is_explained() -> None:
    page = PAGE.read_text()
    missed = {line.name for line in lines(page) if line.is_met is False}
    assert {name for name in missed if f"- **{name}.**" not in page} == set()
