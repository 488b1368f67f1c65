"""One program run as a process of its own: its log, its life, its end."""

from __future__ import annotations

import asyncio
import os
import subprocess
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from evenkeel.simulator.processes.logs import LogTail

_TERM_SECONDS = 8.0
_FOREIGN = ("KUBERNETES_", "OTEL_", "PROMETHEUS_")
"""Beginnings of environment variables that are about this machine's own cluster, if it has one."""


@dataclass(frozen=True, slots=True)
class Invocation:
    """How a program is started.

    Args:
        name: Short name, for messages and the file of its log.
        words: The command line.
        environment: Variables beyond those of this process.
    """

    name: str
    words: tuple[str, ...]
    environment: Mapping[str, str] = field(default_factory=dict)


class Handle(Protocol):
    """A process of the operating system, such as a ``subprocess.Popen``."""

    pid: int

    def poll(self) -> int | None:
        """Return its exit status, None while it runs."""

    def wait(self, timeout: float | None = None) -> int:
        """Wait for its end, at most for some seconds.

        Raises:
            subprocess.TimeoutExpired: It has not ended in time.
        """

    def terminate(self) -> None:
        """Send it SIGTERM, if it runs."""

    def kill(self) -> None:
        """Send it SIGKILL, if it runs."""


Starter = Callable[[Invocation, Path], Handle]
"""Starts a program whose output is added to a file."""


def start_program(invocation: Invocation, log: Path) -> Handle:
    """Start a program whose output is added to a file."""
    inherited = {key: value for key, value in os.environ.items() if not key.startswith(_FOREIGN)}
    with log.open("ab") as output:
        # A session of its own: an interrupt at the terminal reaches only the one who ends the others in order.
        return subprocess.Popen(  # noqa: S603 the words are our own
            invocation.words,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            env={**inherited, **invocation.environment},
            start_new_session=True,
        )


class RunningProgram:
    """A program that was started, with its log.

    Args:
        invocation: How.
        folder: Where its log goes, into a file of its name.
        starter: Starts it.
    """

    def __init__(self, invocation: Invocation, folder: Path, starter: Starter = start_program) -> None:
        self.invocation = invocation
        self.log = LogTail(folder / f"{invocation.name}.log")
        self._process = starter(invocation, self.log.path)

    @property
    def pid(self) -> int:
        """Its process id."""
        return self._process.pid

    @property
    def status(self) -> int | None:
        """Its exit status, None while it runs."""
        return self._process.poll()

    def ask_to_end(self) -> None:
        """Send the signal that a node sends."""
        self._process.terminate()

    async def wait(self, seconds: float) -> int:
        """Wait until it has ended by itself, and return its exit status.

        Raises:
            subprocess.TimeoutExpired: It has not ended in time.
        """
        return await asyncio.to_thread(self._process.wait, seconds)

    async def end(self, seconds: float = _TERM_SECONDS) -> None:
        """Ask it to end, and kill it when it does not in time."""
        self.ask_to_end()
        try:
            await asyncio.to_thread(self._process.wait, seconds)
        except subprocess.TimeoutExpired:
            pass
        finally:
            self.kill()

    def kill(self) -> None:
        """End it at once, if it has not ended."""
        self._process.kill()
        self._process.wait()
