"""Sets of fields in the form in which managedFields name them: nested objects keyed by path elements."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TypeAlias

from evenkeel.simulator.api.fields import JsonObject, as_object, copy_of, decode, encode

Path: TypeAlias = tuple[str, ...]
"""Elements such as ``f:spec``, ``k:{"name":"app"}`` or ``v:"example.dev/keep"``."""

_MEMBER = "."
_FIELD, _KEYS, _VALUE, _INDEX = "f:", "k:", "v:", "i:"


def field_element(name: str) -> str:
    """Return the element of a field or of a map's key."""
    return _FIELD + name


def keys_element(keys: JsonObject) -> str:
    """Return the element of a list's item that its keys name."""
    return _KEYS + encode({name: keys[name] for name in sorted(keys)}).decode()


def value_element(value: object) -> str:
    """Return the element of a set's item."""
    return _VALUE + encode(value).decode()


def field_name(element: str) -> str | None:
    """Return the field that an element names, None for the item of a list."""
    return element.removeprefix(_FIELD) if element.startswith(_FIELD) else None


def printed(path: Path) -> str:
    """Return a path as messages print it: ``.spec.containers[name="app"].image``."""
    return "".join(_printed(element) for element in path)


def _printed(element: str) -> str:
    """Return one element as messages print it."""
    kind, rest = element[:2], element[2:]
    match kind:
        case "f:":
            return f".{rest}"
        case "k:":
            keys = as_object(decode(rest.encode()))
            return "[" + ",".join(f"{name}={encode(value).decode()}" for name, value in keys.items()) + "]"
        case "v:":
            return f"[={rest}]"
        case _:
            return f"[{rest}]"


class FieldSet:
    """A set of paths; it is never changed, every operation returns another.

    Args:
        fields: The set in the form of ``fieldsV1``.
    """

    __slots__ = ("fields",)

    def __init__(self, fields: JsonObject | None = None) -> None:
        self.fields: JsonObject = fields or {}

    @classmethod
    def of(cls, paths: Iterable[Path]) -> FieldSet:
        """Return the set of some paths."""
        return cls().union(paths)

    def __bool__(self) -> bool:
        """Say whether any path is in it."""
        return bool(self.fields)

    def __eq__(self, other: object) -> bool:
        """Say whether the same paths are in both."""
        return isinstance(other, FieldSet) and self.fields == other.fields

    __hash__ = None  # type: ignore[assignment]

    def __contains__(self, path: Path) -> bool:
        """Say whether a path is in it."""
        node: JsonObject = self.fields
        for element in path:
            inner = node.get(element)
            if not isinstance(inner, dict):
                return False
            node = inner
        return not node or _MEMBER in node

    def __iter__(self) -> Iterator[Path]:
        """Yield every path, parents before what lies below them."""
        yield from _paths(self.fields, ())

    def union(self, paths: Iterable[Path]) -> FieldSet:
        """Return the set with further paths."""
        fields = copy_of(self.fields)
        for path in paths:
            _insert(fields, path)
        return FieldSet(_canonical(fields))

    def without(self, paths: Iterable[Path]) -> FieldSet:
        """Return the set without some paths; what lies below them stays."""
        fields = copy_of(self.fields)
        for path in paths:
            _discard(fields, path)
        return FieldSet(fields)


def _paths(node: JsonObject, path: Path) -> Iterator[Path]:
    """Yield the members at and below a node."""
    if path and (not node or _MEMBER in node):
        yield path
    for element, inner in node.items():
        if element != _MEMBER:
            yield from _paths(as_object(inner), (*path, element))


def _insert(fields: JsonObject, path: Path) -> None:
    """Add a path, in place."""
    node, fresh = fields, False
    for index, element in enumerate(path):
        inner = node.get(element)
        fresh = not isinstance(inner, dict)
        if not isinstance(inner, dict):
            inner = node[element] = {}
        elif not inner and index < len(path) - 1:
            inner[_MEMBER] = {}
        node = inner
    if not fresh and node:
        node[_MEMBER] = {}


def _discard(fields: JsonObject, path: Path) -> None:
    """Remove a path, in place, with the nodes that are of no use then."""
    nodes = [fields]
    for element in path:
        inner = nodes[-1].get(element)
        if not isinstance(inner, dict):
            return
        nodes.append(inner)
    if nodes[-1] and _MEMBER not in nodes[-1]:
        return
    nodes[-1].pop(_MEMBER, None)
    for element, parent, node in zip(reversed(path), reversed(nodes[:-1]), reversed(nodes[1:]), strict=True):
        if node.keys() - {_MEMBER}:
            return
        if _MEMBER in node:
            node.clear()
            return
        del parent[element]


def _canonical(node: JsonObject) -> JsonObject:
    """Return a node with its elements in order."""
    return {element: _canonical(as_object(node[element])) for element in sorted(node)}
