"""Faults by rule: which requests go wrong, how often, and how."""

from __future__ import annotations

import re
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import timedelta
from typing import TypeAlias

from evenkeel.simulator.api.status import CauseType


@dataclass(frozen=True, slots=True)
class Refuse:
    """Answer with a Status instead of carrying the request out.

    Args:
        code: HTTP status code.
        reason: ``Status.reason``; empty for the usual one of the code.
        message: ``Status.message``.
        retry_after_seconds: Sent as header and in the body when given.
        cause: The type of the one cause in ``Status.details``; none if None.
    """

    code: int
    reason: str = ""
    message: str = "refused by an injected fault"
    retry_after_seconds: int | None = None
    cause: CauseType | None = None


@dataclass(frozen=True, slots=True)
class Delay:
    """Carry the request out only once the server's clock has moved so far.

    Args:
        by: How far.
        outlives_client: Whether it is carried out although whoever sent it has gone away, as what a server has taken
            in already is.
    """

    by: timedelta
    outlives_client: bool = False


@dataclass(frozen=True, slots=True)
class DropConnection:
    """Cut the connection.

    Args:
        after_carrying_out: Whether the request takes effect first, so that only its answer is lost.
    """

    after_carrying_out: bool = False


@dataclass(frozen=True, slots=True)
class EndWatch:
    """Let a watch end after some events.

    Args:
        after_events: How many events still come.
        abruptly: Whether the connection is cut, rather than the stream ended in good order.
    """

    after_events: int = 0
    abruptly: bool = False


@dataclass(frozen=True, slots=True)
class CloseWatches:
    """End the open watches whose path matches, then carry the request out.

    Args:
        path: Regular expression searched in the paths of the watches.
    """

    path: str = ""


@dataclass(frozen=True, slots=True)
class ExpireHistory:
    """Throw away the history of the resource that is asked for, then carry the request out."""


Action: TypeAlias = Refuse | Delay | DropConnection | EndWatch | CloseWatches | ExpireHistory


@dataclass(slots=True)
class Fault:
    """One rule.

    Args:
        action: What happens to the requests it finds.
        verb: API verb such as ``patch`` or ``watch``; ``*`` for any.
        path: Regular expression searched in the path.
        count: How many requests it hits; None for all.
        skip: How many matching requests pass unharmed before the first hit.
        when: A further condition on the path and query, if the two patterns do not suffice.
        caller: Name of the process in lock-step that it is about; empty for anybody.
    """

    action: Action
    verb: str = "*"
    path: str = ""
    count: int | None = 1
    skip: int = 0
    when: Callable[[str, dict[str, str]], bool] | None = None
    caller: str = ""
    hits: int = field(default=0, init=False)

    def matches(self, verb: str, path: str, query: dict[str, str]) -> bool:
        """Say whether a request is of the kind this rule is about."""
        if self.count is not None and self.hits >= self.count:
            return False
        if self.verb not in {"*", verb} or not re.search(self.path, path):
            return False
        return self.when is None or self.when(path, query)


class Faults:
    """The rules of one server; they may be changed from any thread while it runs."""

    def __init__(self) -> None:
        self._rules: list[Fault] = []
        self._lock = threading.Lock()

    def add(self, fault: Fault) -> Fault:
        """Add a rule, behind the earlier ones, and return it."""
        with self._lock:
            self._rules.append(fault)
        return fault

    def remove(self, fault: Fault) -> None:
        """Remove a rule; harmless when it is gone."""
        with self._lock:
            self._rules = [rule for rule in self._rules if rule is not fault]

    def clear(self) -> None:
        """Remove every rule."""
        with self._lock:
            self._rules = []

    def striking(self, verb: str, path: str, query: dict[str, str], caller: str = "") -> list[Fault]:
        """Return the rules that hit a request, in the order they were added, and count the hit."""
        with self._lock:
            about = [rule for rule in self._rules if rule.caller in {"", caller}]
            found = [rule for rule in about if rule.matches(verb, path, query)]
            struck: list[Fault] = []
            for rule in found:
                if rule.skip > 0:
                    rule.skip -= 1
                else:
                    rule.hits += 1
                    struck.append(rule)
            return struck
