"""The real cluster does what the other real-cluster tests rely on."""

from __future__ import annotations

from pathlib import Path

import pytest

from e2e.cluster.cluster import Cluster
from e2e.cluster.documents import JsonObject, at, condition, is_condition_true, text_at
from e2e.cluster.errors import ClusterError
from e2e.cluster.images import BUSYBOX, BUSYBOX_IMAGE, Image, write_archive
from e2e.cluster.kube import Kube, is_refused
from e2e.cluster.watching import Watch
from e2e.other_webhook import OtherWebhook
from e2e.webhook_server import LABEL
from e2e.workloads import BURN_SCRIPT, IDLE_SCRIPT, amounts, container, deployment, pod_on

MEBIBYTE = 2**20


def burn() -> JsonObject:
    """A deployment of one pod that takes all the CPU it is given."""
    resources = amounts("50m", "32Mi", limit_cpu="100m", limit_memory="64Mi")
    return deployment("burn", container(BURN_SCRIPT, resources))


@pytest.mark.smoke
def test_nodes_are_ready_and_of_different_size(cluster: Cluster) -> None:
    kube = Kube(cluster)
    nodes = {text_at(node, "metadata", "name"): node for node in kube.objects("nodes")}
    assert sorted(nodes) == ["node1", "node2"]
    assert all(is_condition_true(node, "Ready") for node in nodes.values())
    assert {text_at(node, "status", "nodeInfo", "kubeletVersion") for node in nodes.values()} == {
        cluster.release.version
    }
    assert at(nodes["node1"], "status", "allocatable", "cpu") == at(nodes["node1"], "status", "capacity", "cpu")
    assert at(nodes["node2"], "status", "allocatable", "cpu") != at(nodes["node2"], "status", "capacity", "cpu")


@pytest.mark.smoke
def test_a_resize_by_hand_reaches_the_kernel(kube: Kube) -> None:
    kube.apply(burn())
    pod = kube.wait_for_pods("app=burn")[0]
    name, uid = text_at(pod, "metadata", "name"), text_at(pod, "metadata", "uid")
    identity = text_at(pod, "status", "containerStatuses", 0, "containerID")
    before = kube.cluster.container_cgroup(uid, identity)
    assert (before.cpu_limit_millicores, before.memory_limit_bytes) == (100, 64 * MEBIBYTE)

    kube.resize(name, "main", {"requests": {"cpu": "150m"}, "limits": {"cpu": "300m"}})

    def completed() -> bool:
        # Soon after a pod's start the kubelet may report a completion with the old values first (resize:3.11).
        return any('"cpu":"300m"' in event.message for event in kube.events(name, "ResizeCompleted"))

    kube.wait_for(completed, "the event of the completed resize")
    after = kube.cluster.container_cgroup(uid, identity)
    assert (after.cpu_limit_millicores, after.memory_limit_bytes) == (300, 64 * MEBIBYTE)
    assert after.cpu_shares == 153

    def settled() -> JsonObject | None:
        seen = kube.read("pod", name)
        return seen if condition(seen, "PodResizeInProgress") is None else None

    pod = kube.wait_for(settled, "the end of the resize in the pod's status")
    assert at(pod, "status", "containerStatuses", 0, "resources", "limits", "cpu") == "300m"
    assert at(pod, "status", "containerStatuses", 0, "restartCount") == 0


@pytest.mark.smoke
def test_a_memory_resize_restarts_the_container(kube: Kube) -> None:
    kube.apply(burn())
    pod = kube.wait_for_pods("app=burn")[0]
    name, uid = text_at(pod, "metadata", "name"), text_at(pod, "metadata", "uid")

    kube.resize(name, "main", {"requests": {"memory": "48Mi"}, "limits": {"memory": "96Mi"}})

    def restarted() -> JsonObject | None:
        status = at(kube.read("pod", name), "status", "containerStatuses", 0)
        assert isinstance(status, dict)
        return status if status.get("restartCount") == 1 and status.get("ready") is True else None

    status = kube.wait_for(restarted, "one restart of the container")
    cgroup = kube.cluster.container_cgroup(uid, text_at(status, "containerID"))
    assert cgroup.memory_limit_bytes == 96 * MEBIBYTE


@pytest.mark.smoke
def test_the_metrics_api_reports_usage(kube: Kube) -> None:
    kube.apply(burn())
    name = text_at(kube.wait_for_pods("app=burn")[0], "metadata", "name")

    def usage() -> list[str] | None:
        try:
            return kube.run("top", "pods", "--no-headers").split()
        except ClusterError as error:
            raise AssertionError(error.problem) from error

    reported, cpu, _ = kube.wait_for(usage, "usage of the pod in the metrics API", timeout_seconds=90)
    assert reported == name
    assert 50 <= int(cpu.removesuffix("m")) <= 150, f"{cpu} of a pod that is throttled at 100m"


@pytest.mark.smoke
def test_a_service_account_has_its_own_rights_only(kube: Kube) -> None:
    kube.run("create", "serviceaccount", "reader")
    kube.run("create", "role", "reader", "--verb=list", "--resource=pods")
    kube.run("create", "rolebinding", "reader", "--role=reader", f"--serviceaccount={kube.namespace}:reader")
    offset = kube.cluster.audit_offset()
    reader = kube.as_user("reader")

    assert reader.objects("pods") == []
    with pytest.raises(ClusterError) as refusal:
        reader.objects("nodes")

    assert is_refused(refusal.value, "Forbidden")
    user = f"system:serviceaccount:{kube.namespace}:reader"
    asked = {
        (entry.verb, entry.resource, entry.code)
        for entry in kube.cluster.audit_entries(offset=offset)
        if entry.user == user and entry.resource
    }
    assert asked == {("list", "pods", 200), ("list", "nodes", 403)}


@pytest.mark.smoke
def test_a_host_process_can_be_a_webhook(kube: Kube, tmp_path: Path) -> None:
    with OtherWebhook(kube.namespace).registered(kube, tmp_path):
        kube.wait_for(lambda: LABEL in pod_as_admitted(kube), "the API server to call the webhook")
        kube.apply(deployment("idle", container(IDLE_SCRIPT, {})))
        pod = kube.wait_for_pods("app=idle")[0]
        assert at(pod, "metadata", "labels", LABEL) == "yes"


def pod_as_admitted(kube: Kube) -> str:
    """A pod as the API server would create it, without creating it."""
    image = ["--image", BUSYBOX_IMAGE, "--labels", "app=trial"]
    try:
        return kube.run("run", "trial", *image, "--dry-run=server", "-o", "json")
    except ClusterError as error:
        raise AssertionError(error.problem) from error


def test_the_kubelet_counts_resizes(kube: Kube) -> None:
    kube.apply(burn())
    name = text_at(kube.wait_for_pods("app=burn")[0], "metadata", "name")
    node = text_at(kube.read("pod", name), "spec", "nodeName")
    before = requested_resizes(kube, node)
    kube.resize(name, "main", {"requests": {"cpu": "60m"}})
    kube.wait_for(lambda: requested_resizes(kube, node) > before, "the kubelet's count of requested resizes")


def requested_resizes(kube: Kube, node: str) -> float:
    """How many resizes of CPU requests the node's kubelet has seen."""
    metrics = kube.run("get", "--raw", f"/api/v1/nodes/{node}/proxy/metrics").splitlines()
    wanted = [line for line in metrics if line.startswith("kubelet_container_requested_resizes_total{")]
    return sum(float(line.split()[-1]) for line in wanted if 'requirement="requests"' in line and '"cpu"' in line)


def test_a_pod_reaches_the_api_by_its_service_address(kube: Kube) -> None:
    script = 'echo | nc -w 2 "$KUBERNETES_SERVICE_HOST" "$KUBERNETES_SERVICE_PORT" && echo reached; sleep 3600'
    kube.apply(deployment("caller", container(script, {})))
    name = text_at(kube.wait_for_pods("app=caller")[0], "metadata", "name")
    kube.wait_for(lambda: "reached" in kube.run("logs", name), "the pod's word that it reached the API server")
    mounted = kube.run("exec", name, "--", "/bin/cat", "/var/run/secrets/kubernetes.io/serviceaccount/ca.crt")
    assert mounted.strip().encode() == kube.cluster.authority_certificate.strip()


def test_an_imported_image_runs_on_both_nodes(kube: Kube, tmp_path: Path) -> None:
    files = {"bin/busybox": BUSYBOX.read_bytes(), "greeting": b"hello from the image\n"}
    entrypoint = ("/bin/busybox", "sh", "-c", "/bin/busybox cat /greeting; exec /bin/busybox sleep 3600")
    image = Image("local.test/greeter:1", files, entrypoint=entrypoint)
    write_archive(image, tmp_path / "greeter.tar")
    kube.cluster.import_image(tmp_path / "greeter.tar")
    main: JsonObject = {"name": "main", "image": image.name, "imagePullPolicy": "Never"}
    kube.apply(*(pod_on(node, main) for node in kube.cluster.node_names))
    kube.wait_for_pods("app=placed", 2)
    for node in kube.cluster.node_names:
        assert "hello from the image" in kube.run("logs", node)


def test_a_resize_fits_the_larger_node_only(kube: Kube) -> None:
    cpus = int(text_at(kube.read("node", "node1"), "status", "allocatable", "cpu"))
    resources: JsonObject = {"requests": {"cpu": "50m"}}
    kube.apply(*(pod_on(node, container(IDLE_SCRIPT, resources)) for node in kube.cluster.node_names))
    kube.wait_for_pods("app=placed", 2)

    for node in kube.cluster.node_names:
        kube.resize(node, "main", {"requests": {"cpu": f"{1000 * cpus - 100}m"}})

    pending = kube.wait_for(lambda: condition(kube.read("pod", "node2"), "PodResizePending"), "a refusal on node2")
    assert pending["reason"] == "Infeasible"
    wanted = f'"cpu":"{1000 * cpus - 100}m"'
    kube.wait_for(
        lambda: any(wanted in event.message for event in kube.events("node1", "ResizeCompleted")), "the resize on node1"
    )


def test_a_watch_misses_nothing_where_its_connections_end(kube: Kube) -> None:
    """The API server ends each after a second; what happens in between is told by the next one, and once."""
    seen: list[tuple[str, str]] = []

    def note(change: str, found: JsonObject) -> None:
        if name := text_at(found, "metadata", "labels", "watched"):
            seen.append((change, f"{name} {text_at(found, 'data', 'count')}"))

    def counted(name: str, count: int) -> JsonObject:
        metadata: JsonObject = {"name": name, "labels": {"watched": name}}
        return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": {"count": str(count)}}

    kube.apply(counted("first", 0))
    expected = [("ADDED", "first 0")]
    watch = Watch(kube.cluster, f"/api/v1/namespaces/{kube.namespace}/configmaps", note, connection_seconds=1)
    try:
        for count in range(1, 7):
            kube.apply(counted("first", count))
            kube.apply(counted(f"other{count}", count))
            expected += [("MODIFIED", f"first {count}"), ("ADDED", f"other{count} {count}")]
        kube.delete("configmap", "first")
        expected.append(("DELETED", "first 6"))
        kube.wait_for(lambda: len(seen) >= len(expected), "all changes")
    finally:
        watch.stop()
    assert seen == expected


def test_logs_and_records_name_every_process(cluster: Cluster) -> None:
    names = [process.name for process, alive in cluster.process_states() if alive]
    assert {"etcd", "kube-apiserver", "kubelet-node1", "kubelet-node2", "metrics-server"} <= set(names)
    assert all(cluster.layout.log(name).exists() for name in names)
    found = cluster.leftovers()
    for word in ("process kubelet", "mount ", "cgroup "):
        assert any(entry.startswith(word) for entry in found), f"no {word!r} among {found}"
