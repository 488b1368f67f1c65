"""Debian's Prometheus, unpacked without being installed, so that no service of it is ever started."""

from __future__ import annotations

import os
import shutil
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from e2e.cluster.binaries import cache_folder
from e2e.cluster.commands import run
from e2e.cluster.errors import ClusterError

_PACKAGE = "prometheus"


@dataclass(frozen=True, slots=True)
class Programs:
    """The two programs of the package."""

    prometheus: Path
    promtool: Path


def find_programs() -> Programs:
    """Return the programs: those that are installed, or else unpacked below the user's cache folder.

    Raises:
        ClusterError: They are not there and cannot be had.
    """
    for folder in (Path("/usr/bin"), _unpacked() / "usr/bin"):
        programs = Programs(folder / "prometheus", folder / "promtool")
        if programs.prometheus.exists() and programs.promtool.exists():
            return programs
    _unpack(_unpacked())
    return find_programs()


def _unpacked() -> Path:
    return cache_folder() / "debian-prometheus"


def _unpack(folder: Path) -> None:
    """Fetch the package and unpack it, whole or not at all."""
    if shutil.which("apt-get") is None:
        raise ClusterError(
            _PACKAGE, "not installed and no apt-get here", remedy="use Debian 12, or install prometheus and promtool"
        )
    remedy = f"run `apt-get update && apt-get download {_PACKAGE}` by hand"
    environment = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    folder.parent.mkdir(parents=True, exist_ok=True)
    with TemporaryDirectory(dir=folder.parent) as temporary:
        # The package is downloaded into the working folder; apt has no option for another one.
        download = ["sh", "-c", 'cd "$0" && { apt-get download "$1" || { apt-get update && apt-get download "$1"; }; }']
        run([*download, temporary, _PACKAGE], remedy=remedy, environment=environment, timeout_seconds=300)
        package = next(Path(temporary).glob("*.deb"))
        unpacked = Path(temporary) / "unpacked"
        run(["dpkg-deb", "-x", str(package), str(unpacked)], remedy=remedy)
        if (unpacked / "usr/bin/promtool").exists():
            unpacked.rename(folder)
            return
    raise ClusterError(_PACKAGE, "its programs are not where Debian 12 has them", remedy="use Debian 12")
