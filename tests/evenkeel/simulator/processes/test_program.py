"""Programs as processes of their own."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from evenkeel.simulator.processes.program import Invocation, RunningProgram

pytestmark = pytest.mark.anyio

_READY = "import signal, sys, os; "


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


def python(code: str, **environment: str) -> Invocation:
    return Invocation("program", (sys.executable, "-u", "-c", code), environment)


def wait_for_line(program: RunningProgram, seen: int = 0) -> str:
    """Wait for a line of the log; the program writes it at once, or ends."""
    path = program.log.path
    while len(lines := path.read_text().splitlines(keepends=True)) <= seen or not lines[seen].endswith("\n"):
        assert program.status is None, program.log.last_lines(9)
    return lines[seen].rstrip()


async def test_output_goes_to_the_log(tmp_path: Path) -> None:
    code = "import os, signal, sys; print(os.environ['A']); print('b', file=sys.stderr); signal.pause()"
    program = RunningProgram(python(code, A="a"), tmp_path)
    assert wait_for_line(program) == "a"
    assert wait_for_line(program, 1) == "b"
    await program.end(0.05)
    assert program.log.path == tmp_path / "program.log"


async def test_the_status_of_what_ends_by_itself_is_known(tmp_path: Path) -> None:
    program = RunningProgram(python("raise SystemExit(3)"), tmp_path)
    while program.status is None:
        pass
    assert program.status == 3


async def test_it_ends_by_the_signal_that_a_node_sends(tmp_path: Path) -> None:
    code = _READY + "signal.signal(signal.SIGTERM, lambda *_: sys.exit(7)); print('up'); signal.pause()"
    program = RunningProgram(python(code), tmp_path)
    assert wait_for_line(program) == "up"
    running = program.status
    await program.end(20.0)
    assert (running, program.status) == (None, 7)
    program.ask_to_end()
    program.kill()


async def test_what_does_not_end_is_killed(tmp_path: Path) -> None:
    code = _READY + "signal.signal(signal.SIGTERM, signal.SIG_IGN); print('up'); signal.pause()"
    program = RunningProgram(python(code), tmp_path)
    wait_for_line(program)
    await program.end(0.05)
    assert program.status == -9
    with pytest.raises(ProcessLookupError):
        os.kill(program.pid, 0)


async def test_a_cluster_of_this_machine_is_not_passed_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KUBERNETES_SERVICE_HOST", "10.0.0.1")
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", "http://collector")
    code = _READY + "print(sorted(k for k in os.environ if k.startswith(('KUBERNETES', 'OTEL')))); signal.pause()"
    program = RunningProgram(python(code), tmp_path)
    assert wait_for_line(program) == "[]"
    await program.end(0.05)


async def test_an_interrupt_at_the_terminal_does_not_reach_it(tmp_path: Path) -> None:
    program = RunningProgram(python(_READY + "print(os.getsid(0)); signal.pause()"), tmp_path)
    assert int(wait_for_line(program)) == program.pid != os.getsid(0)
    await program.end(0.05)
