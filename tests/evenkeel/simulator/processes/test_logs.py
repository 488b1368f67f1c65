"""Log files that grow while they are read."""

from __future__ import annotations

from pathlib import Path

import pytest

from evenkeel.simulator.processes.logs import LogLine, LogTail


@pytest.mark.parametrize(
    ("raw", "line"),
    [
        (b'{"event":"e","level":"info","timestamp":"t","a":1}', LogLine("info", "e", {"a": 1})),
        (b'{"event":"e"}', LogLine("", "e", {})),
        (b'{"a":1}', LogLine("", '{"a":1}', {})),
        (b"[1]", LogLine("", "[1]", {})),
        (b"I1130 klog line", LogLine("", "I1130 klog line", {})),
        (b"\xff", LogLine("", "\ufffd", {})),
    ],
)
def test_lines(raw: bytes, line: LogLine) -> None:
    assert LogLine.parse(raw) == line


def test_a_tail_gives_each_whole_line_once(tmp_path: Path) -> None:
    tail = LogTail(tmp_path / "x.log")
    assert tail.new_lines() == []
    assert tail.last_lines(3) == ""
    with tail.path.open("a") as file:
        file.write("one\ntw")
        file.flush()
        assert [line.event for line in tail.new_lines()] == ["one"]
        assert tail.new_lines() == []
        file.write("o\nthree\n")
        file.flush()
        assert [line.event for line in tail.new_lines()] == ["two", "three"]
    assert tail.last_lines(2) == "two\nthree"


def test_a_tail_begins_at_the_end_of_what_is_there(tmp_path: Path) -> None:
    path = tmp_path / "x.log"
    path.write_text("of an earlier run\n")
    tail = LogTail(path)
    with path.open("a") as file:
        file.write("new\n")
    assert [line.event for line in tail.new_lines()] == ["new"]
    assert tail.last_lines(2) == "of an earlier run\nnew"
