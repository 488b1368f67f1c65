"""The JSON paths of printer columns: fields, indices, wildcards and filters by equality."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

from evenkeel.simulator.api.fields import as_object

_STEP = re.compile(
    r"\.?\[\?\(@(?P<tested>(?:\.[\w-]+)+)\s*(?P<test>==|!=)\s*(?P<literal>'[^']*'|\"[^\"]*\"|[\w.-]+)\)\]"
    r"|\.?\[(?P<index>-?\d+|\*)\]"
    r"|\.?\[(?P<quoted>'[^']*'|\"[^\"]*\")\]"
    r"|\.(?P<field>(?:\\.|[^.\[\\])+)",
)
_ESCAPED = re.compile(r"\\(.)")


class JsonPathError(ValueError):
    """The text is no path of the kind that printer columns use."""


Step = Callable[[object], Iterable[object]]
"""One step of a path: from a value to those below it."""


@dataclass(frozen=True, slots=True)
class JsonPath:
    """A parsed path.

    Args:
        steps: Its steps in order.
    """

    steps: tuple[Step, ...]

    def first(self, value: object) -> object:
        """Return the first value that the path finds, None when there is none."""
        return next(iter(self.all(value)), None)

    def all(self, value: object) -> list[object]:
        """Return every value that the path finds."""
        found = [value]
        for step in self.steps:
            found = [inner for outer in found for inner in step(outer)]
        return found


def parse_path(text: str) -> JsonPath:
    """Read a path such as ``.status.conditions[?(@.type=='Ready')].status``.

    Raises:
        JsonPathError: It cannot be read.
    """
    body = text.strip().removeprefix("{").removesuffix("}").removeprefix("$")
    steps: list[Step] = []
    position = 0
    while position < len(body):
        step = _STEP.match(body, position)
        if step is None:
            raise JsonPathError(f"JSON path {text!r} cannot be read from character {position} on")
        steps.append(_step(step))
        position = step.end()
    if not steps:
        raise JsonPathError(f"JSON path {text!r} leads nowhere")
    return JsonPath(tuple(steps))


def _step(match: re.Match[str]) -> Step:
    """Return the step of one matched part."""
    if match["tested"]:
        path, literal = tuple(match["tested"].split(".")[1:]), match["literal"].strip("'\"")
        return lambda value: _filtered(value, path, literal, equal=match["test"] == "==")
    if match["index"]:
        return lambda value: _indexed(value, match["index"])
    name = match["quoted"][1:-1] if match["quoted"] else _ESCAPED.sub(r"\1", match["field"])
    return lambda value: _members(value, name)


def _members(value: object, name: str) -> list[object]:
    """Return the member of an object, or all of them."""
    members = as_object(value)
    if name == "*":
        return list(members.values()) if members else list(value) if isinstance(value, list) else []
    return [members[name]] if name in members else []


def _indexed(value: object, index: str) -> list[object]:
    """Return the item at an index, or all of them."""
    if not isinstance(value, list):
        return list(as_object(value).values()) if index == "*" else []
    if index == "*":
        return list(value)
    position = int(index)
    return [value[position]] if -len(value) <= position < len(value) else []


def _filtered(value: object, path: tuple[str, ...], literal: str, *, equal: bool) -> Iterator[object]:
    """Yield the items whose value at a path equals a literal, or does not."""
    for item in value if isinstance(value, list) else []:
        inner: object = item
        for name in path:
            inner = as_object(inner).get(name)
        if (_as_text(inner) == literal) is equal:
            yield item


def _as_text(value: object) -> str:
    """Return a value as filters spell it."""
    if isinstance(value, bool):
        return "true" if value else "false"
    return "" if value is None else str(value)
