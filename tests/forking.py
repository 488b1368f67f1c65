"""Starts the three programs as processes that were forked from one that has imported them already.

They are the same programs with the same words; only the second that each would take to import is saved.
"""

from __future__ import annotations

import multiprocessing
import os
import runpy
import signal
import subprocess
import sys
from multiprocessing.context import ForkServerProcess
from pathlib import Path

from evenkeel.simulator.processes.program import Handle, Invocation

_PRELOADED = [
    "recommender.__main__",
    "updater.__main__",
    "admission.__main__",
    "evenkeel.simulator.scenarios",
    "pytest",
]
_PYTHON_WORDS = 4
"""``python -P -m MODULE``, before the words that the program itself is given."""


class ForkedHandle:
    """A forked process as ``subprocess.Popen`` would show it."""

    def __init__(self, process: ForkServerProcess) -> None:
        assert process.pid is not None
        self.pid = process.pid
        self._process = process

    def poll(self) -> int | None:
        return self._process.exitcode

    def wait(self, timeout: float | None = None) -> int:
        self._process.join(timeout)
        if self._process.exitcode is None:
            raise subprocess.TimeoutExpired(self._process.name, timeout or 0.0)
        return self._process.exitcode

    def terminate(self) -> None:
        self._process.terminate()

    def kill(self) -> None:
        self._process.kill()


def start_forked(invocation: Invocation, log: Path) -> Handle:
    """Start one of the three programs."""
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(_PRELOADED)
    process = context.Process(target=_run, args=(invocation, log), name=invocation.name)
    process.start()
    return ForkedHandle(process)


def _run(invocation: Invocation, log: Path) -> None:
    """Be the program."""
    signal.signal(signal.SIGINT, signal.default_int_handler)
    output = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    for descriptor in (1, 2):
        os.dup2(output, descriptor)
    sys.stderr = open(2, "w", buffering=1, closefd=False)  # noqa: SIM115 it lasts as long as the process
    os.environ.update(invocation.environment)
    module = invocation.words[_PYTHON_WORDS - 1]
    sys.argv = [module, *invocation.words[_PYTHON_WORDS:]]
    runpy.run_module(module, run_name="__main__", alter_sys=False)
