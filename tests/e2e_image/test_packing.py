"""Archives of file trees: the same bytes whenever and by whomever the tree was made."""

from __future__ import annotations

import os
import tarfile
from pathlib import Path

import pytest

from e2e.image.packing import pack


def _tree(folder: Path, names: list[str], seconds: int) -> Path:
    """A tree whose files were made in an order and at a time."""
    for name in names:
        file = folder / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(name)
        file.chmod(0o775 if name.startswith("bin/") else 0o664)
        os.utime(file, (seconds, seconds))
    (folder / "link").symlink_to("bin/run")
    (folder / "tmp").mkdir()
    (folder / "tmp").chmod(0o1777)
    return folder


def test_order_and_time_of_making_do_not_show(tmp_path: Path) -> None:
    """Spec: product:9."""
    names = ["bin/run", "etc/a", "etc/b"]
    for made, order, seconds in (("one", names, 1), ("two", names[::-1], 10**9)):
        pack(_tree(tmp_path / made, order, seconds), tmp_path / f"{made}.tar")
    assert (tmp_path / "one.tar").read_bytes() == (tmp_path / "two.tar").read_bytes()


def test_everything_is_roots_and_old_and_only_tmp_is_for_everybody(tmp_path: Path) -> None:
    pack(_tree(tmp_path / "tree", ["bin/run", "etc/a"], 5), tmp_path / "tree.tar")
    with tarfile.open(tmp_path / "tree.tar") as archive:
        entries = {entry.name: entry for entry in archive}
    assert {(e.uid, e.gid, e.uname, e.gname, e.mtime) for e in entries.values()} == {(0, 0, "", "", 0)}
    modes = {name: oct(entry.mode) for name, entry in entries.items() if entry.isfile() or name == "tmp"}
    assert modes == {"bin/run": "0o755", "etc/a": "0o644", "tmp": "0o1777"}
    assert entries["link"].linkname == "bin/run"


def test_a_tree_that_is_not_there_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match="absent: no folder to pack"):
        pack(tmp_path / "absent", tmp_path / "absent.tar")
