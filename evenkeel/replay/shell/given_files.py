"""YAML and JSON files that somebody writes for a run: what is wrong is told by file, line and entry, all at once."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Final, TypeAlias, TypeVar

import yaml
from pydantic import AfterValidator, ConfigDict, TypeAdapter, ValidationError
from pydantic.alias_generators import to_camel
from pydantic_core import ErrorDetails

from autoscaling.errors import ConfigurationError
from evenkeel.yaml_places import line_of, repeated_keys

KindT = TypeVar("KindT")

MOST_CHARACTERS: Final = 1_000_000
"""Characters of a file; one that somebody has written has far fewer."""

_GUIDE: Final = "docs/replay.md tells what may stand there"


class Entry:
    """A part of such a file: its keys are spelled as in Kubernetes, and unknown ones are refused."""

    __slots__ = ()
    __pydantic_config__ = ConfigDict(alias_generator=to_camel, extra="forbid", allow_inf_nan=False)


def _not_negative(value: float) -> float:
    if value < 0.0:
        raise ValueError("must not be negative")
    return value


NotNegative: TypeAlias = Annotated[float, AfterValidator(_not_negative)]


def read_given(option: str, file: Path, kind: type[KindT]) -> KindT:
    """Read a file.

    Args:
        option: The option that names it, for messages.
        file: The file.
        kind: A dataclass that is an ``Entry``.

    Raises:
        ConfigurationError: It cannot be read, or something in it means nothing; a line for each fault.
    """
    try:
        text = file.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        why = error.strerror if isinstance(error, OSError) else "is not UTF-8"
        raise ConfigurationError(f"{option} {file}: {why}; name a YAML or JSON file") from error
    if len(text) > MOST_CHARACTERS:
        raise ConfigurationError(f"{option} {file}: has {len(text)} characters; {MOST_CHARACTERS} are the most")
    try:
        root = yaml.compose(text, Loader=yaml.SafeLoader)
        document = yaml.safe_load(text)
    except yaml.MarkedYAMLError as error:
        line = error.problem_mark.line + 1 if error.problem_mark else 1
        raise ConfigurationError(
            f"{option} {file}:{line}: is no YAML: {error.problem}; check indentation and quotes"
        ) from error
    except (yaml.YAMLError, ValueError) as error:
        raise ConfigurationError(f"{option} {file}: is no YAML: {' '.join(str(error).split())}; {_GUIDE}") from error
    if not isinstance(root, yaml.MappingNode):
        raise ConfigurationError(f"{option} {file}:1: is no mapping of keys to values; {_GUIDE}")
    faults = [(line, f"{key}: stands here twice; keep one") for line, key in repeated_keys(root)]
    if faults:
        raise ConfigurationError(_told(option, file, faults))
    try:
        return TypeAdapter(kind).validate_python(document)
    except ValidationError as error:
        faults = [(line_of(root, each["loc"]), _problem(each)) for each in error.errors(include_url=False)]
        raise ConfigurationError(_told(option, file, faults)) from error


def _told(option: str, file: Path, faults: list[tuple[int, str]]) -> str:
    """Return a line for each fault, from the top of the file to its end."""
    return "\n".join(f"{option} {file}:{line}: {problem}" for line, problem in sorted(set(faults)))


def _problem(detail: ErrorDetails) -> str:
    """Return what is wrong in an entry, with the way out."""
    where = ".".join(str(part) for part in detail["loc"])
    match detail["type"]:
        case "unexpected_keyword_argument":
            return f"{where}: this key means nothing here; {_GUIDE}"
        case "missing":
            return f"{where}: is missing; add it"
        case "dataclass_type" | "dict_type":
            return f"{where}: must be a mapping; {_GUIDE}"
        case _:
            message = detail["msg"].removeprefix("Value error, ").removeprefix("Assertion failed, ")
            return f"{where}: is {detail['input']!r}: {message[0].lower()}{message[1:]}"
