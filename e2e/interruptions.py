"""Parts of a real cluster that end and come back, with the command lines they had."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from e2e.cluster.cluster import Cluster
from e2e.cluster.errors import ClusterError
from e2e.cluster.waiting import wait_for

_READY_SECONDS = 90.0
_FULL_BYTES = 4096


@contextmanager
def without(cluster: Cluster, component: str) -> Iterator[None]:
    """Have a component of the control plane ended for the time of a ``with`` block.

    Args:
        component: Such as ``kube-apiserver``.

    Raises:
        ClusterError: It does not run here.
    """
    running = next((p for p, alive in cluster.process_states() if p.name == component and alive), None)
    if running is None:
        raise ClusterError(component, "does not run here", remedy="look at the processes of the cluster")
    words = Path(f"/proc/{running.pid}/cmdline").read_bytes().split(b"\0")[:-1]
    cluster.stop_process(running)
    try:
        yield
    finally:
        cluster.start_process(component, [os.fsdecode(word) for word in words])


def wait_until_served(cluster: Cluster) -> None:
    """Wait until the API server answers again, with all that stands behind it."""

    def is_ready() -> bool:
        try:
            return cluster.kubectl("get", "--raw", "/readyz", "--request-timeout=3s") == "ok"
        except ClusterError:
            return False

    wait_for(is_ready, _READY_SECONDS, "the API server", every_seconds=0.5)


@contextmanager
def small_file_system(folder: Path, mebibytes: int) -> Iterator[Path]:
    """Mount a file system of its own in memory for the time of a ``with`` block."""
    folder.mkdir(parents=True, exist_ok=True)
    subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={mebibytes}m", "tmpfs", str(folder)], check=True)
    try:
        yield folder
    finally:
        subprocess.run(["umount", "--lazy", str(folder)], check=True)
        folder.rmdir()


def fill(folder: Path) -> Path:
    """Fill a file system to its last byte, and return the file that does."""
    filler = folder / "filler"
    with filler.open("wb", buffering=0) as file:
        try:
            while True:
                file.write(b"\0" * _FULL_BYTES)
        except OSError:
            return filler
