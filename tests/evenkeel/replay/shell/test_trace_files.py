"""Files of traces (beyond:B-36)."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from autoscaling.errors import ConfigurationError
from evenkeel.replay.shell.trace_files import read_traces

TEXT = "trace_id,timestamp,cpu_cores,memory_bytes\n" + "".join(f"NAME,{60 * k},0.5,8192\n" for k in range(8))


def write(folder: Path, *names: str) -> None:
    for name in names:
        text = TEXT.replace("NAME", name)
        if name.endswith(".gz"):
            (folder / name).write_bytes(gzip.compress(text.encode()))
        else:
            (folder / name).write_text(text)


def test_a_folder(tmp_path: Path) -> None:
    """beyond:B-36: what is no trace is passed over."""
    write(tmp_path, "a.csv", "b.csv.gz")
    (tmp_path / "README.md").write_text("nothing")
    (tmp_path / "faults.csv").write_text("trace_id,timestamp,fault\na,3,loss\n")
    (tmp_path / "index.csv").write_text("trace_id,source,step_s\na.csv,nezha,30\n")
    found = read_traces([tmp_path])
    assert [(each.name, each.source, each.step_seconds) for each in found.traces] == [
        ("a.csv", "a", 30.0),
        ("b.csv.gz", "b", 60.0),
    ]
    assert len(found.problems) == 1
    assert "faults.csv row 1: the header has no cpu_cores or memory_bytes" in found.problems[0]


def test_files(tmp_path: Path) -> None:
    """beyond:B-36."""
    write(tmp_path, "a.csv", "b.csv", "c.csv")
    assert [each.name for each in read_traces([tmp_path / "c.csv", tmp_path / "a.csv"]).traces] == ["c.csv", "a.csv"]


@pytest.mark.parametrize(
    ("row", "name", "content", "message"),
    [
        ("beyond:B-36 no such file", "a.csv", None, "a.csv: cannot be read: .*No such file"),
        ("beyond:B-36 not packed", "a.csv.gz", b"text", "a.csv.gz: cannot be read: .*; name a .csv or .csv.gz file"),
        ("beyond:B-36 cut off", "a.csv.gz", gzip.compress(TEXT.encode(), mtime=0)[:-20], "a.csv.gz: cannot be read"),
        ("beyond:B-36 not text", "a.csv", b"\xff\xfe\x00", "a.csv: cannot be read"),
        ("beyond:B-36 something else", "a.csv", b"one,two\n1,2\n", "a.csv row 1: the header has no trace_id"),
        ("beyond:B-36 empty", "a.csv", b"", "a.csv row 1: the header has no trace_id"),
        ("beyond:B-36 a header alone", "a.csv", TEXT.encode()[:42], "no series in it"),
    ],
)
def test_a_file_that_is_none(tmp_path: Path, row: str, name: str, content: bytes | None, message: str) -> None:
    if content is not None:
        (tmp_path / name).write_bytes(content)
    with pytest.raises(ConfigurationError, match=message):
        read_traces([tmp_path / name])


def test_an_empty_folder(tmp_path: Path) -> None:
    """beyond:B-36."""
    with pytest.raises(ConfigurationError, match="no series in it; name"):
        read_traces([tmp_path])


@pytest.mark.parametrize(
    "index",
    [
        "trace_id,source\na,s\n",
        "trace_id,source,step_s\na,s,soon\n",
        "trace_id,source,step_s\na,s,0\n",
        "trace_id,source,step_s\na,s,inf\n",
    ],
)
def test_an_index_that_tells_nothing(tmp_path: Path, index: str) -> None:
    """beyond:B-36."""
    write(tmp_path, "a.csv")
    (tmp_path / "index.csv").write_text(index)
    with pytest.raises(ConfigurationError, match="give each row a trace_id, a source and the seconds"):
        read_traces([tmp_path / "a.csv"])
