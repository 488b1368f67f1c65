"""Cgroups (version 1): one top-level group per node, in each mounted hierarchy, and what its containers got."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from e2e.cluster.errors import ClusterError
from e2e.cluster.layout import NodeLayout

_NEEDED = frozenset({"cpu", "cpuacct", "cpuset", "memory", "pids"})
_REMOVAL_SECONDS = 10.0


@dataclass(frozen=True, slots=True)
class ContainerCgroup:
    """What the kernel enforces for one container.

    Args:
        cpu_quota_us: CPU time per period in microseconds; -1 is no limit.
        cpu_period_us: Length of a period in microseconds.
        cpu_shares: Weight against other groups; 1024 per CPU requested.
        memory_limit_bytes: Memory limit; a number near 2**63 is no limit.
    """

    cpu_quota_us: int
    cpu_period_us: int
    cpu_shares: int
    memory_limit_bytes: int

    @property
    def cpu_limit_millicores(self) -> int | None:
        """The CPU limit as Kubernetes writes it; None without limit."""
        return None if self.cpu_quota_us < 0 else round(1000 * self.cpu_quota_us / self.cpu_period_us)


def hierarchies() -> list[Path]:
    """Return the mount points of all cgroup hierarchies, version 1 and 2."""
    mounts = [line.split() for line in Path("/proc/self/mounts").read_text().splitlines()]
    return [Path(fields[1]) for fields in mounts if fields[2] in {"cgroup", "cgroup2"}]


def controllers() -> dict[str, Path]:
    """Return where each version 1 controller is mounted.

    Raises:
        ClusterError: A controller that the kubelet needs is not mounted.
    """
    found: dict[str, Path] = {}
    for line in Path("/proc/self/mounts").read_text().splitlines():
        _, folder, kind, options, *_ = line.split()
        if kind == "cgroup":
            found |= {option: Path(folder) for option in options.split(",") if option in _NEEDED}
    if missing := sorted(_NEEDED - found.keys()):
        raise ClusterError(
            "cgroups",
            f"version 1 controllers are not mounted: {', '.join(missing)}",
            remedy="use a machine with the version 1 hierarchies (kernel parameter systemd.unified_cgroup_hierarchy=0)",
        )
    return found


def create(node: NodeLayout) -> None:
    """Make the node's group in each hierarchy; its kubelet works below it as if it were the machine's root group."""
    cpuset = controllers()["cpuset"]
    for hierarchy in hierarchies():
        (hierarchy / node.cgroup).mkdir(exist_ok=True)
    # A new cpuset group is empty and takes no process until it is given CPUs and memory nodes.
    for name in ("cpuset.cpus", "cpuset.mems"):
        (cpuset / node.cgroup / name).write_text((cpuset / name).read_text())


def groups(prefix: str) -> list[Path]:
    """Return the top-level groups whose names begin with ``prefix``, in all hierarchies."""
    return sorted(group for hierarchy in hierarchies() for group in hierarchy.glob(f"{prefix}*") if group.is_dir())


def members(prefix: str) -> frozenset[int]:
    """Return the ids of all processes in or below the groups whose names begin with ``prefix``."""
    found: set[int] = set()
    for group in groups(prefix):
        for file in group.rglob("cgroup.procs"):
            try:
                found.update(int(pid) for pid in file.read_text().split())
            except OSError:
                continue  # The group went away, or is a threaded one whose parent lists the process.
    found.discard(0)
    return frozenset(found)


def remove(prefix: str) -> None:
    """Remove the groups whose names begin with ``prefix``, deepest first.

    Raises:
        ClusterError: A group stays busy.
    """
    deadline = time.monotonic() + _REMOVAL_SECONDS
    while remaining := groups(prefix):
        busy = [error for group in remaining for error in _remove_tree(group)]
        if not busy:
            return
        if time.monotonic() >= deadline:
            raise ClusterError(str(busy[0].filename), str(busy[0]), remedy="end the processes in its cgroup.procs")
        time.sleep(0.1)


def _remove_tree(group: Path) -> Iterator[OSError]:
    """Remove one group with those below it; yields what could not be removed yet."""
    below = [folder for folder in group.rglob("*") if folder.is_dir()]
    for folder in [*sorted(below, key=lambda path: -len(path.parts)), group]:
        try:
            folder.rmdir()
        except FileNotFoundError:
            continue
        except OSError as error:
            yield error


def container(prefix: str, pod_uid: str, container_id: str) -> ContainerCgroup:
    """Read what the kernel enforces for a container.

    Args:
        prefix: What the nodes' groups begin with.
        pod_uid: ``metadata.uid`` of the pod.
        container_id: ``status.containerStatuses[].containerID``, with or without ``containerd://``; empty for the pod's
            own group.

    Raises:
        ClusterError: The container has no cgroup on any node.
    """
    mounted = controllers()
    plain = container_id.removeprefix("containerd://")
    group = f"pod{pod_uid}/{plain}" if plain else f"pod{pod_uid}"
    found = sorted(mounted["cpu"].glob(f"{prefix}*/kubepods/**/{group}"))
    if not found:
        what = f"container {plain} of pod {pod_uid}" if plain else f"pod {pod_uid}"
        raise ClusterError(what, "has no cgroup on any node", remedy="check that it runs")
    relative = found[0].relative_to(mounted["cpu"])
    cpu, memory = found[0], mounted["memory"] / relative
    return ContainerCgroup(
        cpu_quota_us=int((cpu / "cpu.cfs_quota_us").read_text()),
        cpu_period_us=int((cpu / "cpu.cfs_period_us").read_text()),
        cpu_shares=int((cpu / "cpu.shares").read_text()),
        memory_limit_bytes=int((memory / "memory.limit_in_bytes").read_text()),
    )
