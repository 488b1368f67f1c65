"""How a shell asks to complete a word: by environment variables, and never for long."""

from __future__ import annotations

import os
import signal
from collections.abc import Mapping
from typing import Final

ASKING: Final = "_EVENKEEL_COMPLETE"
"""The variable that says in whose way it is asked; typer's scripts for the shells set it."""

_WORDS: Final = "COMP_WORDS"
_POSITION: Final = "COMP_CWORD"
_BREAKS: Final = frozenset("=:")
_PATIENCE_SECONDS: Final = 8.0
"""Above what names of a cluster are waited for: the rest is for what cannot be told to stop, such as a name server."""


def asks_for_completion(environment: Mapping[str, str]) -> bool:
    """Say whether a shell wants to know how to go on."""
    return environment.get(ASKING, "").startswith("complete_")


def end_in_time() -> None:
    """Let this process end soon whatever it waits for from now on: somebody waits for the prompt."""
    signal.signal(signal.SIGALRM, lambda *_: os._exit(1))
    signal.setitimer(signal.ITIMER_REAL, _PATIENCE_SECONDS)


def join_broken_words(environment: Mapping[str, str]) -> dict[str, str]:
    """Return bash's variables with its words put together again, which it breaks at ``=`` and ``:``.

    Args:
        environment: With the words, one in a line, and the position of the one that is completed; other shells set
            neither.
    """
    if _WORDS not in environment:
        return {}
    position, joined = int(environment.get(_POSITION, "0")), list[str]()
    wanted, is_open = position, False
    for place, word in enumerate(environment[_WORDS].split("\n")):
        is_break = bool(word) and set(word) <= _BREAKS
        if joined and (is_break or is_open):
            joined[-1] += word
        else:
            joined.append(word)
        is_open = is_break
        if place == position:
            wanted = len(joined) - 1
    return {_WORDS: "\n".join(joined), _POSITION: str(wanted)}
