"""Processes that benchmarks start, and what they use."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path
from typing import TypeVar

import msgspec

from bench.errors import PeerError

T = TypeVar("T")

_REST_SECONDS = 0.06
"""Several times what the kernel counts processor time by."""

_REST_PATIENCE_SECONDS = 10.0
_WORKING = frozenset({"R", "D"})
"""States of threads that run or are about to: runnable, and waiting for the kernel."""


class Command(msgspec.Struct, frozen=True):
    """One line to the process with the API server.

    Args:
        writes: Pods to change.
        writes_per_second: How many of them in a second; as many as it can where that is 0.
        expires: Whether who follows pods has to list them all anew from then on.
        statuses: Writes of VPAs' statuses to wait for, since it began to serve, for at most some seconds.
        recommendations: File for what all VPAs are recommended, by namespace and name; empty for none.
        changes: Pods that are to be resized or evicted to wait for, likewise.
        changed: File for the paths of those pods; empty for none.
    """

    writes: int = 0
    writes_per_second: float = 0.0
    expires: bool = False
    statuses: int = 0
    recommendations: str = ""
    changes: int = 0
    changed: str = ""


class Hosted(msgspec.Struct, frozen=True):
    """One line from it.

    Args:
        url: Where it listens.
        kubeconfig: For clients.
        authority: File with the certificate of its authority.
        load_seconds: How long it took to load its objects.
        load_cpu_seconds: CPU time that this took.
        resident_bytes: Memory that it holds.
        statuses: Writes of VPAs' statuses.
        changes: Pods that were resized or evicted.
        changing_seconds: From the answer to the first such call until that to the last one on another pod.
        calls: Calls so far, by verb and resource.
        writing_seconds: How long the pods of the last command took to change.
    """

    url: str
    kubeconfig: str
    authority: str
    load_seconds: float
    load_cpu_seconds: float
    resident_bytes: int
    statuses: int
    changes: int = 0
    changing_seconds: float = 0.0
    calls: dict[str, int] = {}
    writing_seconds: float = 0.0


class LineProcess:
    """A process that is told and tells one line of JSON at a time.

    Args:
        what: What to call it where it ends too early.
        words: Its command line.
    """

    def __init__(self, what: str, *words: str | Path) -> None:
        self._what = what
        self._process = subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE)

    @property
    def pid(self) -> int:
        """Its process id."""
        return self._process.pid

    def tell(self, line: object) -> None:
        """Send it a line."""
        assert self._process.stdin is not None
        self._process.stdin.write(msgspec.json.encode(line) + b"\n")
        self._process.stdin.flush()

    def hear(self, kind: type[T]) -> T:
        """Wait for its next line.

        Raises:
            PeerError: It has ended.
        """
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        if not line:
            raise PeerError(f"{self._what} ended with status {self._process.wait()}; run it by hand to see why")
        return msgspec.json.decode(line, type=kind)

    def stop(self) -> None:
        """Let it end, as it does when nothing more can come."""
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._process.wait()


def say(line: msgspec.Struct) -> None:
    """Tell whoever started this process a line."""
    sys.stdout.write(msgspec.json.encode(line).decode() + "\n")
    sys.stdout.flush()


class ApiHost:
    """The embedded API server in a process of its own.

    Args:
        folder: For kubeconfig and certificate.
        arguments: Size of the cluster; see ``bench.api_host``.
    """

    def __init__(self, folder: Path, *arguments: str) -> None:
        words: list[str | Path] = [sys.executable, "-m", "bench.api_host", "--folder", folder, *arguments]
        self._process = LineProcess("the API server's process", *words)
        self.hosted = self._process.hear(Hosted)

    @property
    def cpu_seconds(self) -> float:
        """CPU time that it has used so far."""
        return cpu_seconds(self._process.pid)

    def ask(self, command: Command) -> Hosted:
        """Have it carry out a command, and wait until it has."""
        self._process.tell(command)
        return self._process.hear(Hosted)

    def begin_writing(self, writes: int, per_second: float = 0.0, *, expires: bool = False) -> None:
        """Have it change pods; see ``Command``."""
        self._process.tell(Command(writes, per_second, expires))

    def end_writing(self) -> Hosted:
        """Wait until it has."""
        return self._process.hear(Hosted)

    def stop(self) -> None:
        """End it."""
        self._process.stop()


def resident_bytes(pid: int | str) -> int:
    """Return the memory that a process holds."""
    pages = Path(f"/proc/{pid}/statm").read_text().split()[1]
    return int(pages) * os.sysconf("SC_PAGE_SIZE")


def cpu_seconds(pid: int) -> float:
    """Return the CPU time that a process has used so far."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def until_at_rest(pid: int) -> None:
    """Wait until a process has used no processor for a while, nor waited for one, for some seconds at most."""
    end = time.monotonic() + _REST_PATIENCE_SECONDS
    used, since = cpu_seconds(pid), time.monotonic()
    while time.monotonic() < min(end, since + _REST_SECONDS):
        time.sleep(_REST_SECONDS / 4)
        if (more := cpu_seconds(pid)) != used or _wants_processor(pid):
            used, since = more, time.monotonic()


def _wants_processor(pid: int) -> bool:
    """Say whether a thread of a process runs, or would if there was a processor for it."""
    for thread in Path(f"/proc/{pid}/task").iterdir():
        with suppress(FileNotFoundError, ProcessLookupError):
            if (thread / "stat").read_text().rpartition(")")[2].split()[0] in _WORKING:
                return True
    return False


def forget_peak() -> None:
    """Let the most memory that this process has held be what it holds now."""
    Path("/proc/self/clear_refs").write_text("5")


def peak_bytes() -> int:
    """Return the most memory that this process has held since that was forgotten."""
    status = Path("/proc/self/status").read_text()
    return int(status.partition("VmHWM:")[2].split()[0]) * 1024
