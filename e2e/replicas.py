"""A second replica of a process, which reaches the API server by a way of its own that can be cut."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from e2e.cluster.cluster import Cluster
from e2e.cluster.documents import text_at
from e2e.cluster.kube import Kube
from e2e.cluster.layout import API_PORT, HOST_ADDRESS
from e2e.cluster.processes import ProcessRef, is_alive
from e2e.cluster.waiting import wait_for
from e2e.installation import NAMESPACE, Installation, logged

RELAY_PORT = 7443
_METRICS_PORT = 9943
_END_SECONDS = 30.0


@dataclass(slots=True)
class Twins:
    """Two replicas of one process: the installation's own, and one behind a relay.

    Args:
        installation: Whose process it is.
        program: Such as ``updater``.
    """

    installation: Installation
    program: str
    second: ProcessRef | None = None
    relay: ProcessRef | None = None

    @property
    def cluster(self) -> Cluster:
        """Where they run."""
        return self.installation.cluster

    @property
    def names(self) -> tuple[str, str]:
        """Names of both processes, the one behind the relay last."""
        return f"evenkeel-{self.program}", f"evenkeel-{self.program}-second"

    def process(self, name: str) -> ProcessRef:
        """Return one of the two as it was started last."""
        return next(p for p, _ in reversed(self.cluster.process_states()) if p.name == name)

    def leader(self) -> str:
        """Return the name of the one that holds the Lease; empty where neither does."""
        lease = Kube(self.cluster, NAMESPACE).find("lease", f"evenkeel-{self.program}")
        holder = text_at(lease, "spec", "holderIdentity")
        return next((name for name in self.names if holder and self._identity(name) == holder), "")

    def wait_for_leader(self, other_than: str = "", *, timeout_seconds: float = 60.0) -> str:
        """Wait until one leads, and return its name."""

        def found() -> str | None:
            leader = self.leader()
            return leader if leader and leader != other_than else None

        return wait_for(found, timeout_seconds, f"another leader than {other_than or 'nobody'}")

    def wait_for_end(self, name: str, *, timeout_seconds: float = _END_SECONDS) -> None:
        """Wait until a process has ended by itself."""
        process = self.process(name)
        wait_for(lambda: not is_alive(process), timeout_seconds, f"the end of {name}")

    def signal(self, name: str, number: signal.Signals) -> None:
        """Send a signal to one of the two."""
        os.kill(self.process(name).pid, number)

    def cut(self) -> None:
        """Let nothing pass between the second replica and the API server any more, and nobody be told of it."""
        assert self.relay is not None
        os.kill(self.relay.pid, signal.SIGSTOP)

    def mend(self) -> None:
        """Let everything pass again."""
        assert self.relay is not None
        os.kill(self.relay.pid, signal.SIGCONT)

    def start_second(self) -> None:
        """Start the replica behind the relay, after an end of it again."""
        command = self.installation.command(self.program)
        config = next(word.partition("=")[2] for word in command if word.startswith("--kubeconfig="))
        file = self.cluster.layout.root / f"{self.names[1]}.kubeconfig"
        text = Path(config).read_text().replace(f":{API_PORT}", f":{RELAY_PORT}")
        file.touch(mode=0o600)
        file.write_text(text)
        words = [f"--kubeconfig={file}" if word.startswith("--kubeconfig=") else word for word in command]
        words.append(f"--address=127.0.0.1:{_METRICS_PORT}")
        self.second = self.cluster.start_process(self.names[1], words, {"NAMESPACE": NAMESPACE})
        wait_for(lambda: bool(self._identity(self.names[1])), _END_SECONDS, f"{self.names[1]} as a candidate")

    def _identity(self, name: str) -> str:
        """Return as whom a process stands for election, by its log."""
        told = [line for line in logged(self.cluster, name) if line.get("event") == "waiting for leadership"]
        return text_at(told[-1], "identity") if told else ""


@contextmanager
def twins(installation: Installation, program: str) -> Iterator[Twins]:
    """Have two replicas of a process for the time of a ``with`` block."""
    made, cluster = Twins(installation, program), installation.cluster
    words = [sys.executable, "-m", "e2e.relay", str(RELAY_PORT), HOST_ADDRESS, str(API_PORT)]
    made.relay = cluster.start_process("api-relay", words)
    try:
        made.start_second()
        yield made
    finally:
        made.mend()
        if made.second is not None:
            cluster.stop_process(made.second)
        cluster.stop_process(made.relay)
