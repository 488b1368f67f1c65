"""The list of benchmarks."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from bench.catalogue import ROWS
from bench.row import Benchmark

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
