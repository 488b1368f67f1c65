from __future__ import annotations

from dataclasses import replace
from datetime import datetime

import pytest

from autoscaling.quantity import Quantity
from autoscaling.vpa import ContainerPolicy
from recommender.cluster_model import ClusterModel
from recommender.instants import instant, moment
from recommender.oom import OomOutcome, OomRecord
from recommender.settings import ModelSettings
from tests.builders import T0
from tests.recommender.scene import DAY, HOUR, MINUTE, SECOND, Scene, bits, filled, of_one_container, pod, vpa

MI = 2**20
GI = 2**30


def peak(one: Scene) -> int:
    return int(one.model.containers.peak[one.row()])


def last_memory(one: Scene) -> datetime | None:
    return moment(int(one.model.containers.last_memory[one.row()]))


@pytest.mark.parametrize(
    ("requested", "expected", "bucket", "target"),
    [(512 * MI, 644245094, 29, "764046746"), (GI, 1288490188, 41, "1555165137")],
)
def test_a_kill_without_earlier_use(requested: int, expected: int, bucket: int, target: str) -> None:
    """Spec: recommender:E6."""
    one = of_one_container()
    assert one.oom(T0, requested) is OomOutcome.RECORDED
    assert peak(one) == expected
    assert moment(int(one.model.containers.window_end[one.row()])) == T0 + DAY
    assert filled(one.model.aggregates.memory, one.aggregate()) == {bucket: 1.0}
    figures = one.figures()
    assert figures["target"] == {"cpu": "25m", "memory": target}
    assert figures["lower"] == {"cpu": "25m", "memory": "250Mi"}
    assert figures["upper"] == {"cpu": "25m", "memory": "97656250000Ki"}


def test_a_kill_replaces_a_lower_peak_of_use() -> None:
    """Spec: recommender:E6."""
    one = of_one_container()
    one.memory(T0, 600 * MI)
    one.oom(T0 + MINUTE, 512 * MI)
    assert peak(one) == 754974720
    assert filled(one.model.aggregates.memory, one.aggregate()) == {32: 1.0}
    assert one.figures()["target"]["memory"] == "920733364"


def test_repeated_kills_do_not_compound_within_one_interval() -> None:
    """Spec: recommender:E14."""
    one = of_one_container()
    one.steady_cpu(T0, 1441, 100)
    one.memory(T0, 200 * MI)
    assert memory_figures(one) == ("250Mi", "250Mi", "496306960")
    one.oom(T0 + HOUR, 256 * MI)
    assert (peak(one), memory_figures(one)) == (373293056, ("442809964", "441925670", "885619928"))
    one.oom(T0 + 2 * HOUR, 256 * MI)
    assert (peak(one), memory_figures(one)) == (373293056, ("442809964", "441925670", "885619928"))
    one.oom(T0 + 3 * HOUR, 434110464)
    assert (peak(one), memory_figures(one)) == (538968064, ("628694953", "627439446", "1257389906"))


def memory_figures(one: Scene) -> tuple[str, str, str]:
    figures = one.figures()
    return figures["target"]["memory"], figures["lower"]["memory"], figures["upper"]["memory"]


def after_three_kills() -> Scene:
    one = of_one_container()
    one.steady_cpu(T0, 1441, 100)
    one.memory(T0, 200 * MI)
    for hours, requested in ((1, 256 * MI), (2, 256 * MI), (3, 434110464)):
        one.oom(T0 + hours * HOUR, requested)
    return one


@pytest.mark.parametrize(
    ("at", "outcome"),
    [
        (T0 - 25 * HOUR, OomOutcome.TOO_OLD),
        (T0 - 21 * HOUR - SECOND, OomOutcome.TOO_OLD),
        (T0 - 21 * HOUR, OomOutcome.RECORDED),
        (T0 - 10 * HOUR, OomOutcome.RECORDED),
        (T0, OomOutcome.RECORDED),
    ],
)
def test_a_kill_counts_unless_it_is_an_interval_older_than_the_last_sample(at: datetime, outcome: OomOutcome) -> None:
    """Spec: recommender:E14."""
    one = after_three_kills()
    assert one.oom(at, 256 * MI) is outcome
    assert last_memory(one) == (at if outcome is OomOutcome.RECORDED else T0 + 3 * HOUR)


def test_kills_around_the_end_of_a_window() -> None:
    """Spec: recommender:E14, recommender:13.4."""
    one = after_three_kills()
    one.oom(T0, 256 * MI)
    one.memory(T0 + DAY + MINUTE, 210 * MI)
    assert (peak(one), memory_figures(one)[:2]) == (220200960, ("628694953", "271517846"))
    assert one.oom(T0 + DAY - SECOND, 434110464) is OomOutcome.RECORDED
    assert moment(int(one.model.containers.window_end[one.row()])) == T0 + 2 * DAY
    assert (peak(one), memory_figures(one)) == (538968064, ("628694953", "627439446", "1257389906"))


def test_a_kill_just_before_the_new_window_takes_the_peak_of_that_window() -> None:
    """Spec: recommender:2.3."""
    one = of_one_container()
    one.memory(T0, 100 * MI)
    one.memory(T0 + DAY, 2000 * MI)
    assert one.oom(T0 + DAY - SECOND, 1000 * MI) is OomOutcome.RECORDED
    assert peak(one) == 2400 * MI
    assert moment(int(one.model.containers.window_end[one.row()])) == T0 + 2 * DAY


def test_a_kill_that_is_older_than_the_last_sample_counts_and_a_sample_does_not() -> None:
    """Spec: case:9."""
    one = of_one_container()
    one.memory(T0, 250 * MI)
    one.memory(T0 + MINUTE, 260 * MI)
    assert not one.memory(T0 + 44 * SECOND, 900 * MI)
    assert one.oom(T0 + 44 * SECOND, 300 * MI) is OomOutcome.RECORDED
    assert peak(one) == 419430400


def test_ever_older_kills_are_all_taken() -> None:
    """Spec: recommender:2.3, recommender:13.5."""
    one = of_one_container()
    one.memory(T0, 100 * MI)
    kills = [OomRecord("default", "p", "main", T0 - n * DAY, n * GI) for n in (1, 2, 3)]
    assert one.model.take_ooms(kills, T0).outcomes == (OomOutcome.RECORDED,) * 3
    assert last_memory(one) == T0 - 3 * DAY
    assert peak(one) == 3 * GI * 12 // 10
    assert one.memory(T0 - 2 * DAY, 1)


@pytest.mark.parametrize(
    ("row", "at", "counts"),
    [("recommender:13.5", T0 - DAY, True), ("recommender:13.5", T0 - DAY - SECOND, False)],
)
def test_a_kill_that_is_told_of_late_lets_in_nothing_older(row: str, at: datetime, counts: bool) -> None:
    one = of_one_container(settings=ModelSettings(oom_needs_count=True))
    one.memory(T0, 100 * MI)
    assert one.oom(T0 - HOUR, GI) is OomOutcome.RECORDED
    assert last_memory(one) == T0, row
    assert not one.memory(T0 - MINUTE, 9 * GI)
    assert (one.oom(at, GI) is OomOutcome.RECORDED) is counts, row
    assert one.oom(T0 + MINUTE, GI) is OomOutcome.RECORDED
    assert last_memory(one) == T0 + MINUTE


def test_a_kill_at_the_end_of_the_window_opens_the_next() -> None:
    """Spec: recommender:2.3."""
    one = of_one_container()
    one.memory(T0, 400 * MI)
    one.oom(T0 + DAY, 100 * MI)
    containers, row = one.model.containers, one.row()
    # What was in use counts from before the window opened.
    assert (int(containers.peak[row]), int(containers.memory_peak[row])) == (500 * MI, 0)
    assert int(containers.window_end[row]) == instant(T0 + 2 * DAY)


def test_use_above_a_kill_replaces_it() -> None:
    """Spec: recommender:2.2."""
    one = of_one_container()
    one.memory(T0, 400 * MI)
    one.oom(T0 + MINUTE, 0)
    assert peak(one) == 500 * MI
    one.memory(T0 + 2 * MINUTE, 700 * MI)
    one.oom(T0 + 3 * MINUTE, 0)
    assert peak(one) == 840 * MI
    assert float(one.model.aggregates.memory.totals[one.aggregate()]) == 1.0


def test_a_kill_in_a_window_whose_peak_is_zero_is_lost() -> None:
    """Spec: recommender:2.3."""
    one = of_one_container()
    one.memory(T0, 0)
    assert one.oom(T0 + MINUTE, GI) is OomOutcome.RECORDED
    assert peak(one) == 0


def test_a_kill_in_a_window_whose_peak_is_zero_counts() -> None:
    """Spec: beyond:B-4, recommender:13.3."""
    one = of_one_container(settings=ModelSettings(zero_peaks_give_way=True))
    one.memory(T0, 0)
    assert one.oom(T0 + MINUTE, GI) is OomOutcome.RECORDED
    assert peak(one) == 1288490188
    assert list(filled(one.model.aggregates.memory, one.aggregate())) == [41]


def test_an_unknown_request_gives_the_least_bump() -> None:
    """Spec: recommender:2.3."""
    one = of_one_container()
    one.oom(T0, 0)
    assert peak(one) == 100 * MI


@pytest.mark.parametrize(
    ("ratio", "bump", "expected"),
    [("1", "0", 1000 * MI), ("1.5", "0", 1500 * MI), ("1.0001", "0", 1001 * MI - 1), ("1", "50.5", 1000 * MI + 50)],
)
def test_policies_may_set_ratio_and_bump(ratio: str, bump: str, expected: int) -> None:
    """Spec: recommender:9.2."""
    policy = ContainerPolicy("main", oom_bump_up_ratio=Quantity.parse(ratio), oom_min_bump_up=Quantity.parse(bump))
    one = Scene(ClusterModel(ModelSettings(per_vpa_config=True))).follow(vpa("v", policy)).observe(pod())
    one.oom(T0, 1000 * MI)
    assert peak(one) == expected


def test_without_the_gate_policies_set_nothing() -> None:
    """Spec: recommender:9.2."""
    policy = ContainerPolicy("main", oom_bump_up_ratio=Quantity.parse("3"), memory_aggregation_interval_seconds=60)
    one = of_one_container(policy)
    one.oom(T0, 1000 * MI)
    assert peak(one) == 1200 * MI


def test_a_shorter_interval_of_a_policy_makes_kills_too_old_sooner() -> None:
    """Spec: recommender:9.2."""
    policy = ContainerPolicy("main", memory_aggregation_interval_seconds=3600)
    one = Scene(ClusterModel(ModelSettings(per_vpa_config=True))).follow(vpa("v", policy)).observe(pod())
    one.memory(T0, 400 * MI)
    assert one.oom(T0 - HOUR - SECOND, GI) is OomOutcome.TOO_OLD
    assert one.oom(T0 - HOUR, GI) is OomOutcome.RECORDED


def test_records_of_unknown_pods_and_containers_are_told_apart() -> None:
    one = of_one_container()
    known = OomRecord("default", "p", "main", T0, GI)
    records = [replace(known, pod="q"), known, replace(known, container="side"), replace(known, namespace="other")]
    assert one.model.take_ooms(records, T0).outcomes == (
        OomOutcome.UNKNOWN_POD,
        OomOutcome.RECORDED,
        OomOutcome.UNKNOWN_CONTAINER,
        OomOutcome.UNKNOWN_POD,
    )
    assert one.model.take_ooms([], T0).outcomes == ()


def test_many_kills_leave_the_same_bits_as_one_after_the_other() -> None:
    at_once, in_turn = (Scene().observe(pod("p0"), pod("p1")) for _ in range(2))
    plan = [("p0", 5, GI), ("p0", 7, 2 * GI), ("p1", 6, GI), ("p0", 40, 3 * GI), ("p1", 29, 4 * GI), ("p1", 2, GI)]
    records = [OomRecord("default", name, "main", T0 + hours * HOUR, requested) for name, hours, requested in plan]
    outcomes = at_once.model.take_ooms(records, T0).outcomes
    assert outcomes == tuple(in_turn.oom(r.at, r.memory_bytes, pod=r.pod) for r in records)
    assert OomOutcome.TOO_OLD in outcomes
    assert bits(at_once.model.aggregates.memory) == bits(in_turn.model.aggregates.memory)
