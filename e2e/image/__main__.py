"""The image from nothing: ``python -m e2e.image [FOLDER]``; the archive's name and its digest are printed."""

from __future__ import annotations

import shutil
import sys
import time
from pathlib import Path

from e2e.cluster.commands import run
from e2e.cluster.errors import ClusterError
from e2e.image.oci import assemble, settings
from e2e.image.trees import make_trees

DEFAULT_FOLDER = Path(__file__).parents[2] / "results" / "image"
LAYOUT = "evenkeel"


def main() -> int:
    """Build the image below the folder that is the only argument; an error is one message and exit code 1."""
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else DEFAULT_FOLDER
    try:
        build(folder)
    except ClusterError as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    return 0


def build(folder: Path) -> Path:
    """Build the image and return its archive, an OCI layout.

    Args:
        folder: Where it goes; what an earlier run left there is replaced.

    Raises:
        ClusterError: A program is missing or fails.
    """
    _install_programs()
    started = time.monotonic()
    trees, layout = folder / "trees", folder / LAYOUT
    make_trees(trees)
    digest = assemble(trees, settings(), layout)
    archive = layout.with_suffix(".tar")
    size = archive.stat().st_size / 1e6
    print(f"image: {archive} ({size:.0f} MB) is {digest}, built in {time.monotonic() - started:.0f} s", flush=True)
    return archive


def _install_programs() -> None:
    """Install the two Debian packages that the build needs, if they are missing."""
    missing = [program for program in ("mmdebstrap", "umoci") if shutil.which(program) is None]
    if missing:
        remedy = f"run as root, or have an administrator run: apt-get install {' '.join(missing)}"
        run(["apt-get", "update"], remedy=remedy, timeout_seconds=300)
        run(["apt-get", "install", "-y", "--no-install-recommends", *missing], remedy=remedy, timeout_seconds=600)


if __name__ == "__main__":
    sys.exit(main())
