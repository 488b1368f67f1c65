"""Every benchmark by its row."""

from __future__ import annotations

from collections.abc import Mapping

from bench.row import Benchmark
from bench.rows.r1 import FoldArrays
from bench.rows.r2 import TakeMetricsList
from bench.rows.r3 import Recommend

ROWS: Mapping[str, type[Benchmark]] = {row.name: row for row in (FoldArrays, TakeMetricsList, Recommend)}
