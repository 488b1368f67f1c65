"""``evenkeel doctor`` against the embedded API server."""

from __future__ import annotations

import asyncio
import base64
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
import yaml

from evenkeel.simulator.api.certificates import Authority
from evenkeel.simulator.api.server import ApiServer
from evenkeel.simulator.faults import Fault, Refuse
from tests.embedded import Json, deploy, node_object, vpa_object
from tests.evenkeel.cli.running import Answer, evenkeel

MANIFESTS = Path(__file__).parents[3] / "manifests"
SYSTEM = "evenkeel-system"


def found(answer: Answer) -> list[dict[str, Any]]:
    document = answer.document
    assert isinstance(document, dict), answer.errors
    findings: list[dict[str, Any]] = document["findings"]
    return findings


def look(cluster: str, area: str, *words: str) -> tuple[int, list[tuple[str, str]]]:
    answer = evenkeel("doctor", cluster, "--only", area, "-o", "json", *words)
    return answer.status, [(each["level"], each["message"]) for each in found(answer)]


def manifests(server: ApiServer, *paths: str) -> None:
    if server.store.find("v1", "Namespace", SYSTEM) is None:
        server.store.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": SYSTEM}})
    for path in paths:
        for body in yaml.safe_load_all((MANIFESTS / path).read_text()):
            server.store.create(body)


def test_an_empty_cluster(cluster: str) -> None:
    """beyond:B-39: every area has its say, and every problem its way out."""
    answer = evenkeel("doctor", cluster, "-o", "json", "--as-me")
    assert answer.status == 4
    findings = found(answer)
    assert {each["area"] for each in findings} == {
        *("server", "nodes", "metrics", "definitions", "processes", "rights", "webhook", "conflicts", "objects")
    }
    assert all(each["remedy"] for each in findings if each["level"] in {"warning", "problem"})


def test_the_text(cluster: str) -> None:
    answer = evenkeel("doctor", cluster, "--only", "server", "--only", "nodes")
    lines = answer.output.splitlines()
    assert lines[0].split() == ["LEVEL", "AREA", "FINDING"]
    assert any(line.startswith("ok     server  pods/resize is served") for line in lines)
    assert lines[-1] == "0 problems, 0 warnings, 2 notes, 2 ok"
    assert answer.status == 0


def test_nodes(server: ApiServer, cluster: str) -> None:
    node = node_object()
    node["status"] |= {"nodeInfo": {"kubeletVersion": "v1.31.2", "operatingSystem": "linux"}}  # type: ignore[operator]
    server.store.create(node)
    status, told = look(cluster, "nodes")
    assert status == 3
    assert told == [
        ("warning", "kubelets older than 1.33 do no resizes: node1"),
        ("ok", "0 of 1 nodes can resize pods"),
    ]


METRICS = [
    ("beyond:B-39 nobody measured", None, 3, "warning", "knows no pod"),
    ("beyond:B-39 down", Refuse(503, "ServiceUnavailable"), 4, "problem", "does not answer"),
    ("beyond:B-39 not allowed", Refuse(403, "Forbidden"), 0, "note", "may not be asked"),
]


@pytest.mark.parametrize(("row", "answer", "status", "level", "said"), METRICS, ids=[row[0] for row in METRICS])
def test_metrics(  # noqa: PLR0917 - columns of a table
    server: ApiServer, cluster: str, row: str, answer: Refuse | None, status: int, level: str, said: str
) -> None:
    if answer is not None:
        server.faults.add(Fault(answer, path="metrics.k8s.io", count=None))
    ended, told = look(cluster, "metrics")
    assert (ended, told[0][0]) == (status, level)
    assert said in told[0][1]


def test_definitions(server: ApiServer, cluster: str) -> None:
    assert look(cluster, "definitions")[0] == 0
    status, told = look(cluster, "definitions", "--api-group", "autoscaling.k8s.io")
    assert (status, {level for level, _ in told}) == (4, {"problem"})


def test_processes(server: ApiServer, cluster: str) -> None:
    manifests(server, "recommender/deployment.yaml", "updater/deployment.yaml")
    now = datetime.now(UTC)  # noqa: TID251 - the command goes by the machine's clock
    lease: Json = {"holderIdentity": "one", "leaseDurationSeconds": 15}
    fresh, stale = now, now - timedelta(minutes=5)
    leases = {"evenkeel-recommender": fresh, "evenkeel-updater": stale, "evenkeel-admission-controller": fresh}
    running = server.store.read("apps/v1", "Deployment", "evenkeel-updater", SYSTEM)
    server.store.update({**running, "status": {"availableReplicas": 2}})
    for name, renewed in leases.items():
        server.store.create(
            {
                "apiVersion": "coordination.k8s.io/v1",
                "kind": "Lease",
                "metadata": {"name": name, "namespace": SYSTEM},
                "spec": lease | {"renewTime": renewed.strftime("%Y-%m-%dT%H:%M:%S.%fZ")},
            }
        )
    status, told = look(cluster, "processes")
    assert status == 4
    assert ("ok", "recommender: one leads") in told
    text = "\n".join(f"{level} {message}" for level, message in told)
    assert f"problem recommender: Deployment {SYSTEM}/evenkeel-recommender has 0 of" in text
    assert "problem updater: nobody leads; Lease evenkeel-system/evenkeel-updater was last renewed at" in text
    assert "note admission-controller: no Deployment of it can be read" in text
    assert "ok updater: Deployment evenkeel-system/evenkeel-updater is available" in text
    assert "ok the admission controller renews its Lease" in text


def test_rights_of_the_service_accounts(server: ApiServer, cluster: str) -> None:
    """beyond:B-39: with the roles that are shipped nothing is missing."""
    manifests(server, "rbac/recommender.yaml", "rbac/updater.yaml", "rbac/admission.yaml")
    server.access.rbac = True
    status, told = look(cluster, "rights")
    assert (status, [level for level, _ in told]) == (0, ["ok", "ok", "ok"]), told


def test_rights_that_are_missing(server: ApiServer, cluster: str) -> None:
    manifests(server, "rbac/updater.yaml")
    role = server.store.read("rbac.authorization.k8s.io/v1", "ClusterRole", "evenkeel-updater")
    rules = role["rules"]
    assert isinstance(rules, list)
    role["rules"] = [rule for rule in rules if "pods/resize" not in rule["resources"]]
    server.store.update(role)
    server.access.rbac = True
    status, told = look(cluster, "rights")
    assert status == 4
    account = "system:serviceaccount:evenkeel-system:evenkeel-updater"
    assert ("problem", f"updater: {account} may not patch pods/resize; it cannot work") in told


def configuration(name: str, config: Json, **more: object) -> Json:
    rules = [
        {"apiGroups": [""], "apiVersions": ["v1"], "resources": ["pods"], "operations": ["CREATE"]},
        {
            "apiGroups": ["autoscaling.evenkeel.dev"], "apiVersions": ["*"], "resources": ["verticalpodautoscalers"],
            "operations": ["CREATE", "UPDATE"],
        },
    ]  # fmt: skip
    hook: Json = {
        "name": "pods.autoscaling.evenkeel.dev", "rules": rules, "clientConfig": config, "sideEffects": "None",
        "admissionReviewVersions": ["v1"], "failurePolicy": "Ignore", "timeoutSeconds": 10, **more,
    }  # fmt: skip
    return {
        "apiVersion": "admissionregistration.k8s.io/v1",
        "kind": "MutatingWebhookConfiguration",
        "metadata": {"name": name},
        "webhooks": [hook],
    }


@contextmanager
def listening(authority: Authority, *names: str) -> Iterator[int]:
    """Listen with a certificate of an authority, in a thread of its own, and yield the port."""
    ready, done = threading.Event(), threading.Event()
    ports: list[int] = []

    async def listen() -> None:
        context = authority.issue(*names).server_context()
        server = await asyncio.start_server(lambda _, writer: writer.close(), "127.0.0.1", 0, ssl=context)
        async with server:
            ports.append(server.sockets[0].getsockname()[1])
            ready.set()
            await asyncio.to_thread(done.wait)

    thread = threading.Thread(target=lambda: asyncio.run(listen()))
    thread.start()
    ready.wait()
    try:
        yield ports[0]
    finally:
        done.set()
        thread.join()


def bundle(authority: Authority) -> str:
    return base64.b64encode(authority.certificate_pem).decode()


def test_a_webhook_that_answers(server: ApiServer, cluster: str) -> None:
    """beyond:B-39."""
    authority = Authority()
    with listening(authority, "127.0.0.1") as port:
        config: Json = {"url": f"https://127.0.0.1:{port}/", "caBundle": bundle(authority)}
        server.store.create(configuration("evenkeel-webhook-config", config))
        status, told = look(cluster, "webhook")
    assert (status, {level for level, _ in told}) == (0, {"ok"}), told
    assert ("ok", f"the webhook answers at 127.0.0.1:{port}") in told
    assert any("the registration's caBundle, authority" in message for _, message in told)


def test_a_webhook_whose_certificate_is_not_accepted(server: ApiServer, cluster: str) -> None:
    """beyond:B-39."""
    authority = Authority()
    with listening(authority, "127.0.0.1") as port:
        config: Json = {"url": f"https://127.0.0.1:{port}/", "caBundle": bundle(Authority())}
        server.store.create(configuration("evenkeel-webhook-config", config))
        status, told = look(cluster, "webhook")
    assert status == 4
    assert any(level == "problem" and "is not accepted" in message for level, message in told), told


WEBHOOKS = [
    ("beyond:B-39 none", None, "MutatingWebhookConfiguration evenkeel-webhook-config is not there"),
    ("beyond:B-39 nobody listens", {"url": "https://127.0.0.1:1/"}, "the webhook does not answer at 127.0.0.1:1"),
    ("beyond:B-39 bundle", {"url": "https://127.0.0.1:1/", "caBundle": "eA=="}, "has no certificates"),
]


@pytest.mark.parametrize(("row", "config", "said"), WEBHOOKS, ids=[row[0] for row in WEBHOOKS])
def test_webhooks_that_do_not_work(server: ApiServer, cluster: str, row: str, config: Json | None, said: str) -> None:
    if config is not None:
        server.store.create(configuration("evenkeel-webhook-config", config))
    status, told = look(cluster, "webhook")
    assert status == 4
    assert any(level == "problem" and said in message for level, message in told), told


def test_conflicts_and_objects(server: ApiServer, cluster: str) -> None:
    """beyond:B-39."""
    deploy(server)
    server.store.create(vpa_object("web"))
    server.store.create(vpa_object("broken", updatePolicy={"updateMode": "Sometimes"}))
    target = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"}
    metric = {
        "type": "Resource",
        "resource": {"name": "cpu", "target": {"type": "Utilization", "averageUtilization": 80}},
    }
    server.store.create(
        {
            "apiVersion": "autoscaling/v2",
            "kind": "HorizontalPodAutoscaler",
            "metadata": {"name": "web", "namespace": "default"},
            "spec": {"scaleTargetRef": target, "maxReplicas": 3, "metrics": [metric]},
        }
    )
    server.store.create(configuration("zz-other", {"url": "https://127.0.0.1:1/"}))
    status, told = look(cluster, "conflicts")
    assert status == 3
    text = "\n".join(message for _, message in told)
    assert "HorizontalPodAutoscaler default/web scales the target of VerticalPodAutoscaler default/web" in text
    assert "MutatingWebhookConfiguration zz-other (pods.autoscaling.evenkeel.dev) sees new pods after ours" in text
    status, told = look(cluster, "objects")
    assert (status, told[0][0]) == (4, "problem")
    assert "VerticalPodAutoscaler default/broken" in told[0][1]


def test_what_may_not_be_looked_at_is_a_note(server: ApiServer, cluster: str) -> None:
    """beyond:B-39: nobody needs rights to be told what is missing."""
    server.faults.add(Fault(Refuse(403, "Forbidden", "not yours"), path="^/apis?/", count=None))
    answer = evenkeel("doctor", cluster, "-o", "json")
    findings = found(answer)
    assert {each["level"] for each in findings} == {"note", "ok"}, findings
    assert [each["message"] for each in findings if each["level"] == "ok"] == ["API server v1.35.4"]
    assert answer.status == 0


def test_a_cluster_that_cannot_be_asked(tmp_path: Path) -> None:
    answer = evenkeel("doctor", f"--kubeconfig={tmp_path / 'none'}")
    assert answer.status == 1
    assert answer.errors.startswith("evenkeel: ")


def test_an_area_that_is_none(cluster: str) -> None:
    assert evenkeel("doctor", cluster, "--only", "weather").status == 2
