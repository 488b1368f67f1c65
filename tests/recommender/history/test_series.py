"""Answers of the right kind, and whose series they are."""

from __future__ import annotations

import pytest

from recommender.history.errors import HistoryError, Trouble
from recommender.history.queries import HistoryRequest
from recommender.history.series import Answer, ContainerKey, Shape, by_container
from tests.recommender.history.builders import of, series


def test_an_answer_of_another_kind_says_how_to_ask() -> None:
    vector = Answer(Shape.VECTOR, (series(of(), [1.0]),))
    assert vector.of_shape(Shape.VECTOR, "up") == vector.series
    with pytest.raises(HistoryError, match=r"up: the answer is a vector, not a matrix; give the query a range") as told:
        vector.of_shape(Shape.MATRIX, "up")
    assert told.value.trouble is Trouble.FINAL
    with pytest.raises(HistoryError, match="not a vector; ask for an instant vector"):
        Answer(Shape.SCALAR, ()).of_shape(Shape.VECTOR, "1")


def test_containers_are_numbered_once_for_all_resources() -> None:
    keys: dict[ContainerKey, int] = {}
    cpu = by_container(
        [series(of(), [1.0]), series(of(pod="b"), [1.0]), series(of(), [2.0])], HistoryRequest(), keys, None
    )
    memory = by_container([series(of(pod="c"), [1.0]), series(of(pod="b"), [1.0])], HistoryRequest(), keys, None)
    assert (cpu.owners, memory.owners) == ([0, 1, 0], [2, 1])
    assert [pod for _, pod, _ in keys] == ["web-0", "b", "c"]


def test_labels_are_those_that_the_flags_name() -> None:
    request = HistoryRequest(namespace_label="ns", pod_label="pod", container_label="container")
    labels = {"ns": "a", "pod": "b", "container": "c", "namespace": "x", "pod_name": "y", "name": "z"}
    assert list(by_container([series(labels, [1.0])], request, {}, None).keys) == [("a", "b", "c")], "recommender:7"
