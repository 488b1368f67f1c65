"""The log of a process."""

from __future__ import annotations

import io
import json
import logging
from collections.abc import Iterator

import pytest
import structlog

from autoscaling.runtime.logs import configure_logs, log_level


class Terminal(io.StringIO):
    """A stream that is a terminal."""

    def isatty(self) -> bool:
        return True


@pytest.fixture(autouse=True)
def _restored_logging() -> Iterator[None]:
    root = logging.getLogger()
    handlers, level = root.handlers, root.level
    yield
    root.handlers, root.level = handlers, level
    structlog.reset_defaults()


def _fail(reason: str) -> None:
    raise ValueError(len(reason))


def _lines(stream: io.StringIO) -> list[dict[str, object]]:
    return [json.loads(line) for line in stream.getvalue().splitlines()]


@pytest.mark.parametrize(
    ("verbosity", "level"),
    [
        (-1, logging.WARNING),
        (0, logging.WARNING),
        (1, logging.WARNING),
        (2, logging.INFO),
        (4, logging.INFO),
        (5, logging.DEBUG),
        (10, logging.DEBUG),
    ],
)
def test_the_level_follows_v(verbosity: int, level: int) -> None:
    assert log_level(verbosity) == level


def test_an_event_is_one_line_of_json() -> None:
    stream = io.StringIO()
    configure_logs(4, stream)
    structlog.get_logger().info("pod decided", pod="Pod a/b", action="resize")
    (line,) = _lines(stream)
    timestamp = line.pop("timestamp")
    assert line == {"event": "pod decided", "level": "info", "pod": "Pod a/b", "action": "resize"}
    assert str(timestamp).endswith("Z")


def test_what_is_below_the_level_is_dropped() -> None:
    stream = io.StringIO()
    configure_logs(1, stream)
    log = structlog.get_logger()
    log.info("quiet")
    log.warning("loud")
    assert [line["event"] for line in _lines(stream)] == ["loud"]


def test_secrets_are_masked() -> None:
    stream = io.StringIO()
    configure_logs(4, stream)
    structlog.get_logger().info("flags", **{"prometheus-bearer-token": "abc", "Password": "def", "user": "ghi"})
    (line,) = _lines(stream)
    assert (line["prometheus-bearer-token"], line["Password"], line["user"]) == ("***", "***", "ghi")


@pytest.mark.parametrize(
    ("said", "shown"),
    [
        ("GET http://user:hunter2@host:9090/api: refused", "GET http://***@host:9090/api: refused"),
        ("proxy https://hunter2@host/", "proxy https://***@host/"),
        ("Invalid URL 'user:hunter2@host/api'", "Invalid URL '***@host/api'"),
        ("image example.test:5000/evenkeel@sha256:ab", "image example.test:5000/evenkeel@sha256:ab"),
        ("somebody@example.test", "somebody@example.test"),
    ],
)
def test_nobody_signs_in_with_an_address_from_a_log(said: str, shown: str) -> None:
    for stream in (io.StringIO(), Terminal()):
        configure_logs(4, stream)
        structlog.get_logger().error("failed", error=said, nested={"deep": [said]}, exc_info=ValueError(said))
        text = stream.getvalue()
        assert shown in text
        assert ("hunter2" in text) == ("hunter2" in shown)
        structlog.reset_defaults()


def test_a_traceback_holds_no_variables() -> None:
    stream = io.StringIO()
    configure_logs(4, stream)
    hidden = "hunter" + "2"
    try:
        _fail("hunter" + "2")
    except ValueError as error:
        structlog.get_logger().error("round failed", exc_info=error)
    (line,) = _lines(stream)
    assert '"exc_type": "ValueError"' in json.dumps(line["exception"])
    assert hidden not in stream.getvalue()


def test_libraries_log_through_the_same_pipe_but_not_their_chatter() -> None:
    stream = io.StringIO()
    configure_logs(4, stream)
    logging.getLogger("elsewhere").info("hello %s", "there")
    logging.getLogger("apscheduler.executors.default").info("job ran")
    logging.getLogger("uvicorn.error").error("broken")
    assert [(line["event"], line["level"], line["logger"]) for line in _lines(stream)] == [
        ("hello there", "info", "elsewhere"),
        ("broken", "error", "uvicorn.error"),
    ]


def test_chatter_is_shown_when_details_are_asked_for() -> None:
    stream = io.StringIO()
    configure_logs(5, stream)
    logging.getLogger("apscheduler").info("job ran")
    assert [line["event"] for line in _lines(stream)] == ["job ran"]


def test_a_terminal_gets_text() -> None:
    stream = Terminal()
    configure_logs(4, stream)
    try:
        _fail("plain reason")
    except ValueError as error:
        structlog.get_logger().error("round failed", job="loop", exc_info=error)
    text = stream.getvalue()
    assert "round failed" in text
    assert "ValueError: 12" in text
    assert not text.startswith("{")
