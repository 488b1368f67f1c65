"""What of the series counts: in profile upstream everything, otherwise one value for each container and instant."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from recommender.history.errors import HistoryError
from recommender.history.pieces import Span
from recommender.history.points import Points, Screened, screen, without_inits
from recommender.history.queries import HistoryRequest
from recommender.history.series import ContainerKey, Flaw, FlawRecord, Owned, Series, by_container
from tests.recommender.history.builders import HOUR, MEMORY, T0_NS, of, series

SPAN = Span(T0_NS, HOUR, 4)
NAN, INF = float("nan"), float("inf")
POD = "/kubepods/burstable/pod1"


def owned(*many: Series, keys: dict[ContainerKey, int] | None = None, flaws: FlawRecord | None = None) -> Owned:
    return by_container(many, HistoryRequest(), {} if keys is None else keys, flaws)


def screened(cpu: list[Series], memory: list[Series]) -> tuple[Screened, dict[str, int]]:
    flaws, keys = FlawRecord(), dict[ContainerKey, int]()
    # A rate has no name any more; memory is asked for as it is.
    named = [replace(one, labels={**one.labels, "__name__": MEMORY}) for one in memory]
    piece = screen(owned(*cpu, keys=keys, flaws=flaws), owned(*named, keys=keys, flaws=flaws), SPAN, flaws)
    return piece, {flaw.value: count for flaw, count in flaws.counts.items()}


def shown(points: Points) -> list[tuple[int, int, float]]:
    """Return container, hour and value of each point."""
    hours = (points.instants - T0_NS) // HOUR
    return list(zip(points.owners.tolist(), hours.tolist(), points.values.tolist(), strict=True))


def test_sound_series_count_as_they_are() -> None:
    piece, flaws = screened([series(of(), [0.1, 0.2]), series(of(pod="b"), [0.3])], [series(of(), [5.0, 6.0])])
    assert shown(piece.cpu) == [(0, 0, 0.1), (0, 1, 0.2), (1, 0, 0.3)]
    assert shown(piece.memory) == [(0, 0, 5.0), (0, 1, 6.0)]
    assert flaws == {}


def test_gaps_stay_gaps() -> None:
    piece, _ = screened([series(of(), [0.1], first=0), series(of(id="/x"), [0.2], first=3)], [])
    assert shown(piece.cpu) == [(0, 0, 0.1), (0, 3, 0.2)], "beyond:B-7"


@pytest.mark.parametrize(
    ("case", "cpu", "memory", "expected_cpu", "expected_memory", "flaws"),
    [
        (
            "double series are not added up",
            [series(of(prometheus="a"), [0.1, 0.4]), series(of(prometheus="b"), [0.3, 0.2])],
            [series(of(prometheus="a"), [7.0]), series(of(prometheus="b"), [9.0])],
            [(0, 0, 0.3), (0, 1, 0.4)],
            [(0, 0, 9.0)],
            {"duplicate": 3},
        ),
        (
            "a container that was started anew goes on",
            [series(of(id="/p/1"), [0.1, 0.1]), series(of(id="/p/2"), [0.2, 0.2], first=2)],
            [series(of(id="/p/1"), [5.0, 5.0]), series(of(id="/p/2"), [6.0, 6.0], first=2)],
            [(0, 0, 0.1), (0, 1, 0.1), (0, 2, 0.2), (0, 3, 0.2)],
            [(0, 0, 5.0), (0, 1, 5.0), (0, 2, 6.0), (0, 3, 6.0)],
            {},
        ),
        (
            "memory of a container that has ended does not stand beside that of its successor",
            [series(of(id="/p/1"), [0.0, 0.0]), series(of(id="/p/2"), [0.2, 0.2])],
            [series(of(id="/p/1"), [900.0, 900.0]), series(of(id="/p/2"), [6.0, 7.0])],
            [(0, 0, 0.2), (0, 1, 0.2)],
            [(0, 0, 6.0), (0, 1, 7.0)],
            {"duplicate": 2},
        ),
        (
            "a series that goes on after its container",
            [series(of(), [0.1, 0.0, 0.0])],
            [series(of(), [5.0, 0.0])],
            [(0, 0, 0.1)],
            [(0, 0, 5.0)],
            {"zombie": 2},
        ),
        (
            "a container at rest is none that has ended",
            [series(of(), [0.0, 0.0])],
            [series(of(), [5.0, 5.0])],
            [(0, 0, 0.0), (0, 1, 0.0)],
            [(0, 0, 5.0), (0, 1, 5.0)],
            {},
        ),
        (
            "the group of the pod counts more than the container",
            [series(of(id=POD), [1.0]), series(of(id=f"{POD}/c"), [0.1])],
            [series(of(id=POD), [50.0]), series(of(id=f"{POD}/c"), [5.0])],
            [(0, 0, 0.1)],
            [(0, 0, 5.0)],
            {"parent_cgroup": 2},
        ),
        (
            "no numbers",
            [series(of(), [NAN, 0.1, INF, -1.0])],
            [series(of(), [NAN, 5.0, 5.0, 5.0])],
            [(0, 1, 0.1)],
            [(0, 1, 5.0), (0, 2, 5.0), (0, 3, 5.0)],
            {"not_a_number": 2},
        ),
        (
            "a counter that jumps between two sources",
            [series(of(), [30_000.0, 0.1])],
            [series(of(), [2e14, 5.0])],
            [(0, 1, 0.1)],
            [(0, 1, 5.0)],
            {"implausible": 2},
        ),
    ],
)
def test_what_is_wrong_with_series_is_left_out_and_counted(
    case: str,
    cpu: list[Series],
    memory: list[Series],
    expected_cpu: list[tuple[int, int, float]],
    expected_memory: list[tuple[int, int, float]],
    flaws: dict[str, int],
) -> None:
    piece, counted = screened(cpu, memory)
    assert shown(piece.cpu) == expected_cpu, f"beyond:B-7 {case}"
    assert shown(piece.memory) == expected_memory, f"beyond:B-7 {case}"
    assert counted == flaws, case


def test_two_groups_of_one_name_do_not_hold_each_other() -> None:
    piece, flaws = screened([series(of(id=f"{POD}/c"), [0.1]), series(of(id=f"{POD}/cd"), [0.2], first=1)], [])
    assert shown(piece.cpu) == [(0, 0, 0.1), (0, 1, 0.2)]
    assert flaws == {}


def test_a_series_counts_once_however_many_pieces_it_is_wrong_in() -> None:
    flaws = FlawRecord()
    for _ in range(3):
        screen(owned(series(of(), [NAN]), flaws=flaws), Owned({}), SPAN, flaws)
    screen(owned(series(of(pod="other"), [NAN]), flaws=flaws), Owned({}), SPAN, flaws)
    assert flaws.counts == {Flaw.NOT_A_NUMBER: 2}


@pytest.mark.parametrize("label", ["namespace", "pod_name", "name"])
def test_a_series_without_a_label_is_left_out_or_makes_all_useless(label: str) -> None:
    bad = series({name: value for name, value in of().items() if name != label}, [0.1])
    flaws = FlawRecord()
    assert list(owned(bad, series(of(), [0.2]), flaws=flaws).keys) == [("default", "web-0", "main")]
    assert flaws.counts == {Flaw.MISSING_LABEL: 1}, "beyond:B-7"
    with pytest.raises(HistoryError, match=f"has no label {label}"):
        owned(series(of(), [0.2]), bad)


def test_init_containers_of_living_pods_are_left_out() -> None:
    flaws, keys = FlawRecord(), dict[ContainerKey, int]()
    both = owned(series(of(), [0.1]), series(of(container="setup"), [0.9]), keys=keys)
    kept = without_inits(both, {("default", "web-0"): frozenset({"setup"})}, flaws)
    assert shown(Points.of(kept)) == [(0, 0, 0.1)]
    assert flaws.counts == {Flaw.INIT_CONTAINER: 1}
    assert without_inits(both, {("default", "other"): frozenset({"setup"})}, flaws) is both


def test_unscreened_points_come_in_the_order_of_time_and_then_of_the_answer() -> None:
    first, second = series(of(id="/1"), [0.1, 0.2]), series(of(id="/2"), [0.8, 0.9])
    assert shown(Points.of(owned(first, second)).in_order()) == [(0, 0, 0.1), (0, 0, 0.8), (0, 1, 0.2), (0, 1, 0.9)]


def test_nothing_in_nothing_out() -> None:
    piece, flaws = screened([], [])
    assert (len(piece.cpu), len(piece.memory), flaws) == (0, 0, {})
    assert piece.cpu.instants.dtype == np.int64
