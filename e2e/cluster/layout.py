"""Where everything of one cluster is, derived from its root folder alone.

Names that other software sees (cgroups, CNI networks) carry a short hash of the root folder. So two roots make two
clusters that do not touch each other, and what a crashed run left over is found without its memory.
"""

from __future__ import annotations

import hashlib
import os
from dataclasses import dataclass
from pathlib import Path

from e2e.cluster.errors import ClusterError
from e2e.cluster.releases import CHOICE_VARIABLE, Release, release_named

DEFAULT_ROOT = Path("/var/tmp/evenkeel-e2e")
MARKER_VARIABLE = "EVENKEEL_E2E_PART_OF"
"""Environment variable that each process of a cluster carries, with the root folder as value; nobody else sets it."""

FAMILY = "evenkeel-"
"""What the cgroups of all such clusters on the machine begin with."""

HOST_ADDRESS = "10.77.0.1"
"""Address of the first node, of the API server and of everything that runs as a host process in the namespace."""
API_PORT = 6443
METRICS_PORT = 14443
SERVICE_RANGE = "10.96.0.0/16"
API_SERVICE_ADDRESS = "10.96.0.1"

SEARCH_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
"""PATH of the cluster's processes."""

_LONGEST_ROOT = 60
"""Unix socket paths end after 107 characters; containerd's are below the root."""


def run_root(default: Path = DEFAULT_ROOT) -> Path:
    """Return the root folder of the cluster that this process runs on, one for each process that runs tests.

    Returns:
        What ``EVENKEEL_E2E_ROOT`` names, or the default; with the process's name behind it where tests are shared out.
    """
    root = Path(os.environ.get("EVENKEEL_E2E_ROOT") or default)
    worker = os.environ.get("PYTEST_XDIST_WORKER")
    return root.with_name(f"{root.name}-{worker}") if worker else root


def run_release() -> Release:
    """Return the release of Kubernetes that this process's tests run on: what ``EVENKEEL_KUBERNETES`` names.

    Raises:
        ClusterError: It names none that can be built.
    """
    return release_named(os.environ.get(CHOICE_VARIABLE, ""))


@dataclass(frozen=True, slots=True)
class NodeLayout:
    """Files and names of one node."""

    name: str
    folder: Path
    cgroup: str
    network: str

    @property
    def containerd_socket(self) -> Path:
        """The socket of the node's own containerd."""
        return self.folder / "containerd.sock"

    @property
    def containerd_state(self) -> Path:
        """Mounts, shims' sockets and pod network namespaces of the node's containerd."""
        return self.folder / "containerd-state"

    @property
    def cni_folder(self) -> Path:
        """CNI configuration of the node."""
        return self.folder / "cni"


@dataclass(frozen=True, slots=True)
class Layout:
    """Files and names of one cluster.

    Args:
        root: The resolved root folder.
    """

    root: Path

    @classmethod
    def of(cls, root: Path) -> Layout:
        """Resolve a root folder.

        Raises:
            ClusterError: The path is too long for the sockets below it, or is the root of the file system.
        """
        resolved = root.resolve()
        if len(str(resolved)) > _LONGEST_ROOT:
            raise ClusterError(
                str(resolved), f"longer than {_LONGEST_ROOT} characters", remedy="choose a shorter --root"
            )
        if len(resolved.parts) < 3:
            raise ClusterError(
                str(resolved), "too high up to be emptied", remedy="choose a folder of its own as --root"
            )
        return cls(resolved)

    @property
    def key(self) -> str:
        """Short name of this cluster among all on the machine."""
        return hashlib.sha256(str(self.root).encode()).hexdigest()[:6]

    @property
    def namespace_file(self) -> Path:
        """The mount point by which the network namespace is entered; below the root, so it has no global name."""
        return self.root / "network-namespace"

    @property
    def cgroup_prefix(self) -> str:
        """What the top-level cgroup of each node of this cluster begins with."""
        return f"{FAMILY}{self.key}-"

    @property
    def state_file(self) -> Path:
        """The record of what was started."""
        return self.root / "state.json"

    @property
    def lock_file(self) -> Path:
        """Held while a driver starts the cluster or takes it down."""
        return self.root / "lock"

    @property
    def logs(self) -> Path:
        """One log file per process; kept after the cluster is down."""
        return self.root / "logs"

    @property
    def failed_logs(self) -> Path:
        """The log files of a start that failed and was tried once more."""
        return self.root / "logs-failed"

    @property
    def audit_log(self) -> Path:
        """The API server's audit log, one JSON document per line."""
        return self.logs / "audit.jsonl"

    @property
    def certificates(self) -> Path:
        """Keys and certificates."""
        return self.root / "pki"

    @property
    def kubeconfig(self) -> Path:
        """The administrator's kubeconfig."""
        return self.root / "kubeconfig"

    @property
    def images(self) -> Path:
        """Image archives, before they are imported."""
        return self.root / "images"

    def node(self, name: str) -> NodeLayout:
        """Return where one node's files are."""
        return NodeLayout(name, self.root / name, f"{self.cgroup_prefix}{name}", f"{FAMILY}{self.key}-{name}")

    def log(self, process: str) -> Path:
        """Return the log file of one process."""
        return self.logs / f"{process}.log"
