"""Debian's Python out of the image's own base, run on the machine that builds the image.

Wheels are chosen and modules compiled by the interpreter that will run them, whichever the machine has itself.
"""

from __future__ import annotations

import platform
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from e2e.cluster.commands import run

VERSION = "3.11"
PROGRAM = f"usr/bin/python{VERSION}"
SITE = f"usr/local/lib/python{VERSION}/dist-packages"
"""Where Debian's Python looks for what is no package of Debian's."""

_LOADERS = {"x86_64": "lib64/ld-linux-x86-64.so.2", "aarch64": "lib/ld-linux-aarch64.so.1"}
_REMEDY = "see the message; the image is built for the machine's own processor, x86-64 or 64-bit ARM"


@dataclass(frozen=True, slots=True)
class Interpreter:
    """The Python of an unpacked base.

    Args:
        base: Folder of the base.
    """

    base: Path

    def run(self, arguments: Sequence[str], environment: Mapping[str, str], *, timeout_seconds: float = 600.0) -> str:
        """Run it and return what it prints.

        Args:
            arguments: After the interpreter's name.
            environment: All variables it gets.
            timeout_seconds: How long it may take.

        Raises:
            ClusterError: It fails.
        """
        machine = platform.machine()
        libraries = ":".join(str(self.base / top / f"{machine}-linux-gnu") for top in ("lib", "usr/lib"))
        loader = self.base / _LOADERS.get(machine, machine)
        command = [str(loader), "--library-path", libraries, str(self.base / PROGRAM), *arguments]
        return run(command, remedy=_REMEDY, environment=environment, timeout_seconds=timeout_seconds)
