"""The text that ``--help`` prints."""

from __future__ import annotations

import textwrap

from autoscaling.runtime.api_group import ApiGroup
from autoscaling.runtime.flag_model import FlagModel, FlagSpec, flag_specs

_INDENT = " " * 10


def help_text(model: type[FlagModel]) -> str:
    """Return the help of a process: its flags by name, each with kind, meaning and default."""
    blocks = [f"Usage of {model.program}:"]
    for spec in flag_specs(model):
        short = "-v, " if spec.name == "v" else "    "
        kind = "" if spec.syntax.bare is not None else f" {spec.syntax.name}"
        text = _filled(f"{describe(spec)} {_default(spec)}")
        blocks.append(f"  {short}--{spec.name}{kind}\n{text}")
    return "\n".join(blocks) + "\n"


def _filled(text: str) -> str:
    """Break text into indented lines, never within a flag's name."""
    return textwrap.fill(text, 100, initial_indent=_INDENT, subsequent_indent=_INDENT, break_on_hyphens=False)


def describe(spec: FlagSpec) -> str:
    """Return what a flag does and, where it is not acted on, that it is not."""
    parts = [spec.help]
    if spec.standing:
        parts.append(spec.standing.value)
    if spec.environment:
        parts.append(f"Where it is not given, the environment variable {spec.environment.variable} counts.")
    return " ".join(parts)


def default_texts(spec: FlagSpec) -> tuple[str, ...]:
    """Return the default as text; two texts where it goes with the API group, own group first."""
    if spec.group_default:
        return tuple(dict.fromkeys(spec.group_default.of(group) for group in ApiGroup))
    return (spec.syntax.show(spec.default),)


def _default(spec: FlagSpec) -> str:
    own, *upstream = default_texts(spec)
    if upstream:
        return f"(default {own}; with --api-group={ApiGroup.UPSTREAM}: {upstream[0]})"
    return f"(default {own})" if own else "(default empty)"
