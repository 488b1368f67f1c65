"""Upstream's three programs beside ours, on objects of upstream's API group; they live in real time alone."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from autoscaling.errors import ConfigurationError
from autoscaling.runtime.api_group import ApiGroup
from evenkeel.crd.definitions import definitions
from evenkeel.simulator.api.serving import LOOPBACK, Endpoint
from evenkeel.simulator.cluster import SimulatedCluster
from evenkeel.simulator.processes.ports import free_port
from evenkeel.simulator.processes.program import Invocation, RunningProgram
from evenkeel.simulator.processes.webhook_certificates import certificate_flags

PROGRAMS = ("vpa-recommender", "vpa-updater", "vpa-admission-controller")
FOLDER_VARIABLE = "EVENKEEL_UPSTREAM_VPA"
_BUILD = "python -m e2e.cluster build --only vpa"
_LAST_LINES = 12


class PeerMissingError(ConfigurationError):
    """Upstream's programs are not on this machine."""


def peer_folder(environment: Mapping[str, str]) -> Path:
    """Return the folder with upstream's programs: the one that a variable names, else where they are built to.

    Raises:
        PeerMissingError: They are not there.
    """
    for folder in _candidates(environment):
        if all((folder / program).is_file() for program in PROGRAMS):
            return folder
    raise PeerMissingError(
        f"upstream's programs {', '.join(PROGRAMS)} are not on this machine; build them with `{_BUILD}`, which needs "
        f"Go, or name their folder in {FOLDER_VARIABLE}"
    )


def _candidates(environment: Mapping[str, str]) -> Iterator[Path]:
    """Yield the folders to look in."""
    if named := environment.get(FOLDER_VARIABLE):
        yield Path(named)
        return
    cache = environment.get("XDG_CACHE_HOME")
    base = Path(cache) if cache else Path.home() / ".cache"
    yield from sorted((base / "evenkeel-e2e").glob("vpa-*"))


class Peer:
    """Upstream's programs at work on a cluster.

    Args:
        cluster: What they work on.
        endpoint: Where its API server listens.
        folder: Where kubeconfig, certificates and logs go.
        flags: Further flags by the program's name without ``vpa-``.
    """

    def __init__(
        self, cluster: SimulatedCluster, endpoint: Endpoint, folder: Path, flags: Mapping[str, Sequence[str]]
    ) -> None:
        self._cluster = cluster
        self._endpoint = endpoint
        self._folder = folder
        self._flags = flags
        self._running: list[RunningProgram] = []

    async def start(self) -> None:
        """Apply the definitions of upstream's kinds and start the programs.

        Raises:
            PeerMissingError: They are not on this machine.
        """
        programs = peer_folder(os.environ)
        for definition in definitions(ApiGroup.UPSTREAM).values():
            await self._cluster.administrator.apply(dict(definition))
        kubeconfig = self._endpoint.write_kubeconfig(self._folder / "peer.kubeconfig", self._cluster.admin_token)
        for program in PROGRAMS:
            name = program.removeprefix("vpa-")
            own = self._webhook_flags() if name == "admission-controller" else ()
            words = (str(programs / program), f"--kubeconfig={kubeconfig}", f"--address={LOOPBACK}:0", *own)
            self._running.append(
                RunningProgram(Invocation(program, (*words, *self._flags.get(name, ()))), self._folder)
            )

    def problems(self) -> list[str]:
        """Say which of the programs have ended, with their last words."""
        return [
            f"{one.invocation.name} has ended with status {one.status}; its last lines were\n"
            f"{one.log.last_lines(_LAST_LINES)}"
            for one in self._running
            if one.status is not None
        ]

    async def stop(self) -> None:
        """End the programs."""
        try:
            await asyncio.gather(*(program.end() for program in self._running))
        finally:
            for program in self._running:
                program.kill()

    def _webhook_flags(self) -> tuple[str, ...]:
        """Write certificates for the webhook, and return the flags that say where it is."""
        port = free_port()
        return (
            *certificate_flags(self._folder, LOOPBACK, "peer-"),
            f"--port={port}",
            "--register-by-url",
            f"--webhook-address=https://{LOOPBACK}",
            f"--webhook-port={port}",
        )
