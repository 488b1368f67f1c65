"""``evenkeel demo`` as a user gives it: what it prints, what it leaves behind, and its status."""

from __future__ import annotations

import json
import math
import os
import pty
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner
from typer.testing import Result as Outcome

from evenkeel.cli.demo import SpeedError, pace_of, read_speed
from evenkeel.cli.main import application
from evenkeel.simulator.scenarios import library
from evenkeel.simulator.scenarios.reading import read_scenario

pytestmark = pytest.mark.lengthy

_SECONDS = 120.0

KEPT = """\
title: A pod runs
duration: 50s
nodes: {node-1: {}}
workloads: {web: {containers: {main: {usage: {function: constant, cpu: 100m, memory: 20Mi}}}}}
expect: [{pods: web, count: 1, phase: Running}]
"""
BROKEN = KEPT.replace("count: 1", "count: 2")


def command(*words: str) -> list[str]:
    return [str(Path(sys.executable).parent / "evenkeel"), "demo", *words]


def run(*words: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        command(*words),
        capture_output=True,
        text=True,
        check=False,
        timeout=_SECONDS,
        env={**os.environ, **environment},
    )


def write(folder: Path, content: str) -> str:
    path = folder / "scenario.yaml"
    path.write_text(content)
    return str(path)


@contextmanager
def running(*words: str) -> Iterator[subprocess.Popen[str]]:
    """A demonstration that is ended at the latest with the block."""
    with subprocess.Popen(command(*words), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as process:
        try:
            yield process
        finally:
            process.terminate()
            try:
                process.wait(_SECONDS)
            finally:
                process.kill()


def line_with(process: subprocess.Popen[str], text: str) -> str:
    assert process.stdout is not None
    seen: list[str] = []
    for line in process.stdout:
        seen.append(line)
        if text in line:
            return line
    raise AssertionError("".join(seen))


def programs_of(parent: int) -> list[int]:
    """The processes that one has started."""
    children = Path(f"/proc/{parent}/task/{parent}/children").read_text().split()
    return [int(pid) for pid in children]


def is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


def test_piped_it_prints_lines_and_two_tables_and_the_same_seed_records_the_same(tmp_path: Path) -> None:
    first, second = tmp_path / "first.jsonl", tmp_path / "second.jsonl"
    path = write(tmp_path, KEPT)
    began = time.monotonic()
    done = run("--file", path, "--record", str(first), "--seed", "7", "--speed", "25")
    assert done.returncode == 0, done.stdout + done.stderr
    assert time.monotonic() - began >= 2.0, "50 s at 25 s a second"
    assert done.stderr == ""
    assert "\x1b" not in done.stdout
    lines = done.stdout.splitlines()
    assert lines[0] == "0:00:00  A pod runs"
    assert any("  pod web-" in line and line.endswith("started on node-1") for line in lines)
    assert "1  pods created" in [line.strip() for line in lines]
    assert "yes  web: 1 pod, Running" in [line.strip() for line in lines]
    assert lines[-1] == "The expected end state was reached."

    output = at_a_terminal("--file", path, "--record", str(second), "--seed", "7", "--speed", "max")
    assert "pods: used/request/limit" in output, "the live picture"
    assert "The expected end state was reached." in output
    assert first.read_bytes() == second.read_bytes()
    records = [json.loads(line) for line in first.read_text().splitlines()]
    assert records[0] == {"what": "scenario", "title": "A pod runs", "seconds": 50.0, "profile": "evenkeel", "seed": 7}
    assert records[-1] == {"what": "expectation", "text": "web: 1 pod, Running", "problems": []}
    assert {record["what"] for record in records[1:-1]} == {"done", "told", "podHappening", "used"}


def at_a_terminal(*words: str) -> str:
    """Run it with a terminal as its output, and return what it printed there."""
    ours, theirs = pty.openpty()
    with subprocess.Popen(
        command(*words), stdout=theirs, stderr=theirs, env={**os.environ, "COLUMNS": "120"}
    ) as process:
        os.close(theirs)
        printed = b""
        try:
            while chunk := _read(ours):
                printed += chunk
            assert process.wait(_SECONDS) == 0, printed.decode()
        finally:
            process.kill()
            os.close(ours)
    return printed.decode()


def _read(descriptor: int) -> bytes:
    """Read from a terminal; Linux reports its end as an error."""
    try:
        return os.read(descriptor, 65536)
    except OSError:
        return b""


def test_kept_up_the_cluster_answers_kubectl_until_it_is_interrupted(tmp_path: Path) -> None:
    with running("--file", write(tmp_path, BROKEN), "--keep") as process:
        line_with(process, "found: 1 pods")
        kubeconfig = line_with(process, "export KUBECONFIG=").partition("=")[2].strip()
        kubectl = Path(sys.executable).with_name("kubectl")
        found = subprocess.run(
            [kubectl, "--kubeconfig", kubeconfig, "get", "pods", "-o", "jsonpath={.items[*].status.phase}"],
            capture_output=True,
            text=True,
            check=False,
            timeout=_SECONDS,
        )
        assert found.stdout == "Running", found.stderr
        programs = programs_of(process.pid)
        assert len(programs) == 3
        process.send_signal(signal.SIGINT)
        assert process.wait(_SECONDS) == 1, "the expected end state was not reached"
    assert not any(map(is_alive, programs))
    assert not Path(kubeconfig).exists()


def test_told_to_end_it_ends_its_processes(tmp_path: Path) -> None:
    with running("--file", write(tmp_path, KEPT.replace("50s", "200h"))) as process:
        line_with(process, "started on node-1")
        programs = programs_of(process.pid)
        assert len(programs) == 3
        process.terminate()
        assert process.wait(_SECONDS) == 1
    assert not any(map(is_alive, programs))


def refused(*words: str, **environment: str) -> Outcome:
    """Give a command line that begins nothing, in this process."""
    return CliRunner().invoke(application("demo"), ["demo", *words], env=environment)


def test_a_file_that_means_nothing_is_explained(tmp_path: Path) -> None:
    done = refused("--file", write(tmp_path, KEPT.replace("duration: 50s", "duration: soon")))
    assert done.exit_code == 2
    assert "scenario.yaml:2: duration: not a duration; a duration is written as 90s, 5m or 1h30m" in done.stderr


def test_an_unknown_scenario_is_answered_with_the_nearest() -> None:
    done = refused("brun", COLUMNS="200")
    assert (done.exit_code, done.stdout) == (2, "")
    assert "did you mean burn?" in done.stderr


def test_without_upstreams_programs_their_scenario_does_not_begin(tmp_path: Path) -> None:
    done = refused("upstream-side-by-side", EVENKEEL_UPSTREAM_VPA=str(tmp_path))
    assert (done.exit_code, done.stdout) == (2, "")
    assert "build them with `python -m e2e.cluster build --only vpa`" in done.stderr


def test_what_cannot_be_played_is_said_in_one_line_each(tmp_path: Path) -> None:
    content = KEPT + "objects: [{apiVersion: v1, kind: Nothing, metadata: {name: x}}]\n"
    done = run("--file", write(tmp_path, content))
    assert done.returncode == 1
    assert "Nothing x" in done.stderr
    assert "Traceback" not in done.stderr


def test_the_built_in_scenarios_are_listed() -> None:
    done = refused("--list")
    assert done.exit_code == 0
    assert [line.split()[0] for line in done.stdout.splitlines()] == list(library.names())


@pytest.mark.parametrize("words", [("--profile", "other"), ("--nonsense",)])
def test_a_wrong_command_line_is_a_usage_error(words: tuple[str, ...]) -> None:
    assert refused(*words).exit_code == 2


@pytest.mark.parametrize(("given", "speed"), [("60", 60.0), ("0.5", 0.5), ("1e3", 1000.0), ("max", math.inf)])
def test_speeds(given: str, speed: float) -> None:
    assert read_speed(given) == speed


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ("fast", "'fast' is no number of simulated seconds in a second; write for example 60, 0.5 or max"),
        ("60x", "'60x' is no number"),
        ("", "'' is no number"),
        ("nan", "'nan' is no number"),
        ("inf", "'inf' is no number"),
        ("1e999", "'1e999' is no number"),
        ("0", "at 0 the clock would never come forward; use a number above zero, or max"),
        ("-1", "at -1 the clock would never come forward"),
    ],
)
def test_nonsense_for_a_speed_is_explained(given: str, said: str) -> None:
    with pytest.raises(typer.BadParameter) as caught:
        read_speed(given)
    assert said in str(caught.value)


def test_a_wrong_speed_is_a_usage_error() -> None:
    done = refused("--speed", "fast", COLUMNS="200")
    assert done.exit_code == 2
    assert "'fast' is no number of simulated seconds" in done.stderr


REAL = KEPT.replace("duration: 50s", "duration: 1s\ntime: real")


def test_real_time_has_one_speed(tmp_path: Path) -> None:
    done = refused("--file", write(tmp_path, REAL), "--speed", "60")
    assert (done.exit_code, done.stdout) == (2, "")
    assert "'A pod runs' runs in the machine's own time (time: real)" in done.stderr
    assert "leave --speed out" in done.stderr


@pytest.mark.parametrize(
    ("text", "asked", "at_terminal", "pace"),
    [
        (REAL, None, False, None),
        (REAL, 1.0, True, None),
        (REAL, 60.0, True, SpeedError),
        (REAL, math.inf, False, SpeedError),
        (KEPT, None, False, None),
        (KEPT, None, True, 50 / 30),
        (KEPT, 25.0, True, 25.0),
        (KEPT, math.inf, True, None),
    ],
)
def test_the_pace_of_a_scenario(
    text: str, asked: float | None, at_terminal: bool, pace: float | type[SpeedError] | None, tmp_path: Path
) -> None:
    scenario = read_scenario(Path(write(tmp_path, text)))
    if isinstance(pace, type):
        with pytest.raises(pace):
            pace_of(asked, scenario, at_terminal=at_terminal)
    else:
        assert pace_of(asked, scenario, at_terminal=at_terminal) == pace
