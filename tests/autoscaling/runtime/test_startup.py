"""Starting a process by the clock that its flags ask for."""

from __future__ import annotations

import json
import logging
from collections.abc import Iterator
from datetime import datetime, timedelta

import pytest
import structlog

from autoscaling.kube.pacing import SystemPacing
from autoscaling.runtime.flag_help import help_text
from autoscaling.runtime.process import Process
from autoscaling.runtime.startup import run_configured
from tests.autoscaling.runtime.jumping_clock import jumping_clock
from updater.config import UpdaterConfig


@pytest.fixture(autouse=True)
def _restored_logging() -> Iterator[None]:
    root = logging.getLogger()
    handlers, level = root.handlers, root.level
    yield
    root.handlers, root.level = handlers, level
    structlog.reset_defaults()


async def tell_the_time(process: Process) -> None:
    await process.pacing.sleep(0.001 if process.pacing.monotonic() else 90)
    structlog.get_logger().info("it is", now=process.driver.now().isoformat())
    process.stop()


def lines(capsys: pytest.CaptureFixture[str]) -> list[dict[str, str]]:
    return [json.loads(line) for line in capsys.readouterr().err.splitlines()]


def test_without_a_clock_time_is_real(capsys: pytest.CaptureFixture[str]) -> None:
    assert run_configured(UpdaterConfig(), tell_the_time) == 0
    (line,) = lines(capsys)
    told, logged = datetime.fromisoformat(line["now"]), datetime.fromisoformat(line["timestamp"])
    assert abs(SystemPacing().now() - told) < timedelta(minutes=1)
    assert abs(logged - told) < timedelta(minutes=1)


def test_with_a_clock_time_is_the_clocks_in_the_log_too(capsys: pytest.CaptureFixture[str]) -> None:
    with jumping_clock() as clock:
        assert run_configured(UpdaterConfig(clock=clock.url), tell_the_time) == 0
    (line,) = lines(capsys)
    assert line["now"] == "2026-01-01T00:01:30+00:00"
    assert line["timestamp"] == "2026-01-01T00:01:30.000000Z"


def test_a_clock_that_is_not_there_keeps_the_process_from_starting(capsys: pytest.CaptureFixture[str]) -> None:
    with jumping_clock() as clock:
        url = clock.url
    assert run_configured(UpdaterConfig(clock=url), tell_the_time) == 1
    (line,) = lines(capsys)
    assert (line["event"], line["level"]) == ("process failed", "error")
    assert line["error"].startswith(f"simulated clock {url}: ")


def test_the_flag_is_read_but_shown_to_nobody() -> None:
    config = UpdaterConfig.from_command_line(["--clock=http://127.0.0.1:1/clock/updater"], {})
    assert config.clock == "http://127.0.0.1:1/clock/updater"
    assert "clock" not in config.effective_flags()
    assert "--clock" not in help_text(UpdaterConfig)
