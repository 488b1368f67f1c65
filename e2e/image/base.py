"""The image's base: Debian's Python and the libraries it needs, without a shell or a package manager.

Packages come from the machine's own apt sources and are unpacked, never installed: no script of theirs runs.
"""

from __future__ import annotations

import os
import shutil
from pathlib import Path

from e2e.cluster.commands import run
from e2e.cluster.errors import ClusterError
from e2e.image.interpreter import PROGRAM, VERSION

SUITE = "bookworm"
PACKAGES = ("base-files", f"python{VERSION}-minimal", f"libpython{VERSION}-stdlib", "libstdc++6")
"""The last one is for wheels that are written in C++ and bring no library of their own."""
USER = 65532
ACCOUNTS = {
    "etc/passwd": f"root:x:0:0:root:/nonexistent:/nonexistent\nevenkeel:x:{USER}:{USER}::/nonexistent:/nonexistent\n",
    "etc/group": f"root:x:0:\nevenkeel:x:{USER}:\n",
    "etc/nsswitch.conf": "passwd: files\ngroup: files\nhosts: files dns\n",
}
"""Enough to have a name for the user, and addresses by the cluster's DNS."""

_SOURCES = Path("/etc/apt")
_KEPT = (
    "etc/debian_version",
    "etc/os-release",
    "etc/mime.types",
    "etc/ssl",
    "lib",
    "lib64",
    PROGRAM,
    "usr/lib",
    "usr/share/doc/*/copyright",
    "var/lib/dpkg/status.d",
)
_REMOVED = ("usr/lib/dpkg", "usr/lib/mime", "usr/lib/tmpfiles.d", f"usr/lib/python{VERSION}/lib2to3")
# Scanners find there which packages an image has that has no package database.
_RECORD = """set -eu
mkdir -p "$1/var/lib/dpkg/status.d"
for package in "$1"/var/cache/apt/archives/*.deb; do
  dpkg-deb --field "$package" > "$1/var/lib/dpkg/status.d/$(dpkg-deb --field "$package" Package)"
done
"""


def make_base(folder: Path, scratch: Path) -> None:
    """Unpack Debian's packages and keep what the processes use.

    Args:
        folder: Where the base goes; must not exist.
        scratch: A folder for what is thrown away.

    Raises:
        ClusterError: A package cannot be had.
    """
    hook = scratch / "record-packages"
    hook.write_text(f"#!/bin/sh\n{_RECORD}")
    hook.chmod(0o755)
    unpacked = scratch / "debian"
    settings = ["--variant=extract", "--mode=chrootless", "--format=directory", f'--extract-hook={hook} "$1"']
    run(
        ["mmdebstrap", "--quiet", *settings, f"--include={','.join(PACKAGES)}", SUITE, str(unpacked), *_sources()],
        remedy=f"build the image on Debian 12 ({SUITE}), whose apt sources must be reachable",
        environment={**os.environ, "SOURCE_DATE_EPOCH": "0"},
        timeout_seconds=600,
    )
    for pattern in _KEPT:
        for kept in unpacked.glob(pattern):
            _move(kept, folder / kept.relative_to(unpacked))
    for path in _REMOVED:
        shutil.rmtree(folder / path, ignore_errors=True)
    for path, text in ACCOUNTS.items():
        (folder / path).write_text(text)
    (folder / "tmp").mkdir()
    (folder / "tmp").chmod(0o1777)
    # The kubelet mounts volumes and service account tokens below these.
    for path in ("dev", "proc", "run", "sys", "var/run"):
        (folder / path).mkdir(parents=True, exist_ok=True)


def _sources() -> list[str]:
    """Return the machine's apt source files.

    Raises:
        ClusterError: There are none.
    """
    single = [_SOURCES / "sources.list"]
    found = [
        *single,
        *sorted(_SOURCES.glob("sources.list.d/*.list")),
        *sorted(_SOURCES.glob("sources.list.d/*.sources")),
    ]
    if not (files := [str(file) for file in found if file.is_file()]):
        raise ClusterError(str(_SOURCES), "has no sources", remedy="build the image on a Debian 12 that apt works on")
    return files


def _move(source: Path, target: Path) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    shutil.move(source, target)
