"""Finding and removing everything of a cluster, also after its driver or the machine died in the middle.

What belongs to the cluster is known without the state file as well: processes carry the root folder in their
environment, are in the cluster's network namespace or in its cgroups; mounts are below the root; names begin with the
cluster's key.
"""

from __future__ import annotations

import os
import re
import shutil
import socket
from pathlib import Path

from e2e.cluster import cgroups, processes
from e2e.cluster.commands import run
from e2e.cluster.errors import ClusterError
from e2e.cluster.layout import FAMILY, MARKER_VARIABLE, Layout
from e2e.cluster.processes import ProcessRef
from e2e.cluster.state import ClusterState

HOST_FOLDERS = (Path("/run/containerd"), Path("/var/lib/cni"), Path("/var/lib/kubelet"), Path("/var/log/containers"))
"""Folders outside the root that containerd, the CNI plugins and the kubelet make, whatever their configuration says."""

_CNI_RESULTS = Path("/var/lib/cni/results")
_KUBELET_SOCKET = Path("/var/lib/kubelet/device-plugins/kubelet.sock")
_CONTAINER_LOGS = Path("/var/log/containers")
_SOCKET_ADDRESS = re.compile(rb'unix://([^"\s]+)')
_MOUNT_PASSES = 5
_INHABITANT_PATIENCE_SECONDS = 2.0
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

    Log files and the root folder itself do not count.
    """
    family = processes.own_family()
    found = [str(process) for process in _everyone(layout) if process.pid not in family]
    found += [f"mount {mount}" for mount in _mounts(layout)]
    found += [f"cgroup {group}" for group in cgroups.groups(layout.cgroup_prefix)]
    found += [f"{entry}" for entry in (*_stray_entries(layout), *_contents(layout))]
    return found


def remove_all(layout: Layout, state: ClusterState | None) -> None:
    """End and remove everything of the cluster; harmless if there is nothing.

    Args:
        layout: The cluster.
        state: Its record, if there is one.

    Raises:
        ClusterError: Something cannot be removed, or this process itself belongs to the cluster.
    """
    _refuse_from_inside(layout)
    if state is not None and state.is_current():
        _stop_in_order(state)
    # Containers before their shims, since afterwards nobody would reap them.
    processes.kill(_cgroup_members(layout))
    processes.stop(processes.in_network_namespace(layout.namespace_file), patience_seconds=_INHABITANT_PATIENCE_SECONDS)
    processes.kill(processes.marked(MARKER_VARIABLE, str(layout.root)))
    # Which stray entries are the cluster's is read from files below the root, so they go before these.
    for entry in _stray_entries(layout):
        entry.unlink(missing_ok=True)
    _unmount(layout)
    cgroups.remove(layout.cgroup_prefix)
    for entry in _contents(layout):
        if entry.is_dir():
            shutil.rmtree(entry)
        else:
            entry.unlink()
    if state is not None and not cgroups.groups(FAMILY):
        _prune_host_folders(state)


def folders_to_remove() -> tuple[str, ...]:
    """Name the host folders that a cluster started now will have made, to be removed by the last cluster if empty."""
    others = bool(cgroups.groups(FAMILY))
    return tuple(str(folder) for folder in HOST_FOLDERS if others or not folder.exists())


def _refuse_from_inside(layout: Layout) -> None:
    family = processes.own_family()
    if any(process.pid in family for process in _everyone(layout)):
        raise ClusterError(
            "this process", "is itself inside the cluster", remedy="leave the cluster's shell and run it from outside"
        )


def _stop_in_order(state: ClusterState) -> None:
    def position(process: ProcessRef) -> int:
        matching = (place for place, name in enumerate(_STOP_ORDER, 1) if process.name.startswith(name))
        return next(matching, 0)

    for place in range(len(_STOP_ORDER) + 1):
        batch = [process for process in state.processes if position(process) == place]
        processes.stop(batch, patience_seconds=_COMPONENT_PATIENCE_SECONDS)


def _everyone(layout: Layout) -> list[ProcessRef]:
    """Every process of the cluster, each once."""
    found = {
        *processes.marked(MARKER_VARIABLE, str(layout.root)),
        *processes.in_network_namespace(layout.namespace_file),
        *_cgroup_members(layout),
    }
    return sorted(found, key=lambda process: process.pid)


def _cgroup_members(layout: Layout) -> list[ProcessRef]:
    found = (processes.identify(pid) for pid in cgroups.members(layout.cgroup_prefix))
    return [process for process in found if process is not None]


def _mounts(layout: Layout) -> list[Path]:
    """Mount points below the root, the latest first."""
    found = []
    for line in Path("/proc/self/mountinfo").read_bytes().splitlines():
        # Blanks and the like are written as a backslash with three octal digits.
        name = re.sub(rb"\\([0-7]{3})", lambda match: bytes([int(match[1], 8)]), line.split()[4])
        point = Path(name.decode(errors="surrogateescape"))
        if layout.root in point.parents:
            found.append(point)
    return found[::-1]


def _unmount(layout: Layout) -> None:
    for attempt in range(1, _MOUNT_PASSES + 1):
        for point in _mounts(layout):
            # A busy mount is detached in the last pass; it vanishes with its last user.
            lazily = ["--lazy"] if attempt == _MOUNT_PASSES else []
            try:
                run(["umount", *lazily, str(point)], remedy="end what uses the mount")
            except ClusterError:
                if lazily:
                    raise
        if not _mounts(layout):
            return


def _stray_entries(layout: Layout) -> list[Path]:
    """Files of this cluster outside its root: shims' sockets, results of CNI plugins, links to container logs."""
    bundles = layout.root.glob("node*/containerd-state/io.containerd.runtime.v2.task/*/*")
    sockets = {socket for bundle in bundles for socket in _shim_sockets(bundle)}
    # Each result names the pod's network namespace, which is mounted below the root.
    below = f'"{layout.root}/'.encode()
    results = [file for file in _CNI_RESULTS.glob("*") if below in _content(file)]
    links = [link for link in _CONTAINER_LOGS.glob("*.log") if link.is_symlink()]
    logs = [link for link in links if layout.root in link.readlink().parents]
    return [*sorted(entry for entry in sockets if entry.is_socket()), *results, *logs]


def _shim_sockets(bundle: Path) -> list[Path]:
    """The sockets of a container's shim: containerd 1 notes a bare address, containerd 2 one among other things."""
    notes = (_content(bundle / name) for name in ("address", "bootstrap.json"))
    return [Path(os.fsdecode(found[1])) for note in notes for found in _SOCKET_ADDRESS.finditer(note)]


def _content(file: Path) -> bytes:
    """Read a file that a running cluster may remove at any moment."""
    try:
        return file.read_bytes()
    except FileNotFoundError:
        return b""


def _contents(layout: Layout) -> list[Path]:
    """What is in the root folder apart from the logs and the lock."""
    kept = {layout.logs, layout.failed_logs, layout.lock_file}
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
