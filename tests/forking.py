"""Starts programs as processes that were forked from one that has imported them already.

They are the same programs with the same words; only the second that each would take to import is saved.
"""

from __future__ import annotations

import multiprocessing
import os
import runpy
import select
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
    "numpy.ma",
    "uvicorn.lifespan.off",
    "uvicorn.protocols.http.auto",
    "uvicorn.protocols.websockets.auto",
    "evenkeel.simulator.scenarios",
    "e2e.parity.campaign",
    "e2e.parity.process.campaign",
    "e2e.parity.shrinking",
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
        # Runs ask after every second of simulated time, which costs multiprocessing a selector each.
        self._ended = select.poll()
        self._ended.register(process.sentinel, select.POLLIN)
        self._status: int | None = None

    def poll(self) -> int | None:
        if self._status is None and self._ended.poll(0):
            self._status = self._process.exitcode
        return self._status

    def wait(self, timeout: float | None = None) -> int:
        self._process.join(timeout)
        self._status = self._process.exitcode
        if self._status is None:
            raise subprocess.TimeoutExpired(self._process.name, timeout or 0.0)
        return self._status

    def terminate(self) -> None:
        self._process.terminate()

    def kill(self) -> None:
        self._process.kill()


def preload() -> None:
    """Say what is imported before anything is forked; to be called before the first process of any kind is."""
    multiprocessing.set_forkserver_preload(_PRELOADED)


def start_forked(invocation: Invocation, log: Path, errors: Path | None = None) -> Handle:
    """Start a program that adds what it says to a file, and its errors to the same one or another."""
    context = multiprocessing.get_context("forkserver")
    process = context.Process(target=_run, args=(invocation, log, errors or log), name=invocation.name)
    process.start()
    return ForkedHandle(process)


def _run(invocation: Invocation, *files: Path) -> None:
    """Be the program."""
    signal.signal(signal.SIGINT, signal.default_int_handler)
    for descriptor, file in enumerate(files, start=1):
        os.dup2(os.open(file, os.O_WRONLY | os.O_CREAT | os.O_APPEND), descriptor)
    sys.stderr = open(2, "w", buffering=1, closefd=False)  # noqa: SIM115 it lasts as long as the process
    os.environ.update(invocation.environment)
    module = invocation.words[_PYTHON_WORDS - 1]
    sys.argv = [module, *invocation.words[_PYTHON_WORDS:]]
    runpy.run_module(module, run_name="__main__", alter_sys=False)
