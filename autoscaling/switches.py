"""How a field of a dataclass becomes a switch: what it answers, what a user sees, and its value in each spelling."""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from dataclasses import field, fields, replace
from typing import TYPE_CHECKING, TypeVar

from autoscaling.errors import ConfigurationError

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

T = TypeVar("T", bound="DataclassInstance")

_ON_OR_OFF = {"true": True, "false": False}


def described(rule: str, effect: str, ways: Mapping[str, object]) -> dict[str, object]:
    """Return a field's metadata: its rule, its effect for a user and its value by each spelling on the command line.

    ``true`` is the value in profile ``evenkeel``, ``false`` the one in profile ``upstream``.
    """
    return {"rule": rule, "effect": effect, "ways": ways}


def switch(rule: str, effect: str) -> bool:
    """Declare one switch, on by default, with the rule it answers and its effect for a user."""
    declared: bool = field(default=True, metadata=described(rule, effect, _ON_OR_OFF))
    return declared


def in_spelling(switches: T, spelling: str) -> T:
    """Return a copy with each field at its value of one spelling, which all of them have."""
    return replace(switches, **{each.name: each.metadata["ways"][spelling] for each in fields(switches)})


def overridden(switches: T, overrides: Mapping[str, str]) -> T:
    """Return a copy with some fields set.

    Args:
        overrides: Spelling of the value by the field's name.

    Raises:
        ConfigurationError: A name is unknown or a value is none of the field's.
    """
    ways = {each.name: each.metadata["ways"] for each in fields(switches)}
    for name, value in overrides.items():
        if name not in ways:
            near = difflib.get_close_matches(name, ways, n=1)
            hint = f"did you mean {near[0]!r}?" if near else f"known names are {', '.join(sorted(ways))}"
            raise ConfigurationError(f"--behaviour {name}={value}: no behaviour has this name; {hint}")
        if value not in ways[name]:
            *first, last = ways[name]
            raise ConfigurationError(f"--behaviour {name}={value}: the value must be {', '.join(first)} or {last}")
    return replace(switches, **{name: ways[name][value] for name, value in overrides.items()})
