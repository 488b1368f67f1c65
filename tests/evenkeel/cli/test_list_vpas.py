"""``evenkeel list`` against the embedded API server."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import yaml

from evenkeel.simulator.api.server import ApiServer
from tests.embedded import Json, deploy, pod_object, recommended_status, vpa_object
from tests.evenkeel.cli.running import evenkeel


def with_condition(name: str, kind: str, reason: str) -> Json:
    """A pod in the middle of a resize."""
    body = pod_object(name, "web")
    status = body["status"]
    assert isinstance(status, dict)
    status["conditions"] = [*status["conditions"], {"type": kind, "status": "True", "reason": reason}]
    return body


def event(reason: str, message: str, involved: str = "Pod/web-0", at: str = "2026-01-01T00:00:00Z") -> Json:
    kind, _, name = involved.partition("/")
    return {
        "apiVersion": "v1",
        "kind": "Event",
        "metadata": {"name": f"{name}.{reason.lower()}", "namespace": "default"},
        "involvedObject": {"kind": kind, "namespace": "default", "name": name, "apiVersion": "v1"},
        "reason": reason,
        "message": message,
        "type": "Normal",
        "count": 1,
        "firstTimestamp": at,
        "lastTimestamp": at,
    }


def test_recommendations_conditions_and_pods(server: ApiServer, cluster: str) -> None:
    deploy(server, replicas=1)
    server.store.create(with_condition("web-d", "PodResizePending", "Deferred"))
    server.store.create(with_condition("web-i", "PodResizePending", "Infeasible"))
    server.store.create(vpa_object("web", status=recommended_status("400m", "100Mi")))
    unsupported = {"type": "ConfigUnsupported", "status": "True", "message": "no such target"}
    server.store.create(vpa_object("lost", status={"conditions": [unsupported]}))
    answer = evenkeel("list", cluster, "-o", "json")
    assert answer.status == 0, answer.errors
    lost, web = json.loads(answer.output)
    assert (lost["name"], lost["containers"], lost["pods"]["live"]) == ("lost", [], 0)
    assert lost["conditions"][0]["message"] == "no such target"
    assert web["containers"][0]["target"] == {"cpu": "400m", "memory": "100Mi"}
    assert (web["target"]["kind"], web["mode"]) == ("Deployment", "InPlaceOrRecreate")
    assert web["pods"] == {"live": 3, "pending": 1, "blocked": 1}


def test_the_table(server: ApiServer, cluster: str) -> None:
    server.store.create(vpa_object("web", status=recommended_status("400m", "100Mi")))
    head, row = evenkeel("list", cluster).output.splitlines()
    assert head.split() == [
        *("NAMESPACE", "NAME", "TARGET", "MODE", "CONTAINER", "CPU", "MEMORY", "PODS", "PENDING", "BLOCKED"),
        "CONDITIONS",
    ]
    cells = [cell.strip() for cell in row.split("  ") if cell.strip()]
    assert cells[:4] == ["default", "web", "Deployment/web", "InPlaceOrRecreate"]
    assert cells[4:] == ["main", "400m (400m to 400m)", "100Mi (100Mi to 100Mi)", "0", "0", "0", "-"]


NAMESPACES = [
    ("product:5 the context's", (), ["web"]),
    ("product:5 another", ("-n", "shop"), ["shopping"]),
    ("product:5 all", ("-A",), ["web", "shopping"]),
]


@pytest.mark.parametrize(("row", "words", "names"), NAMESPACES, ids=[row[0] for row in NAMESPACES])
def test_namespaces(server: ApiServer, cluster: str, row: str, words: tuple[str, ...], names: list[str]) -> None:
    server.store.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "shop"}})
    server.store.create(vpa_object("web"))
    other = vpa_object("shopping")
    server.store.create(other | {"metadata": {"name": "shopping", "namespace": "shop"}})
    answer = evenkeel("list", cluster, "-o", "yaml", *words)
    assert [vpa["name"] for vpa in yaml.safe_load(answer.output)] == names


def test_what_cannot_be_read_is_named_and_the_rest_listed(server: ApiServer, cluster: str) -> None:
    server.store.create(vpa_object("web"))
    server.store.create(vpa_object("broken", updatePolicy={"updateMode": "Sometimes"}))
    answer = evenkeel("list", cluster, "-o", "json")
    assert answer.status == 1
    assert [row["name"] for row in json.loads(answer.output)] == ["web"]
    assert "VerticalPodAutoscaler default/broken: field spec.updatePolicy.updateMode" in answer.errors


WRONG = [
    (("--api-group", "autoscaling.k8s.io"), 1, "name the group that the cluster has with --api-group"),
    (("-A", "-n", "shop"), 2, "--namespace and --all-namespaces exclude each other"),
    (("--log", "x"), 2, "--log is read for --history only"),
    (("--history", "--log", "/none/such"), 1, "--log /none/such: cannot be read"),
    (("-o", "html"), 2, "html"),
]


@pytest.mark.parametrize(("words", "status", "said"), WRONG)
def test_what_cannot_be_listed(cluster: str, words: tuple[str, ...], status: int, said: str) -> None:
    answer = evenkeel("list", cluster, *words)
    assert answer.status == status
    assert said in answer.errors


def test_nothing_to_list(cluster: str) -> None:
    answer = evenkeel("list", cluster)
    assert (
        answer.output
        == "No VerticalPodAutoscaler of autoscaling.evenkeel.dev in namespace default; -A looks into all.\n"
    )
    assert evenkeel("list", cluster, "-o", "json").document == []


def test_history_of_events_and_log(server: ApiServer, cluster: str, tmp_path: Path) -> None:
    """beyond:B-42."""
    deploy(server, replicas=1)
    server.store.create(vpa_object("web"))
    server.store.create(event("InPlaceResizedByVPA", "Resize requested: main cpu 1→2. Because. Digest abc."))
    server.store.create(event("EvictedByVPA", "Evicted: main cpu 1→3. So. Digest abc.", "Pod/gone"))
    server.store.create(event("EvictedPod", "Evicted pod gone: So.", "VerticalPodAutoscaler/web"))
    server.store.create(event("Scheduled", "no matter"))
    entry = {
        "event": "pod changed", "object": "Pod default/web-0", "vpa": "VerticalPodAutoscaler default/web",
        "action": "resize", "reason": "quick_oom", "changes": ["main memory 1Gi→2Gi"], "digest": "def",
        "timestamp": "2026-01-01T01:00:00.5Z",
    }  # fmt: skip
    log = tmp_path / "updater.log"
    log.write_text(f"plain text\n[1]\n{json.dumps(entry)}\n")
    answer = evenkeel("list", cluster, "--history", "--log", str(log), "-o", "json")
    assert answer.status == 0, answer.errors
    evicted, resized, logged = json.loads(answer.output)
    assert (evicted["pod"], evicted["vpa"], evicted["action"]) == ("Pod default/gone", "web", "evict")
    assert (resized["changes"], resized["vpa"], resized["digest"]) == (["main cpu 1→2"], "web", "abc")
    assert (logged["reason"], logged["source"], logged["at"]) == ("quick_oom", "log", "2026-01-01T01:00:00Z")
    table = evenkeel("list", cluster, "--history").output
    assert "main cpu 1→3" in table


def test_no_history(cluster: str) -> None:
    answer = evenkeel("list", cluster, "--history")
    assert answer.output.startswith("No change by the updater in namespace default")
