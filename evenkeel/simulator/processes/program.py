"""One program run as a process of its own: its log, its life, its end."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

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


class RunningProgram:
    """A program that was started.

    Args:
        invocation: How.
        log: Where its output goes.
        process: The process.
    """

    def __init__(self, invocation: Invocation, log: LogTail, process: asyncio.subprocess.Process) -> None:
        self.invocation = invocation
        self.log = log
        self._process = process

    @classmethod
    async def start(cls, invocation: Invocation, folder: Path) -> RunningProgram:
        """Start a program whose output is added to a file of its name in a folder."""
        path = folder / f"{invocation.name}.log"
        inherited = {key: value for key, value in os.environ.items() if not key.startswith(_FOREIGN)}
        with path.open("ab") as output:
            # A session of its own: an interrupt at the terminal reaches only the one who ends the others in order.
            process = await asyncio.create_subprocess_exec(
                *invocation.words,
                stdin=asyncio.subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                env={**inherited, **invocation.environment},
                start_new_session=True,
            )
        return cls(invocation, LogTail(path), process)

    @property
    def name(self) -> str:
        """Its short name."""
        return self.invocation.name

    @property
    def pid(self) -> int:
        """Its process id."""
        return self._process.pid

    @property
    def status(self) -> int | None:
        """Its exit status, None while it runs."""
        return self._process.returncode

    def ask_to_end(self) -> None:
        """Send the signal that a node sends."""
        if self.status is None:
            with suppress(ProcessLookupError):
                self._process.send_signal(signal.SIGTERM)

    async def end(self, seconds: float = _TERM_SECONDS) -> None:
        """Ask it to end, and kill it when it does not in time."""
        self.ask_to_end()
        try:
            async with asyncio.timeout(seconds):
                await self._process.wait()
        except TimeoutError:
            self.kill()
        finally:
            if self.status is None:
                self.kill()
        await self._process.wait()

    def kill(self) -> None:
        """End it at once."""
        if self.status is None:
            with suppress(ProcessLookupError):
                self._process.kill()
