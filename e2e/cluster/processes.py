"""Processes of the cluster: started in sessions of their own, known by id and start time, ended by these alone."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from e2e.cluster.errors import ClusterError

_POLL_SECONDS = 0.05
_FIELDS_BEFORE_START_TIME = 19
"""Between the state and the start time in /proc/PID/stat, counted from the state."""


@dataclass(frozen=True, slots=True)
class ProcessRef:
    """One process, told apart from a later one with the same id by its start time in clock ticks since boot."""

    name: str
    pid: int
    started: int

    def __str__(self) -> str:
        return f"process {self.name} ({self.pid})"


def start(name: str, argv: Sequence[str], log: Path, environment: Mapping[str, str]) -> ProcessRef:
    """Start a process that survives its driver.

    Args:
        name: What the process is called in messages and in the state file.
        argv: Program and arguments.
        log: Receives its output; appended to.
        environment: Its whole environment.

    Raises:
        ClusterError: The program cannot be executed.
    """
    log.parent.mkdir(parents=True, exist_ok=True)
    with log.open("ab") as output:
        try:
            child = subprocess.Popen(
                list(argv),
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                env=dict(environment),
                start_new_session=True,
            )
        except OSError as error:
            raise ClusterError(name, f"cannot be started: {error}", remedy=f"check the program {argv[0]}") from error
    started = start_time(child.pid)
    # The handle would warn when it is collected while the process runs; the process is waited for by id instead.
    child.returncode = 0
    return ProcessRef(name, child.pid, started if started is not None else -1)


def start_time(pid: int) -> int | None:
    """Read when a process started, in clock ticks since boot; None if it is gone or only waits to be reaped."""
    try:
        text = Path(f"/proc/{pid}/stat").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return None
    state, *fields = text[text.rindex(")") + 2 :].split()
    return None if state in {"Z", "X"} else int(fields[_FIELDS_BEFORE_START_TIME - 1])


def is_alive(process: ProcessRef) -> bool:
    """Say whether exactly this process still runs; reaps it if it was a child of ours and has ended."""
    with contextlib.suppress(ChildProcessError):  # Started by an earlier driver: somebody else reaps it.
        os.waitpid(process.pid, os.WNOHANG)
    return start_time(process.pid) == process.started


def marked(variable: str, value: str) -> Iterator[ProcessRef]:
    """Find the processes that carry an environment variable with exactly this value."""
    wanted = f"{variable}={value}".encode()
    for pid in _all_pids():
        try:
            carried = wanted in Path(f"/proc/{pid}/environ").read_bytes().split(b"\0")
        except (FileNotFoundError, ProcessLookupError, PermissionError):
            continue
        if carried and (found := identify(pid)) is not None:
            yield found


def in_network_namespace(file: Path) -> Iterator[ProcessRef]:
    """Find the processes inside the network namespace that is mounted at ``file``."""
    if not file.exists():
        return
    wanted = file.stat()
    for pid in _all_pids():
        try:
            namespace = Path(f"/proc/{pid}/ns/net").stat()
        except (FileNotFoundError, ProcessLookupError, PermissionError):
            continue
        if (namespace.st_dev, namespace.st_ino) == (wanted.st_dev, wanted.st_ino):
            found = identify(pid)
            if found is not None:
                yield found


def identify(pid: int) -> ProcessRef | None:
    """Name a running process; None if it is gone."""
    started = start_time(pid)
    if started is None:
        return None
    try:
        name = Path(f"/proc/{pid}/comm").read_text().strip()
    except (FileNotFoundError, ProcessLookupError):
        return None
    return ProcessRef(name, pid, started)


def own_family() -> frozenset[int]:
    """Ids of this process and its ancestors, which a take-down must not end."""
    family = set()
    pid = os.getpid()
    while pid > 0:
        family.add(pid)
        text = Path(f"/proc/{pid}/stat").read_text()
        pid = int(text[text.rindex(")") + 2 :].split()[1])
    return frozenset(family)


def stop(targets: Iterable[ProcessRef], *, patience_seconds: float) -> None:
    """End processes: SIGTERM, then SIGKILL for those that still run after the patience.

    Raises:
        ClusterError: A process survives SIGKILL for ten seconds.
    """
    remaining = _signal_all(targets, signal.SIGTERM)
    remaining = _wait_for_end(remaining, patience_seconds)
    if remaining:
        kill(remaining)


def kill(targets: Iterable[ProcessRef]) -> None:
    """End processes by SIGKILL and wait until they are gone.

    Raises:
        ClusterError: A process is still there after ten seconds.
    """
    stubborn = _wait_for_end(_signal_all(targets, signal.SIGKILL), 10.0)
    if stubborn:
        names = ", ".join(str(process) for process in stubborn)
        raise ClusterError(names, "still there ten seconds after SIGKILL", remedy="look at its state in /proc")


def _signal_all(targets: Iterable[ProcessRef], number: signal.Signals) -> list[ProcessRef]:
    signalled = []
    for process in targets:
        if is_alive(process):
            try:
                os.kill(process.pid, number)
            except ProcessLookupError:
                continue
            signalled.append(process)
    return signalled


def _wait_for_end(targets: Sequence[ProcessRef], seconds: float) -> list[ProcessRef]:
    deadline = time.monotonic() + seconds
    remaining = [process for process in targets if is_alive(process)]
    while remaining and time.monotonic() < deadline:
        time.sleep(_POLL_SECONDS)
        remaining = [process for process in remaining if is_alive(process)]
    return remaining


def _all_pids() -> list[int]:
    return [int(entry.name) for entry in Path("/proc").iterdir() if entry.name.isdigit()]
