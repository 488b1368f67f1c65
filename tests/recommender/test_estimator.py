from __future__ import annotations

import math
from datetime import timedelta

import numpy as np
import pytest

from autoscaling.vpa import ContainerPolicy
from recommender.estimator import bounds, confidence, container_minimum
from recommender.floats import power_each
from recommender.instants import LATEST, NEVER, instant
from recommender.settings import EstimatorSettings, Percentiles
from tests.builders import T0, printed
from tests.recommender.scene import DAY, HOUR, MINUTE, Scene, integers, of_one_container, pod, vpa

MI = 2**20


@pytest.mark.parametrize(
    ("last", "samples", "target", "lower", "upper"),
    [
        (5 * MINUTE, 6, "296m/380258472", "178m/250Mi", "85544m/109894698408"),
        (HOUR, 61, "296m/380258472", "282m/362642738", "7400m/9506461800"),
        (12 * HOUR, 721, "296m/380258472", "294m/378741989", "888m/1140775416"),
        (DAY, 1441, "296m/380258472", "295m/379499094", "592m/760516944"),
        (7 * DAY, 10081, "296m/380258472", "295m/380149849", "338m/434581110"),
    ],
)
def test_bounds_narrow_under_a_steady_load(last: timedelta, samples: int, target: str, lower: str, upper: str) -> None:
    """Spec: recommender:E2, recommender:4.2."""
    assert last == (samples - 1) * MINUTE
    one = of_one_container()
    one.steady_cpu(T0, samples, 250)
    one.memory(T0 + DAY, 314572800)
    found = {key: "/".join(vector.values()) for key, vector in one.figures().items()}
    assert found == {"target": target, "lower": lower, "upper": upper}


def test_one_sample_alone_leaves_the_bounds_at_their_extremes() -> None:
    """Spec: recommender:E3."""
    one = of_one_container()
    one.cpu(T0, 100)
    one.memory(T0 + DAY, 500000000)
    assert one.figures() == {
        "target": {"cpu": "126m", "memory": "587804717"},
        "lower": {"cpu": "25m", "memory": "250Mi"},
        "upper": {"cpu": "100G", "memory": "97656250000Ki"},
    }


@pytest.mark.parametrize(
    ("containers", "cpu", "memory"), [(1, "25m", "250Mi"), (3, "8m", "87381333"), (7, "3m", "37449142")]
)
def test_the_pod_minimum_is_split_over_its_containers(containers: int, cpu: str, memory: str) -> None:
    """Spec: recommender:E4, recommender:4.2."""
    names = [f"c{i}" for i in range(containers)]
    one = Scene().follow(vpa()).observe(pod("p", *names))
    vector = {"cpu": cpu, "memory": memory}
    assert one.figures("c0") == {"target": vector, "lower": vector, "upper": vector}


def test_two_containers_of_which_one_controls_cpu_only() -> None:
    """Spec: recommender:E5."""
    one = Scene().follow(vpa("v", ContainerPolicy("main", controlled_resources=("cpu",))))
    one.observe(pod("p", "side", "main"))
    for name, millicores, peak in (("side", 1, 20 * MI), ("main", 1000, 2048 * MI)):
        one.steady_cpu(T0, 1441, millicores, name)
        one.memory(T0 + DAY, peak, name)
    assert one.figures("main") == {"target": {"cpu": "1168m"}, "lower": {"cpu": "1165m"}, "upper": {"cpu": "2336m"}}
    side = {"cpu": "12m", "memory": "125Mi"}
    assert one.figures("side") == {"target": side, "lower": side, "upper": side | {"cpu": "22m"}}
    assert [c.container_name for c in one.recommendation().containers] == ["main", "side"]


@pytest.mark.parametrize("unknown", [(), ("gpu",)])
def test_a_container_that_controls_nothing_still_counts(unknown: tuple[str, ...]) -> None:
    """Spec: recommender:4.1."""
    one = Scene().follow(vpa("v", ContainerPolicy("side", controlled_resources=unknown)))
    one.observe(pod("p", "main", "side"))
    assert one.figures("side") == {"target": {}, "lower": {}, "upper": {}}
    assert one.figures("main")["target"] == {"cpu": "12m", "memory": "125Mi"}


@pytest.mark.parametrize(
    ("history", "samples", "sure", "upper", "lower"),
    [
        (0 * MINUTE, 1, 0.0, math.inf, 0.0),
        (MINUTE, 2, 1 / 1440, 1441.0, 0.16796560064498792),
        (5 * MINUTE, 6, 5 / 1440, 289.0, 0.60279310211797377),
        (HOUR, 61, 1 / 24, 25.0, 0.95367431640625),
        (12 * HOUR, 721, 0.5, 3.0, 0.99601196807980852),
        (DAY, 1441, 1.0, 2.0, 0.99800299600499431),
        (2 * DAY, 2881, 2.0, 1.5, 0.99900074950031237),
        (7 * DAY, 10081, 7.0, 1.1428571428571428, 0.99971434692711569),
        (8 * DAY, 11521, 8.0, 1.125, 0.99975004686718894),
    ],
)
def test_confidence_and_its_factors(history: timedelta, samples: int, sure: float, upper: float, lower: float) -> None:
    """Spec: recommender:4.2."""
    start = integers(instant(T0))
    end = integers(instant(T0 + history))
    found = confidence(start, end, integers(samples), DAY)
    assert found.tolist() == [sure]
    with np.errstate(divide="ignore"):
        assert (1.0 + 1.0 / found).tolist() == [upper]
        assert power_each(1.0 + 0.001 / found, -2.0).tolist() == [lower]


def test_confidence_is_the_smaller_of_time_and_number() -> None:
    """Spec: recommender:4.2."""
    start, end = integers(instant(T0)), integers(instant(T0 + 2 * DAY))
    assert confidence(start, end, integers(1440), DAY).tolist() == [1.0]
    assert confidence(start, end, integers(14400), DAY).tolist() == [2.0]
    assert confidence(start, end, integers(14400), 90 * MINUTE / 60).tolist() == [1920.0]
    assert confidence(integers(NEVER), integers(NEVER), integers(0), DAY).tolist() == [0.0]
    assert confidence(integers(NEVER), end, integers(1440), DAY).tolist() == [1.0]
    assert confidence(start, integers(NEVER), integers(1440), DAY)[0] == -LATEST / (86400 * 10**9)


def test_the_minimum_is_applied_last_and_to_all_three() -> None:
    """Spec: recommender:4.2."""
    base = integers(100, 100, 100)[:, np.newaxis]
    assert bounds(base, 0.15, np.array([0.0]), integers(25))[:, 0].tolist() == [115, 25, 10**14]
    nothing = np.zeros((3, 1), dtype=np.int64)
    assert bounds(nothing, 0.15, np.array([0.0]), integers(25))[:, 0].tolist() == [25, 25, 25]
    assert bounds(base, 0.15, np.array([1.0]), integers(1000))[:, 0].tolist() == [1000, 1000, 1000]


def test_every_step_ends_in_a_whole_amount() -> None:
    """Spec: recommender:4.2."""
    base = integers(258, 258, 258)[:, np.newaxis]
    # 258 * 0.15 = 38.7 is cut to 38 before it is added.
    assert bounds(base, 0.15, np.array([2.0]), integers(0))[:, 0].tolist() == [296, 295, 444]


def test_the_minimum_of_a_container_is_cut_as_well() -> None:
    assert container_minimum(25.0, integers(1, 2, 3)).tolist() == [25, 12, 8]


def test_settings_choose_percentiles_margin_minimum_and_confidence() -> None:
    one = of_one_container()
    for minute, millicores in enumerate((100, 200, 300, 400, 500, 600, 700, 800, 900, 1000)):
        one.cpu(T0 + minute * MINUTE, millicores)
    one.memory(T0, 300 * MI)
    settings = EstimatorSettings(
        cpu=Percentiles(0.5, 0.1, 1.0),
        margin_fraction=0.0,
        confidence_interval_cpu=9 * MINUTE,
        confidence_interval_memory=18 * MINUTE,
        pod_minimum_cpu_millicores=1.0,
        pod_minimum_memory_mib=1.0,
    )
    (entry,) = one.recommendation(settings=settings).containers
    found = [printed(vector or {}) for vector in (entry.target, entry.lower_bound, entry.upper_bound)]
    assert [vector["cpu"] for vector in found] == ["623m", "214m", "2032m"]
    assert [vector["memory"] for vector in found] == ["330659541", "329340860", "991978623"]
