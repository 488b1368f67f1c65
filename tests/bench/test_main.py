"""The command that runs benchmarks: what it prints, what it writes, and how it ends."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import MappingProxyType

import pytest

from bench.__main__ import main
from bench.errors import DisagreementError, PeerError
from bench.figures import Bound, Figure, Run, Target
from bench.row import Benchmark


class Agreeing(Benchmark):
    """Takes 1 to 3 seconds where the peer takes ten times as long."""

    name = "X-1"
    title = "what both do alike"
    warm_ups = 1
    turns = 3
    targets = MappingProxyType({"X-1": Target(Bound.RATIO_AT_LEAST, 10)})

    def set_up(self) -> None:
        """Need nothing."""

    def run_ours(self, turn: int) -> Run:
        return Run(float(turn), float(turn))

    def run_peer(self, turn: int) -> Run | None:
        return Run(10.0 * turn, 10.0 * turn)

    def report(self, ours: Sequence[Run], peer: Sequence[Run]) -> list[Figure]:
        return [self.seconds_figure(ours, peer)]


class Slow(Agreeing):
    """Misses its target."""

    name = "X-2"
    targets = MappingProxyType({"X-2": Target(Bound.RATIO_AT_LEAST, 11)})


class Disagreeing(Agreeing):
    """Does something else than the peer."""

    name = "X-3"

    def check(self) -> None:
        raise DisagreementError("7 of 9 differ")


class WithoutPeer(Agreeing):
    """Has a peer that ends."""

    name = "X-4"

    def run_peer(self, turn: int) -> Run | None:
        raise PeerError(f"the peer ended in turn {turn}")


ALL: Mapping[str, type[Benchmark]] = {row.name: row for row in (Disagreeing, Agreeing, WithoutPeer, Slow)}


def test_a_row_prints_its_line_and_is_written_with_spread_machine_and_versions(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["X-1", "--results", str(tmp_path)], ALL) == 0
    assert "bench: X-1 ours=2s peer=20s ratio=10 target=10 ok\n" in capsys.readouterr().out
    record = json.loads((tmp_path / "X-1.json").read_bytes())
    (figure,) = record["figures"]
    for side, factor in (("ours", 1.0), ("peer", 10.0), ("ours_cpu", 1.0), ("peer_cpu", 10.0)):
        assert figure[side] == {"median": 2.0 * factor, "low": factor, "high": 3.0 * factor, "count": 3}
    assert (figure["ratio"], figure["met"]) == (10.0, True)
    assert record["machine"].keys() == {"cpu", "cores", "memory_gib", "load", "system"}
    assert record["versions"].keys() >= {"python", "evenkeel", "numpy", "msgspec", "upstream", "go"}
    assert record["at"].endswith("Z")


def test_a_missed_target_is_a_figure_all_the_same(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["X-2", "--quick", "--results", str(tmp_path)], ALL) == 0
    assert "ratio=10 target=11 MISS\n" in capsys.readouterr().out
    assert json.loads((tmp_path / "X-2-quick.json").read_bytes())["figures"][0]["met"] is False


@pytest.mark.parametrize(
    ("row", "said"), [("X-3", "7 of 9 differ"), ("X-4", "the peer ended in turn 0")], ids=["disagrees", "has no peer"]
)
def test_sides_that_did_not_do_the_same_work_are_a_failure_and_no_figure(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], row: str, said: str
) -> None:
    assert main([row, "--results", str(tmp_path)], ALL) == 1
    printed = capsys.readouterr()
    assert "ours=" not in printed.out
    assert f"bench: {row} FAILED: {said}\n" in printed.err
    assert list(tmp_path.iterdir()) == []


def test_all_rows_run_whatever_fails_and_the_failed_ones_are_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["--results", str(tmp_path)], ALL) == 1
    printed = capsys.readouterr()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["X-1.json", "X-2.json"]
    assert "bench: X-3, X-4 failed: a figure counts only where both sides did the same work\n" in printed.err


def test_rows_that_are_not_there_are_refused(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit, match="2"):
        main(["X-9"], ALL)
    assert "X-1" in capsys.readouterr().err
