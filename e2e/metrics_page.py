"""What a process in the cluster's namespace tells of itself on its metrics page."""

from __future__ import annotations

import subprocess

from prometheus_client.parser import text_string_to_metric_families

from e2e.cluster.cluster import Cluster

UPDATER_PORT = 8943
ADMISSION_PORT = 8944


def total(cluster: Cluster, port: int, name: str, **labels: str) -> float:
    """Return the sum of a process's samples of one name that have all of these labels, 0 where there is none.

    Args:
        cluster: Where it runs.
        port: Of its metrics page.
        name: Of the samples, which for a counter ends in ``_total``.
    """
    command = cluster.namespace_command(["curl", "-sS", "--max-time", "5", f"http://127.0.0.1:{port}/metrics"])
    text = subprocess.run(command, capture_output=True, text=True, check=True, timeout=10).stdout
    samples = (sample for family in text_string_to_metric_families(text) for sample in family.samples)
    return sum(s.value for s in samples if s.name == name and labels.items() <= s.labels.items())
