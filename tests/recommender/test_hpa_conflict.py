"""Resources that a horizontal autoscaler scales on: held at their request, said in a condition, never shrinking."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from autoscaling.behaviour import Behaviour, HpaConflict
from autoscaling.hpa import Hpa, HpaIndex, UtilizationMetric
from autoscaling.ownership import ControllerKey
from autoscaling.pod import ConditionStatus, ContainerStatus, Pod, PodPhase
from autoscaling.resources import ContainerResources
from autoscaling.vpa import ContainerPolicy, Recommendation, ScalingMode, TargetRef, Vpa, VpaCondition
from recommender.hpa_conflict import hpa_conditions, note_horizontal_scaling
from recommender.settings import EstimatorSettings
from recommender.status import HPA_CONFLICT
from tests.builders import T0, amounts, container, printed, recommended
from tests.recommender.scene import DAY, MINUTE, Scene, columns, pod, vpa

EVENKEEL = Behaviour()
DERIVE = Behaviour(hpa_conflict=HpaConflict.DERIVE)
SETTINGS = EstimatorSettings(margin_fraction=0.0)
TARGET = ControllerKey("default", "Deployment", "v", "apps/v1")
CPU = UtilizationMetric("cpu", 80)
MEMORY = UtilizationMetric("memory", 70)


def hpa(*metrics: UtilizationMetric, name: str = "h") -> Hpa:
    return Hpa("default", name, TargetRef("Deployment", "v", "apps/v1"), metrics)


def with_requests(name: str, requests: str, *, phase: PodPhase = PodPhase.RUNNING, app: str = "a") -> Pod:
    """Return a pod whose container ``main`` has requests written as ``cpu/memory``."""
    return replace(pod(name, labels={"app": app}, phase=phase), containers=(container("main", requests),))


def used(*pods: Pod, observed: Vpa | None = None) -> Scene:
    """Return a scene of pods of which each has a sample of 100m and one of 300Mi."""
    one = Scene().follow(observed or vpa()).observe(*pods)
    one.tracked().controllers = (TARGET,)
    for each in pods:
        for part in each.containers:
            one.cpu(T0, 100, part.name, each.name)
            one.memory(T0, 314572800, part.name, each.name)
    return one


def entry(
    one: Scene, hpas: Iterable[Hpa], pods: Iterable[Pod], behaviour: Behaviour = EVENKEEL
) -> dict[str, dict[str, str]]:
    """Return all vectors of container ``main`` beside some horizontal autoscalers."""
    note_horizontal_scaling(one.model, HpaIndex(hpas), pods)
    found = one.recommendation(behaviour=behaviour).of("main")
    assert found is not None
    vectors = {
        "target": found.target,
        "lower": found.lower_bound,
        "upper": found.upper_bound,
        "uncapped": found.uncapped_target,
    }
    return {vector: printed(given or {}) for vector, given in vectors.items()}


ESTIMATED = {"cpu": "126m", "memory": "380258472"}


@pytest.mark.parametrize(
    ("row", "metrics", "target"),
    [
        ("beyond:B-14 none", (), ESTIMATED),
        ("beyond:B-14 cpu", (CPU,), {"cpu": "1", "memory": "380258472"}),
        ("beyond:B-14 memory", (MEMORY,), {"cpu": "126m", "memory": "2Gi"}),
        ("beyond:B-14 both", (CPU, MEMORY), {"cpu": "1", "memory": "2Gi"}),
        ("beyond:B-14 container", (replace(CPU, container="main"),), {"cpu": "1", "memory": "380258472"}),
        ("beyond:B-14 other container", (replace(CPU, container="side"),), ESTIMATED),
        ("beyond:B-14 other resource", (UtilizationMetric("disk", 80),), ESTIMATED),
    ],
)
def test_what_is_held(row: str, metrics: tuple[UtilizationMetric, ...], target: dict[str, str]) -> None:
    pods = [with_requests("p", "1/2Gi")]
    found = entry(used(*pods), [hpa(*metrics)], pods)
    assert found["target"] == target, row
    assert found["uncapped"] == ESTIMATED, row
    for resource, amount in target.items():
        if amount != ESTIMATED[resource]:
            assert (found["lower"][resource], found["upper"][resource]) == (amount, amount), row
        else:
            assert found["lower"][resource] != found["upper"][resource], row


@pytest.mark.parametrize(
    ("row", "pods", "cpu"),
    [
        ("beyond:B-14 the largest counts", [with_requests("p", "1"), with_requests("q", "1500m")], "1500m"),
        ("beyond:B-14 some have none", [with_requests("p", "-"), with_requests("q", "700m")], "700m"),
        ("beyond:B-14 none has any", [with_requests("p", "-"), with_requests("q", "-")], None),
        (
            "beyond:B-14 ended pods",
            [
                with_requests("p", "1"),
                with_requests("q", "2", phase=PodPhase.SUCCEEDED),
                with_requests("r", "3", phase=PodPhase.FAILED),
            ],
            "1",
        ),
        (
            "beyond:B-14 leaving pods",
            [with_requests("p", "1"), replace(with_requests("q", "2"), is_terminating=True)],
            "1",
        ),
        ("beyond:B-14 others' pods", [with_requests("p", "1"), with_requests("q", "2", app="b")], "1"),
        (
            "beyond:B-14 what is in force",
            [
                replace(
                    with_requests("p", "1"),
                    statuses=(ContainerStatus("main", ContainerResources(amounts("600m/1Gi"))),),
                )
            ],
            "600m",
        ),
    ],
)
def test_which_request_counts(row: str, pods: list[Pod], cpu: str | None) -> None:
    found = entry(used(*pods), [hpa(CPU)], pods)
    for vector in ("target", "lower", "upper"):
        assert found[vector].get("cpu") == cpu, row
        assert "memory" in found[vector], row
    assert found["uncapped"]["cpu"] == "126m", row


def test_a_pod_that_the_model_does_not_know_counts_for_nothing() -> None:
    pods = [with_requests("p", "1")]
    assert entry(used(*pods), [hpa(CPU)], [*pods, with_requests("new", "2")])["target"]["cpu"] == "1"


@pytest.mark.parametrize(
    ("row", "status", "before", "cpu"),
    [
        ("beyond:B-14 held before", ConditionStatus.TRUE, recommended("main", "700m/1Gi"), "700m"),
        ("beyond:B-14 not held before", ConditionStatus.FALSE, recommended("main", "700m/1Gi"), None),
        ("beyond:B-14 unknown before", ConditionStatus.TRUE, recommended("main", "-/1Gi"), None),
        ("beyond:B-14 other container before", ConditionStatus.TRUE, recommended("side", "700m/1Gi"), None),
        ("beyond:B-14 nothing before", ConditionStatus.TRUE, None, None),
    ],
)
def test_what_stays_while_no_pod_runs(row: str, status: ConditionStatus, before: object, cpu: str | None) -> None:
    one = used(with_requests("p", "1"))
    recommendation = Recommendation((before,)) if before is not None else None  # type: ignore[arg-type]
    observed = replace(
        one.tracked().vpa, recommendation=recommendation, conditions=(VpaCondition(HPA_CONFLICT, status),)
    )
    one.follow(observed)
    assert entry(one, [hpa(CPU)], [])["target"].get("cpu") == cpu, row


@pytest.mark.parametrize(
    ("row", "policy", "cpu"),
    [
        ("beyond:B-14 maxAllowed", ContainerPolicy("*", max_allowed=amounts("800m")), "800m"),
        ("beyond:B-14 minAllowed", ContainerPolicy("*", min_allowed=amounts("1200m")), "1200m"),
        ("beyond:B-14 within", ContainerPolicy("*", min_allowed=amounts("10m"), max_allowed=amounts("4")), "1"),
        ("beyond:B-14 not controlled", ContainerPolicy("*", controlled_resources=("memory",)), None),
    ],
)
def test_policies_still_apply(row: str, policy: ContainerPolicy, cpu: str | None) -> None:
    pods = [with_requests("p", "1/2Gi")]
    found = entry(used(*pods, observed=vpa("v", policy)), [hpa(CPU)], pods)
    for vector in ("target", "lower", "upper"):
        assert found[vector].get("cpu") == cpu, row


def test_nothing_is_held_any_more_once_the_horizontal_autoscaler_is_gone() -> None:
    pods = [with_requests("p", "1/2Gi")]
    one = used(*pods)
    assert entry(one, [hpa(CPU)], pods)["target"]["cpu"] == "1"
    assert entry(one, [], pods)["target"] == ESTIMATED
    assert hpa_conditions(one.model.groups()) == {}


def condition(one: Scene, *hpas: Hpa) -> VpaCondition | None:
    note_horizontal_scaling(one.model, HpaIndex(hpas), [])
    return hpa_conditions(one.model.groups()).get(one.tracked())


SIDE = UtilizationMetric("cpu", 60, "side")


@pytest.mark.parametrize(
    ("row", "policies", "hpas", "parts"),
    [
        ("beyond:B-14 cpu", (), [hpa(CPU)], ["HorizontalPodAutoscaler default/h scales", "utilization of cpu: cpu is"]),
        ("beyond:B-14 both", (), [hpa(CPU, MEMORY)], ["of cpu; ", "of memory: cpu and memory are held"]),
        ("beyond:B-14 two", (), [hpa(CPU), hpa(CPU, name="g")], ["default/g scales", "default/h scales"]),
        ("beyond:B-14 one container", (), [hpa(SIDE)], ["utilization of cpu of container side: cpu is held"]),
        ("beyond:B-14 unknown container", (), [hpa(replace(SIDE, container="x"))], None),
        ("beyond:B-14 other metric", (), [hpa(UtilizationMetric("disk", 80))], None),
        ("beyond:B-14 none", (), [], None),
        ("beyond:B-14 left out", (ContainerPolicy("*", controlled_resources=("memory",)),), [hpa(CPU)], None),
        (
            "beyond:B-14 left out of one",
            (ContainerPolicy("side", controlled_resources=("memory",)),),
            [hpa(CPU)],
            ["utilization of cpu: cpu is held"],
        ),
        ("beyond:B-14 switched off", (ContainerPolicy("*", mode=ScalingMode.OFF),), [hpa(CPU)], None),
        ("beyond:B-14 that one off", (ContainerPolicy("side", mode=ScalingMode.OFF),), [hpa(SIDE)], None),
    ],
)
def test_the_condition(
    row: str, policies: tuple[ContainerPolicy, ...], hpas: list[Hpa], parts: list[str] | None
) -> None:
    one = Scene().follow(vpa("v", *policies), vpa("other"), selector=Scene().follow(vpa()).tracked().selector)
    one.observe(pod("p", "main", "side"))
    one.tracked().controllers = (TARGET,)
    found = condition(one, *hpas)
    if parts is None:
        assert found is None, row
        return
    assert found is not None, row
    assert (found.type, found.status, found.reason) == (HPA_CONFLICT, ConditionStatus.TRUE, "ScaledOnUtilization"), row
    for part in (*parts, "out of controlledResources"):
        assert part in found.message, row


class ClosedLoop:
    """A Deployment whose load is shared evenly, with a horizontal and a vertical autoscaler on its CPU.

    The horizontal one asks for ``ceil(pods * use / (request * target))`` pods; what the vertical one recommends becomes
    the request of every pod at once. There is no safety margin, as in case 43.
    """

    def __init__(
        self,
        load_millicores: int,
        request_millicores: int,
        percent: int,
        *,
        sees_hpas: bool,
        behaviour: Behaviour = EVENKEEL,
    ) -> None:
        self.load = load_millicores
        self.requests = [request_millicores]
        self.percent = percent
        self.most_pods = 1_000_000
        self.pods = 1
        self._behaviour = behaviour
        self._hpas = HpaIndex([hpa(UtilizationMetric("cpu", percent))] if sees_hpas else [])

    def day(self) -> int:
        """Let the horizontal autoscaler settle, then a day pass, then the vertical one; returns the new request."""
        request = self.requests[-1]
        self.pods = min(self.most_pods, max(1, math.ceil(self.load / (request * self.percent / 100))))
        names = [f"p{number}" for number in range(min(self.pods, 3))]
        pods = [with_requests(name, f"{request}m/1Gi") for name in names]
        one = Scene().follow(vpa()).observe(*pods)
        one.tracked().controllers = (TARGET,)
        rows = [one.row(pod=name) for name in names for _ in range(24)]
        moments = [T0 + hour * DAY / 24 + MINUTE for _ in names for hour in range(24)]
        one.model.take_cpu(columns(rows, moments, [self.load // self.pods] * len(rows)), T0)
        note_horizontal_scaling(one.model, self._hpas, pods)
        found = one.recommendation(settings=SETTINGS, behaviour=self._behaviour).of("main")
        assert found is not None
        self.requests.append(found.target["cpu"].milli_value())
        return self.requests[-1]


SERIES = [1000, 800, 640, 512, 410, 328]
"""Case 43: with requests at the peak and a target of 80 %, each is four fifths of the one before."""


@pytest.mark.parametrize(
    ("row", "sees_hpas", "most"),
    [("case:43 upstream", False, 1.05), ("case:43 evenkeel", True, None)],
)
def test_the_request_shrinks_without_end_unless_it_is_held(row: str, *, sees_hpas: bool, most: float | None) -> None:
    loop = ClosedLoop(4_000_000, 1000, 80, sees_hpas=sees_hpas)
    for _ in SERIES[1:]:
        loop.day()
    if most is None:
        assert loop.requests == [1000] * len(SERIES), row
        assert loop.pods == 5000, row
        return
    # A percentile is the end of its bucket, at most a twentieth above what was used.
    for before, after in zip(loop.requests, loop.requests[1:], strict=False):
        assert 0.8 * before <= after <= 0.8 * before * most + 1, row
    for step, (ours, computed) in enumerate(zip(loop.requests, SERIES, strict=True)):
        assert computed <= ours <= computed * most**step + step, row
    assert loop.pods > 2 * 5000, row


@settings(max_examples=40, deadline=None)
@given(
    load=st.integers(1, 200_000),
    request=st.integers(1, 4_000),
    percent=st.integers(1, 100),
    later=st.lists(st.integers(1, 200_000), max_size=4),
)
def test_the_request_never_shrinks(load: int, request: int, percent: int, later: list[int]) -> None:
    """Spec: beyond:B-14."""
    loop = ClosedLoop(load, request, percent, sees_hpas=True)
    for changed in (load, *later):
        loop.load = changed
        assert loop.day() == request


@pytest.mark.parametrize(
    ("row", "request_", "metrics", "cpu"),
    [
        # 100m is at the end of its bucket 110m, which is 80 % of 138m and 60 % of 184m.
        ("beyond:B-14 far above", "1", (CPU,), "138m"),
        ("beyond:B-14 far below", "50m", (CPU,), "138m"),
        ("beyond:B-14 just within, above", "172m", (CPU,), "172m"),
        ("beyond:B-14 just outside, above", "173m", (CPU,), "138m"),
        ("beyond:B-14 just within, below", "115m", (CPU,), "115m"),
        ("beyond:B-14 just outside, below", "114m", (CPU,), "138m"),
        ("beyond:B-14 least share of several", "1", (CPU, replace(CPU, percent=60, container="main")), "184m"),
        ("beyond:B-14 other container", "1", (CPU, replace(CPU, percent=60, container="side")), "138m"),
        ("beyond:B-14 no request", "-", (CPU,), None),
    ],
)
def test_a_request_derived_from_use(
    row: str, request_: str, metrics: tuple[UtilizationMetric, ...], cpu: str | None
) -> None:
    pods = [with_requests("p", request_)]
    one = used(*pods)
    found = entry(one, [hpa(*metrics)], pods, DERIVE)
    assert [found[vector].get("cpu") for vector in ("target", "lower", "upper")] == [cpu] * 3, row
    assert found["uncapped"]["cpu"] == "126m", row
    assert found["target"]["memory"] == ESTIMATED["memory"], row
    (said,) = hpa_conditions(one.model.groups()).values()
    assert "cpu is derived from the utilization aimed at" in said.message, row


def test_a_derived_request_keeps_to_the_minimum_and_to_policies() -> None:
    pods = [with_requests("p", "1/2Gi")]
    one = Scene().follow(vpa()).observe(*pods)
    one.tracked().controllers = (TARGET,)
    one.memory(T0, 1)
    assert entry(one, [hpa(MEMORY)], pods, DERIVE)["target"] == {"memory": "250Mi"}
    one = used(*pods, observed=vpa("v", ContainerPolicy("*", max_allowed=amounts("130m"))))
    assert entry(one, [hpa(CPU)], pods, DERIVE)["target"]["cpu"] == "130m"


def test_what_was_derived_before_stays_while_no_pod_runs() -> None:
    one = used(with_requests("p", "1"))
    standing = (VpaCondition(HPA_CONFLICT, ConditionStatus.TRUE),)
    before = Recommendation((recommended("main", "138m/1Gi"),))
    one.follow(replace(one.tracked().vpa, recommendation=before, conditions=standing))
    assert entry(one, [hpa(CPU)], [], DERIVE)["target"]["cpu"] == "138m"


def test_derived_requests_follow_only_where_the_horizontal_autoscaler_has_no_room() -> None:
    """Spec: beyond:B-14, case:43."""
    loop = ClosedLoop(40_000, 1000, 80, sees_hpas=True, behaviour=DERIVE)
    assert [loop.day() for _ in range(4)] == [1000] * 4, "0.8 cores of use at 80 % are 1 core"
    loop.most_pods, loop.load = 10, 40_000
    assert loop.day() == pytest.approx(5000, rel=0.05), "4 cores of use at 80 % are 5 cores"
    assert loop.day() == loop.requests[-2]
    loop.load = 400
    assert loop.day() == pytest.approx(500, rel=0.05), "one pod is left"
    assert loop.day() == loop.requests[-2]


@settings(max_examples=40, deadline=None)
@given(load=st.integers(1, 200_000), request=st.integers(1, 4_000), percent=st.integers(10, 100))
def test_derived_requests_come_to_rest(load: int, request: int, percent: int) -> None:
    """Spec: beyond:B-14."""
    loop = ClosedLoop(load, request, percent, sees_hpas=True, behaviour=DERIVE)
    for _ in range(8):
        loop.day()
    assert loop.requests[-1] == loop.requests[-2]
    used_per_pod = load // loop.pods
    assert used_per_pod * 100 <= loop.requests[-1] * percent * 1.2 + 100


def test_another_vpa_on_the_same_pods_is_not_concerned() -> None:
    pods = [with_requests("p", "1/2Gi")]
    for behaviour in (EVENKEEL, DERIVE):
        one = used(*pods).follow(vpa("other"))
        assert entry(one, [hpa(CPU)], pods, behaviour)["target"]["cpu"] != ESTIMATED["cpu"]
        found = one.recommendation("other", behaviour=behaviour).of("main")
        assert found is not None
        assert printed(found.target) == ESTIMATED
        assert list(hpa_conditions(one.model.groups())) == [one.tracked()]
