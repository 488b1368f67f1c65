"""What is finished, kept in a folder (beyond:B-36)."""

from __future__ import annotations

from dataclasses import fields
from pathlib import Path

import numpy as np
import pytest

from autoscaling.errors import ConfigurationError
from evenkeel.replay.lots import HeldLot
from evenkeel.replay.scores import Scores
from evenkeel.replay.shell.contest import Part, Task, play
from evenkeel.replay.shell.kept_parts import KeptParts
from tests.evenkeel.replay.series import trace

LOT = HeldLot((trace([1.0, 2.0, 3.0, 4.0] * 3, name="shop/web/app"), trace([3.0, 2.0] * 9, name="ü/\N{SNOWMAN}/app")))
TASK = Task("static", 0, LOT)


def test_what_is_kept_is_found_again(tmp_path: Path) -> None:
    """beyond:B-36: to the last bit, by the same task alone."""
    shelf, part = KeptParts.at(tmp_path / "run"), play(TASK)
    assert shelf.find(TASK) is None
    shelf.keep(TASK, part)
    found = KeptParts.at(tmp_path / "run").find(TASK)
    assert found is not None
    assert (found.names, found.sources, found.rows, found.seconds) == (part.names, part.sources, 30, part.seconds)
    assert found.scores is not None
    assert part.scores is not None
    for each in fields(Scores):
        np.testing.assert_array_equal(getattr(found.scores, each.name), getattr(part.scores, each.name))
    assert found.scores.oom_ratios == (1.0, 1.5)
    assert shelf.find(Task("oracle", 0, LOT)) is None
    assert shelf.find(Task("static", 0, HeldLot(LOT.traces[:1]))) is None
    assert [file.suffix for file in (tmp_path / "run").iterdir()] == [".npz"]


def test_a_part_of_nothing(tmp_path: Path) -> None:
    """beyond:B-36: a lot of which no series was left, with what was wrong."""
    shelf = KeptParts.at(tmp_path)
    nothing = Part(None, (), (), 0, ("a row 1: x: is short", "b"), 0.5)
    shelf.keep(TASK, nothing)
    assert shelf.find(TASK) == nothing or vars_of(shelf.find(TASK)) == vars_of(nothing)


def vars_of(part: Part | None) -> list[object]:
    assert part is not None
    return [getattr(part, each.name) for each in fields(part)]


@pytest.mark.parametrize("content", [b"", b"PK", b"text"])
def test_what_cannot_be_read_is_played_anew(tmp_path: Path, content: bytes) -> None:
    """beyond:B-36."""
    shelf = KeptParts.at(tmp_path)
    shelf.keep(TASK, play(TASK))
    (file,) = tmp_path.iterdir()
    whole = file.read_bytes()
    for broken in (content, whole[: len(whole) // 2]):
        file.write_bytes(broken)
        assert shelf.find(TASK) is None
    shelf.keep(TASK, play(TASK))
    assert shelf.find(TASK) is not None


def test_a_folder_that_cannot_be_made(tmp_path: Path) -> None:
    """beyond:B-36."""
    (tmp_path / "file").write_text("")
    with pytest.raises(ConfigurationError, match=r"--resume .*/file: .*; name a folder that can be made"):
        KeptParts.at(tmp_path / "file")
    shelf = KeptParts.at(tmp_path / "gone")
    (tmp_path / "gone").rmdir()
    with pytest.raises(ConfigurationError, match=r"--resume .*/gone: .*; name a folder that can be written"):
        shelf.keep(TASK, play(TASK))
