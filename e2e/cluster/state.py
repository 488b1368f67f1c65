"""The record of what a cluster has created, written before or right after each creation."""

from __future__ import annotations

import json
import os
from dataclasses import asdict, dataclass, field
from pathlib import Path

from e2e.cluster import processes
from e2e.cluster.errors import ClusterError
from e2e.cluster.processes import ProcessRef


@dataclass(slots=True)
class ClusterState:
    """Everything a take-down needs to know, as kept in the state file.

    Args:
        file: Where the record is kept.
        boot: Id of the boot under which the processes run; after another boot their ids mean nothing.
        release: Name of the release of Kubernetes.
        nodes: Names of the nodes.
        namespace: Mount point of the network namespace.
        cgroups: Top-level cgroups made for the nodes.
        folders: Folders outside the root to be removed once they are empty and no other cluster runs.
        owner: The driver that takes the cluster down at its end; None if the cluster is to outlive its driver.
        processes: What was started, in order.
        components: Names of the processes that make the cluster; empty until the start came to its end.
    """

    file: Path
    boot: str
    release: str
    nodes: tuple[str, ...]
    namespace: str
    cgroups: tuple[str, ...]
    folders: tuple[str, ...]
    owner: ProcessRef | None
    processes: list[ProcessRef] = field(default_factory=list)
    components: tuple[str, ...] = ()

    def save(self) -> None:
        """Write the record so that a crash leaves the old or the new one."""
        document = asdict(self)
        del document["file"]
        partial = self.file.with_suffix(".part")
        with partial.open("w") as output:
            json.dump(document, output, indent=1)
            output.flush()
            os.fsync(output.fileno())
        partial.replace(self.file)

    def add(self, process: ProcessRef) -> None:
        """Remember a process that was started; it takes the place of an ended one with the same name."""
        self.processes = [known for known in self.processes if known.name != process.name]
        self.processes.append(process)
        self.save()

    def forget(self, process: ProcessRef) -> None:
        """Drop a process that has ended."""
        self.processes = [known for known in self.processes if known != process]
        self.save()

    def process(self, name: str) -> ProcessRef | None:
        """Return the process of this name, if one was started."""
        return next((process for process in self.processes if process.name == name), None)

    def complete(self) -> None:
        """Note that the start came to its end; what is started from now on says nothing about the cluster's health."""
        self.components = tuple(process.name for process in self.processes)
        self.save()

    def is_healthy(self) -> bool:
        """Say whether the start came to its end and all components still run."""
        running = {process.name for process in self.processes if processes.is_alive(process)}
        return self.is_current() and bool(self.components) and running.issuperset(self.components)

    def is_current(self) -> bool:
        """Say whether the machine has not been started anew since."""
        return self.boot == boot_id()


def boot_id() -> str:
    """Return the id of the running boot of this machine."""
    return Path("/proc/sys/kernel/random/boot_id").read_text().strip()


def load(file: Path) -> ClusterState | None:
    """Read a state file; None where there is none.

    Raises:
        ClusterError: The file is not one that this version of the program wrote.
    """
    try:
        document = json.loads(file.read_text())
    except FileNotFoundError:
        return None
    except ValueError as error:
        raise _unreadable(file, error) from error
    try:
        return ClusterState(
            file=file,
            boot=document["boot"],
            release=document["release"],
            nodes=tuple(document["nodes"]),
            namespace=document["namespace"],
            cgroups=tuple(document["cgroups"]),
            folders=tuple(document["folders"]),
            owner=ProcessRef(**document["owner"]) if document["owner"] else None,
            processes=[ProcessRef(**process) for process in document["processes"]],
            components=tuple(document["components"]),
        )
    except (KeyError, TypeError) as error:
        raise _unreadable(file, error) from error


def _unreadable(file: Path, error: Exception) -> ClusterError:
    return ClusterError(str(file), f"no usable state file ({error!r})", remedy="`down` works without it")
