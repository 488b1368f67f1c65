"""The made-up cluster of the benchmarks."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path

import numpy as np

from autoscaling.matching import Selector
from autoscaling.wire.objects import decode_vpa
from autoscaling.wire.pods import decode_pod
from bench.cluster import (
    CONTAINERS,
    Shape,
    Tick,
    Usage,
    app_name,
    checkpoints,
    deployments,
    first_tick,
    namespace_of,
    pod_names,
    pods,
    replica_sets,
    vpas,
    write_scene,
)
from recommender.checkpointing import load_checkpoints
from recommender.cluster_model import ClusterModel
from recommender.wire.checkpoints import decode_checkpoint
from recommender.wire.pod_metrics import decode_usage

SHAPE = Shape(150, 2)
NOW = datetime(2026, 1, 1, 12, 0, 30, tzinfo=UTC)


def test_sizes() -> None:
    assert (SHAPE.pods, SHAPE.containers) == (300, 600)
    names = pod_names(SHAPE)
    assert len(set(names)) == 300
    assert names == sorted(names, key=lambda pod: (pod.namespace, pod.name))
    assert len({pod.namespace for pod in names}) == 100
    assert namespace_of(0) == namespace_of(100)


def test_objects_can_be_read_and_belong_together() -> None:
    read_pods = [decode_pod(json.dumps(pod).encode()) for pod in pods(SHAPE, NOW)]
    read_vpas = [decode_vpa(json.dumps(vpa).encode()) for vpa in vpas(SHAPE, NOW)]
    targets = {(v.namespace, v.target_ref.name) for v in read_vpas if v.target_ref}
    assert {(p.namespace, p.labels["app"]) for p in read_pods} == targets
    assert all(tuple(c.name for c in p.containers) == CONTAINERS for p in read_pods)
    sets = {json.dumps(s["metadata"]) for s in replica_sets(SHAPE, NOW)}
    assert len(sets) == len(list(deployments(SHAPE, NOW))) == SHAPE.vpas
    assert all(p.owners[0].name == f"{p.labels['app']}-6d4cf56db6" for p in read_pods)


def test_every_vpa_has_a_checkpoint_that_can_be_read() -> None:
    read = [decode_checkpoint(json.dumps(each).encode()) for each in checkpoints(SHAPE, NOW)]
    assert [(c.namespace, c.vpa_name) for c in read] == [(namespace_of(v), app_name(v)) for v in range(SHAPE.vpas)]
    model = ClusterModel()
    for vpa in vpas(SHAPE, NOW):
        model.observe_vpa(decode_vpa(json.dumps(vpa).encode()), Selector())
    assert load_checkpoints(model, read, NOW) == ()


def test_usage_repeats_itself_and_moves_on_by_a_minute() -> None:
    one, other = Usage(SHAPE, NOW), Usage(SHAPE, NOW)
    first, again = one.tick(), other.tick()
    assert (first.nanocores == again.nanocores).all()
    assert (first.kibibytes == again.kibibytes).all()
    second = one.tick()
    assert (second.measured - first.measured > 60 - 15).all()
    assert not (second.nanocores == first.nanocores).all()


def test_list_and_columns_say_the_same(tmp_path: Path) -> None:
    names, tick = pod_names(SHAPE), Usage(SHAPE, NOW).tick()
    table = decode_usage(tick.metrics_list(names)).table
    assert (table.namespaces, table.pods) == ([n.namespace for n in names], [n.name for n in names])
    assert (np.repeat(table.instants, 2) == tick.instants).all()
    assert (table.millicores == tick.millicores).all()
    assert (table.memory_bytes == tick.memory_bytes).all()
    tick.write_columns(tmp_path / "columns")
    columns = np.frombuffer((tmp_path / "columns").read_bytes(), dtype=np.int64).reshape(4, SHAPE.containers)
    assert (columns[0] == np.arange(SHAPE.containers)).all()
    assert (columns[1:] == (tick.instants, tick.millicores, tick.memory_bytes)).all()


def test_amounts_are_written_as_kubernetes_writes_them() -> None:
    shape = Shape(1, 1)
    tick = Tick(np.array([0]), np.array([5_000_000, 1_234_000]), np.array([1024, 3]))
    text = tick.metrics_list(pod_names(shape)).decode()
    for amount in (
        '"cpu":"5m"',
        '"cpu":"1234u"',
        '"memory":"1Mi"',
        '"memory":"3Ki"',
        '"timestamp":"1970-01-01T00:00:00Z"',
    ):
        assert amount in text


def test_the_first_tick_is_a_whole_minute_within_the_running_memory_window() -> None:
    first = first_tick(NOW)
    assert first.second == first.microsecond == 0
    assert timedelta(0) < NOW - first < timedelta(hours=24)


def test_the_scene_names_containers_in_the_order_of_the_columns(tmp_path: Path) -> None:
    write_scene(tmp_path / "scene", SHAPE, NOW)
    scene = json.loads((tmp_path / "scene").read_text())
    assert (len(scene["vpas"]), len(scene["pods"])) == (150, 300)
    names = pod_names(SHAPE)
    assert scene["containers"][:3] == [
        [names[0].namespace, names[0].name, "main"],
        [names[0].namespace, names[0].name, "side"],
        [names[1].namespace, names[1].name, "main"],
    ]
