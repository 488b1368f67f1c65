"""Usage as columns, matched with the model."""

from __future__ import annotations

import gc
import weakref

import numpy as np

from autoscaling.pod import Container, Pod, PodPhase
from recommender.cluster_model import ClusterModel
from recommender.usage_table import Matched, UsageMatcher, UsageTable
from tests.builders import T0


def table(*pods: tuple[str, tuple[str, ...]], namespace: str = "ns", at: int = 5) -> UsageTable:
    containers = [name for _, names in pods for name in names]
    return UsageTable(
        [namespace] * len(pods),
        [name for name, _ in pods],
        [len(names) for _, names in pods],
        np.full(len(pods), at),
        containers,
        np.arange(len(containers)),
        np.arange(len(containers)) * 10,
    )


def model_of(*pods: Pod) -> ClusterModel:
    model = ClusterModel()
    for pod in pods:
        model.observe_pod(pod, T0)
    return model


def pod(name: str, *containers: str, init: tuple[str, ...] = (), namespace: str = "ns") -> Pod:
    return Pod(
        namespace,
        name,
        labels={"app": name},
        phase=PodPhase.RUNNING,
        containers=tuple(Container(c) for c in containers),
        init_containers=tuple(Container(c) for c in init),
    )


def shown(matched: Matched) -> list[tuple[int, int, int, int]]:
    columns = matched.columns
    return list(
        zip(
            columns.containers.tolist(), columns.instants.tolist(), columns.cpu.tolist(), columns.memory.tolist(),
            strict=True,
        )
    )  # fmt: skip


def rows(model: ClusterModel, *names: tuple[str, str]) -> list[int | None]:
    return [model.row_of("ns", pod_name, container) for pod_name, container in names]


def test_every_container_gets_its_row_whatever_the_order() -> None:
    model = model_of(pod("a", "x", "y"), pod("b", "x"))
    matched = UsageMatcher(model).match(table(("b", ("x",)), ("a", ("y", "x"))))
    wanted = rows(model, ("b", "x"), ("a", "y"), ("a", "x"))
    assert shown(matched) == [(row, 5, i, i * 10) for i, row in enumerate(wanted)]
    assert matched.dropped == 0


def test_what_is_not_known_and_init_containers_are_dropped() -> None:
    model = model_of(pod("a", "x", init=("setup",)))
    matched = UsageMatcher(model).match(table(("gone", ("x", "y")), ("a", ("setup", "x", "ghost"))))
    assert [row[2] for row in shown(matched)] == [3], "recommender:8.1"
    assert matched.dropped == 4


def test_pods_of_other_namespaces_are_not_mixed_up() -> None:
    model = model_of(pod("a", "x"))
    assert UsageMatcher(model).match(table(("a", ("x",)), namespace="other")).dropped == 1


def test_the_next_answer_may_bring_anything() -> None:
    model = model_of(pod("a", "x"), pod("b", "x"))
    matcher = UsageMatcher(model)
    first = matcher.match(table(("a", ("x",)), ("b", ("x",))))
    again = matcher.match(table(("a", ("x",)), ("b", ("x",)), at=6))
    assert again.columns.containers.tolist() == first.columns.containers.tolist()
    assert again.columns.instants.tolist() == [6, 6]
    turned = matcher.match(table(("b", ("x",)), ("a", ("x",))))
    assert turned.columns.containers.tolist() == first.columns.containers.tolist()[::-1]
    renamed = matcher.match(table(("b", ("y",)), ("a", ("x",))))
    assert (renamed.columns.cpu.tolist(), renamed.dropped) == ([1], 1)
    resized = matcher.match(table(("b", ("x", "x")), ("a", ())))
    assert resized.columns.containers.tolist() == rows(model, ("b", "x"), ("b", "x"))


def test_changes_of_the_model_are_noticed_between_two_equal_answers() -> None:
    model = model_of(pod("a", "x"))
    matcher, answer = UsageMatcher(model), table(("a", ("x",)), ("b", ("x",)))
    assert matcher.match(answer).dropped == 1
    model.observe_pod(pod("b", "x"), T0)
    assert matcher.match(answer).dropped == 0
    model.observe_pod(pod("a", "x", init=("x",)), T0)
    assert matcher.match(answer).columns.containers.tolist() == rows(model, ("b", "x"))
    model.observe_pod(pod("a", "x"), T0)
    assert matcher.match(answer).dropped == 0
    model.forget_pod("ns", "b")
    model.observe_pod(pod("c", "x"), T0)
    assert matcher.match(answer).columns.containers.tolist() == rows(model, ("a", "x"))


def test_two_parts_of_an_answer_become_one() -> None:
    first, second = table(("a", ("x", "y"))), table(("b", ("z",)), at=9)
    both = first.followed_by(second)
    assert (both.pods, both.sizes, both.containers) == (["a", "b"], [2, 1], ["x", "y", "z"])
    assert both.instants.tolist() == [5, 9]
    assert (both.millicores.tolist(), both.memory_bytes.tolist()) == ([0, 1, 0], [0, 10, 0])
    assert len(both) == 3


class Text(str):
    """A name whose end can be noticed."""

    __slots__ = ("__weakref__",)


def test_no_name_of_a_pod_is_held_that_the_model_holds_already() -> None:
    """Spec: performance R-5."""
    matcher = UsageMatcher(model_of(pod("a", "x"), pod("b", "x", init=("y",))))
    answer = table((Text("a"), ("x",)), (Text("b"), ("y", "x")), (Text("unknown"), ("x",)))
    names = [weakref.ref(name) for name in answer.pods]
    assert matcher.match(answer).dropped == 2
    del answer
    gc.collect()
    assert [name() for name in names] == [None, None, "unknown"]


def test_no_answers_are_an_empty_one() -> None:
    assert len(UsageTable.joined(())) == len(UsageTable.joined(()).instants) == 0
