"""Processes that benchmarks start."""

from __future__ import annotations

import select
import subprocess
import sys

from bench.hosting import cpu_seconds, until_at_rest

WORKING = """
import sys, time
while time.process_time() < 0.4:
    pass
print("done", flush=True)
sys.stdin.read()
"""


def test_a_process_that_works_on_is_waited_for() -> None:
    """Spec: performance:R-1. What it has to do takes many times as long as a pause that counts as rest."""
    with subprocess.Popen(
        (sys.executable, "-S", "-c", WORKING), stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as process:
        while cpu_seconds(process.pid) < 0.1:
            assert process.poll() is None
        until_at_rest(process.pid)
        assert process.stdout is not None
        readable, _, _ = select.select([process.stdout], [], [], 0)
        assert readable
        process.communicate()
