"""A Prometheus inside a real cluster, which scrapes the real kubelets."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote

import yaml

from e2e.cluster.cluster import Cluster
from e2e.cluster.documents import JsonObject, JsonValue, at, objects_at, text_at
from e2e.cluster.kube import Kube
from e2e.cluster.waiting import wait_for
from e2e.prometheus.programs import Programs

ADDRESS = "http://127.0.0.1:9090"
SCRAPE_SECONDS = 2

_KUBELET_PORT = 10250
_READY_SECONDS = 60.0
_UNFIT = re.compile("[^a-zA-Z0-9_]")
_ASK = "import sys, urllib.request; print(urllib.request.urlopen(sys.argv[1], timeout=5).read().decode())"


@dataclass(frozen=True, slots=True)
class Scraper:
    """A Prometheus that runs.

    Args:
        cluster: Whose network it is in.
        pods: File that it reads its job of pods from: Debian's Prometheus cannot ask the API server for them.
    """

    cluster: Cluster
    pods: Path

    def follow(self, kube: Kube, selector: str) -> None:
        """Scrape some pods, too; they serve no metrics, but are told of with their labels all the same."""
        entries: list[JsonValue] = []
        for pod in kube.pods(selector):
            labels: JsonObject = {
                "kubernetes_namespace": kube.namespace,
                "kubernetes_pod_name": text_at(pod, "metadata", "name"),
            }
            given = at(pod, "metadata", "labels")
            labels |= {
                f"pod_label_{_UNFIT.sub('_', n)}": v for n, v in (given if isinstance(given, dict) else {}).items()
            }
            entries.append({"targets": [f"{text_at(pod, 'status', 'podIP')}:80"], "labels": labels})
        self.pods.write_text(json.dumps(entries))

    def used_millicores(self, kube: Kube, pod: str) -> float | None:
        """Return what a pod's main container uses by the kubelet's counters, None before there are enough of them."""
        used = self._value(f"rate({_cpu_of(kube, pod)}[30s])")
        return None if used is None else used * 1000.0

    def readings(self, kube: Kube, pod: str) -> int:
        """Return how often the kubelet has told what a pod's main container has used of the CPU."""
        return int(self._value(f"count_over_time({_cpu_of(kube, pod)}[10m])") or 0)

    def _value(self, query: str) -> float | None:
        """Return the value of a query that has one at most."""
        answer = json.loads(asked(self.cluster, f"/api/v1/query?query={quote(query)}"))
        found = objects_at(answer, "data", "result")
        return float(str(at(found[0], "value", 1))) if found else None


def _cpu_of(kube: Kube, pod: str) -> str:
    """Return the selector of the counter of a pod's main container."""
    return f'container_cpu_usage_seconds_total{{namespace="{kube.namespace}",pod="{pod}",container="main"}}'


def configuration(cluster: Cluster, pods: Path) -> JsonObject:
    """Return jobs such as the usual ones: the kubelets' figures of containers, and the labels of pods.

    The test cluster's kubelets ask nobody for a name, so no credentials are needed.
    """
    nodes = objects_at(json.loads(cluster.kubectl("get", "nodes", "-o", "json")), "items")
    addresses = [
        text_at(each, "address")
        for node in nodes
        for each in objects_at(node, "status", "addresses")
        if text_at(each, "type") == "InternalIP"
    ]
    containers: JsonObject = {
        "job_name": "kubernetes-cadvisor",
        "scheme": "https",
        "metrics_path": "/metrics/cadvisor",
        "tls_config": {"insecure_skip_verify": True},
        "static_configs": [{"targets": [f"{address}:{_KUBELET_PORT}" for address in addresses]}],
    }
    labels: JsonObject = {"job_name": "kubernetes-pods", "file_sd_configs": [{"files": [str(pods)]}]}
    return {"global": {"scrape_interval": f"{SCRAPE_SECONDS}s"}, "scrape_configs": [containers, labels]}


@contextmanager
def scraping(cluster: Cluster, programs: Programs, folder: Path) -> Iterator[Scraper]:
    """Run Prometheus at ``ADDRESS`` in the cluster's network namespace while the context lasts.

    Raises:
        ClusterError: It does not get ready.
    """
    file, scraper = folder / "prometheus.yml", Scraper(cluster, folder / "pods.json")
    scraper.pods.write_text("[]")
    file.write_text(yaml.safe_dump(configuration(cluster, scraper.pods)))
    words = [
        str(programs.prometheus),
        f"--config.file={file}",
        f"--storage.tsdb.path={folder / 'data'}",
        f"--web.listen-address={ADDRESS.removeprefix('http://')}",
    ]
    process = cluster.start_process("prometheus", words)
    try:
        wait_for(lambda: asked(cluster, "/-/ready"), _READY_SECONDS, f"Prometheus\n{cluster.logs('prometheus')}")
        yield scraper
    finally:
        cluster.stop_process(process)


def asked(cluster: Cluster, path: str) -> str:
    """Return what Prometheus answers to a GET of a path, from inside of the cluster's network namespace."""
    command = cluster.namespace_command([sys.executable, "-c", _ASK, f"{ADDRESS}{path}"])
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-500:]
    return done.stdout
