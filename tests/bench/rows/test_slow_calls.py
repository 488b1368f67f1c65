"""What U-2 and U-3 run with, at full and at reduced size."""

from __future__ import annotations

from pathlib import Path

import pytest

from bench.duel import DuelPool
from bench.row import Setting
from bench.rows.slow_calls import USUAL, SlowCalls
from bench.rows.u2 import SlowEvictions
from bench.rows.u3 import SlowResizes


@pytest.mark.parametrize(
    ("row", "kind", "is_quick", "controllers", "ends"),
    [
        ("performance:U-2", SlowEvictions, False, 1_000, [""]),
        ("performance:U-2", SlowEvictions, True, 20, [""]),
        ("performance:U-3", SlowResizes, False, 1_000, ["", "/wide"]),
        ("performance:U-3", SlowResizes, True, 20, [""]),
    ],
)
def test_sizes_and_limits(
    tmp_path: Path, row: str, kind: type[SlowCalls], is_quick: bool, controllers: int, ends: list[str]
) -> None:
    benchmark = kind(Setting(tmp_path, is_quick, DuelPool(tmp_path)))
    benchmark.set_up()
    assert (benchmark.shape.vpas, benchmark.shape.pods) == (controllers, 2 * controllers), row
    assert list(benchmark.limits) == ends
    assert benchmark.limits[""] == USUAL
    # Fewer calls than the burst that the usual limits allow are held back by no limits.
    assert not is_quick or 2 * controllers < 200
