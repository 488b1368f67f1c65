"""Stored figures as a table."""

from __future__ import annotations

from pathlib import Path

from bench.figures import Bound, Figure, Spread, Target, Unit
from bench.record import write_record
from bench.report import table

OURS, PEER = Spread.of([0.05]), Spread.of([0.2])


def test_figures_become_lines_and_reduced_sizes_do_not_count(tmp_path: Path) -> None:
    timed = Figure("R-4", OURS, PEER, target=Target(Bound.RATIO_AT_LEAST, 5), ours_cpu=OURS, peer_cpu=PEER)
    alone = Figure("S-1/memory", Spread.of([0.4]), unit=Unit.GIBIBYTES, target=Target(Bound.OURS_AT_MOST, 8))
    write_record(tmp_path, "S-1", [alone], is_quick=False)
    write_record(tmp_path, "R-4", [timed], is_quick=False)
    write_record(tmp_path, "R-1", [timed], is_quick=True)
    assert table(tmp_path.glob("*.json")).splitlines()[2:] == [
        "| R-4 | 50ms | 0.2s | 4 | 4 | ratio >= 5 | no |",
        "| S-1/memory | 0.4GiB | - | - | - | ours <= 8 | yes |",
    ]
