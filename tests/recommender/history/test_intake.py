"""History into the model: histograms of pods that were never listed."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import numpy as np
import pytest

from autoscaling.matching import parse_selector
from recommender.cluster_model import ClusterModel
from recommender.history.intake import HistoryIntake
from recommender.history.points import Points, Screened
from recommender.history.queries import HistoryRequest
from recommender.history.series import ContainerKey, Series, by_container
from recommender.settings import ModelSettings
from tests.builders import T0, container, pod, vpa
from tests.recommender.history.builders import of, series

NOW = T0 + timedelta(days=9)
LABELS = {("default", "web-0"): {"app": "a"}, ("default", "web-1"): {"app": "a"}}


def piece(cpu: list[Series], memory: list[Series]) -> tuple[dict[ContainerKey, int], Screened]:
    keys: dict[ContainerKey, int] = {}
    used = Points.of(by_container(cpu, HistoryRequest(), keys, None))
    held = Points.of(by_container(memory, HistoryRequest(), keys, None))
    return keys, Screened(used.in_order(), held.in_order())


def intake(model: ClusterModel, *, heeds_memory_saver: bool = True) -> HistoryIntake:
    return HistoryIntake(model, LABELS, {}, NOW, heeds_memory_saver=heeds_memory_saver)


def test_samples_go_to_the_aggregate_of_the_pods_labels() -> None:
    model = ClusterModel()
    taking = intake(model)
    taking.take(*piece([series(of(), [0.1, 0.2]), series(of(pod="web-1"), [0.3])], [series(of(), [3e8])]))
    assert model.aggregate_count == 1, "recommender:7"
    assert model.aggregates.sample_count[0] == 3
    assert model.aggregates.memory.totals[0] == 1.0
    assert taking.samples == 4


def test_history_comes_before_containers_are_known() -> None:
    model, web = ClusterModel(), ("default", "web-0")
    taking = intake(model)
    taking.take(*piece([series(of(container="c1"), [0.1]), series(of(container="c2"), [0.2])], []))
    assert model.pods[web].names == ("c1", "c2"), "case:40"
    assert all(model.containers.memory_request[row] == 0 for row in model.pods[web].rows)
    taking.take(*piece([series(of(container="c3"), [0.1], first=1)], []))
    assert model.pods[web].names == ("c1", "c2", "c3")


def test_pieces_of_a_container_go_on_where_the_last_one_ended() -> None:
    whole, cut = ClusterModel(), ClusterModel()
    values, peaks = [0.1, 0.2, 0.3, 0.4], [3e8, 4e8, 2e8, 5e8]
    intake(whole).take(*piece([series(of(), values)], [series(of(), peaks)]))
    taking = intake(cut)
    taking.take(*piece([series(of(), values[:2])], [series(of(), peaks[:2])]))
    taking.take(*piece([series(of(), values[2:], first=2)], [series(of(), peaks[2:], first=2)]))
    assert np.array_equal(whole.aggregates.cpu.weights[0], cut.aggregates.cpu.weights[0])
    assert np.array_equal(whole.aggregates.memory.weights[0], cut.aggregates.memory.weights[0])
    assert whole.aggregates.sample_count[0] == cut.aggregates.sample_count[0] == 4


@pytest.mark.parametrize(
    ("row", "values", "expected"),
    [
        ("recommender:7 cut to whole millicores", [0.0019], 1),
        ("recommender:0 a negative value is none in use", [-5.0], 1),
        ("recommender:0 no number is left out", [float("nan")], 0),
        ("recommender:0 beyond all bounds is the bound", [float("inf")], 1),
    ],
)
def test_amounts_are_upstreams(row: str, values: list[float], expected: int) -> None:
    model = ClusterModel()
    taking = intake(model)
    taking.take(*piece([series(of(), values)], []))
    assert taking.samples == expected, row


def test_of_two_cpu_values_of_one_instant_the_first_counts() -> None:
    model = ClusterModel()
    intake(model).take(*piece([series(of(id="/1"), [0.1]), series(of(id="/2"), [0.9])], []))
    assert model.aggregates.sample_count[0] == 1, "recommender:2.1"
    assert np.flatnonzero(model.aggregates.cpu.weights[0]).tolist() == [8]


def test_pods_without_labels_have_none() -> None:
    model = ClusterModel()
    intake(model).take(*piece([series(of(pod="unknown"), [0.1])], []))
    assert model.pods["default", "unknown"].label_set.key.labels == {}, "recommender:7"


def test_pods_that_only_labels_tell_of_are_added() -> None:
    model = ClusterModel()
    taking = intake(model)
    taking.take(*piece([series(of(), [0.1])], []))
    taking.add_pods()
    assert model.pods.keys() == LABELS.keys()
    assert model.pods["default", "web-1"].names == ()


@pytest.mark.parametrize(("heeds", "expected"), [(True, 0), (False, 2)])
def test_the_memory_saver_leaves_out_what_no_vpa_selects(heeds: bool, expected: int) -> None:
    model = ClusterModel(ModelSettings(memory_saver=True))
    taking = intake(model, heeds_memory_saver=heeds)
    taking.take(*piece([series(of(), [0.1])], [series(of(), [3e8])]))
    assert (taking.samples, len(model.pods)) == (expected, min(expected, 1)), "recommender:3.3"


def test_the_memory_saver_keeps_what_a_vpa_selects() -> None:
    model = ClusterModel(ModelSettings(memory_saver=True))
    model.observe_vpa(vpa(), parse_selector("app=a"))
    taking = intake(model)
    taking.take(*piece([series(of(), [0.1])], []))
    assert taking.samples == 1
    assert model.vpas["default", vpa().name].linked.keys() == {"main"}


def test_a_living_pod_keeps_its_history_when_it_is_listed() -> None:
    model = ClusterModel()
    intake(model).take(*piece([series(of(), [0.1])], []))
    model.observe_pod(pod(name="web-0"), NOW)
    assert model.aggregate_count == 1
    assert model.containers.aggregate[model.pods["default", "web-0"].rows[0]] == 0


def test_a_living_pod_is_taken_as_it_is() -> None:
    living = replace(pod(container("main", "100m/64Mi"), name="web-0"), labels={"app": "other"})
    model = ClusterModel()
    taking = HistoryIntake(model, LABELS, {("default", "web-0"): living}, NOW, heeds_memory_saver=True)
    taking.take(*piece([series(of(), [0.1]), series(of(container="gone"), [0.2])], []))
    state = model.pods["default", "web-0"]
    assert (state.label_set.key.labels, state.names) == ({"app": "other"}, ("main", "gone")), "beyond:B-7"
    assert model.containers.memory_request[list(state.rows)].tolist() == [64 << 20, 0]


def test_a_pod_that_is_known_already_is_not_looked_at_again() -> None:
    """Spec: performance R-7: it stands as it was until it is listed anew or lacks a container."""
    model, known = ClusterModel(), pod(container("main", "100m/64Mi"), name="web-0")
    model.observe_pod(known, NOW)
    living = {("default", "web-0"): replace(known, labels={"app": "other"})}
    taking = HistoryIntake(model, LABELS, living, NOW, heeds_memory_saver=True)
    taking.take(*piece([series(of(), [0.1])], [series(of(), [3e8])]))
    state = model.pods["default", "web-0"]
    assert (taking.samples, state.names, state.label_set.key.labels) == (2, ("main",), known.labels)
    taking.take(*piece([series(of(container="gone"), [0.2])], []))
    assert (taking.samples, state.names, state.label_set.key.labels) == (3, ("main", "gone"), {"app": "other"})
