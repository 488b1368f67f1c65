from __future__ import annotations

from datetime import timedelta

import numpy as np
import pytest

from autoscaling.matching import EVERYTHING, of_labels
from autoscaling.pod import Pod, PodPhase
from autoscaling.vpa import ContainerPolicy
from recommender.aggregation import Basis, SharingKey
from recommender.cluster_model import ClusterModel
from recommender.garbage import collect, doubtful_vpas, is_due, is_expired
from recommender.instants import instant
from recommender.owner_keys import CONTROLLER
from recommender.settings import ModelSettings
from tests.builders import T0
from tests.recommender.scene import DAY, HOUR, SECOND, Scene, integers, of_one_container, pod, vpa

V = ("default", "v")


def test_the_first_round_collects_then_every_hour() -> None:
    """Spec: recommender:3.4."""
    one = Scene()
    assert is_due(one.model, T0)
    collect(one.model, (), T0)
    assert not is_due(one.model, T0 + HOUR - SECOND)
    assert is_due(one.model, T0 + HOUR)


@pytest.mark.parametrize("phase", [PodPhase.RUNNING, PodPhase.UNKNOWN, PodPhase.SUCCEEDED, PodPhase.FAILED])
@pytest.mark.parametrize("exists", [True, False])
@pytest.mark.parametrize("has_sample", [True, False])
def test_an_empty_aggregate_stays_while_a_pod_or_its_controller_lives(
    phase: PodPhase, exists: bool, has_sample: bool
) -> None:
    """Spec: recommender:3.4."""
    one = Scene().follow(vpa()).observe(pod("p", phase=phase))
    one.memory(T0, 100)
    if has_sample:
        one.cpu(T0, 100)
    is_over = phase in {PodPhase.SUCCEEDED, PodPhase.FAILED}
    assert [tracked.key for tracked in doubtful_vpas(one.model)] == ([V] if is_over and not has_sample else [])
    removed = collect(one.model, {V} if exists else (), T0)
    assert removed == (is_over and not exists and not has_sample)
    assert one.model.aggregate_count == 1 - removed
    assert one.tracked().linked == ({} if removed else {"main": [one.aggregate()]})


def test_an_ended_pod_that_no_vpa_selects_has_no_controller() -> None:
    """Spec: recommender:3.4."""
    one = Scene().observe(pod("p", phase=PodPhase.SUCCEEDED))
    assert doubtful_vpas(one.model) == ()
    assert collect(one.model, (), T0) == 1


def test_a_pod_no_longer_known_contributes_nothing() -> None:
    """Spec: recommender:3.4."""
    one = of_one_container()
    one.model.forget_pod("default", "p")
    assert len(one.model.matching) == 1
    assert collect(one.model, (), T0) == 1
    assert len(one.model.matching) == 0
    assert one.tracked().label_sets == {}


def test_one_living_pod_of_several_is_enough() -> None:
    one = Scene().follow(vpa()).observe(pod("p", phase=PodPhase.FAILED), pod("q"), pod("r", "side"))
    one.observe(pod("r", "side", phase=PodPhase.FAILED))
    assert collect(one.model, (), T0) == 1
    assert list(one.tracked().linked) == ["main"]


def test_of_several_vpas_the_first_that_selects_a_pod_tells_of_its_controller() -> None:
    one = Scene().follow(vpa()).follow(vpa("w"), selector=EVERYTHING).observe(pod("p", phase=PodPhase.FAILED))
    (first,) = doubtful_vpas(one.model)
    assert first is next(iter(one.model.pods["default", "p"].label_set.vpas))
    assert collect(one.model, {first.key}, T0) == 0
    assert collect(one.model, (), T0) == 1


@pytest.mark.parametrize(("age", "expected"), [(8 * DAY - SECOND, False), (8 * DAY, True)])
def test_an_aggregate_expires_after_eight_days(age: object, expected: bool) -> None:
    """Spec: recommender:3.4."""
    assert isinstance(age, type(DAY))
    empty, filled = of_one_container(), of_one_container()
    filled.cpu(T0 + 3 * DAY, 100)
    for one, since in ((empty, T0), (filled, T0 + 3 * DAY)):
        rows = integers(one.aggregate())
        assert is_expired(one.model.aggregates, rows, instant(since + age)).tolist() == [expected]
        assert collect(one.model, (), since + age) == expected


def test_memory_samples_do_not_keep_an_aggregate() -> None:
    """Spec: recommender:3.4."""
    one = of_one_container()
    one.memory(T0 + 7 * DAY, 100)
    assert collect(one.model, (), T0 + 8 * DAY) == 1


def test_a_policy_may_set_how_long_an_aggregate_lives() -> None:
    """Spec: recommender:9.2."""
    policy = ContainerPolicy("*", memory_aggregation_interval_seconds=3600, memory_aggregation_interval_count=2)
    one = Scene(ClusterModel(ModelSettings(per_vpa_config=True))).follow(vpa("v", policy)).observe(pod())
    assert collect(one.model, (), T0 + 2 * HOUR - SECOND) == 0
    assert collect(one.model, (), T0 + 2 * HOUR) == 1


def test_loaded_history_is_never_collected() -> None:
    """Spec: recommender:3.4."""
    one = Scene().follow(vpa())
    row = one.model.set_initial(one.tracked(), "main", T0)
    assert collect(one.model, (), T0 + 99 * DAY) == 0
    assert one.tracked().initial == {"main": row}


def test_collecting_many_leaves_the_others_linked() -> None:
    one = Scene().follow(vpa())
    for place in range(20):
        one.observe(pod(f"p{place}", labels={"app": "a", "index": str(place)}))
        one.cpu(T0 + place * DAY, 100, pod=f"p{place}")
    version = one.model.links_version
    assert collect(one.model, (), T0 + 20 * DAY) == 13
    assert one.model.links_version > version
    assert one.tracked().linked["main"] == [one.aggregate(pod=f"p{place}") for place in range(13, 20)]
    assert len(one.model.aggregates.rows) == 7
    assert np.count_nonzero(one.model.aggregates.cpu.totals) == 7


COUNTING = ModelSettings(peaks_count_as_use=True)


@pytest.mark.parametrize(
    ("row", "settings", "after", "is_kept"),
    [
        ("beyond:B-19", COUNTING, 9 * DAY - SECOND, True),
        ("beyond:B-19 over", COUNTING, 9 * DAY, False),
        ("recommender:3.4", ModelSettings(), HOUR, False),
    ],
)
def test_a_memory_peak_alone_may_keep_an_aggregate(
    row: str, settings: ModelSettings, after: timedelta, is_kept: bool
) -> None:
    """A peak counts until its window ends, a day after the sample that opened it."""
    one = of_one_container(settings=settings)
    one.memory(T0, 2**30)
    one.model.forget_pod("default", "p")
    assert collect(one.model, (), T0 + after) == (not is_kept), row


def kind_key(kind: str) -> SharingKey:
    name = f"batch/{kind}/x" if kind == "CronJob" else f"apps/{kind}/x"
    return SharingKey(name, {CONTROLLER: name}, Basis.CONTROLLER)


def of_kind(kind: str, settings: ModelSettings, *names: str) -> Scene:
    """Return a scene with a pod of a controller of some kind, which the VPA follows."""

    def key_of(pod: Pod) -> SharingKey:
        assert pod.name == "p"
        return kind_key(kind)

    selector = of_labels(kind_key(kind).labels)
    return Scene(ClusterModel(settings, key_of)).follow(vpa(), selector=selector).observe(pod("p", *names))


@pytest.mark.parametrize(
    ("row", "kind", "settings", "is_kept"),
    [
        ("beyond:B-19", "CronJob", COUNTING, True),
        ("beyond:B-19 no run", "Deployment", COUNTING, False),
        ("recommender:3.4", "CronJob", ModelSettings(), False),
    ],
)
def test_the_history_of_a_job_waits_for_the_next_run(
    row: str, kind: str, settings: ModelSettings, is_kept: bool
) -> None:
    one = of_kind(kind, settings, "main")
    one.cpu(T0, 100)
    one.model.forget_pod("default", "p")
    assert collect(one.model, (), T0 + 40 * DAY) == (not is_kept), row


def test_a_container_that_runs_have_no_more_expires() -> None:
    """Spec: beyond:B-19."""
    one = of_kind("CronJob", COUNTING, "old", "main")
    one.cpu(T0, 100, "old")
    one.cpu(T0 + 8 * DAY - SECOND, 100)
    assert collect(one.model, (), T0 + 30 * DAY) == 0
    one.cpu(T0 + 8 * DAY, 100)
    assert collect(one.model, (), T0 + 30 * DAY) == 1
    assert list(one.tracked().linked) == ["main"]


def test_the_history_of_a_job_that_no_vpa_follows_expires() -> None:
    """Spec: beyond:B-19."""
    one = of_kind("CronJob", COUNTING, "main")
    one.cpu(T0, 100)
    one.model.forget_vpa("default", "v")
    assert collect(one.model, (), T0 + 8 * DAY) == 1
