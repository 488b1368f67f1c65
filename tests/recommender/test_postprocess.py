from __future__ import annotations

import pytest

from autoscaling.resources import ResourceList
from autoscaling.vpa import ContainerPolicy, ContainerRecommendation, ScalingMode, Vpa
from recommender.estimator import Estimates
from recommender.grouping import Groups
from recommender.label_sets import TrackedVpa
from recommender.postprocess import recommendations, rounded_estimates, rounded_up
from recommender.recommendation_table import humanised
from recommender.settings import RenderingSettings
from tests.builders import amounts, printed
from tests.recommender.scene import APP, integers, vpa

PLAIN = RenderingSettings()


def rendered(
    of: Vpa,
    cpu: tuple[int, int, int],
    memory: tuple[int, int, int],
    settings: RenderingSettings = PLAIN,
) -> ContainerRecommendation:
    """Round, render and cap the amounts of one container named ``main``."""
    tracked = TrackedVpa(of, APP, linked={"main": [0]})
    groups = Groups.of([tracked])
    estimates = Estimates(
        integers(*cpu).reshape(3, 1),
        integers(*memory).reshape(3, 1),
    )
    (found,) = recommendations(groups, rounded_estimates(groups, estimates, settings), settings)
    assert found.containers
    return found.containers[0]


@pytest.mark.parametrize(
    ("cpu", "memory", "settings", "expected"),
    [
        (296, 380258472, PLAIN, {"cpu": "296m", "memory": "380258472"}),
        (
            296,
            380258472,
            RenderingSettings(round_cpu_millicores=50, round_memory_bytes=134217728),
            {"cpu": "300m", "memory": "384Mi"},
        ),
        (296, 380258472, RenderingSettings(humanize_memory=True), {"cpu": "296m", "memory": "380255600640m"}),
        (
            296,
            380258472,
            RenderingSettings(round_cpu_millicores=0, round_memory_bytes=-5),
            {"cpu": "296m", "memory": "380258472"},
        ),
        (
            0,
            0,
            RenderingSettings(round_cpu_millicores=50, round_memory_bytes=1000, humanize_memory=True),
            {"cpu": "0", "memory": "0"},
        ),
        (0, 1537, RenderingSettings(humanize_memory=True), {"cpu": "0", "memory": "1536"}),
        (0, 1000, RenderingSettings(humanize_memory=True), {"cpu": "0", "memory": "1k"}),
        (0, 109894698408, RenderingSettings(humanize_memory=True), {"cpu": "0", "memory": "109897475686400m"}),
        (
            1,
            2**30 - 1,
            RenderingSettings(round_memory_bytes=2**20, humanize_memory=True),
            {"cpu": "1m", "memory": "1Gi"},
        ),
    ],
)
def test_amounts_are_rounded_and_written(
    cpu: int, memory: int, settings: RenderingSettings, expected: dict[str, str]
) -> None:
    """Spec: recommender:E12, recommender:4.3."""
    entry = rendered(vpa(), (cpu,) * 3, (memory,) * 3, settings)
    for vector in (entry.target, entry.lower_bound, entry.upper_bound, entry.uncapped_target):
        assert printed(vector or {}) == expected


@pytest.mark.parametrize(("amount", "text"), [(2**40, "1Ti"), (3 * 2**39, "1536Gi"), (2**20, "1Mi"), (1023, "1023")])
def test_humanised_memory_takes_the_largest_unit_it_reaches(amount: int, text: str) -> None:
    """Spec: recommender:4.3."""
    assert str(humanised(amount)) == text


@pytest.mark.parametrize(("millicores", "expected"), [(1100, "2"), (1, "1"), (0, "0"), (2000, "2"), (10**14, "100G")])
def test_an_annotation_asks_for_whole_cores(millicores: int, expected: str) -> None:
    """Spec: recommender:E12."""
    key = "vpa-post-processor.kubernetes.io/main_integerCPU"
    settings = RenderingSettings(integer_cpu=True)
    asking = vpa(annotations={key: "true"})
    entry = rendered(asking, (millicores,) * 3, (0,) * 3, settings)
    for vector in (entry.target, entry.lower_bound, entry.upper_bound, entry.uncapped_target):
        assert str((vector or {})["cpu"]) == expected


@pytest.mark.parametrize(
    ("annotations", "is_on"),
    [
        ({"vpa-post-processor.kubernetes.io/main_integerCPU": "True"}, True),
        ({"vpa-post-processor.kubernetes.io/side_integerCPU": "true"}, True),
        ({"vpa-post-processor.kubernetes.io/main_integerCPU": "true"}, False),
    ],
)
def test_nothing_else_asks_for_whole_cores(annotations: dict[str, str], is_on: bool) -> None:
    """Spec: recommender:4.4."""
    settings = RenderingSettings(integer_cpu=is_on)
    assert str(rendered(vpa(annotations=annotations), (1100,) * 3, (0,) * 3, settings).target["cpu"]) == "1100m"


def policy(minimum: str = "-", maximum: str = "-") -> ContainerPolicy:
    return ContainerPolicy("*", min_allowed=amounts(minimum), max_allowed=amounts(maximum))


@pytest.mark.parametrize(
    ("own", "maximum", "target", "lower", "upper"),
    [
        (policy("500m/-"), "-", "500m/380258472", "500m", "7400m"),
        (policy(maximum="200m/1G"), "-", "200m/380258472", "178m", "200m"),
        (policy("500m/-"), "400m/-", "400m/380258472", "400m", "400m"),
        (policy(maximum="-/300M"), "250m/1Mi", "250m/300M", "178m", "250m"),
        (policy(maximum="0/-"), "250m/-", "296m/380258472", "178m", "7400m"),
        (policy("2/-", "1/-"), "-", "1/380258472", "1", "1"),
    ],
)
def test_policy_and_global_maximum_cap(own: ContainerPolicy, maximum: str, target: str, lower: str, upper: str) -> None:
    """Spec: recommender:E13, recommender:4.4."""
    settings = RenderingSettings(maximum=amounts(maximum))
    entry = rendered(vpa("v", own), (296, 178, 7400), (380258472,) * 3, settings)
    assert "/".join(printed(entry.target).values()) == target
    assert printed(entry.lower_bound or {})["cpu"] == lower
    assert printed(entry.upper_bound or {})["cpu"] == upper
    assert printed(entry.uncapped_target or {}) == {"cpu": "296m", "memory": "380258472"}


def test_the_global_maximum_caps_without_any_policy() -> None:
    """Spec: recommender:4.4."""
    entry = rendered(vpa(), (296, 178, 7400), (10**9,) * 3, RenderingSettings(maximum=amounts("250m/-")))
    assert printed(entry.target) == {"cpu": "250m", "memory": "1000000000"}
    zero = RenderingSettings(maximum=amounts("0/0"))
    assert printed(rendered(vpa(), (296, 178, 7400), (10**9,) * 3, zero).target)["cpu"] == "296m"


def test_whole_cores_come_before_the_cap() -> None:
    """Spec: recommender:E13, recommender:4.4."""
    asking = vpa(
        "v",
        policy(maximum="1500m/-"),
        annotations={"vpa-post-processor.kubernetes.io/main_integerCPU": "true"},
    )
    entry = rendered(asking, (1100,) * 3, (1,) * 3, RenderingSettings(integer_cpu=True))
    assert (str(entry.target["cpu"]), str((entry.uncapped_target or {})["cpu"])) == ("1500m", "2")


@pytest.mark.parametrize(
    ("row", "own", "settings", "target"),
    [
        ("recommender:13.17 a part of a byte", policy(), RenderingSettings(humanize_memory=True), "380255600640m"),
        ("recommender:13.17 whole bytes", policy(), RenderingSettings(), "380258472"),
        (
            "recommender:13.17 a bound is not rounded",
            policy(maximum="-/300M"),
            RenderingSettings(round_memory_bytes=2**27),
            "300M",
        ),
        ("recommender:13.17 rounded", policy(), RenderingSettings(round_memory_bytes=2**27), "384Mi"),
        (
            "recommender:13.17 the flag's maximum is less than minAllowed",
            policy("-/1Gi"),
            RenderingSettings(maximum=amounts("-/512Mi")),
            "512Mi",
        ),
        (
            "recommender:13.17 it is no less",
            policy("-/1Gi"),
            RenderingSettings(maximum=amounts("-/1Gi")),
            "1Gi",
        ),
    ],
)
def test_what_is_written_is_upstreams_even_where_that_is_odd(
    row: str, own: ContainerPolicy, settings: RenderingSettings, target: str
) -> None:
    entry = rendered(vpa("v", own), (296,) * 3, (380258472,) * 3, settings)
    assert printed(entry.target)["memory"] == target, row


def test_a_cap_does_not_create_a_resource() -> None:
    """Spec: limits:4."""
    limited = ContainerPolicy("*", min_allowed=amounts("500m/1Gi"), controlled_resources=("cpu",))
    entry = rendered(vpa("v", limited), (296, 178, 7400), (1,) * 3)
    assert printed(entry.target) == {"cpu": "500m"}


def test_what_is_switched_off_has_no_entry() -> None:
    """Spec: recommender:4.1."""
    off = TrackedVpa(vpa("v", ContainerPolicy("main", mode=ScalingMode.OFF)), APP, linked={"main": [0], "side": [1]})
    groups = Groups.of([off])
    estimates = Estimates(integers(*[1] * 6).reshape(3, 2), integers(*[1] * 6).reshape(3, 2))
    (found,) = recommendations(groups, estimates, PLAIN)
    assert [entry.container_name for entry in found.containers] == ["side"]
    nothing = Estimates(integers().reshape(3, 0), integers().reshape(3, 0))
    assert list(recommendations(Groups.of([]), nothing, PLAIN)) == []


@pytest.mark.parametrize(
    ("amount", "step", "expected"),
    [(296, 50, 300), (300, 50, 300), (0, 50, 0), (7, 1, 7), (7, 0, 7), (7, -3, 7), (10**14, 3, 100000000000002)],
)
def test_rounding_goes_up_to_a_multiple(amount: int, step: int, expected: int) -> None:
    """Spec: recommender:4.3."""
    assert rounded_up(integers(amount), step).tolist() == [expected]


def test_vectors_hold_cpu_before_memory() -> None:
    entry = rendered(vpa(), (1, 1, 1), (1, 1, 1))
    vector: ResourceList = entry.target
    assert list(vector) == ["cpu", "memory"]
