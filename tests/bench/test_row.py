"""How the two sides of a benchmark take turns."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType

import pytest

from bench.cluster import Shape
from bench.duel import DuelPool
from bench.errors import DisagreementError
from bench.figures import Bound, Figure, Run, Spread, Target
from bench.row import Benchmark, Setting, measure


def setting(folder: Path, *, is_quick: bool = False) -> Setting:
    return Setting(folder, is_quick, DuelPool(folder))


class Recorded(Benchmark):
    """Notes what is asked of it; turn n takes ours n and the peer 10 n seconds."""

    name = "X-1"
    title = "nothing"
    warm_ups = 2
    turns = 3
    targets = MappingProxyType({"X-1": Target(Bound.RATIO_AT_LEAST, 10)})
    agrees = True

    def set_up(self) -> None:
        self.asked = ["set up"]

    def run_ours(self, turn: int) -> Run:
        self.asked.append(f"ours {turn}")
        return Run(float(turn), float(turn))

    def run_peer(self, turn: int) -> Run | None:
        self.asked.append(f"peer {turn}")
        return Run(10.0 * turn, 10.0 * turn)

    def check(self) -> None:
        self.asked.append("check")
        if not self.agrees:
            raise DisagreementError("they differ")

    def report(self, ours: Sequence[Run], peer: Sequence[Run]) -> list[Figure]:
        return [self.seconds_figure(ours, peer)]

    def tear_down(self) -> None:
        self.asked.append("tear down")


class ShownWhenQuick(Recorded):
    """Is not judged at a reduced size."""

    is_judged_when_quick = False


class Alone(Recorded):
    """Has no peer."""

    def run_peer(self, turn: int) -> Run | None:
        return None


def test_sides_alternate_and_so_does_who_begins(tmp_path: Path) -> None:
    benchmark = Recorded(setting(tmp_path))
    measure(benchmark)
    assert benchmark.asked == [
        "set up", "ours 0", "peer 0", "peer 1", "ours 1", "ours 2", "peer 2", "peer 3", "ours 3", "ours 4", "peer 4",
        "check", "tear down",
    ]  # fmt: skip


def test_warm_ups_do_not_count(tmp_path: Path) -> None:
    (figure,) = measure(Recorded(setting(tmp_path)))
    assert (figure.ours.low, figure.ours.median, figure.ours.count) == (2.0, 3.0, 3)
    assert figure.ratio == figure.cpu_ratio == 10.0
    assert figure.is_met is True


def test_sides_that_disagree_give_no_figure_and_are_ended(tmp_path: Path) -> None:
    benchmark = Recorded(setting(tmp_path))
    benchmark.agrees = False
    with pytest.raises(DisagreementError, match="they differ"):
        measure(benchmark)
    assert benchmark.asked[-1] == "tear down"


def test_a_row_may_have_no_peer(tmp_path: Path) -> None:
    (figure,) = measure(Alone(setting(tmp_path)))
    assert (figure.peer, figure.peer_cpu, figure.ratio) == (None, None, None)


def test_sizes_of_a_reduced_run(tmp_path: Path) -> None:
    whole, quick = setting(tmp_path), setting(tmp_path, is_quick=True)
    assert (whole.choose(100, 10), quick.choose(100, 10)) == (100, 10)
    large, small, chosen = Shape(100, 5), Shape(10, 5), Shape(1, 1)
    assert (whole.shape(large, small), quick.shape(large, small)) == (large, small)
    assert replace(whole, cluster=chosen).shape(large, small) == chosen


@pytest.mark.parametrize(
    ("row", "is_quick", "verdict"),
    [(Recorded, False, True), (Recorded, True, True), (ShownWhenQuick, False, True), (ShownWhenQuick, True, None)],
)
def test_a_reduced_run_is_judged_unless_the_row_says_otherwise(
    tmp_path: Path, row: type[Recorded], is_quick: bool, verdict: bool | None
) -> None:
    (figure,) = measure(row(setting(tmp_path, is_quick=is_quick)))
    assert (figure.is_met, figure.target is None) == (verdict, verdict is None)


def test_figures_without_a_target_of_their_own_are_only_shown(tmp_path: Path) -> None:
    whole = Recorded(setting(tmp_path))
    other = Figure("X-1/wall", Spread.of([1.0]), target=Target(Bound.OURS_AT_MOST, 2))
    assert whole.judged(other).target is None


def test_work_is_compared_by_cpu_time_and_wall_time_stands_beside(tmp_path: Path) -> None:
    ours, peer = [Run(9.0, 1.0), Run(7.0, 3.0), Run(8.0, 2.0)], [Run(10.0, 8.0)]
    work, wall = Recorded(setting(tmp_path)).work_figures(ours, peer, "a note")
    assert (work.name, work.ratio, work.note) == ("X-1", 4.0, "CPU time; a note")
    assert (wall.name, wall.ratio) == ("X-1/wall", 1.25)
