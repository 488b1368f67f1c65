"""A node as a whole: its object, its lease, pressure and eviction, usage, repeatability."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

from evenkeel.simulator.api.fields import JsonObject, child, rows, text
from evenkeel.simulator.kubelet.nodes import Nodes
from evenkeel.simulator.kubelet.settings import NodeSettings, Taint, Timing
from evenkeel.simulator.workloads.catalogue import Catalogue
from evenkeel.simulator.workloads.demand import Behaviour, Demand
from evenkeel.simulator.workloads.functions import Constant
from tests.evenkeel.simulator.kubelet.pods import GIBIBYTE, container, resources
from tests.evenkeel.simulator.kubelet.stage import NODE, SECOND, Stage


def node_condition(stage: Stage, kind: str) -> JsonObject:
    node = stage.server.store.read("v1", "Node", "n")
    return next(row for row in rows(node, "status", "conditions") if text(row, "type") == kind)


def using(gibibytes: float, cores: float = 0.1, cache: float = 0.0) -> Behaviour:
    return Behaviour(Constant(Demand(cores, round(gibibytes * GIBIBYTE), round(cache * GIBIBYTE))))


FREE = resources("100m", "1Gi")


def test_a_node_registers_with_labels_and_taints() -> None:
    stage = Stage(replace(NODE, labels={"zone": "a"}, taints=(Taint("k", "NoSchedule", "v"),)))
    node = stage.server.store.read("v1", "Node", "n")
    assert child(node, "metadata", "labels")["zone"] == "a"
    assert child(node, "spec")["taints"] == [{"key": "k", "effect": "NoSchedule", "value": "v"}]
    assert text(child(node, "status"), "allocatable", "memory") == "8286208Ki"


def test_a_node_object_that_is_there_is_taken_over() -> None:
    stage = Stage()
    metadata = {"name": "m", "labels": {"mine": "x"}}
    stage.server.store.create({"apiVersion": "v1", "kind": "Node", "metadata": metadata})
    stage.nodes.add(NodeSettings("m"))
    node = stage.server.store.read("v1", "Node", "m")
    assert child(node, "metadata", "labels") == {"mine": "x"}
    assert text(child(node, "status"), "allocatable", "cpu") == "4"


def test_the_lease_is_renewed_while_the_program_runs() -> None:
    stage = Stage()

    def renewed() -> str:
        lease = stage.server.store.read("coordination.k8s.io/v1", "Lease", "n", "kube-node-lease")
        return text(lease, "spec", "renewTime")

    stage.advance(25)
    assert renewed() == "2026-01-01T00:00:20.000000Z"
    stage.kubelet.stop()
    stage.advance(60)
    assert renewed() == "2026-01-01T00:00:20.000000Z"
    stage.kubelet.start()
    stage.kubelet.start()
    stage.advance(10)
    assert renewed() == "2026-01-01T00:01:30.000000Z"


def test_no_lease_where_none_is_wanted() -> None:
    stage = Stage(timing=Timing(lease=None))
    stage.advance(30)
    assert stage.server.store.find("coordination.k8s.io/v1", "Lease", "n", "kube-node-lease") is None


def test_memory_pressure_evicts_the_worst_and_lasts() -> None:
    stage = Stage()
    stage.run("good", container("app", resources("100m", "4Gi")), behaviour=using(3))
    stage.run("bad", container("app", FREE), behaviour=using(4.9375))
    stage.advance(12)
    assert node_condition(stage, "MemoryPressure")["status"] == "True"
    assert (stage.phase("good"), stage.phase("bad")) == ("Running", "Failed")
    status = child(stage.read("bad"), "status")
    assert status["reason"] == "Evicted"
    assert stage.condition("bad", "DisruptionTarget")["reason"] == "TerminationByKubelet"
    event = next(e for e in stage.server.store.list("v1", "Event") if e["reason"] == "Evicted")
    assert (event["type"], child(event, "metadata", "annotations")) == (
        "Warning",
        {
            "offending_containers": "app",
            "offending_containers_usage": "5056Mi",
            "starved_resource": "memory",
        },
    )
    stage.create("small", {"name": "app", "image": "x", "resources": {}})
    stage.advance(3)
    assert text(stage.read("small"), "status", "reason") == "Evicted", "pressure refuses BestEffort pods"
    stage.advance(280)
    assert node_condition(stage, "MemoryPressure")["status"] == "True"
    stage.advance(40)
    assert node_condition(stage, "MemoryPressure")["status"] == "False"


def test_one_pod_goes_at_a_time() -> None:
    stage = Stage()
    for name in ("a", "b", "c"):
        stage.run(name, container("app", FREE), behaviour=using(2.65))
    stage.advance(12)
    assert sorted(stage.phase(name) for name in ("a", "b", "c")) == ["Failed", "Running", "Running"]


def test_the_next_one_goes_soon_after_if_that_was_not_enough() -> None:
    stage = Stage(replace(NODE, eviction_memory_bytes=4 * GIBIBYTE))
    for name in ("a", "b", "c"):
        stage.run(name, container("app", FREE), behaviour=using(1.0))
    for name in ("a", "b", "c"):
        stage.catalogue.add(name, using(2.6))
    stage.advance(7)
    assert sorted(stage.phase(name) for name in ("a", "b", "c")) == ["Running"] * 3
    stage.advance(5)
    assert sorted(stage.phase(name) for name in ("a", "b", "c")) == ["Failed", "Failed", "Running"]
    told = [e for e in stage.server.store.list("v1", "Event") if e["reason"] == "EvictionThresholdMet"]
    assert [(e["type"], e["count"], text(e, "involvedObject", "kind")) for e in told] == [("Warning", 2, "Node")]


def test_nobody_can_go_from_a_node_of_critical_pods() -> None:
    stage = Stage(replace(NODE, eviction_memory_bytes=4 * GIBIBYTE))
    stage.run("a", container("app", FREE), behaviour=using(4.5), priority=2_000_000_000)
    stage.advance(30)
    assert (stage.phase("a"), node_condition(stage, "MemoryPressure")["status"]) == ("Running", "True")


def test_a_full_node_kills_the_largest_before_anybody_is_evicted() -> None:
    stage = Stage()
    stage.run("a", container("app", FREE), behaviour=using(3))
    stage.run("b", container("app", FREE), behaviour=using(5.5))
    stage.advance(3)
    last = child(stage.status("b"), "lastState", "terminated") or child(stage.status("b"), "state", "terminated")
    assert last["reason"] == "OOMKilled"
    assert stage.restarts("a") == 0


def test_pressure_by_hand_stays_until_it_is_taken_back() -> None:
    stage = Stage()
    stage.kubelet.set_pressure("MemoryPressure", holds=True)
    stage.advance(60)
    assert node_condition(stage, "MemoryPressure")["status"] == "True"
    stage.kubelet.set_pressure("MemoryPressure", holds=False)
    assert node_condition(stage, "MemoryPressure")["status"] == "False"


def test_a_node_without_object_goes_on() -> None:
    stage = Stage()
    stage.server.store.delete("v1", "Node", "n")
    stage.kubelet.set_pressure("DiskPressure", holds=True)
    stage.create("a")
    stage.advance(2)
    assert text(stage.read("a"), "status", "reason") == "Evicted"


def rows_of(stage: Stage) -> dict[str, tuple[float, int]]:
    """Return what metrics.k8s.io shows: cores and KiB by pod."""
    found: dict[str, tuple[float, int]] = {}
    for row in stage.nodes.metrics.pods():
        (app,) = rows(row, "containers")
        usage = child(app, "usage")
        cores, memory = text(usage, "cpu"), text(usage, "memory")
        found[text(row, "metadata", "name")] = (int(cores[:-1]) / 1e9, int(memory[:-2]))
    return found


def test_usage_shows_after_two_readings_and_cpu_is_throttled() -> None:
    stage = Stage()
    stage.run("a", behaviour=using(0.0625, cores=3.0))
    assert rows_of(stage) == {}
    stage.advance(12)
    assert rows_of(stage) == {}
    stage.advance(34)
    assert rows_of(stage) == {"a": (0.2, 65536)}
    (node,) = stage.nodes.metrics.nodes()
    assert text(child(node, "usage"), "cpu") == "200000000n"


def test_a_restart_leaves_a_gap_in_the_usage() -> None:
    stage = Stage()
    stage.run("a", behaviour=using(0.0625))
    stage.advance(60)
    assert "a" in rows_of(stage)
    stage.kubelet.runtime.end(text(stage.read("a"), "metadata", "uid"), "app", 1)
    stage.advance(5)
    assert rows_of(stage) == {}
    stage.advance(45)
    assert "a" in rows_of(stage)


def test_usage_is_known_while_the_program_is_down() -> None:
    stage = Stage()
    stage.run("a", behaviour=using(0.0625))
    stage.kubelet.stop()
    stage.advance(60)
    assert "a" in rows_of(stage)
    assert stage.kubelet.metrics_text() == ""


def test_what_is_not_there_has_no_values() -> None:
    stage = Stage()
    assert stage.kubelet.pod_cgroup("x") is None
    assert stage.kubelet.container_cgroup("x", "app") is None
    assert stage.kubelet.name == "n"


def course(seed: int) -> list[tuple[float, str]]:
    """What happens to some pods, in short."""
    stage = Stage(seed=seed)
    for number in range(5):
        stage.create(f"p{number}", behaviour=Behaviour(exits_after=timedelta(seconds=7 + number), exit_code=1))
    stage.advance(90)
    stage.change("p0", resources(("200m", "400m"), ("128Mi", "256Mi")))
    stage.kubelet.restart(2 * SECOND)
    stage.advance(90)
    return [(at, repr(body)) for at, body in stage.versions]


def test_the_same_seed_gives_the_same_course() -> None:
    assert course(1) == course(1)
    assert [at for at, _ in course(1)] != [at for at, _ in course(2)]


def test_a_start_that_is_called_off() -> None:
    stage = Stage()
    stage.kubelet.stop()
    stage.kubelet.start()
    stage.kubelet.stop()
    stage.advance(5)
    assert stage.kubelet.process is None


def test_two_nodes_keep_apart() -> None:
    stage = Stage()
    stage.nodes.add(NodeSettings("m"))
    stage.create("a")
    stage.create("b", nodeName="m")
    stage.create("c", nodeName="elsewhere")
    stage.advance(4)
    assert [stage.phase(name) for name in ("a", "b", "c")] == ["Running", "Running", "Pending"]
    assert [len(node.runtime.sandboxes) for node in stage.nodes.all()] == [1, 1]
    assert text(stage.read("a"), "status", "hostIP") != text(stage.read("b"), "status", "hostIP")


def test_nodes_take_in_what_was_there_before_them() -> None:
    stage = Stage()
    stage.nodes.close()
    stage.create("a", nodeName="m")
    nodes = Nodes(stage.server, Catalogue())
    nodes.add(NodeSettings("m"))
    stage.advance(4)
    assert stage.phase("a") == "Running"
    nodes.close()
