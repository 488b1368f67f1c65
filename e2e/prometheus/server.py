"""One Prometheus process whose past is read from a file."""

from __future__ import annotations

import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import yaml

from e2e.cluster.commands import run
from e2e.cluster.errors import ClusterError
from e2e.cluster.processes import is_alive, start, stop
from e2e.prometheus.programs import Programs
from evenkeel.simulator.processes.ports import free_port

_READY_SECONDS = 60.0
_POLL_SECONDS = 0.1


def fill(programs: Programs, past: Path, data: Path) -> None:
    """Make the blocks of a database from a past written as OpenMetrics text.

    Raises:
        ClusterError: The text cannot be read.
    """
    # The text is read once for every block, so there are to be few.
    options = ["--quiet", "--max-block-duration=240h"]
    command = [str(programs.promtool), "tsdb", "create-blocks-from", *options, "openmetrics", str(past), str(data)]
    run(command, remedy="look at the text that the test wrote", timeout_seconds=600)


@contextmanager
def running(programs: Programs, data: Path, folder: Path, *, scrape: str = "") -> Iterator[str]:
    """Serve a database on the loopback interface while the context lasts.

    Args:
        programs: The programs.
        data: The database; an empty one is made where there is none.
        folder: For configuration and log.
        scrape: Address that is scraped every second as the job of the kubelets; nothing is if empty.

    Returns:
        The base address.

    Raises:
        ClusterError: It does not get ready.
    """
    configuration = folder / "prometheus.yml"
    job = {"job_name": "kubernetes-cadvisor", "scrape_interval": "1s", "honor_labels": True}
    jobs = [{**job, "static_configs": [{"targets": [scrape]}]}] if scrape else []
    configuration.write_text(yaml.safe_dump({"scrape_configs": jobs}))
    port = free_port()
    words = [
        str(programs.prometheus),
        f"--config.file={configuration}",
        f"--storage.tsdb.path={data}",
        "--storage.tsdb.retention.time=60d",
        f"--web.listen-address=127.0.0.1:{port}",
    ]
    process = start("prometheus", words, folder / "prometheus.log", {"PATH": "/usr/bin"})
    address = f"http://127.0.0.1:{port}"
    try:
        deadline = time.monotonic() + _READY_SECONDS
        while not _is_ready(address):
            if not is_alive(process) or time.monotonic() > deadline:
                said = (folder / "prometheus.log").read_text()[-2000:]
                raise ClusterError("prometheus", f"does not get ready: {said}", remedy="see its last words")
            time.sleep(_POLL_SECONDS)
        yield address
    finally:
        stop([process], patience_seconds=10)


def _is_ready(address: str) -> bool:
    try:
        with urllib.request.urlopen(f"{address}/-/ready", timeout=5) as answer:
            return bool(answer.status == 200)
    except (urllib.error.URLError, OSError):
        return False
