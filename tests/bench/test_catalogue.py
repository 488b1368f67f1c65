"""The list of benchmarks."""

from __future__ import annotations

import re
from pathlib import Path

from bench.catalogue import ROWS

_ROWS_FOLDER = Path(__file__).parents[2] / "bench" / "rows"


def test_every_module_of_a_row_is_listed_under_its_name() -> None:
    modules = {path.stem for path in _ROWS_FOLDER.glob("*.py") if re.fullmatch(r"[a-z]\d", path.stem)}
    assert {name.replace("-", "").lower() for name in ROWS} == modules
    assert all(ROWS[name].name == name and ROWS[name].title for name in ROWS)
