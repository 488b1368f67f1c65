"""Splitting a command line into flags as upstream's does, before any value is looked at.

Seen by running upstream 1.8.1: ``--name=value`` and ``--name value``; a truth value takes no separate word, so
``--leader-elect false`` leaves ``false`` over; underscores count as dashes; ``-v=4``, ``-v4`` and ``-v 4`` are the
only short form; one dash before a long name is refused; ``--`` ends the flags; what comes after ``--help`` is not read.
"""

from __future__ import annotations

import difflib
from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from autoscaling.errors import ConfigurationError


class UsageError(ConfigurationError):
    """A command line that cannot be read; the process ends with upstream's status for it, 2."""


@dataclass(frozen=True, slots=True)
class Occurrence:
    """One flag as given."""

    name: str
    text: str


@dataclass(frozen=True, slots=True)
class CommandLine:
    """A command line, split.

    Args:
        flags: Every flag in the order given, repeats included, names with dashes.
        left_over: Words that belong to no flag.
        asks_help: True when ``--help`` or ``-h`` came; the flags are those before it.
    """

    flags: tuple[Occurrence, ...]
    left_over: tuple[str, ...] = ()
    asks_help: bool = False


@dataclass(frozen=True, slots=True)
class _Reader:
    """The words not read yet, and for each known flag what it stands for without a value (None: it needs one)."""

    words: deque[str]
    bare_values: Mapping[str, str | None]

    def long_flag(self, word: str) -> Occurrence:
        """Read ``--name``, ``--name=value`` or ``--name value``."""
        name, separator, text = word.removeprefix("--").partition("=")
        if not name or name.startswith("-"):
            raise UsageError(
                f"{word.partition('=')[0]}: not a flag; write --name=value, or -- before words that are none"
            )
        name = name.replace("_", "-")
        if name not in self.bare_values:
            raise UsageError(f"unknown flag --{name}; {self.hint(name)}")
        bare = self.bare_values[name]
        if separator:
            return Occurrence(name, text)
        return Occurrence(name, self.following(f"--{name}") if bare is None else bare)

    def short_flag(self, word: str) -> Occurrence:
        """Read ``-v=4``, ``-v4`` or ``-v 4``."""
        name = word.removeprefix("-").partition("=")[0].replace("_", "-")
        # What stands behind the name may be a secret.
        shown = word.partition("=")[0]
        if name != "v" and name in self.bare_values:
            raise UsageError(f"unknown flag {shown}; long flags take two dashes: -{shown}")
        if word[1] != "v":
            raise UsageError(f"unknown flag {shown}; {self.hint(name)}")
        text = word[2:].removeprefix("=") if len(word) > 3 else word[2:]
        return Occurrence("v", text or self.following("-v"))

    def following(self, flag: str) -> str:
        """Take the next word as the flag's value."""
        if not self.words:
            raise UsageError(f"{flag} needs a value; write {flag}=value")
        return self.words.popleft()

    def hint(self, name: str) -> str:
        """Suggest the known flag that looks most like this one."""
        near = difflib.get_close_matches(name, self.bare_values, n=1)
        return f"did you mean --{near[0]}?" if near else "--help lists the known ones"


def split_command_line(words: Sequence[str], bare_values: Mapping[str, str | None]) -> CommandLine:
    """Split a command line without the program's name.

    Args:
        words: The words as the shell passed them.
        bare_values: Known flag names, each with the text it stands for when given without a value, or None.

    Raises:
        UsageError: A flag is unknown, malformed or lacks its value.
    """
    reader = _Reader(deque(words), bare_values)
    flags: list[Occurrence] = []
    left_over: list[str] = []
    while reader.words:
        word = reader.words.popleft()
        if word == "--":
            left_over += reader.words
            break
        if word in {"--help", "-h"}:
            return CommandLine(tuple(flags), tuple(left_over), asks_help=True)
        if word.startswith("--"):
            flags.append(reader.long_flag(word))
        elif word.startswith("-") and word != "-":
            flags.append(reader.short_flag(word))
        else:
            left_over.append(word)
    return CommandLine(tuple(flags), tuple(left_over))
