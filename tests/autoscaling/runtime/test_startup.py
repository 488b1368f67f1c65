"""Starting a process by the clock that its flags ask for."""

from __future__ import annotations

import json
import subprocess
import sys
from datetime import datetime, timedelta

from autoscaling.kube.pacing import SystemPacing
from autoscaling.runtime.flag_help import help_text
from tests.autoscaling.runtime.jumping_clock import jumping_clock
from updater.config import UpdaterConfig

# The log is set up for a whole process and once only, so each run is a process of its own.
SCRIPT = """
import gc
import sys
import structlog
from autoscaling.runtime.process import Process
from autoscaling.runtime.startup import run_configured
from updater.config import UpdaterConfig

async def tell_the_time(process: Process) -> None:
    await process.pacing.sleep(90 if sys.argv[1] else 0)
    structlog.get_logger().info("it is", now=process.driver.now().isoformat(), kept=gc.get_freeze_count())
    process.stop()

raise SystemExit(run_configured(UpdaterConfig(clock=sys.argv[1]), tell_the_time))
"""


def run(clock: str) -> tuple[int, list[dict[str, str]]]:
    """Run a process that tells the time, and return its exit status and its log."""
    ended = subprocess.run(
        [sys.executable, "-c", SCRIPT, clock], capture_output=True, text=True, timeout=60, check=False
    )
    return ended.returncode, [json.loads(line) for line in ended.stderr.splitlines()]


def test_without_a_clock_time_is_real_and_the_collector_leaves_alone_what_is_imported() -> None:
    """Spec: performance A-3."""
    status, (line,) = run("")
    told, logged = datetime.fromisoformat(line["now"]), datetime.fromisoformat(line["timestamp"])
    assert status == 0
    assert abs(SystemPacing().now() - told) < timedelta(minutes=1)
    assert abs(logged - told) < timedelta(minutes=1)
    assert int(line["kept"]) > 50_000


def test_with_a_clock_time_is_the_clocks_in_the_log_too() -> None:
    with jumping_clock() as clock:
        status, (line,) = run(clock.url)
    assert status == 0
    assert line["now"] == "2026-01-01T00:01:30+00:00"
    assert line["timestamp"] == "2026-01-01T00:01:30.000000Z"


def test_a_clock_that_is_not_there_keeps_the_process_from_starting() -> None:
    with jumping_clock() as clock:
        url = clock.url
    status, (line,) = run(url)
    assert (status, line["event"], line["level"]) == (1, "process failed", "error")
    assert line["error"].startswith(f"simulated clock {url}: ")


def test_the_flag_is_read_but_shown_to_nobody() -> None:
    config = UpdaterConfig.from_command_line(["--clock=http://127.0.0.1:1/clock/updater"], {})
    assert config.clock == "http://127.0.0.1:1/clock/updater"
    assert "clock" not in config.effective_flags()
    assert "--clock" not in help_text(UpdaterConfig)
