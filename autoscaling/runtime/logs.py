"""The log of a process: one line for each event on standard error, as JSON or, at a terminal, in colour.

What the libraries log goes through the same pipe. Values of fields whose name says that they are secret are masked.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from typing import TextIO

import structlog
from structlog.typing import EventDict, Processor, WrappedLogger

_SECRET_WORDS = ("password", "token", "secret", "authorization", "credential", "private_key")
_MASK = "***"
_SIGNED_ADDRESS = re.compile(r"""(?:(?<=://)[^\s/@"']+|[^\s/:@"']+:[^\s/@"']+)@""")
# These say at INFO what is only of interest when they are searched for a fault.
_CHATTY_LIBRARIES = ("apscheduler", "asyncio", "uvicorn", "kubernetes", "aiohttp", "urllib3")


def log_level(verbosity: int) -> int:
    """Return the level that a value of ``--v`` stands for.

    Up to 1 only warnings and errors pass, 2 to 4 (upstream's default) also what was done, from 5 on details as well.
    """
    if verbosity <= 1:
        return logging.WARNING
    return logging.INFO if verbosity <= 4 else logging.DEBUG


def mask_secrets(_logger: WrappedLogger, _method: str, event: EventDict) -> EventDict:
    """Replace the values of fields that are named like a secret."""
    for name in event:
        if any(word in name.lower() for word in _SECRET_WORDS):
            event[name] = _MASK
    return event


def _without_signed_addresses(render: Processor) -> Processor:
    """Replace user names and passwords in addresses, wherever in a line they are: proxies and servers may have some."""

    def rendered(logger: WrappedLogger, method: str, event: EventDict) -> str:
        line = str(render(logger, method, event))
        return _SIGNED_ADDRESS.sub(f"{_MASK}@", line) if "@" in line else line

    return rendered


def _real_time() -> datetime:
    """Return the real time in UTC."""
    return datetime.now(UTC)


def configure_logs(verbosity: int, stream: TextIO, now: Callable[[], datetime] = _real_time) -> None:
    """Set up logging for the whole process; called once, at its start.

    Args:
        verbosity: Value of ``--v``.
        stream: Where lines go; JSON unless it is a terminal.
        now: Tells the time of an event, in UTC.
    """
    level = log_level(verbosity)
    shared = _shared_processors(now)
    final = _final_processors(at_terminal=stream.isatty())
    structlog.configure(
        processors=[structlog.contextvars.merge_contextvars, *shared, *final],
        wrapper_class=structlog.make_filtering_bound_logger(level),
        logger_factory=structlog.WriteLoggerFactory(file=stream),
        cache_logger_on_first_use=True,
    )
    handler = logging.StreamHandler(stream)
    handler.setFormatter(
        structlog.stdlib.ProcessorFormatter(
            foreign_pre_chain=[structlog.stdlib.add_logger_name, *shared],
            processors=[structlog.stdlib.ProcessorFormatter.remove_processors_meta, *final],
        )
    )
    root = logging.getLogger()
    root.handlers = [handler]
    root.setLevel(level)
    for name in _CHATTY_LIBRARIES:
        logging.getLogger(name).setLevel(max(level, logging.WARNING) if level > logging.DEBUG else level)


def _shared_processors(now: Callable[[], datetime]) -> Sequence[Processor]:
    """Return what every event passes, ours and the libraries'."""

    def add_time(_logger: WrappedLogger, _method: str, event: EventDict) -> EventDict:
        event["timestamp"] = now().strftime("%Y-%m-%dT%H:%M:%S.%fZ")
        return event

    return structlog.processors.add_log_level, add_time, mask_secrets


def _final_processors(*, at_terminal: bool) -> Sequence[Processor]:
    """Return what turns an event into a line; tracebacks show no variables, which may hold secrets."""
    if at_terminal:
        console = structlog.dev.ConsoleRenderer(exception_formatter=structlog.dev.plain_traceback)
        return (_without_signed_addresses(console),)
    tracebacks = structlog.tracebacks.ExceptionDictTransformer(show_locals=False)
    json = structlog.processors.JSONRenderer(default=str)
    return structlog.processors.ExceptionRenderer(tracebacks), _without_signed_addresses(json)
