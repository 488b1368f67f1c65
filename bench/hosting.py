"""Processes that benchmarks start, and what they use."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from pathlib import Path

import msgspec

from bench.errors import PeerError


class Command(msgspec.Struct, frozen=True):
    """One line to the process with the API server: change so many pods."""

    writes: int = 0


class Hosted(msgspec.Struct, frozen=True):
    """One line from it.

    Args:
        url: Where it listens.
        kubeconfig: For clients.
        authority: File with the certificate of its authority.
        load_seconds: How long it took to load its objects.
        load_cpu_seconds: CPU time that this took.
        resident_bytes: Memory that it holds.
    """

    url: str
    kubeconfig: str
    authority: str
    load_seconds: float
    load_cpu_seconds: float
    resident_bytes: int


class ApiHost:
    """The embedded API server in a process of its own.

    Args:
        folder: For kubeconfig and certificate.
        arguments: Size of the cluster; see ``bench.api_host``.
    """

    def __init__(self, folder: Path, *arguments: str) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-m", "bench.api_host", "--folder", str(folder), *arguments],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )
        self.hosted = self._heard()

    @property
    def cpu_seconds(self) -> float:
        """CPU time that it has used so far."""
        return cpu_seconds(self._process.pid)

    def write(self, writes: int) -> Hosted:
        """Have it change pods, and wait until it has."""
        self.begin_writing(writes)
        return self._heard()

    def begin_writing(self, writes: int) -> None:
        """Have it change pods."""
        assert self._process.stdin is not None
        self._process.stdin.write(msgspec.json.encode(Command(writes)) + b"\n")
        self._process.stdin.flush()

    def end_writing(self) -> Hosted:
        """Wait until it has."""
        return self._heard()

    def _heard(self) -> Hosted:
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        if not line:
            raise PeerError(f"the API server's process ended with status {self._process.wait()}")
        return msgspec.json.decode(line, type=Hosted)

    def stop(self) -> None:
        """End it."""
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._process.wait()


def resident_bytes(pid: int | str) -> int:
    """Return the memory that a process holds."""
    pages = Path(f"/proc/{pid}/statm").read_text().split()[1]
    return int(pages) * os.sysconf("SC_PAGE_SIZE")


def cpu_seconds(pid: int) -> float:
    """Return the CPU time that a process has used so far."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def free_port() -> int:
    """Return a port that is free now."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
    return port
