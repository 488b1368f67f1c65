"""Our programs and the flags that each of them takes, and those of others that pages mention."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from itertools import takewhile
from types import MappingProxyType
from typing import Final, Protocol, runtime_checkable

import typer.main

from admission.config import AdmissionConfig
from autoscaling.runtime.flag_model import flag_specs
from evenkeel.cli.main import COMMANDS, application
from recommender.config import RecommenderConfig
from updater.config import UpdaterConfig


def _listed(flags: str) -> frozenset[str]:
    return frozenset(f"--{name}" for name in flags.split())


OTHERS: Final[Mapping[str, frozenset[str]]] = MappingProxyType(
    {
        "kubectl": _listed(
            "all-namespaces dry-run field-selector force-conflicts kubeconfig namespace output overwrite patch "
            "previous replicas selector server-side since subresource tail type"
        ),
        "helm": _listed("namespace reset-then-reuse-values reuse-values set values"),
        "kind": _listed("config name"),
        "kubelet": _listed("containerd"),
        "docker": _listed("tag"),
        "metrics-server": _listed("kubelet-insecure-tls"),
        "ctr": _listed("namespace base-name"),
        "kube-state-metrics": _listed("custom-resource-state-config-file"),
    }
)
"""Flags of other people's programs that our pages may mention, by program."""
OF_MODULES: Final = _listed("kubernetes list minutes only root seed")
"""Flags of what is run by ``python -m`` from a checkout."""
FLAG: Final = re.compile(r"(?<![\w-])--[a-z][a-z0-9]*(?:-[a-z0-9]+)*(?![\w-]*\*)")
_PLACEHOLDERS: Final = frozenset({"--flag", "--option"})
"""Words of pages that stand for any flag."""
_ALWAYS: Final = frozenset({"--help", "--install-completion", "--show-completion"})
_PROCESSES: Final = (RecommenderConfig, UpdaterConfig, AdmissionConfig)


class _Parameter(Protocol):
    opts: Sequence[str]
    secondary_opts: Sequence[str]


@runtime_checkable
class _Command(Protocol):
    params: Sequence[_Parameter]


@runtime_checkable
class _Group(Protocol):
    commands: Mapping[str, _Command]


@cache
def of_processes() -> Mapping[str, frozenset[str]]:
    """Return the flags of each process by its program."""
    return {model.program: frozenset(f"--{spec.name}" for spec in flag_specs(model)) for model in _PROCESSES}


@cache
def of_commands() -> Mapping[str, frozenset[str]]:
    """Return the options of each command of the command line; of ``shadow`` also ``shadow sync``."""
    found: dict[str, frozenset[str]] = {"version": _ALWAYS}
    for name in COMMANDS:
        group: object = typer.main.get_command(application(name))
        assert isinstance(group, _Group)
        found |= _options(name, group.commands[name])
    return found


def _options(name: str, command: _Command) -> dict[str, frozenset[str]]:
    """Return the options of a command, and of those below it."""
    words = (word for parameter in command.params for word in (*parameter.opts, *parameter.secondary_opts))
    found = {name: frozenset(word for word in words if word.startswith("-")) | _ALWAYS}
    if isinstance(command, _Group):
        for inner, below in command.commands.items():
            found |= _options(f"{name} {inner}", below)
    return found


def known_flags() -> frozenset[str]:
    """Return every flag that a page may mention."""
    return _PLACEHOLDERS.union(_ALWAYS, OF_MODULES, *of_processes().values(), *of_commands().values(), *OTHERS.values())


def commands_in(line: str) -> Iterator[tuple[str, ...]]:
    """Yield the words of each command in a line of a shell, without ``sudo``, ``env`` and comments."""
    if "`" in line or line.startswith(("{", "- ", "<")):
        return
    lexer = shlex.shlex(line, posix=True, punctuation_chars="|;&")
    lexer.whitespace_split = True
    try:
        words = list(lexer)
    except ValueError:  # Not of a shell: a quotation mark stands alone.
        return
    while words:
        command = list(takewhile(lambda word: not set(word) <= set("|;&"), words))
        words = words[len(command) + 1 :]
        while command and (command[0] in {"sudo", "env"} or "=" in command[0].partition("/")[0]):
            command.pop(0)
        if command:
            yield tuple(command)


def complaint(words: Sequence[str]) -> str | None:
    """Return what is wrong with a command of one of our programs, or with the flags of another's; None for nothing.

    Args:
        words: The program and what follows it.
    """
    program, *rest = words
    program = program.rpartition("/")[2]
    if program == "kubectl" and rest[:1] == ["evenkeel"]:
        program, rest = "evenkeel", rest[1:]
    flags = [word.partition("=")[0] for word in rest if FLAG.match(word)]
    if program == "evenkeel":
        return _complaint_about_command(rest, flags)
    allowed = of_processes().get(program, OTHERS.get(program))
    if allowed is None:
        return None
    wrong = [flag for flag in flags if flag not in allowed | _ALWAYS]
    return f"{program} has no {wrong[0]}" if wrong else None


def _complaint_about_command(rest: Sequence[str], flags: Sequence[str]) -> str | None:
    """Return what is wrong with a call of the command line."""
    named = list(takewhile(lambda word: not word.startswith("-"), rest))
    if not named:
        wrong = [flag for flag in flags if flag not in _ALWAYS]
        return f"evenkeel itself has no {wrong[0]}" if wrong else None
    if not re.fullmatch(r"[a-z][a-z-]*", named[0]):
        return None
    command = named[0] if " ".join(named[:2]) not in of_commands() else " ".join(named[:2])
    if command not in of_commands():
        return f"there is no command {command}"
    wrong = [flag for flag in flags if flag not in of_commands()[command]]
    return f"evenkeel {command} has no {wrong[0]}" if wrong else None
