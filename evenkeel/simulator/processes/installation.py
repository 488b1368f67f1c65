"""The three processes at work on a simulated cluster, each as its Deployment says and with its own token."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from autoscaling.errors import EvenkeelError
from autoscaling.runtime.api_group import ApiGroup, cluster_names
from evenkeel.simulator.api.serving import Endpoint
from evenkeel.simulator.cluster import SimulatedCluster
from evenkeel.simulator.manifests import Manifests, ProgramManifest
from evenkeel.simulator.processes.logs import LogLine
from evenkeel.simulator.processes.program import Invocation, RunningProgram, Starter, start_program

ADMISSION = "admission"
LogListener = Callable[[str, LogLine], None]
_LAST_LINES = 12


class ProcessEndedError(EvenkeelError):
    """One of the processes has ended by itself; its last words are in the message."""


@dataclass(frozen=True, slots=True)
class Launching:
    """How the processes are started.

    Args:
        manifests: What says how they are deployed.
        folder: Where kubeconfigs and logs go.
        flags: Further flags by import name of the program.
        clock: URL of the lock-step clock for a program; empty where it runs in real time.
        on_log: Told of every line of their logs.
        starter: Starts a program.
    """

    manifests: Manifests
    folder: Path
    flags: Mapping[str, Sequence[str]] = field(default_factory=dict)
    clock: Callable[[str], str] = lambda _: ""
    on_log: LogListener = lambda _name, _line: None
    starter: Starter = start_program


class Installation:
    """The three processes.

    Args:
        cluster: What they work on; the manifests are installed there already.
        endpoint: Where its API server listens.
        launching: How they are started.
    """

    def __init__(self, cluster: SimulatedCluster, endpoint: Endpoint, launching: Launching) -> None:
        self._cluster = cluster
        self._endpoint = endpoint
        self._launching = launching
        self._running: dict[str, RunningProgram] = {}
        self._port = 0
        self._exposed = 0

    @property
    def names(self) -> tuple[str, ...]:
        """Import names of the programs, in the order in which they are started."""
        return tuple(sorted(self._launching.manifests.programs))

    @property
    def programs(self) -> tuple[RunningProgram, ...]:
        """The programs that were started, in the order of their names."""
        return tuple(self._running[name] for name in sorted(self._running))

    @property
    def users(self) -> tuple[str, ...]:
        """As whom the processes call the API server."""
        programs = self._launching.manifests.programs.values()
        return tuple(f"system:serviceaccount:{one.namespace}:{one.service_account}" for one in programs)

    def start(self, names: Iterable[str]) -> None:
        """Start processes."""
        for name in names:
            self._running[name] = RunningProgram(
                self._invocation(name), self._launching.folder, self._launching.starter
            )

    async def end(self, name: str) -> None:
        """End one process in good order."""
        await self._running[name].end()
        self.collect()
        del self._running[name]

    def collect(self) -> None:
        """Take in what the processes have logged."""
        for name, program in self._running.items():
            for line in program.log.new_lines():
                if name == ADMISSION and line.event == "webhook listens":
                    self._port = int(str(line.fields["port"]))
                self._launching.on_log(name, line)

    async def look(self) -> None:
        """Take in what the processes have logged, and let the webhook's Service lead to where it listens now.

        Raises:
            ProcessEndedError: One of them has ended.
        """
        self.collect()
        if self._port != self._exposed:
            namespace = self._launching.manifests.programs[ADMISSION].namespace
            await self._cluster.expose(namespace, cluster_names(ApiGroup.EVENKEEL).webhook_service, self._port)
            self._exposed = self._port
        self.check()

    def check(self) -> None:
        """Make sure that all processes run.

        Raises:
            ProcessEndedError: One of them does not.
        """
        for name, program in self._running.items():
            if program.status is not None:
                raise ProcessEndedError(
                    f"{name} has ended with status {program.status}; its last lines were\n"
                    f"{program.log.last_lines(_LAST_LINES)}"
                )

    async def stop(self) -> None:
        """End all processes."""
        for program in self._running.values():
            program.ask_to_end()
        try:
            await asyncio.gather(*(one.end() for name, one in self._running.items() if name != ADMISSION))
        finally:
            # The admission controller would go on serving for a while, for callers that learn late of its end.
            for program in self._running.values():
                program.kill()
        self.collect()
        self._running.clear()

    def last_words(self) -> str:
        """Return the ends of the logs, for error messages."""
        return "\n".join(f"--- {name}\n{one.log.last_lines(_LAST_LINES)}" for name, one in self._running.items())

    def _invocation(self, name: str) -> Invocation:
        """Return how a process is started."""
        program = self._launching.manifests.programs[name]
        kubeconfig = self._kubeconfig(program)
        clock = self._launching.clock(name)
        words = (
            # -P: a folder of the same name in the working directory must not be taken for the program.
            *(sys.executable, "-P", "-m", program.module),
            *program.arguments,
            f"--kubeconfig={kubeconfig}",
            "--address=127.0.0.1:0",
            *(("--port=0",) if name == ADMISSION else ()),
            *((f"--clock={clock}",) if clock else ()),
            *self._launching.flags.get(name, ()),
        )
        return Invocation(name, words, {"NAMESPACE": program.namespace})

    def _kubeconfig(self, program: ProgramManifest) -> Path:
        """Write a kubeconfig with a token of a process's service account, and return its path."""
        token = self._cluster.token_of(program.namespace, program.service_account)
        return self._endpoint.write_kubeconfig(self._launching.folder / f"{program.module}.kubeconfig", token)
