"""A Prometheus that scrapes all that alerts and dashboard ask for: Evenkeel, the kubelets, kube-state-metrics."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote

import yaml

from e2e.cluster.binaries import build
from e2e.cluster.cluster import Cluster
from e2e.cluster.documents import JsonObject, JsonValue, at, objects_at, text_at
from e2e.cluster.waiting import wait_for
from e2e.installation import MANIFESTS
from e2e.prometheus.kubelets import ADDRESS, SCRAPE_SECONDS, asked
from e2e.prometheus.programs import Programs

MONITORING = MANIFESTS / "monitoring"
PROCESSES: Mapping[str, int] = {"recommender": 8942, "updater": 8943, "admission-controller": 8944}
"""Ports of the processes' pages."""

_STATES_PORT = 8081
_READY_SECONDS = 60.0


@dataclass(frozen=True, slots=True)
class Answer:
    """What a query returned.

    Args:
        series: Each with its labels and value.
    """

    series: tuple[JsonObject, ...]

    def labels(self, name: str) -> set[str]:
        """Return the values of a label."""
        return {text_at(each, "metric", name) for each in self.series}


@dataclass(frozen=True, slots=True)
class Observer:
    """A Prometheus that runs, with the shipped rules.

    Args:
        cluster: Whose network it is in.
    """

    cluster: Cluster

    def ask(self, expression: str) -> Answer:
        """Return what an expression comes to now."""
        answer = json.loads(asked(self.cluster, f"/api/v1/query?query={quote(expression)}"))
        return Answer(tuple(objects_at(answer, "data", "result")))

    def rules(self) -> list[JsonObject]:
        """Return the rules as Prometheus has evaluated them."""
        answer = json.loads(asked(self.cluster, "/api/v1/rules"))
        return [rule for group in objects_at(answer, "data", "groups") for rule in objects_at(group, "rules")]

    def are_all_up(self) -> bool:
        """Say whether every target is scraped; for waiting, as the assertion names the others."""
        targets = objects_at(json.loads(asked(self.cluster, "/api/v1/targets")), "data", "activeTargets")
        down = [text_at(each, "scrapeUrl") + text_at(each, "lastError") for each in targets if each["health"] != "up"]
        assert targets, "nothing is scraped"
        assert not down, f"not scraped: {down}"
        return True


def page(cluster: Cluster, process: str) -> str:
    """Return the metrics page of one process."""
    address = f"http://127.0.0.1:{PROCESSES[process]}/metrics"
    command = cluster.namespace_command(["curl", "-sS", "--max-time", "5", address])
    return subprocess.run(command, capture_output=True, text=True, check=True, timeout=10).stdout


def configuration(cluster: Cluster) -> JsonObject:
    """Return a job for each process, two for the kubelets, and one for kube-state-metrics."""
    nodes = objects_at(json.loads(cluster.kubectl("get", "nodes", "-o", "json")), "items")
    kubelets: list[JsonValue] = [
        f"{text_at(each, 'address')}:{at(node, 'status', 'daemonEndpoints', 'kubeletEndpoint', 'Port')}"
        for node in nodes
        for each in objects_at(node, "status", "addresses")
        if text_at(each, "type") == "InternalIP"
    ]
    secure: JsonObject = {
        "scheme": "https",
        "tls_config": {"insecure_skip_verify": True},
        "static_configs": [{"targets": kubelets}],
    }
    jobs: list[JsonValue] = [_job(f"evenkeel-{process}", f"127.0.0.1:{port}") for process, port in PROCESSES.items()]
    jobs += [
        {"job_name": "kubelet", **secure},
        {"job_name": "kubernetes-cadvisor", "metrics_path": "/metrics/cadvisor", **secure},
        {**_job("kube-state-metrics", f"127.0.0.1:{_STATES_PORT}"), "honor_labels": True},
    ]
    every = f"{SCRAPE_SECONDS}s"
    return {
        "global": {"scrape_interval": every, "evaluation_interval": every},
        "rule_files": [str(MONITORING / "rules.yaml")],
        "scrape_configs": jobs,
    }


def _job(name: str, target: str) -> JsonObject:
    return {"job_name": name, "static_configs": [{"targets": [target]}]}


@contextmanager
def observing(cluster: Cluster, programs: Programs, folder: Path) -> Iterator[Observer]:
    """Run Prometheus and kube-state-metrics in the cluster's network namespace while the context lasts.

    Raises:
        ClusterError: A target cannot be scraped.
    """
    file, observer = folder / "prometheus.yml", Observer(cluster)
    file.write_text(yaml.safe_dump(configuration(cluster)))
    states = [
        str(build("kube-state-metrics") / "kube-state-metrics"),
        f"--kubeconfig={cluster.kubeconfig}",
        "--resources=pods",
        f"--custom-resource-state-config-file={MONITORING / 'kube-state-metrics.yaml'}",
        "--host=127.0.0.1",
        f"--port={_STATES_PORT}",
        "--telemetry-host=127.0.0.1",
        f"--telemetry-port={_STATES_PORT + 1}",
    ]
    words = [
        str(programs.prometheus),
        f"--config.file={file}",
        f"--storage.tsdb.path={folder / 'data'}",
        f"--web.listen-address={ADDRESS.removeprefix('http://')}",
    ]
    running = []
    try:
        running.append(cluster.start_process("kube-state-metrics", states))
        running.append(cluster.start_process("prometheus", words))
        wait_for(observer.are_all_up, _READY_SECONDS, "every target to be scraped", every_seconds=1.0)
        yield observer
    finally:
        for process in reversed(running):
            cluster.stop_process(process)
