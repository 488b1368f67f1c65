"""One strategy step by step (quality:Q-2 to quality:Q-5)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest
from numpy.typing import NDArray

from evenkeel.replay.course import CPU_PLACE, MEMORY_PLACE, Course, InOrder, Player, play
from evenkeel.replay.hindsight import Hindsight, static
from evenkeel.replay.steps import by_number, by_time
from evenkeel.replay.trace import Trace
from recommender.strategies.answers import MisshapenError
from recommender.strategies.interface import RowwiseState
from recommender.strategies.known import OWN_STRATEGIES
from recommender.strategies.vpa import VPA_DEFAULT, VPA_MIN0
from tests.evenkeel.replay.series import MI, NAN, Script, trace

STEADY = [1.0] * 8


def course(traces: Sequence[Trace], script: Script, *ratios: float) -> Course:
    return play(by_number(traces), script, np.array(ratios or (1.5,)))


def test_the_first_request_is_no_resize() -> None:
    """quality:Q-3: two of eight steps warm up, and nothing is in force in them."""
    found = course([trace(STEADY)], Script([(2.0, NAN)], 1))
    assert np.isnan(found.requests[CPU_PLACE, :2]).all()
    assert found.requests[CPU_PLACE, 2:].tolist() == [2.0] * 6
    assert found.resizes.tolist() == [0]


def test_a_decision_is_in_force_in_the_next_step() -> None:
    """quality:Q-2."""
    found = course([trace(STEADY)], Script([(2.0, NAN), (4.0, NAN)], 1))
    assert found.requests[CPU_PLACE, 2:].tolist() == [2.0] + [4.0] * 5
    assert (found.resizes.tolist(), found.increases.tolist()) == ([1], [1])


@pytest.mark.parametrize(
    ("row", "second", "resizes", "increases"),
    [
        ("quality:Q-5 within bounds", (2.05, 102 * MI), 0, 0),
        ("quality:Q-5 both at once", (4.0, 200 * MI), 1, 1),
        ("quality:Q-5 less", (1.0, 100 * MI), 1, 0),
        ("quality:Q-5 one more, one less, together more", (4.0, 50 * MI), 1, 1),
        ("quality:Q-5 one more, one less, together less", (2.4, 50 * MI), 1, 0),
    ],
)
def test_changes(row: str, second: tuple[float, float], resizes: int, increases: int) -> None:
    series = trace(STEADY, [50 * MI] * 8)
    found = course([series], Script([(2.0, 100 * MI), second], 1))
    assert (found.resizes.tolist(), found.increases.tolist()) == ([resizes], [increases]), row


@pytest.mark.parametrize(
    ("row", "step", "resizes"),
    [("quality:Q-5 before 12 hours", 3600.0, 0), ("quality:Q-5 after 12 hours", 7200.0, 1)],
)
def test_a_change_within_bounds(row: str, step: float, resizes: int) -> None:
    """A tenth is enough from twelve hours on."""
    found = course([trace(STEADY, step=step)], Script([(2.0, NAN), (2.2, NAN)], 1, spread=0.5))
    assert found.resizes.tolist() == [resizes], row


@pytest.mark.parametrize(
    ("row", "step", "memory", "ooms"),
    [
        ("quality:Q-4 within the limit", 300.0, [150.0] * 8, [6, 0]),
        ("quality:Q-4 over both limits", 300.0, [151.0] * 8, [6, 6]),
        ("quality:Q-4 not in the warm-up", 300.0, [200.0] * 2 + [100.0] * 6, [0, 0]),
        ("quality:Q-4 events of a minute are one", 60.0, [200.0] * 8, [2, 2]),
        ("quality:Q-4 a step that is a second short", 299.0, [200.0] * 8, [6, 6]),
        ("quality:Q-1 an empty cell", 300.0, [NAN] * 8, [0, 0]),
    ],
)
def test_ooms(row: str, step: float, memory: list[float], ooms: list[int]) -> None:
    series = trace(STEADY, [each * MI for each in memory], step=step)
    script = Script([(1.0, 100 * MI)], 2)
    found = course([series] * 2, script, 1.0, 1.5)
    assert found.ooms.tolist() == ooms, row
    assert sum(len(kills.rows) for kills in script.kills) == sum(ooms)
    assert all(kills.memory_bytes.tolist() == [100 * MI] * len(kills.rows) for kills in script.kills)


@pytest.mark.parametrize(
    ("row", "step", "resizes"), [("quality:Q-5 soon again", 300.0, 1), ("quality:Q-5 after ten minutes", 600.0, 0)]
)
def test_a_kill_soon_after_another_one(row: str, step: float, resizes: int) -> None:
    """Any difference is then worth a change, and before it none within the bounds."""
    series = trace(STEADY, [200 * MI] * 8, step=step)
    found = course([series], Script([(1.0, 100 * MI), (1.0, 101 * MI)], 1))
    assert found.resizes.tolist() == [resizes], row
    if resizes:
        assert found.requests[MEMORY_PLACE, 2:].tolist() == [100 * MI] * 2 + [101 * MI] * 4


def test_series_know_nothing_of_each_other() -> None:
    """quality:Q-2: side by side they come to what each comes to alone."""
    random = np.random.default_rng(7)
    traces = [trace(random.gamma(2.0, 0.2, 60), random.gamma(9.0, 3e7, 60), step=600.0 + each) for each in range(3)]
    ratios = np.array([1.0, 1.5, 1.2])
    together = play(by_number(traces), VPA_DEFAULT.start(3), ratios)
    for number, each in enumerate(traces):
        alone = play(by_number([each]), VPA_DEFAULT.start(1), ratios[[number]])
        mine = by_number(traces).rows == number
        np.testing.assert_array_equal(together.requests[:, mine], alone.requests)
        for counts, count in ((together.ooms, alone.ooms), (together.resizes, alone.resizes)):
            assert counts[number] == count[0]


def test_by_time_and_by_number_come_to_the_same() -> None:
    """quality:Q-11: a state that is asked about each row's own moment needs no common time."""
    random = np.random.default_rng(8)
    traces = [trace(random.gamma(2.0, 0.2, 50), random.gamma(9.0, 3e7, 50), step=600.0 + each) for each in range(2)]
    at_once = play(by_number(traces), VPA_MIN0.start(2), np.full(2, 1.5))
    in_order = play(by_time(traces), InOrder(VPA_MIN0.start(2)), np.full(2, 1.5))
    for number in range(2):
        mine, other = by_number(traces).rows == number, by_time(traces).rows == number
        np.testing.assert_array_equal(at_once.requests[:, mine], in_order.requests[:, other])


def requests(player: Player, series: Trace) -> NDArray[np.float64]:
    """Return what is in force in each step where the memory limit is the request."""
    return play(by_number([series]), player, np.ones(1)).requests


@pytest.mark.parametrize("changed", [16, 40, 59])
@pytest.mark.parametrize("name", [*OWN_STRATEGIES, "static"])
def test_causality(name: str, changed: int) -> None:
    """quality:Q-2: what is to come changes nothing of the requests up to the first step after it."""
    random = np.random.default_rng(9)
    before = trace(random.gamma(2.0, 0.2, 60), random.gamma(9.0, 3e7, 60))
    cpu, memory = before.cpu_cores.copy(), before.memory_bytes.copy()
    cpu[changed:] *= 7.0
    memory[changed:] *= 5.0
    after = replace(before, cpu_cores=cpu, memory_bytes=memory)
    found = []
    for series in (before, after):
        player = static([series]) if name == "static" else OWN_STRATEGIES[name].start(1)
        assert isinstance(player, RowwiseState | Hindsight)
        found.append(requests(player, series))
    ours, theirs = found
    # A series of 60 hours warms up for a day, after which a static request stays as it is.
    seen = 60 if name == "static" and changed >= 24 else changed + 1
    np.testing.assert_array_equal(ours[:, :seen], theirs[:, :seen])
    if seen < 60:
        assert not np.array_equal(ours, theirs, equal_nan=True)


def test_an_answer_of_the_wrong_size() -> None:
    """beyond:B-10."""
    with pytest.raises(MisshapenError, match="shape"):
        course([trace(STEADY)], Script([(1.0, NAN)], 3))


@pytest.mark.parametrize(
    ("row", "target", "spread"),
    [
        ("beyond:B-10 negative", -1.0, 0.05),
        ("beyond:B-10 infinite", float("inf"), 0.05),
        ("beyond:B-10 outside its bounds", 1.0, -0.05),
    ],
)
def test_an_amount_that_cannot_be(row: str, target: float, spread: float) -> None:
    with pytest.raises(MisshapenError, match="an amount is negative or infinite, or a target"):
        course([trace(STEADY)], Script([(target, NAN)], 1, spread))


def test_a_request_of_nothing() -> None:
    """quality:Q-5: whatever is more than nothing is worth it, and an increase."""
    found = course([trace([0.0] * 8)], Script([(0.0, NAN), (1.0, NAN)], 1))
    assert found.requests[CPU_PLACE, 2:].tolist() == [0.0] + [1.0] * 5
    assert (found.resizes.tolist(), found.increases.tolist()) == ([1], [1])
