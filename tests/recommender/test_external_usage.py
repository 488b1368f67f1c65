"""What is asked of the external metrics API, and what the answers make of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import pytest

from autoscaling.matching import EVERYTHING, NOTHING, parse_selector
from autoscaling.pod import PodPhase
from autoscaling.resources import CPU, MEMORY
from recommender.external_usage import ExternalAnswer, ExternalMetrics, PodQuestion, questions_of, usage_of
from recommender.instants import NEVER
from recommender.samples import MISSING
from tests.recommender.scene import APP, Scene, pod, vpa


def asked(scene: Scene, namespace: str = "") -> list[tuple[str, str, str]]:
    return [(q.namespace, q.pod, q.selector) for q in questions_of(scene.model, namespace).askable]


def told(at: int | None, **amounts: int) -> ExternalAnswer:
    return ExternalAnswer(at, amounts)


NO_VALUE = told(None)
P = PodQuestion("default", "p", "app=a,pod=p")
Q = PodQuestion("default", "q", "app=a,pod=q")


def rows(
    answers: Mapping[str, list[ExternalAnswer]], *questions: PodQuestion, gaps_are_zero: bool = True
) -> list[tuple[str, int, str, int, int]]:
    """Return pod, instant, container, millicores and bytes of each row."""
    table = usage_of(questions or (P,), answers, gaps_are_zero=gaps_are_zero).table
    pods = [place for place, size in enumerate(table.sizes) for _ in range(size)]
    return [
        (table.pods[place], int(table.instants[place]), name, cpu, memory)
        for place, name, cpu, memory in zip(
            pods, table.containers, table.millicores.tolist(), table.memory_bytes.tolist(), strict=True
        )
    ]


def test_every_pod_of_every_vpa_is_asked_for_by_the_vpas_labels_and_its_name() -> None:
    """Spec: recommender:8.2."""
    scene = Scene().observe(pod("p1"), pod("p0"), pod("other", labels={"app": "b"})).follow(vpa("w"), vpa("v"))
    scene.follow(vpa("b"), selector=parse_selector("tier!=back,app in (c,b)"))
    assert asked(scene) == [
        ("default", "other", "app in (b,c),pod=other,tier!=back"),
        ("default", "p0", "app=a,pod=p0"),
        ("default", "p1", "app=a,pod=p1"),
        ("default", "p0", "app=a,pod=p0"),
        ("default", "p1", "app=a,pod=p1"),
    ]


def test_a_vpa_that_selects_everything_asks_by_name_alone_and_one_that_selects_nothing_does_not_ask() -> None:
    scene = Scene().observe(pod("p")).follow(vpa("all"), selector=EVERYTHING).follow(vpa("none"), selector=NOTHING)
    assert asked(scene) == [("default", "p", "pod=p")]


def test_a_vpa_may_have_a_label_of_the_same_name_itself() -> None:
    scene = Scene().observe(pod("p", labels={"pod": "x"})).follow(vpa(), selector=parse_selector("pod=x"))
    assert asked(scene) == [("default", "p", "pod=x,pod=p")]


def test_pods_that_have_ended_are_asked_for_and_those_that_are_gone_are_not() -> None:
    scene = Scene().observe(pod("ended", phase=PodPhase.SUCCEEDED), pod("gone")).follow(vpa())
    scene.model.forget_pod("default", "gone")
    assert [name for _, name, _ in asked(scene)] == ["ended"], "recommender:8.2"


def test_only_the_namespace_that_is_served_is_asked_about() -> None:
    scene = Scene().observe(pod("p"), replace(pod("q"), namespace="shop"))
    scene.follow(vpa("v"), replace(vpa("v"), namespace="shop"))
    assert [(namespace, name) for namespace, name, _ in asked(scene)] == [("default", "p"), ("shop", "q")]
    assert [(namespace, name) for namespace, name, _ in asked(scene, "shop")] == [("shop", "q")]


@pytest.mark.parametrize(
    ("name", "is_askable"),
    [("p" * 63, True), ("p" * 64, False), ("a.b", True), ("a-0", True), ("p", True)],
    ids=["63 characters", "64 characters", "dots", "dashes", "one character"],
)
def test_a_name_that_is_no_label_cannot_be_asked_for(name: str, is_askable: bool) -> None:
    """Spec: recommender:8.2."""
    scene = Scene().observe(pod(name)).follow(vpa("v"), vpa("w"))
    questions = questions_of(scene.model, "")
    assert [q.pod for q in questions.askable] == [name, name][: 2 * is_askable]
    assert [ref.name for ref in questions.unaskable] == [name][is_askable:], "each only once"


def test_the_selector_of_a_vpa_is_taken_as_it_is_now() -> None:
    scene = Scene().observe(pod("p", labels={"app": "a", "tier": "x"})).follow(vpa(), selector=APP)
    scene.follow(vpa(), selector=parse_selector("tier=x"))
    assert asked(scene) == [("default", "p", "pod=p,tier=x")]


def test_resources_with_a_metric_are_asked_for_cpu_first() -> None:
    assert ExternalMetrics("c", "m", "name").named == ((CPU, "c"), (MEMORY, "m"))
    assert ExternalMetrics("", "m", "name").named == ((MEMORY, "m"),)
    assert ExternalMetrics("", "", "name").named == ()


def test_both_resources_of_a_container_make_one_row() -> None:
    answers = {CPU: [told(5, main=100, side=7)], MEMORY: [told(5, side=70, main=1000)]}
    assert rows(answers) == [("p", 5, "main", 100, 1000), ("p", 5, "side", 7, 70)]


@pytest.mark.parametrize(
    ("row", "answers", "cpu", "memory"),
    [
        ("recommender:8.2 (no metric)", {CPU: [told(5, main=100)]}, 100, None),
        ("recommender:8.2 (no metric)", {MEMORY: [told(5, main=100)]}, None, 100),
        ("recommender:8.2 (no value)", {CPU: [told(5, main=100)], MEMORY: [NO_VALUE]}, 100, None),
        ("recommender:8.2 (other container)", {CPU: [told(5, main=1)], MEMORY: [told(5, side=2)]}, 1, None),
        ("recommender:8.2 (zero is a value)", {CPU: [told(5, main=0)], MEMORY: [told(5, main=9)]}, 0, 9),
    ],
)
def test_what_is_not_told_is_no_use_for_upstream_and_no_sample_for_us(
    row: str, answers: Mapping[str, list[ExternalAnswer]], cpu: int | None, memory: int | None
) -> None:
    """Spec: recommender:13.14."""
    for gaps_are_zero, gap in ((True, 0), (False, MISSING)):
        wanted = ("p", 5, "main", gap if cpu is None else cpu, gap if memory is None else memory)
        assert rows(answers, gaps_are_zero=gaps_are_zero)[0] == wanted, row


@pytest.mark.parametrize(
    ("row", "cpu", "memory", "instant"),
    [
        ("recommender:8.2", told(5, main=1), told(7, main=1), 7),
        ("recommender:8.2", told(7, main=1), told(5, main=1), 5),
        ("recommender:8.2", told(5, main=1), NO_VALUE, 5),
        ("recommender:8.2", NO_VALUE, told(7, main=1), 7),
        ("recommender:8.2", told(5, main=1), told(7), 7),
    ],
    ids=["later", "earlier", "cpu alone", "memory alone", "values that name no container"],
)
def test_the_last_answer_with_a_value_says_when(
    row: str, cpu: ExternalAnswer, memory: ExternalAnswer, instant: int
) -> None:
    assert [at for _, at, _, _, _ in rows({CPU: [cpu], MEMORY: [memory]})] == [instant], row


def test_pods_without_values_have_no_rows_and_the_others_keep_their_order() -> None:
    answers = {CPU: [NO_VALUE, told(5, b=1, a=2), told(6, main=3)], MEMORY: [told(4), NO_VALUE, NO_VALUE]}
    assert rows(answers, P, Q, P) == [("q", 5, "a", 2, 0), ("q", 5, "b", 1, 0), ("p", 6, "main", 3, 0)]
    table = usage_of((P, Q, P), answers, gaps_are_zero=True).table
    assert (table.namespaces, table.pods, table.sizes) == (["default"] * 2, ["q", "p"], [2, 1])


def test_use_without_a_time_is_left_out_and_told() -> None:
    usage = usage_of((P, Q), {CPU: [told(NEVER, main=1), told(5, main=1)]}, gaps_are_zero=True)
    assert [str(ref) for ref in usage.undated] == ["Pod default/p"]
    assert usage.table.pods == ["q"]


def test_without_metrics_there_is_no_use() -> None:
    assert len(usage_of((P, Q), {}, gaps_are_zero=True).table) == 0
