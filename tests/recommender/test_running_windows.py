"""Running memory windows over a restart (beyond:B-2, case:20)."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from autoscaling.matching import EVERYTHING
from recommender.checkpoint import ContainerCheckpoint, RunningWindow
from recommender.checkpointing import checkpoints_of, load_checkpoints
from recommender.instants import NEVER, instant
from recommender.running_windows import MOST_KEPT, WindowIndex
from tests.builders import T0
from tests.recommender.scene import DAY, HOUR, Scene, filled, of_one_container, pod, vpa

MI, GI = 2**20, 2**30


def written(scene: Scene, now: datetime, *names: str) -> list[ContainerCheckpoint]:
    """Return the checkpoints of VPAs with their windows."""
    vpas = [scene.tracked(name) for name in names or ("v",)]
    return [one for each in checkpoints_of(scene.model, vpas, now, keep_windows=True) for one in each]


def restarted(scene: Scene, now: datetime, *pods: str) -> Scene:
    """Return the scene after a restart in which these pods are there."""
    fresh = Scene().follow(vpa()).observe(*(pod(name) for name in pods))
    assert load_checkpoints(fresh.model, written(scene, now), now, keep_windows=True) == ()
    return fresh


def weights(scene: Scene) -> dict[int, float]:
    """Return the memory weights of the VPA, whatever aggregate they are in."""
    tracked = scene.tracked()
    linked = [*tracked.linked.get("main", ()), *tracked.initial.values()]
    rows = [row for row in linked if not scene.model.aggregates.memory.is_empty(np.array([row]))[0]]
    bank = scene.model.aggregates.memory
    total = sum(bank.weights[row] * 2.0 ** ((bank.references.column()[row] - T0_NS) / DAY_NS) for row in rows)
    return {int(bucket): float(total[bucket]) for bucket in np.flatnonzero(total)}


T0_NS = int(T0.timestamp()) * 10**9
DAY_NS = 86400 * 10**9


@pytest.mark.parametrize(
    ("row", "keep_windows", "peaks"),
    [("beyond:B-2", True, 5), ("recommender:6.3", False, 0), ("case:20", True, 5)],
)
def test_restarts_every_20_hours_lose_no_daily_peak(row: str, keep_windows: bool, peaks: int) -> None:
    """A peak of 3Gi in the first hour of every day, and a restart every 20 hours, within which no window ends.

    Spec: recommender:13.1.
    """
    scene = of_one_container()
    for hour in range(5 * 24 + 1):
        now = T0 + hour * HOUR
        scene.memory(now, 3 * GI if hour % 24 == 1 else 100 * MI)
        if hour % 20 == 19:
            stored = checkpoints_of(scene.model, [scene.tracked()], now, keep_windows=keep_windows)[0]
            scene = Scene().follow(vpa()).observe(pod())
            load_checkpoints(scene.model, stored, now, keep_windows=keep_windows)
    high = {bucket: weight for bucket, weight in weights(scene).items() if bucket > 50}
    # Each day's peak weighs twice as much as that of the day before.
    assert sum(high.values()) == pytest.approx(sum(2.0**day for day in range(1, 1 + peaks)), rel=1e-3), row


def test_without_a_restart_the_peaks_are_the_same() -> None:
    scene = of_one_container()
    for hour in range(5 * 24 + 1):
        scene.memory(T0 + hour * HOUR, 3 * GI if hour % 24 == 1 else 100 * MI)
    assert sum(w for b, w in weights(scene).items() if b > 50) == pytest.approx(sum(2.0**day for day in range(1, 6)))


def test_an_oom_bump_survives_and_later_kills_do_not_compound() -> None:
    """Spec: beyond:B-2, recommender:13.1."""
    one = of_one_container()
    one.memory(T0, 200 * MI)
    one.oom(T0 + HOUR, 256 * MI)
    fresh = restarted(one, T0 + 2 * HOUR, "p")
    assert fresh.figures()["target"] == one.figures()["target"]
    for scene in (one, fresh):
        scene.oom(T0 + 2 * HOUR, 256 * MI)
        scene.oom(T0 + 3 * HOUR, 434110464)
    assert weights(fresh) == pytest.approx(weights(one))


def test_the_windows_that_are_kept() -> None:
    one = Scene().follow(vpa()).observe(pod("p1"), pod("p0"), pod("idle"))
    one.memory(T0, 300 * MI, pod="p0")
    one.memory(T0 + HOUR, 200 * MI, pod="p1")
    one.oom(T0 + 2 * HOUR, 512 * MI, pod="p1")
    one.memory(T0 + 3 * HOUR, 100 * MI, pod="p1")
    (checkpoint,) = written(one, T0 + 4 * HOUR)
    assert checkpoint.windows == (
        RunningWindow("p0", 300 * MI, 300 * MI, T0 + DAY, T0),
        RunningWindow("p1", 644245094, 200 * MI, T0 + DAY + HOUR, T0 + 3 * HOUR),
    )
    assert written(one, T0 + DAY + HOUR)[0].windows == ()
    assert checkpoints_of(one.model, [one.tracked()], T0 + HOUR)[0][0].windows == ()


def test_of_very_many_windows_the_highest_are_kept() -> None:
    one = Scene().follow(vpa()).observe(*(pod(f"p{number}") for number in range(MOST_KEPT + 2)))
    for number in range(MOST_KEPT + 2):
        one.memory(T0, (100 + number) * MI, pod=f"p{number}")
    (checkpoint,) = written(one, T0 + HOUR)
    assert len(checkpoint.windows) == MOST_KEPT
    assert min(window.peak for window in checkpoint.windows) == 102 * MI


def test_the_peak_of_a_pod_that_is_gone_joins_the_loaded_history() -> None:
    one = of_one_container()
    one.memory(T0, 300 * MI)
    fresh = restarted(one, T0 + HOUR)
    assert filled(fresh.model.aggregates.memory, fresh.tracked().initial["main"]) == {19: 1.0}
    assert fresh.figures()["target"] == one.figures()["target"]


def test_a_window_that_two_vpas_have_kept_counts_once() -> None:
    one = Scene().follow(vpa()).follow(vpa("w"), selector=EVERYTHING).observe(pod())
    one.memory(T0, 300 * MI)
    stored = written(one, T0 + HOUR, "v", "w")
    assert [len(checkpoint.windows) for checkpoint in stored] == [1, 1]
    fresh = Scene().follow(vpa()).follow(vpa("w"), selector=EVERYTHING).observe(pod())
    load_checkpoints(fresh.model, stored, T0 + HOUR, keep_windows=True)
    assert filled(fresh.model.aggregates.memory, fresh.aggregate()) == {19: 1.0}


def test_windows_are_left_alone_where_they_are_not_wanted() -> None:
    one = of_one_container()
    one.memory(T0, 300 * MI)
    fresh = Scene().follow(vpa()).observe(pod())
    load_checkpoints(fresh.model, written(one, T0 + HOUR), T0 + HOUR)
    assert weights(fresh) == {}


Samples = Sequence[tuple[int, int, int]]
samples = st.lists(
    st.tuples(st.integers(0, 2), st.integers(0, 40 * 60), st.integers(0, 4 * GI)), min_size=1, max_size=25
)


def some_window_has_ended(scene: Scene, now: datetime) -> bool:
    """Say whether a window has ended and no sample has begun the next: its grid is lost with a restart."""
    ends = scene.model.containers.window_end
    return bool(((ends != NEVER) & (ends <= instant(now))).any())


@given(samples, st.integers(0, 25))
def test_a_restart_changes_nothing(events: Samples, cut: int) -> None:
    """Whatever was seen before, the weights are as without a restart."""
    names = ("a", "b", "c")
    ordered = sorted(events, key=lambda event: event[1])
    straight = Scene().follow(vpa()).observe(*map(pod, names))
    broken = Scene().follow(vpa()).observe(*map(pod, names))
    for place, (who, minute, amount) in enumerate(ordered):
        now = T0 + timedelta(minutes=minute)
        if place == cut:
            assume(not some_window_has_ended(broken, now))
            broken = restarted(broken, now, *names)
        for scene in (straight, broken):
            scene.memory(now, amount, pod=names[who])
    expected, found = weights(straight), weights(broken)
    # A checkpoint holds whole ten-thousandths of the heaviest bucket.
    heaviest = max(expected.values(), default=0.0)
    for bucket in expected.keys() | found.keys():
        assert found.get(bucket, 0.0) == pytest.approx(expected.get(bucket, 0.0), rel=1e-3, abs=heaviest * 1e-3)


def test_windows_that_are_found_once_serve_all_lots_of_a_round() -> None:
    one = Scene().follow(vpa(), vpa("w"), vpa("other")).observe(pod("p0"), pod("p1"), pod("idle"))
    one.memory(T0, 300 * MI, pod="p1")
    one.memory(T0, 200 * MI, pod="p0")
    vpas, now = [one.tracked("v"), one.tracked("w"), one.tracked("other")], T0 + HOUR
    running = WindowIndex.of(one.model, instant(now))
    lots = [checkpoints_of(one.model, [each], now, keep_windows=True, running=running) for each in vpas]
    assert [each for lot in lots for each in lot] == checkpoints_of(one.model, vpas, now, keep_windows=True)
    assert running.containers.tolist() == sorted([one.row(pod="p0"), one.row(pod="p1")])
    assert len(WindowIndex.of(one.model, instant(T0 + DAY)).containers) == 0
