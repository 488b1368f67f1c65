"""The command that puts figures into tables."""

from __future__ import annotations

from pathlib import Path
from xml.etree.ElementTree import fromstring

import pytest

from bench.catalogue import TARGETS
from bench.figures import Figure, Spread, Unit
from bench.page import FIGURES, GROWTH, growth, render
from bench.record import write_record
from bench.report import DRAWING, main, stored

OURS, PEER = Spread.of([0.05]), Spread.of([0.2])
TIMED = Figure("R-4", OURS, PEER, target=TARGETS["R-4"], ours_cpu=OURS, peer_cpu=PEER)
ALONE = Figure("S-1/memory", Spread.of([0.4]), unit=Unit.GIBIBYTES, target=TARGETS["S-1/memory"])
PAGE = f"""\
{FIGURES.begin}
{FIGURES.end}
{GROWTH.begin}
| row | what | side | 1k | 10k | 100k | exponent |
|---|---|---|---|---|---|---|
| R-4 | rounds | ours | 1ms | 10ms | 0.1s | 1.00 |
| R-4 | rounds | upstream | 1ms | 10ms | 0.1s | 1.00 |
{GROWTH.end}
"""


def test_a_page_and_its_drawing_are_written_with_what_was_measured(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text(PAGE)
    records = [write_record(tmp_path, row, [each], is_quick=False) for row, each in (("S-1", ALONE), ("R-4", TIMED))]
    reduced = write_record(tmp_path, "R-1", [TIMED], is_quick=True)
    main([str(page), *map(str, records), str(reduced)])
    assert [row for row in FIGURES.read(page.read_text()).splitlines()[2:] if "| - | - | - | - |" not in row] == [
        "| R-4 | 50ms | 0.2s | 4 | 4 | ratio >= 5 | no |",
        "| S-1/memory | 0.4GiB | - | - | - | ours <= 8GiB | yes |",
    ]
    assert page.read_text() == render(page.read_text())
    assert fromstring((tmp_path / DRAWING).read_text()).tag.endswith("svg")
    main([str(page)])
    assert len(growth(page.read_text())) == 1
    assert "| R-4 | 50ms |" in page.read_text()


def test_without_a_page_what_is_stored_is_printed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_record(tmp_path, "S-1", [ALONE], is_quick=False)
    write_record(tmp_path, "R-1", [TIMED], is_quick=True)
    main(["--results", str(tmp_path)])
    head, _, *rows = capsys.readouterr().out.splitlines()
    assert head.startswith("| figure | ours | upstream |")
    assert rows == ["| S-1/memory | 0.4GiB | - | - | - | ours <= 8GiB | yes |"]


def test_records_are_read_in_the_order_of_their_names(tmp_path: Path) -> None:
    for row in ("R-4", "A-1"):
        write_record(tmp_path, row, [TIMED], is_quick=False)
    assert [record.row for record in stored(tmp_path.glob("*.json"))] == ["A-1", "R-4"]
