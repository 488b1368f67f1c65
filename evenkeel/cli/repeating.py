"""The command line that runs the same command again, from what somebody has typed; secrets are left out."""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from enum import Enum
from typing import Final

import typer
from typer.core import TyperArgument, TyperOption

_TYPED: Final = "COMMANDLINE"
"""How the library calls the source of what stands on the command line."""


def command_line(context: typer.Context) -> str:
    """Return a command with what was typed, ready to be pasted into a shell.

    What comes from defaults or the environment is not in it, nor what is not to be shown.

    Args:
        context: Of the command that runs.
    """
    words = context.command_path.split()
    kinds = (TyperArgument, TyperOption)
    for parameter in [each for kind in kinds for each in context.command.params if isinstance(each, kind)]:
        source = context.get_parameter_source(str(parameter.name))
        if source is not None and source.name == _TYPED:
            words += _words(parameter, context.params[str(parameter.name)])
    return shlex.join(words)


def _words(parameter: TyperArgument | TyperOption, value: object) -> Iterator[str]:
    """Yield the words that give a parameter its value."""
    if isinstance(parameter, TyperOption):
        if parameter.hide_input:
            return
        if parameter.is_flag:
            yield (parameter.opts if value else parameter.secondary_opts or parameter.opts)[0]
            return
    for each in value if isinstance(value, list | tuple) else [value]:
        if isinstance(parameter, TyperOption):
            yield parameter.opts[0]
        yield str(each.value) if isinstance(each, Enum) else str(each)
