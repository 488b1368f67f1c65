"""``evenkeel observe`` against the embedded API server."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path

import pytest
import yaml

from autoscaling.errors import ConfigurationError
from evenkeel.cli.observe import Wish, observe, read_workload, samples_of
from evenkeel.cli.session import Session
from evenkeel.inspection.observation import Happening, What
from evenkeel.simulator.api.server import ApiServer
from evenkeel.simulator.api.serving import serve
from evenkeel.simulator.faults import Fault, Refuse
from evenkeel.simulator.kubelet.metrics import ResizeMetrics
from tests.embedded import Json, api_server, deploy, node_object, pod_object
from tests.evenkeel.cli.running import evenkeel

NEW: Json = {"requests": {"cpu": "150m", "memory": "100Mi"}, "limits": {"cpu": "200m", "memory": "200Mi"}}


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


def started(message: str) -> Json:
    return {
        "apiVersion": "v1",
        "kind": "Event",
        "metadata": {"name": "e", "namespace": "default"},
        "involvedObject": {"kind": "Pod", "namespace": "default", "name": "web-0"},
        "reason": "ResizeStarted",
        "message": message,
        "lastTimestamp": "2026-01-01T00:00:00Z",
    }


class Listener:
    """Collects what is told, and acts once something was."""

    def __init__(self) -> None:
        self.heard: list[Happening] = []
        self._changed = asyncio.Event()

    def told(self, happening: Happening) -> None:
        self.heard.append(happening)
        self._changed.set()

    async def until(self, is_met: Callable[[Happening], bool]) -> None:
        async with asyncio.timeout(10):
            while not any(map(is_met, self.heard)):
                await self._changed.wait()
                self._changed.clear()


@pytest.mark.anyio
async def test_what_happens_is_told_as_it_happens(tmp_path: Path) -> None:
    """resize:3.11, resize:3.12, beyond:B-45."""
    server, metrics, listener = api_server(), ResizeMetrics(), Listener()
    server.kubelet_metrics = lambda node: metrics.text() if node == "node1" else ""
    deploy(server, replicas=1)
    server.store.create(node_object())
    server.store.create(pod_object("other", "api"))
    async with serve(server, tls=False) as endpoint:
        session = Session(str(endpoint.write_kubeconfig(tmp_path / "kubeconfig")), "", "default")
        wish = Wish(*read_workload("deploy/web"), None, timedelta(0))
        task = asyncio.create_task(observe(session, wish, listener.told))
        await listener.until(lambda each: each.what is What.POD)
        await server.requests.until(lambda log: len(log.calls("get", path="proxy/metrics")) > 1)
        metrics.in_progress = 1
        await listener.until(lambda each: each.what is What.METRIC)
        server.store.merge(pod_object("web-0", "web", NEW) | {"status": {"observedGeneration": 1}})
        await listener.until(lambda each: each.what is What.AMOUNT)
        server.store.create(started("begins"))
        await listener.until(lambda each: each.what is What.EVENT)
        server.store.delete("v1", "Pod", "web-0", "default")
        await listener.until(lambda each: each.text == "is gone")
        task.cancel()
        await asyncio.wait((task,))
    texts = {each.what: each.text for each in reversed(listener.heard)}
    assert texts[What.METRIC] == "kubelet_pod_in_progress_resizes 0→1"
    assert texts[What.AMOUNT].startswith("main cpu request: desired 100m→150m")
    assert texts[What.EVENT] == "ResizeStarted: begins"
    assert {each.subject for each in listener.heard} == {"web-0", "node1"}


def test_it_ends_when_its_time_is_up(server: ApiServer, cluster: str) -> None:
    deploy(server)
    answer = evenkeel("observe", "web", cluster, "--duration", "0s", "-o", "json")
    assert answer.status == 0, answer.errors
    first = json.loads(answer.output.splitlines()[0])
    assert (first["subject"], first["what"]) == ("web-0", "pod")
    assert first["text"].startswith("is converged")


@pytest.mark.anyio
async def test_metrics_that_may_not_be_read_are_told_once(tmp_path: Path) -> None:
    server, listener = api_server(), Listener()
    deploy(server)
    server.store.create(node_object())
    async with serve(server, tls=False) as endpoint:
        session = Session(str(endpoint.write_kubeconfig(tmp_path / "kubeconfig")), "", "default")
        wish = Wish(*read_workload("web"), None, timedelta(0))
        task = asyncio.create_task(observe(session, wish, listener.told))
        await server.requests.until(lambda log: len(log.calls("get", path="proxy/metrics")) > 2)
        task.cancel()
        await asyncio.wait((task,))
    (problem,) = (each for each in listener.heard if each.what is What.PROBLEM)
    assert problem.subject == "node1"
    assert "no kubelet answers on node1" in problem.text


RIGHTS = [
    ("/pods", 1, "you may not list pods in namespace default"),
    ("replicasets", 1, "you may not list replicasets.apps in namespace default"),
    ("/events", 0, "Events cannot be followed"),
]


@pytest.mark.parametrize(("path", "status", "said"), RIGHTS)
def test_rights_that_are_missing(server: ApiServer, cluster: str, path: str, status: int, said: str) -> None:
    deploy(server)
    server.faults.add(Fault(Refuse(403, "Forbidden", "no"), path=path, count=None))
    answer = evenkeel("observe", "web", cluster, "--duration=0s")
    assert answer.status == status
    assert said in answer.output + answer.errors


def test_documents_one_after_the_other(server: ApiServer, cluster: str) -> None:
    deploy(server)
    told = list(yaml.safe_load_all(evenkeel("observe", "web", cluster, "--duration=0s", "-o", "yaml").output))
    assert [each["what"] for each in told] == ["pod", "problem"]


def test_a_workload_without_pods(server: ApiServer, cluster: str) -> None:
    deploy(server, replicas=0)
    assert "has no pod yet" in evenkeel("observe", "deploy/web", cluster, "--duration=0s").output


KINDS = [
    ("web", "Deployment", "web"),
    ("deploy/web", "Deployment", "web"),
    ("Deployment/web", "Deployment", "web"),
    ("deployments/web", "Deployment", "web"),
    ("sts/db", "StatefulSet", "db"),
    ("po/web-0", "Pod", "web-0"),
    ("cronjob/night", "CronJob", "night"),
]


@pytest.mark.parametrize(("given", "kind", "name"), KINDS)
def test_workloads(given: str, kind: str, name: str) -> None:
    resource, named = read_workload(given)
    assert (resource.kind, named) == (kind, name)


@pytest.mark.parametrize("given", ["node/a", "deployment/", ""])
def test_what_cannot_be_observed(given: str) -> None:
    with pytest.raises(ConfigurationError, match="is no KIND/NAME of a kind that can be observed"):
        read_workload(given)


def test_a_workload_that_is_not_there(cluster: str) -> None:
    answer = evenkeel("observe", "sts/db", cluster)
    assert answer.status == 1
    assert "StatefulSet db: not found in namespace default" in answer.errors


def test_samples_of_a_kubelet() -> None:
    """resize:3.12."""
    metrics = ResizeMetrics()
    metrics.time_step(timedelta(milliseconds=20), success=True)
    metrics.requested["cpu", "requests", "increase"] += 1
    samples = samples_of(f"# HELP other x\nother 3\n{metrics.text()}")
    assert samples["kubelet_pod_resize_duration_milliseconds_count", (("success", "true"),)] == 1.0
    labels = (("operation", "increase"), ("requirement", "requests"), ("resource", "cpu"))
    assert samples["kubelet_container_requested_resizes_total", labels] == 1.0
    assert not any("bucket" in name or name == "other" for name, _ in samples)
