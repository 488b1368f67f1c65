"""Finding and removing everything of a cluster, also after its driver or the machine died in the middle.

What belongs to the cluster is known without the state file as well: processes carry the root folder in their
environment, are in the cluster's network namespace or in its cgroups; mounts are below the root; names begin with the
cluster's key.
"""

from __future__ import annotations

import shutil
import socket
from pathlib import Path

from e2e.cluster import cgroups, network, processes
from e2e.cluster.commands import run
from e2e.cluster.errors import ClusterError
from e2e.cluster.layout import MARKER_VARIABLE, Layout
from e2e.cluster.processes import ProcessRef
from e2e.cluster.state import ClusterState

HOST_FOLDERS = (Path("/run/containerd"), Path("/var/lib/cni"), Path("/var/lib/kubelet"), Path("/var/log/containers"))
"""Folders outside the root that containerd, the CNI plugins and the kubelet make, whatever their configuration says."""

_CNI_RESULTS = Path("/var/lib/cni/results")
_KUBELET_SOCKET = Path("/var/lib/kubelet/device-plugins/kubelet.sock")
_CONTAINER_LOGS = Path("/var/log/containers")
_MOUNT_PASSES = 5
_POD_PATIENCE_SECONDS = 2.0
_COMPONENT_PATIENCE_SECONDS = 8.0
_STOP_ORDER = (
    "metrics-server",
    "kubelet",
    "kube-controller-manager",
    "kube-scheduler",
    "kube-apiserver",
    "containerd",
    "etcd",
)
"""By the beginning of the name; what is not listed (the tests' own processes) ends before these."""


def leftovers(layout: Layout) -> list[str]:
    """Name everything of the cluster that is on the machine: empty after a take-down.

    Log files and an empty root folder do not count.
    """
    found = [str(process) for process in _processes(layout)]
    found += [f"mount {mount}" for mount in _mounts(layout)]
    found += [f"network namespace {layout.namespace}"] if layout.namespace_file.exists() else []
    found += [f"cgroup {group}" for group in cgroups.groups(layout.cgroup_prefix)]
    found += [f"file {file}" for file in _stray_files(layout)]
    found += [f"folder {entry}" for entry in _contents(layout)]
    return found


def remove_all(layout: Layout, state: ClusterState | None) -> None:
    """End and remove everything of the cluster; harmless if there is nothing.

    Args:
        layout: The cluster.
        state: Its record, if there is one.

    Raises:
        ClusterError: Something cannot be removed.
    """
    if state is not None and state.is_current():
        _stop_in_order(state)
    # Containers first: once their shims are gone nobody reaps them.
    processes.kill(_cgroup_members(layout))
    processes.stop(_inhabitants(layout), patience_seconds=_POD_PATIENCE_SECONDS)
    processes.kill(processes.marked(MARKER_VARIABLE, str(layout.root)))
    for file in _stray_files(layout):
        file.unlink(missing_ok=True)
    _unmount(layout)
    network.delete(layout)
    cgroups.remove(layout.cgroup_prefix)
    for entry in _contents(layout):
        shutil.rmtree(entry) if entry.is_dir() else entry.unlink()
    if state is not None:
        _prune_host_folders(state)


def _stop_in_order(state: ClusterState) -> None:
    def position(process: ProcessRef) -> int:
        matching = (place for place, name in enumerate(_STOP_ORDER, 1) if process.name.startswith(name))
        return next(matching, 0)

    for place in range(len(_STOP_ORDER) + 1):
        batch = [process for process in state.processes if position(process) == place]
        processes.stop(batch, patience_seconds=_COMPONENT_PATIENCE_SECONDS)


def _processes(layout: Layout) -> list[ProcessRef]:
    """Every process of the cluster except this one and its ancestors, each once."""
    found = [*processes.marked(MARKER_VARIABLE, str(layout.root)), *_inhabitants(layout), *_cgroup_members(layout)]
    family = processes.own_family()
    return sorted({process for process in found if process.pid not in family}, key=lambda process: process.pid)


def _inhabitants(layout: Layout) -> list[ProcessRef]:
    family = processes.own_family()
    found = list(processes.in_network_namespace(layout.namespace_file))
    if any(process.pid in family for process in found):
        raise ClusterError(
            "this terminal", "is inside the cluster's network namespace", remedy="leave the cluster's shell first"
        )
    return found


def _cgroup_members(layout: Layout) -> list[ProcessRef]:
    found = (processes.identify(pid) for pid in cgroups.members(layout.cgroup_prefix))
    return [process for process in found if process is not None]


def _mounts(layout: Layout) -> list[Path]:
    """Mount points below the root, the deepest and latest first."""
    found = []
    for line in Path("/proc/self/mountinfo").read_text().splitlines():
        # Blanks and the like are written as octal numbers.
        point = Path(line.split()[4].encode().decode("unicode_escape"))
        if layout.root in point.parents:
            found.append(point)
    return found[::-1]


def _unmount(layout: Layout) -> None:
    for attempt in range(_MOUNT_PASSES):
        for point in _mounts(layout):
            # A busy mount is detached in the last pass; it vanishes with its last user, and none of ours is left.
            lazily = ["--lazy"] if attempt == _MOUNT_PASSES - 1 else []
            try:
                run(["umount", *lazily, str(point)], remedy="end what uses the mount")
            except ClusterError:
                if lazily:
                    raise
        if not _mounts(layout):
            return
    raise ClusterError(str(_mounts(layout)[0]), "cannot be unmounted", remedy="end what uses the mount")


def _stray_files(layout: Layout) -> list[Path]:
    """Files of this cluster outside its root: shims' sockets, CNI results, links to container logs."""
    addresses = layout.root.glob("node*/containerd-state/io.containerd.runtime.v2.task/*/*/address")
    found = [Path(address.read_text().strip().removeprefix("unix://")) for address in addresses]
    found += _CNI_RESULTS.glob(f"evenkeel-{layout.key}-*")
    found += [
        link for link in _CONTAINER_LOGS.glob("*.log") if link.is_symlink() and layout.root in link.readlink().parents
    ]
    return [file for file in found if file.exists() or file.is_symlink()]


def _contents(layout: Layout) -> list[Path]:
    """What is in the root folder apart from the logs and the lock."""
    kept = {layout.logs, layout.lock_file}
    return [entry for entry in layout.root.iterdir() if entry not in kept] if layout.root.exists() else []


def _prune_host_folders(state: ClusterState) -> None:
    """Remove the folders that were not there before, as far as they are empty by now."""
    _remove_stale_socket(_KUBELET_SOCKET)
    for folder in state.folders:
        below = [path for path in Path(folder).rglob("*") if path.is_dir() and not path.is_symlink()]
        for path in [*sorted(below, key=lambda path: -len(path.parts)), Path(folder)]:
            if path.exists() and not any(path.iterdir()):
                path.rmdir()


def _remove_stale_socket(file: Path) -> None:
    """Remove a socket that nobody listens on; another node on this machine may have put its own in the same place."""
    if not file.is_socket():
        return
    with socket.socket(socket.AF_UNIX) as client:
        try:
            client.connect(str(file))
        except ConnectionRefusedError:
            file.unlink()
