"""Stored histograms that a replay begins with (quality:Q-11, beyond:B-36)."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import numpy as np
import pytest

from autoscaling.vpa import TargetRef, Vpa
from evenkeel.replay.beginnings import Beginnings, beginnings_of
from evenkeel.replay.contest import Contender, contend
from evenkeel.replay.trace import Trace
from recommender.checkpoint import ContainerCheckpoint, HistogramCheckpoint, encode_histograms
from recommender.histogram_bank import HistogramBank
from recommender.instants import NEVER, instant
from recommender.strategies.bank_state import BankState
from recommender.strategies.interface import Usage
from recommender.strategies.vpa import VPA_DEFAULT, VPA_MIN0
from tests.evenkeel.replay.series import DAY, HOUR, trace

END = datetime(2026, 3, 1, tzinfo=UTC)
STORED = ContainerCheckpoint(
    namespace="shop",
    vpa_name="web",
    container_name="app",
    cpu=HistogramCheckpoint(END - timedelta(hours=12), {40: 10000, 60: 100}, 900.0),
    memory=HistogramCheckpoint(END - timedelta(hours=6), {90: 10000}, 8.0),
    first_sample=END - timedelta(days=8),
    last_sample=END,
    sample_count=11_000,
)


def series(name: str, begin: datetime, cpu: float = 0.5) -> Trace:
    whole = trace([cpu] * 96, [2.0**28] * 96, name=name)
    return replace(whole, times=whole.times + begin.timestamp())


def beginnings(*stored: ContainerCheckpoint, vpas: tuple[Vpa, ...] = ()) -> Beginnings:
    found, problems = beginnings_of(stored, vpas)
    assert problems == ()
    return found


@pytest.mark.parametrize(
    ("row", "name", "expected"),
    [
        ("beyond:B-36 the workload", "shop/web/app", ("shop", "web", "app")),
        ("beyond:B-36 a pod of a Deployment", "shop/web-7d9f-x2x/app", ("shop", "web", "app")),
        ("beyond:B-36 a pod of a StatefulSet", "shop/web-0/app", ("shop", "web", "app")),
        ("beyond:B-36 a longer name", "shop/web-a-b-c/app", None),
        ("beyond:B-36 another container", "shop/web/sidecar", None),
        ("beyond:B-36 another namespace", "bank/web/app", None),
        ("beyond:B-36 no such name", "web", None),
    ],
)
def test_whose_a_history_is(row: str, name: str, expected: tuple[str, str, str] | None) -> None:
    assert beginnings(STORED).key_of(name) == expected, row


def test_the_target_of_a_vpa_counts() -> None:
    """beyond:B-36: a VPA may be called otherwise than its workload."""
    vpa = Vpa("shop", "web", target_ref=TargetRef("Deployment", "frontend"))
    found = beginnings(STORED, vpas=(vpa,))
    assert found.key_of("shop/frontend/app") == ("shop", "frontend", "app")
    assert found.key_of("shop/web/app") is None
    assert beginnings(STORED, vpas=(replace(vpa, namespace="bank"),)).key_of("shop/web/app") is not None


def test_what_cannot_be_loaded_is_left_out() -> None:
    """beyond:B-36."""
    broken = replace(STORED, container_name="side", memory=None)
    found, problems = beginnings_of([broken, STORED], [])
    assert list(found.stored) == [("shop", "web", "app")]
    assert ["histogram is absent" in problem for problem in problems] == [True]


def test_a_state_goes_on_from_what_is_stored() -> None:
    """quality:Q-11: its first answer is the one that the recommender would give with that checkpoint."""
    begin = END + timedelta(hours=3)
    state = VPA_MIN0.start(1)
    ((row, saved),) = beginnings(STORED).rows([series("shop/web/app", begin)])
    assert isinstance(state, BankState)
    state.restore(row, saved)
    target = state.recommend(0.0).cpu_cores.target
    # Bucket 40 holds nearly all of the weight; a recommender adds 15 percent to its end.
    end = 0.01 * (1.05**41 - 1.0) / 0.05
    assert target[0] == pytest.approx(1.15 * end, abs=0.002)
    assert state.save(0)["samples"] == 11_000.0


@pytest.mark.parametrize(
    ("row", "begin", "last"),
    [
        ("beyond:B-36 later", END + timedelta(hours=3), -3 * HOUR),
        ("beyond:B-36 at once", END, 0.0),
        ("beyond:B-36 before its end", END - timedelta(days=2), 0.0),
        ("beyond:B-36 times of no date", datetime(1970, 1, 1, tzinfo=UTC), 0.0),
    ],
)
def test_time_goes_by_between_the_two(row: str, begin: datetime, last: float) -> None:
    """beyond:B-36: as long as it did, and nothing is known before its time."""
    ((_, saved),) = beginnings(STORED).rows([series("shop/web/app", begin)])
    assert saved["last_sample"] == last * 1e9, row
    assert saved["first_sample"] == last * 1e9 - 8 * DAY * 1e9
    cpu = saved["cpu"]
    assert isinstance(cpu, dict)
    assert cpu["reference"] == last * 1e9 - 12 * HOUR * 1e9


def test_a_checkpoint_of_a_first_half_comes_to_the_whole() -> None:
    """quality:Q-11: what a state has seen, written as a checkpoint, is what another one goes on from."""
    random = np.random.default_rng(2)
    begin = END.timestamp()
    cpu = random.gamma(2.0, 0.2, 400)
    whole, second = VPA_MIN0.start(1), VPA_MIN0.start(1)
    ends = begin - 400 * 300.0 + np.arange(400) * 300.0
    for at, value in zip(ends.tolist(), cpu.tolist(), strict=True):
        whole.observe(usage(at, value))
    bank: HistogramBank = whole._aggregates.cpu  # noqa: SLF001 the checkpoint of a row that no process owns
    memory: HistogramBank = whole._aggregates.memory  # noqa: SLF001
    rows = np.array([0])
    stored = replace(
        STORED,
        cpu=encode_histograms(bank, rows)[0],
        memory=encode_histograms(memory, rows)[0],
        first_sample=datetime.fromtimestamp(ends[0], UTC),
        last_sample=datetime.fromtimestamp(ends[-1], UTC),
        sample_count=2000,
    )
    ((row, saved),) = beginnings(stored).rows([series("shop/web/app", END)])
    second.restore(row, saved)
    for step in range(50):
        whole.observe(usage(begin + 300.0 * step, 0.3))
        second.observe(usage(300.0 * step, 0.3))
    ours, theirs = second.recommend(15_000.0), whole.recommend(begin + 15_000.0)
    assert ours.cpu_cores.target[0] == pytest.approx(theirs.cpu_cores.target[0], rel=0.051)
    assert ours.cpu_cores.lower is not None
    assert theirs.cpu_cores.lower is not None
    assert ours.cpu_cores.lower[0] == pytest.approx(theirs.cpu_cores.lower[0], rel=0.051)


def usage(at: float, cpu: float) -> Usage:
    one = np.array([300.0])
    return Usage(np.array([0]), np.array([at]), one, np.array([cpu]), np.array([2.0**28]))


def test_only_strategies_by_histograms_begin_with_it() -> None:
    """beyond:B-36: the figures of others stay what they were, as do those of series without a history."""
    traces = [series("shop/web/app", END), series("shop/api/app", END)]
    with_it = beginnings(STORED)
    ours = contend(Contender("vpa-default", VPA_DEFAULT, with_it), traces)
    theirs = contend(Contender("vpa-default", VPA_DEFAULT), traces)
    assert ours.slack[0, 0] != theirs.slack[0, 0]
    assert ours.slack[0, 1] == theirs.slack[0, 1]
    assert (
        contend(Contender("static", None, with_it), traces).slack[0].tolist()
        == contend(Contender("static"), traces).slack[0].tolist()
    )


def test_some_of_them_go_along_with_a_lot() -> None:
    """Performance."""
    found = beginnings(STORED, replace(STORED, vpa_name="api"))
    assert list(found.among(["shop/web-0/app", "shop/x/app"]).stored) == [("shop", "web", "app")]


def test_a_history_of_nothing() -> None:
    """beyond:B-36: histograms without a sample have no times."""
    nothing = ContainerCheckpoint("shop", "web", "app", HistogramCheckpoint(), HistogramCheckpoint())
    ((_, saved),) = beginnings(nothing).rows([series("shop/web/app", END)])
    assert saved["last_sample"] == NEVER
    assert instant(None) == NEVER
    state = VPA_MIN0.start(1)
    state.restore(0, saved)
    assert np.isnan(state.recommend(0.0).cpu_cores.target).all()
