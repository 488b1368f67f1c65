"""The tables of the page about performance: what is kept, and what is written anew."""

from __future__ import annotations

import pytest

from bench.catalogue import ROWS, TARGETS
from bench.curves import CURVES, NAME, SIZES
from bench.figures import Bound, Unit
from bench.page import FIGURES, GROWTH, Line, StoredFigure, StoredRecord, StoredSpread, growth, lines, render

PAGE = f"""\
# Performance

{FIGURES.begin}

| figure | ours | upstream | ratio | ratio by CPU time | target | met |
|---|---|---|---|---|---|---|
| R-4 | 0.2s | 2s | 10 | 12 | ratio >= 1 | no |
| R-4/absolute | 50ms | - | - | - | - | - |
| S-1/memory | 9GiB | - | - | - | - | - |

{FIGURES.end}

{GROWTH.begin}

| row | what | side | 1k | 10k | 100k | exponent |
|---|---|---|---|---|---|---|
| R-4 | some words | ours | 1ms | 10ms | 0.1s | 7 |
| R-4 | some words | upstream | 10ms | 1s | 100s | 7 |

{GROWTH.end}
"""


def stored(name: str, ours: float, peer: float | None = None, unit: Unit = Unit.SECONDS) -> StoredFigure:
    ratio = None if peer is None else peer / ours
    return StoredFigure(name, unit, StoredSpread(ours), None if peer is None else StoredSpread(peer), ratio)


def test_targets_verdicts_and_exponents_are_written_anew() -> None:
    page = render(PAGE)
    assert "| R-4 | 0.2s | 2s | 10 | 12 | ratio >= 5 | yes |\n" in page
    assert "| R-4/absolute | 50ms | - | - | - | ours <= 1s | yes |\n" in page
    assert "| S-1/memory | 9GiB | - | - | - | ours <= 8GiB | no |\n" in page
    assert f"| R-4 | {CURVES['R-4']} | ours | 1ms | 10ms | 0.1s | 1.00 |\n" in page
    assert f"| R-4 | {CURVES['R-4']} | upstream | 10ms | 1s | 100s | 2.00 |\n" in page
    assert render(page) == page


def test_what_was_measured_takes_the_place_of_what_the_page_has_of_the_row() -> None:
    newer = StoredRecord("R-4", False, [stored("R-4", 0.1, 0.3), stored("R-4/1M", 2.0)])
    page = render(PAGE, [newer, StoredRecord("A-3", False, [stored("A-3", 6.01, unit=Unit.MILLISECONDS)])])
    assert [line.name for line in lines(page) if line.row in {"A-3", "R-4", "S-1"}] == [
        "A-3",
        "R-4",
        "R-4/1M",
        "S-1/memory",
    ]
    assert "| A-3 | 6.01ms | - | - | - | ours <= 10ms | yes |\n" in page
    assert "| R-4 | 0.1s | 0.3s | 3 | - | ratio >= 5 | no |\n" in page
    assert growth(page) == growth(PAGE)


def test_rows_that_were_never_measured_have_dashes() -> None:
    page = render(PAGE)
    assert "| S-2 | - | - | - | - | ours <= 60s | - |\n" in page
    assert "| U-2 | - | - | - | - | ratio >= 4 | - |\n" in page
    assert {line.row for line in lines(page)} == set(ROWS)


def test_reduced_sizes_do_not_count() -> None:
    assert render(PAGE, [StoredRecord("R-4", True, [stored("R-4", 1.0, 1.0)])]) == render(PAGE)


def test_new_curves_take_the_place_of_all() -> None:
    figures = [stored(f"U-1/{size}", 10.0**place, 20.0) for place, size in enumerate(SIZES)]
    page = render(PAGE, [StoredRecord(NAME, False, [*figures, stored("U-1/exponent", 1.0, 0.0)])])
    (curve,) = growth(page)
    assert (curve.row, curve.ours, curve.peer) == ("U-1", (1.0, 10.0, 100.0), (20.0, 20.0, 20.0))
    assert lines(page) == lines(render(PAGE))


def test_sizes_that_are_not_measured_yet_have_dashes() -> None:
    page = render(PAGE.replace("10ms | 0.1s |", "10ms | - |").replace("1s | 100s |", "1s | - |"))
    assert f"| R-4 | {CURVES['R-4']} | ours | 1ms | 10ms | - | 1.00 |\n" in page
    assert f"| R-4 | {CURVES['R-4']} | upstream | 10ms | 1s | - | 2.00 |\n" in page
    assert render(page) == page


@pytest.mark.parametrize(
    ("row", "without"), [("| R-4 | 0.2s | 2s |", "| R-4 | 0.2s |"), ("| ours | 1ms |", "| ours | fast |")]
)
def test_rows_that_cannot_be_read_are_refused(row: str, without: str) -> None:
    with pytest.raises(ValueError, match=r"should have 7|is no measure"):
        render(PAGE.replace(row, without))


def test_a_line_is_judged_in_the_unit_of_its_target() -> None:
    for name, ours, is_met in (("S-2", "900ms", True), ("S-2", "61s", False), ("S-1/list", "20000/s", True)):
        assert Line(name, ours, "-", "-", "-").is_met is is_met
    assert Line("R-4", "1s", "-", "-", "-").is_met is False
    assert Line("R-6/wall", "1s", "2s", "2", "-").is_met is None
    assert all(target.unit is not None for target in TARGETS.values() if target.bound is not Bound.RATIO_AT_LEAST)
