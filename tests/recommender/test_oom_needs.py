"""Needs that OOM kills have shown: in force beside the percentile, for a while (beyond:B-5, case:11, case:15)."""

from __future__ import annotations

from datetime import datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from autoscaling.behaviour import Behaviour
from autoscaling.pod import PodPhase
from recommender.checkpointing import checkpoints_of, load_checkpoints
from recommender.cluster_model import ClusterModel
from recommender.garbage import collect
from recommender.instants import instant
from recommender.oom_needs import lapse
from recommender.recommending import recommend
from recommender.settings import EstimatorSettings, ModelSettings, RenderingSettings
from tests.builders import T0, amounts, printed
from tests.recommender.scene import DAY, HOUR, MINUTE, SECOND, UPSTREAM, Scene, of_one_container, pod, vpa

MI = 2**20
COUNTING = ModelSettings(oom_needs_count=True)
EVENKEEL = Behaviour()


def ten_pods(settings: ModelSettings | None = None) -> Scene:
    """Return a scene of ten pods of which each uses 200Mi."""
    names = [f"p{number}" for number in range(10)]
    one = Scene(ClusterModel(settings)).follow(vpa()).observe(*(pod(name) for name in names))
    for name in names:
        one.memory(T0, 200 * MI, pod=name)
    return one


def memory(one: Scene, behaviour: Behaviour = EVENKEEL, now: datetime = T0) -> tuple[int, int, int]:
    """Return target, lower and upper bound of memory in bytes, with the needs that are in force."""
    lapse(one.model.aggregates, instant(now))
    entry = one.recommendation(behaviour=behaviour).of("main")
    assert entry is not None
    vectors = (entry.target, entry.lower_bound or {}, entry.upper_bound or {})
    target, lower, upper = (vector["memory"].value() for vector in vectors)
    return target, lower, upper


@pytest.mark.parametrize(
    ("row", "settings", "behaviour", "target"),
    [
        # 200Mi end their bucket at 215785635 bytes, which with the margin is less than the minimum of 250Mi.
        ("case:15 upstream", ModelSettings(), UPSTREAM, 262144000),
        # 400Mi and 100Mi more, and the margin.
        ("case:15 evenkeel", COUNTING, EVENKEEL, 524288000 + 78643200),
    ],
)
def test_one_hot_replica(row: str, settings: ModelSettings, behaviour: Behaviour, target: int) -> None:
    one = ten_pods(settings)
    before = memory(one, behaviour)
    for minute in range(1, 4):
        one.oom(T0 + minute * MINUTE, 400 * MI, pod="p9")
        found = memory(one, behaviour, T0 + minute * MINUTE)
        assert found[0] == target, row
        assert found[1] == before[1], "the lower bound stays: pods that have enough are left alone"
        assert found[1] <= found[0] <= found[2], row


@pytest.mark.parametrize(
    ("row", "settings", "behaviour", "target"),
    [
        ("case:11 upstream", ModelSettings(), UPSTREAM, {"cpu": "25m", "memory": "262144000"}),
        ("case:11 evenkeel", COUNTING, EVENKEEL, {"memory": "262144000"}),
    ],
)
def test_kills_before_any_sample(
    row: str, settings: ModelSettings, behaviour: Behaviour, target: dict[str, str]
) -> None:
    """Five kills of a container with a request of 64Mi need 164Mi, which is less than the minimum of a pod."""
    one = of_one_container(settings=settings)
    for kill in range(5):
        one.oom(T0 + kill * 5 * SECOND, 64 * MI)
    found = recommend(one.model, one.model.groups(), EstimatorSettings(), RenderingSettings(), behaviour)
    (entry,) = found.recommendations[0].containers
    assert {name: str(int(value)) if value.isdigit() else value for name, value in printed(entry.target).items()} == {
        name: value.replace("262144000", "250Mi") for name, value in target.items()
    }, row
    told = [condition.type for condition in found.cautions.get(one.tracked(), ())]
    assert told == (["LowConfidence"] if behaviour is EVENKEEL else []), row


def test_the_need_of_a_container_without_samples_is_above_a_small_minimum() -> None:
    """Spec: case:11."""
    one = of_one_container(settings=COUNTING)
    one.oom(T0, 64 * MI)
    entry = one.recommendation(settings=EstimatorSettings(pod_minimum_memory_mib=1.0), behaviour=EVENKEEL).of("main")
    assert entry is not None
    assert entry.target["memory"] >= amounts("-/164Mi")["memory"]


@pytest.mark.parametrize(
    ("row", "after", "counts"),
    [
        ("beyond:B-5 at once", timedelta(0), True),
        ("beyond:B-5 just in force", 3 * DAY - SECOND, True),
        ("beyond:B-5 just over", 3 * DAY, False),
    ],
)
def test_how_long_a_need_is_in_force(row: str, after: timedelta, *, counts: bool) -> None:
    one = ten_pods(COUNTING)
    one.oom(T0, 400 * MI, pod="p9")
    assert (memory(one, now=T0 + after)[0] > 400 * MI) is counts, row
    assert (int(one.model.aggregates.oom_need.max()) > 0) is counts, row


def test_the_half_life_is_a_setting() -> None:
    one = ten_pods(ModelSettings(oom_needs_count=True, memory_half_life=HOUR))
    one.oom(T0, 400 * MI, pod="p9")
    assert memory(one, now=T0 + 3 * HOUR - SECOND)[0] > 400 * MI
    assert memory(one, now=T0 + 3 * HOUR)[0] < 400 * MI


def test_of_several_kills_the_largest_need_counts_until_the_last_one_lapses() -> None:
    """Spec: beyond:B-5."""
    one = ten_pods(COUNTING)
    one.oom(T0, 800 * MI, pod="p9")
    largest = memory(one)[0]
    one.oom(T0 + DAY, 0, pod="p8")
    assert memory(one, now=T0 + 4 * DAY - SECOND)[0] == largest
    assert memory(one, now=T0 + 4 * DAY)[0] < 400 * MI


def test_a_kill_that_is_too_old_shows_nothing() -> None:
    one = ten_pods(COUNTING)
    one.memory(T0 + 2 * DAY, 200 * MI, pod="p9")
    one.oom(T0, 800 * MI, pod="p9")
    assert int(one.model.aggregates.oom_need.max()) == 0


def test_one_pod_alone_is_recommended_the_same_either_way() -> None:
    """Spec: recommender:E6; its percentile already is its peak."""
    alone, plain = of_one_container(settings=COUNTING), of_one_container()
    for one in (alone, plain):
        one.oom(T0, 512 * MI)
    assert memory(alone) == memory(plain)
    assert memory(alone)[0] == 764046746


@given(
    kills=st.lists(
        st.tuples(st.integers(0, 9), st.integers(0, 200), st.integers(0, 8 * 1024 * MI)), min_size=1, max_size=12
    )
)
def test_the_target_is_no_less_than_any_need_in_force(kills: list[tuple[int, int, int]]) -> None:
    """Spec: beyond:B-5."""
    one, plain = ten_pods(COUNTING), ten_pods()
    now = T0
    in_force: list[tuple[datetime, int]] = []
    for number, hours, requested in sorted(kills, key=lambda kill: kill[1]):
        now = T0 + hours * HOUR
        lapse(one.model.aggregates, instant(now))
        for scene in (one, plain):
            scene.oom(now, requested, pod=f"p{number}")
        row = one.row(pod=f"p{number}")
        in_force.append((now, int(max(requested + 100 * MI, requested * 1.2))))
        assert int(one.model.containers.peak[row]) > 0
    target, _, upper = memory(one, now=now)
    assert target >= max(need for at, need in in_force if now < at + 3 * DAY)
    assert upper >= target >= memory(plain)[0]


def test_what_a_kill_has_shown_outlives_its_pod() -> None:
    """Spec: beyond:B-5; an evicted pod is gone at once."""
    one, plain = (Scene(ClusterModel(settings)).follow(vpa()) for settings in (COUNTING, ModelSettings()))
    for scene in (one, plain):
        scene.observe(pod("p", phase=PodPhase.FAILED))
        scene.oom(T0, 512 * MI)
        scene.model.forget_pod("default", "p")
    assert collect(plain.model, (), T0 + HOUR) == 1
    assert plain.recommendation().containers == ()
    assert collect(one.model, (), T0 + HOUR) == 0
    assert memory(one, now=T0 + 3 * DAY - SECOND)[0] == 764046746
    lapse(one.model.aggregates, instant(T0 + 3 * DAY))
    assert collect(one.model, (), T0 + 3 * DAY) == 1


def test_a_need_is_in_force_again_after_a_restart_within_its_window() -> None:
    """Spec: beyond:B-5, beyond:B-2."""
    one = ten_pods(COUNTING)
    one.oom(T0 + MINUTE, 400 * MI, pod="p9")
    stored = checkpoints_of(one.model, [one.tracked()], T0 + HOUR, keep_windows=True)[0]
    for names in ([f"p{number}" for number in range(10)], [f"p{number}" for number in range(9)]):
        again = Scene(ClusterModel(COUNTING)).follow(vpa()).observe(*(pod(name) for name in names))
        load_checkpoints(again.model, stored, T0 + HOUR, keep_windows=True)
        assert memory(again, now=T0 + HOUR)[0] == memory(one, now=T0 + HOUR)[0]
        assert memory(again, now=T0 + 3 * DAY + MINUTE)[0] < 400 * MI
