"""The list of benchmarks."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from bench.catalogue import ROWS, TARGETS
from bench.duel import DuelPool
from bench.figures import Figure, Spread
from bench.row import Benchmark, Setting

_ROWS_FOLDER = Path(__file__).parents[2] / "bench" / "rows"


def test_every_module_of_a_row_is_listed_under_its_name() -> None:
    modules = {path.stem for path in _ROWS_FOLDER.glob("*.py") if re.fullmatch(r"[a-z]\d", path.stem)}
    assert {name.replace("-", "").lower() for name in ROWS} == modules
    assert all(ROWS[name].name == name and ROWS[name].title for name in ROWS)


@pytest.mark.parametrize(
    ("row", "name"),
    [
        ("performance:R-1", "R-1"),
        ("performance:R-2", "R-2"),
        ("performance:R-3", "R-3"),
        ("performance:R-4", "R-4"),
        ("performance:R-5", "R-5"),
        ("performance:R-8", "R-8"),
        ("performance:R-9", "R-9"),
    ],
)
def test_rows_of_the_recommender_have_a_peer_and_make_sure_that_it_did_the_same(row: str, name: str) -> None:
    assert ROWS[name].run_peer is not Benchmark.run_peer, row
    assert ROWS[name].check is not Benchmark.check, row


@pytest.mark.parametrize(
    ("row", "figure", "target", "is_judged_when_quick"),
    [
        ("performance:R-1", "R-1", "ratio >= 80", True),
        ("performance:R-2", "R-2", "ratio >= 6", True),
        ("performance:R-3", "R-3", "ratio >= 4", True),
        ("performance:R-4", "R-4", "ratio >= 5", True),
        ("performance:R-4", "R-4/absolute", "ours <= 1s", True),
        ("performance:R-4", "R-4/1M", "ours <= 10s", True),
        ("performance:R-5", "R-5", "ratio >= 5", False),
        ("performance:R-5", "R-5/jobs", "ours <= 1.05", False),
        ("performance:R-6", "R-6", "ratio >= 20", False),
        ("performance:R-7", "R-7", "ratio >= 4", True),
        ("performance:R-7", "R-7/1m", "ours <= 60s", True),
        ("performance:R-7", "R-7/1m-memory", "ours <= 400MiB", True),
        ("performance:R-8", "R-8", "ratio >= 50", True),
        ("performance:R-9", "R-9/LoadMetrics", "ours <= 1.05", True),
        ("performance:R-9", "R-9/UpdateVPAs", "ours <= 1.05", True),
        ("performance:R-9", "R-9/MaintainCheckpoints", "ours <= 1.05", True),
        ("performance:R-9", "R-9/total", "ours <= 1.05", True),
        ("performance:A-1", "A-1/1", "ratio >= 1", True),
        ("performance:A-1", "A-1/32", "ratio >= 3", True),
        ("performance:A-2", "A-2", "ratio >= 1.5", True),
        ("performance:A-3", "A-3", "ours <= 10ms", True),
        ("performance:U-1", "U-1", "ratio >= 20", True),
        ("performance:U-2", "U-2", "ratio >= 4", False),
        ("performance:U-3", "U-3", "ratio >= 4", False),
        ("performance:S-1", "S-1/list", "ours >= 20000/s", False),
        ("performance:S-1", "S-1/watch", "ours >= 5000/s", False),
        ("performance:S-1", "S-1/memory", "ours <= 8GiB", False),
        ("performance:S-2", "S-2", "ours <= 60s", True),
        ("performance:C-1", "C-1", "ratio >= 1", False),
    ],
)
def test_every_figure_is_judged_as_its_row_says(
    tmp_path: Path, row: str, figure: str, target: str, is_judged_when_quick: bool
) -> None:
    name = row.partition(":")[2]
    shown = Figure(figure, Spread.of([1.0]))
    for is_quick in (False, True):
        judged = ROWS[name](Setting(tmp_path, is_quick, DuelPool(tmp_path))).judged(shown)
        expected = target if is_judged_when_quick or not is_quick else None
        assert (judged.target and judged.target.text()) == expected


def test_targets_belong_to_figures_of_their_row() -> None:
    for name, row in ROWS.items():
        assert row.targets, name
        assert all(figure == name or figure.startswith(f"{name}/") for figure in row.targets), name
    assert sorted(figure for row in ROWS.values() for figure in row.targets) == sorted(TARGETS)
