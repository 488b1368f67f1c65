"""``evenkeel replay`` as a process that is interrupted or killed, and goes on (beyond:B-36)."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
import uuid
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

import pytest

EVENKEEL = Path(sys.executable).with_name("evenkeel")
STRATEGIES = ("static", "oracle", "oracle-24h", "vpa-min0")
ROWS = 900
PATIENCE_SECONDS = 60.0


@pytest.fixture
def words(tmp_path: Path) -> list[str]:
    """Return a command that takes some seconds, most of them for the last strategy."""
    rows = [
        f"shop/web-{name}/app,{300 * row},{0.1 + row * (name + 3) % 17 / 10},{2**28 + row * name % 23 * 2**20}"
        for name in range(12)
        for row in range(ROWS)
    ]
    (tmp_path / "use.csv").write_text("trace_id,timestamp,cpu_cores,memory_bytes\n" + "\n".join(rows) + "\n")
    named = [word for name in STRATEGIES for word in ("-s", name)]
    return [str(EVENKEEL), "replay", str(tmp_path / "use.csv"), *named, "-o", "json"]


def figures(words: Sequence[str]) -> object:
    done = subprocess.run(words, capture_output=True, text=True, check=True)
    return json.loads(done.stdout)["figures"]


def wait_for_a_part(process: subprocess.Popen[str], folder: Path) -> set[Path]:
    """Return what is finished as soon as something is."""
    deadline = time.monotonic() + PATIENCE_SECONDS
    while not (found := set(folder.glob("*.npz"))):
        assert time.monotonic() < deadline
        try:
            process.wait(timeout=0.02)
        except subprocess.TimeoutExpired:
            continue
        raise AssertionError(process.communicate())
    return found


def wait_for_a_reader(process: subprocess.Popen[str], pipe: Path) -> int:
    """Return the descriptor to write to a pipe by, as soon as the process reads it."""
    deadline = time.monotonic() + PATIENCE_SECONDS
    while True:
        with suppress(OSError):
            return os.open(pipe, os.O_WRONLY | os.O_NONBLOCK)
        assert time.monotonic() < deadline
        with suppress(subprocess.TimeoutExpired):
            process.wait(timeout=0.02)
            raise AssertionError(process.communicate())


def living(marker: str) -> list[str]:
    """Return the processes that were started with a variable in their environment."""
    found = []
    for place in Path("/proc").glob("[0-9]*/environ"):
        try:
            if marker.encode() in place.read_bytes():
                found.append(place.parent.name)
        except OSError:
            continue
    return found


@pytest.mark.parametrize(
    ("row", "number", "status"),
    [
        ("beyond:B-36 interrupted", signal.SIGINT, 130),
        ("beyond:B-36 killed", signal.SIGKILL, -signal.SIGKILL),
    ],
)
def test_nothing_that_is_finished_is_lost(
    words: list[str], tmp_path: Path, row: str, number: signal.Signals, status: int
) -> None:
    folder, marker = tmp_path / "run", f"REPLAY_MARKER={uuid.uuid4()}"
    command = [*words, "--jobs", "2", "--resume", str(folder)]
    environment = {**os.environ, **dict([marker.split("=")])}
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment
    ) as process:
        wait_for_a_part(process, folder)
        process.send_signal(number)
        output, errors = process.communicate(timeout=PATIENCE_SECONDS)
    finished = {file: file.stat().st_mtime_ns for file in folder.glob("*.npz")}
    assert (process.returncode, output) == (status, ""), row
    assert 1 <= len(finished) < len(STRATEGIES)
    if number == signal.SIGINT:
        assert errors == (
            f"evenkeel: interrupted; what is finished is kept in {folder}, and the same command goes on from there\n"
        )
    deadline = time.monotonic() + PATIENCE_SECONDS
    while living(marker):
        assert time.monotonic() < deadline, "processes are left behind"
    again = figures([*words, "--jobs", "1", "--resume", str(folder)])
    assert {file: file.stat().st_mtime_ns for file in finished} == finished
    assert len(list(folder.glob("*.npz"))) == len(STRATEGIES)
    assert again == figures([*words, "--jobs", "1"])


def test_without_a_folder_nothing_is_kept(tmp_path: Path) -> None:
    """beyond:B-36: and that is said, however early it ends."""
    pipe = tmp_path / "use.csv"
    os.mkfifo(pipe)
    command = [str(EVENKEEL), "replay", str(pipe), "-s", "static", "--jobs", "1"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        written = wait_for_a_reader(process, pipe)
        process.send_signal(signal.SIGINT)
        output, errors = process.communicate(timeout=PATIENCE_SECONDS)
        os.close(written)
    assert (process.returncode, output) == (130, "")
    assert errors == "evenkeel: interrupted; nothing is kept; with --resume FOLDER what is finished would be\n"
