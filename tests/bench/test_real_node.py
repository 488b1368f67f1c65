"""Phases at which programs and steps begin, and what is said where there can be no cluster."""

from __future__ import annotations

from pathlib import Path

import pytest

from bench.__main__ import main
from bench.real_node import Phase


@pytest.mark.parametrize(
    ("share", "now", "seconds"),
    [(0.0, 1000.0, 0.0), (0.0, 1000.5, 1.5), (0.75, 1000.0, 1.5), (0.75, 1001.75, 1.75), (0.5, 1001.0, 0.0)],
)
def test_a_phase_is_waited_for(share: float, now: float, seconds: float) -> None:
    assert Phase(2.0, share).seconds_after(now) == pytest.approx(seconds)


def test_where_there_can_be_no_cluster_the_row_is_an_error_and_no_figure(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    # As without root's rights, the cluster refuses to start before it has done anything.
    monkeypatch.setenv("EVENKEEL_E2E_ROOT", f"/var/tmp/{'long' * 20}")
    assert main(["C-1", "--quick", "--results", str(tmp_path)]) == 1, "performance:C-1"
    printed = capsys.readouterr()
    assert "bench: C-1 FAILED: /var/tmp/longlong" in printed.err
    assert "ours=" not in printed.out
    assert list(tmp_path.iterdir()) == []
