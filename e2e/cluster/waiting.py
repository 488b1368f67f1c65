"""Waiting for something to become true, with a deadline and a last word about what was seen instead."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TypeVar

from e2e.cluster.errors import ClusterError

T = TypeVar("T")


def wait_for(check: Callable[[], T | None], timeout_seconds: float, what: str, *, every_seconds: float = 0.2) -> T:
    """Call ``check`` until it returns something true.

    Args:
        check: Returns a true value once the condition holds. An AssertionError it raises counts as "not yet", and the
            last one is told when the time is over; any other error ends the waiting at once.
        timeout_seconds: How long to wait.
        what: The condition, in words that fit "waited in vain for ...".
        every_seconds: Pause between two calls.

    Returns:
        The first true value.

    Raises:
        ClusterError: The time is over.
    """
    deadline = time.monotonic() + timeout_seconds
    last = "never true"
    while True:
        try:
            value = check()
        except AssertionError as error:
            last = str(error) or "an assertion without a message failed"
        else:
            if value:
                return value
            last = f"last value: {value!r}"
        if time.monotonic() >= deadline:
            raise ClusterError(what, f"waited {timeout_seconds:g} s in vain ({last})", remedy="see the logs folder")
        time.sleep(every_seconds)
