"""Reading scenario files: what is wrong is said with file, line and the way out, all of it at once."""

from __future__ import annotations

import difflib
from collections.abc import Iterator
from dataclasses import fields, is_dataclass
from pathlib import Path

import yaml
from pydantic import TypeAdapter, ValidationError
from pydantic.alias_generators import to_camel
from pydantic_core import ErrorDetails

from autoscaling.errors import ConfigurationError
from evenkeel.simulator.scenarios.document import Scenario
from evenkeel.simulator.scenarios.expectations import CHECK_KEYS
from evenkeel.simulator.scenarios.references import Place, dangling
from evenkeel.simulator.scenarios.steps import STEP_KEYS
from evenkeel.simulator.scenarios.syntax import Part
from evenkeel.yaml_places import line_of, repeated_keys

_ADAPTER = TypeAdapter(Scenario)
_LOADER: type[yaml.SafeLoader] = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_GUIDE = "docs/scenarios.md lists what is known"
_BEFORE_A_TAG = ("usage", "load", "shared")
_TAGGED_LISTS = {"steps": STEP_KEYS, "expect": CHECK_KEYS}


class ScenarioError(ConfigurationError):
    """A scenario file that cannot be used; one line for each fault."""


def read_scenario(path: Path) -> Scenario:
    """Read a scenario file.

    Raises:
        ScenarioError: It cannot be read, is no YAML, or says something that means nothing.
    """
    try:
        content = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        why = error.strerror if isinstance(error, OSError) else "not UTF-8"
        raise ScenarioError(f"{path}: {why}; give the path of a scenario file") from error
    return parse_scenario(content, str(path))


def parse_scenario(content: str, name: str) -> Scenario:
    """Read the text of a scenario file.

    Args:
        content: The text.
        name: How messages call the file.

    Raises:
        ScenarioError: It is no YAML, or says something that means nothing.
    """
    try:
        root = yaml.compose(content, Loader=_LOADER)
        document = yaml.load(content, Loader=_LOADER)  # noqa: S506 either loader is a safe one
    except yaml.MarkedYAMLError as error:
        line = error.problem_mark.line + 1 if error.problem_mark else 1
        raise ScenarioError(f"{name}:{line}: no YAML: {error.problem}; check indentation and quotes") from None
    if not isinstance(root, yaml.MappingNode):
        raise ScenarioError(f"{name}:1: a scenario is a mapping that begins with title, duration and nodes; {_GUIDE}")
    if repeated := list(repeated_keys(root)):
        raise ScenarioError("\n".join(f"{name}:{line}: {key} stands here twice; keep one" for line, key in repeated))
    try:
        scenario = _ADAPTER.validate_python(document)
    except ValidationError as error:
        faults = [_explain(root, detail) for detail in error.errors(include_url=False)]
        raise ScenarioError(_report(name, faults)) from None
    if faults := [(line_of(root, place), problem) for place, problem in dangling(scenario)]:
        raise ScenarioError(_report(name, faults))
    return scenario


def _report(name: str, faults: list[tuple[int, str]]) -> str:
    """Return one line for each fault, from the top of the file to its end."""
    return "\n".join(f"{name}:{line}: {problem}" for line, problem in sorted(set(faults)))


def _explain(root: yaml.Node, detail: ErrorDetails) -> tuple[int, str]:
    """Return the line of a fault, and what is wrong there with its remedy."""
    place = _without_tags(detail["loc"])
    where = ".".join(str(part) for part in place)
    match detail["type"]:
        case "unexpected_keyword_argument":
            near = difflib.get_close_matches(str(place[-1]), _vocabulary(), n=1)
            hint = f"did you mean {near[0]}?" if near else _GUIDE
            problem = f"{where}: this key means nothing here; {hint}"
        case "missing":
            problem = f"{where}: this key is missing; add it"
            place = place[:-1]
        case "union_tag_not_found" if place and place[0] in _TAGGED_LISTS:
            problem = f"{where}: needs one of the keys {', '.join(_TAGGED_LISTS[str(place[0])])}"
        case "union_tag_not_found":
            problem = f"{where}: needs the key function; {_GUIDE}"
        case "dataclass_type":
            problem = f"{where}: must be a mapping; {_GUIDE}"
        case _:
            message = detail["msg"].removeprefix("Value error, ").removeprefix("Input ")
            problem = f"{where}: {message[0].lower()}{message[1:]}"
    return line_of(root, place), problem


def _without_tags(location: tuple[int | str, ...]) -> Place:
    """Return where a fault is in the file; the validator also names which of several forms it took a part for."""
    kept: list[int | str] = []
    for index, part in enumerate(location):
        after_function = bool(kept) and kept[-1] in _BEFORE_A_TAG and index > 0 and location[index - 1] == kept[-1]
        in_tagged_list = index == 2 and location[0] in _TAGGED_LISTS
        if not (after_function or in_tagged_list):
            kept.append(part)
    return tuple(kept)


def _vocabulary() -> list[str]:
    """Return every key that means something anywhere in a scenario file."""
    return sorted({key for part in parts_of(Part) for key in keys_of(part)})


def parts_of(base: type[Part]) -> Iterator[type[Part]]:
    """Yield every class of a part of a scenario file."""
    for part in base.__subclasses__():
        yield part
        yield from parts_of(part)


def keys_of(part: type[Part]) -> tuple[str, ...]:
    """Return the keys of a part as the file has them."""
    return tuple(to_camel(field.name) for field in fields(part)) if is_dataclass(part) else ()
