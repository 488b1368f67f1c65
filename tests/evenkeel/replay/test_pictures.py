"""Series that are drawn (beyond:B-36)."""

from __future__ import annotations

import numpy as np
import pytest

from evenkeel.replay.contest import IN_HINDSIGHT
from evenkeel.replay.course import CPU_PLACE, MEMORY_PLACE
from evenkeel.replay.pictures import Run, Subject, subjects, texts
from evenkeel.replay.run_drawing import MOST_SPOTS, run_drawing
from tests.evenkeel.replay.results import lively, outcome, portrait
from tests.evenkeel.replay.series import DAY, GI, MI, NAN, Floats, trace

STEADY = trace([1.0] * 24, [500 * MI] * 24, name="steady", source="x")
JUMPY = trace(([1.0] * 23 + [9.0]) * 4, [500 * MI] * 96, name="jumpy", source="x")
OTHER = trace([1.0] * 24, [500 * MI] * 24, name="other", source="y")


def test_where_strategies_differ_most_comes_first_of_each_source_in_turn() -> None:
    """beyond:B-36."""
    found = outcome([STEADY, JUMPY, OTHER], "vpa-default", "krr-simple", "oracle")
    ours, theirs = (found.scores[name].costs(10.0) for name in ("vpa-default", "krr-simple"))
    spread = np.abs(np.log(ours / theirs))
    most, least = (0, 1) if spread[0] > spread[1] else (1, 0)
    assert spread[most] > spread[least]
    assert [each.number for each in subjects(found, 3)] == [most, 2, least]
    assert [each.source for each in subjects(found, 2)] == ["x", "y"]
    assert subjects(found, 0) == ()


def test_series_without_a_score_are_not_drawn() -> None:
    """beyond:B-36."""
    assert subjects(outcome([trace([0.001] * 24)], "static", "oracle"), 5) == ()


ALL = ("vpa-min0", "oracle", "static", "krr-simple", "vpa-default", "weekly-peak")


@pytest.mark.parametrize(
    ("row", "strategies", "against"),
    [
        ("beyond:B-36 a few", ("static", "oracle"), ""),
        ("beyond:B-36 one", ("oracle",), ""),
        ("beyond:B-36 the first one", ALL, ""),
        ("beyond:B-36 what others are held against", ALL, "static"),
    ],
)
def test_which_strategies_are_drawn(row: str, strategies: tuple[str, ...], against: str) -> None:
    """The one that is held against, the cheapest and the dearest that can be followed, in their order."""
    found = outcome([JUMPY], *strategies, against=against)
    (subject,) = subjects(found, 1)
    costs = {name: float(found.scores[name].costs(10.0)[0]) for name in strategies if name not in IN_HINDSIGHT}
    wanted = {against or strategies[0], *([min(costs, key=costs.__getitem__)] if costs else [])}
    assert wanted <= set(subject.strategies), row
    assert not costs or max(costs.values()) in {costs.get(name) for name in subject.strategies}, row
    assert len(subject.strategies) == min(3, len(strategies)), row
    assert list(subject.strategies) == [name for name in strategies if name in subject.strategies], row


def test_a_run_tells_kills_and_resizes() -> None:
    """beyond:B-36: as many as are counted."""
    series = [lively("a"), lively("b", seed=2)]
    found = outcome(series, "vpa-default")
    for number in (0, 1):
        run = portrait(Subject(number, "n", "s", ("vpa-default",)), series).runs["vpa-default"]
        assert len(run.resizes) == found.scores["vpa-default"].resizes[number] > 0
        assert len(run.kills) == found.scores["vpa-default"].ooms[1, number]
        np.testing.assert_array_equal(run.uses[MEMORY_PLACE], series[number].memory_bytes)
        np.testing.assert_array_equal(run.limits, 1.5 * run.requests[MEMORY_PLACE])
        assert np.isnan(run.requests[:, run.seconds < DAY]).all()


def test_words_beside_a_picture() -> None:
    """beyond:B-36: figures of those resources that are scored."""
    found = outcome([JUMPY, trace([1.0] * 24, name="cpu")], "static")
    assert texts(found, Subject(0, "jumpy", "x", ("static",)), "static")[MEMORY_PLACE] == (
        "slack 0.15, overrun 0, 0 resizes, 0 OOM kills"
    )
    assert list(texts(found, Subject(1, "cpu", "s", ("static",)), "static")) == [CPU_PLACE]


def run_of(uses: Floats, requests: Floats, step: float = 300.0) -> Run:
    """Return a run of CPU and memory alike."""
    seconds: Floats = np.arange(len(uses), dtype=np.float64) * step
    both = np.stack((uses, uses * GI)), np.stack((requests, requests * GI))
    return Run(seconds, *both, 1.5 * both[1][1], seconds[::2], seconds[1::2])


def test_a_drawing_has_a_bound() -> None:
    """beyond:B-36: however many steps, kills and resizes there are."""
    random = np.random.default_rng(3)
    small, large = (
        run_drawing("t", run_of(*random.gamma(2.0, 0.2, (2, count))), MEMORY_PLACE) for count in (2_000, 200_000)
    )
    for svg in (small, large):
        points = [len((each.get("points") or "").split()) for each in svg.iter("polyline")]
        assert max(points) <= 2 * MOST_SPOTS + 2
        assert sum(len(each.get("d") or "") for each in svg.iter("path")) < 20_000
        assert len(list(svg.iter())) < 40


def test_peaks_are_drawn_whatever_is_left_out() -> None:
    """beyond:B-36: one high step among many reaches the top."""
    uses = np.full(100_000, 0.1)
    uses[77_777] = 8.0
    svg = run_drawing("t", run_of(uses, np.full(100_000, 0.2)), CPU_PLACE)
    (used,) = (each for each in svg.iter("polyline") if each.get("class") == "used")
    heights = [float(point.split(",")[1]) for point in (used.get("points") or "").split()]
    assert min(heights) == pytest.approx(118.0 - 106.0 / 1.05, abs=0.1)


def test_gaps_are_gaps() -> None:
    """quality:Q-1: where there is no sample nothing is drawn; no limit of CPU, and no kill."""
    uses = np.full(1_000, 0.5)
    uses[300:600] = NAN
    svg = run_drawing("t", run_of(uses, np.full(1_000, 0.6)), CPU_PLACE)
    lines = [each.get("class") for each in svg.iter("polyline")]
    assert lines == ["used", "used", "request"]
    assert [each.get("class") for each in svg.iter("path")] == ["resizes"]
    nothing = np.full(3, NAN)
    assert list(run_drawing("t", run_of(nothing, nothing), MEMORY_PLACE).iter("polyline")) == []


@pytest.mark.parametrize(
    ("row", "highest", "place", "unit"),
    [
        ("beyond:B-36 cores", 1.0, CPU_PLACE, "cores"),
        ("beyond:B-36 millicores", 0.99, CPU_PLACE, "mcore"),
        ("beyond:B-36 GiB", 1.0, MEMORY_PLACE, "GiB"),
        ("beyond:B-36 MiB", 0.6, MEMORY_PLACE, "MiB"),
    ],
)
def test_units(row: str, highest: float, place: int, unit: str) -> None:
    svg = run_drawing("t", run_of(np.full(9, highest), np.full(9, highest)), place)
    assert unit in [each.text for each in svg.iter("text")], row
