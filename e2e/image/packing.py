"""File trees as tar archives whose bytes depend on names, modes and contents alone."""

from __future__ import annotations

import tarfile
from pathlib import Path

_WRITABLE_BY_OTHERS = 0o022
_STICKY = 0o1000


def pack(folder: Path, archive: Path) -> None:
    """Write everything below a folder to an archive: sorted, owned by root, of the beginning of time.

    Nothing can be written by others than its owner, except in folders that are there for it, such as /tmp.

    Raises:
        FileNotFoundError: There is no such folder.
    """
    if not folder.is_dir():
        raise FileNotFoundError(f"{folder}: no folder to pack")
    archive.parent.mkdir(parents=True, exist_ok=True)
    with tarfile.open(archive, "w", format=tarfile.PAX_FORMAT) as packed:
        for path in sorted(folder.rglob("*")):
            packed.add(path, str(path.relative_to(folder)), recursive=False, filter=_anonymous)


def _anonymous(entry: tarfile.TarInfo) -> tarfile.TarInfo:
    """Take away from an entry what tells when and by whom it was made."""
    entry.uid = entry.gid = entry.mtime = 0
    entry.uname = entry.gname = ""
    entry.pax_headers = {}
    if entry.issym():
        entry.mode = 0o777
    elif not entry.mode & _STICKY:
        entry.mode &= ~_WRITABLE_BY_OTHERS
    return entry
