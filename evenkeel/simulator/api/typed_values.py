"""Objects seen through their schemas: which fields they hold, how two differ, merging one into another.

A schema says which maps and lists are taken apart: maps unless they are atomic, lists when their items have keys or
form a set. What a schema leaves open is taken apart where it is a map and whole where it is a list.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from enum import Enum

from evenkeel.simulator.api.builtin_schemas import KEY_DEFAULTS
from evenkeel.simulator.api.fields import JsonObject, as_object, child, encode, texts
from evenkeel.simulator.api.fieldsets import FieldSet, Path, field_element, field_name, keys_element, value_element

_LIST_TYPE, _MAP_TYPE = "x-kubernetes-list-type", "x-kubernetes-map-type"
_NOWHERE: Path = ()


class UntypedError(Exception):
    """A value does not fit its schema; the text says which field."""


class Absent(Enum):
    """Marks the side of a comparison on which there is nothing, which is not the same as null."""

    ABSENT = 0


ABSENT = Absent.ABSENT


@dataclass(slots=True)
class Comparison:
    """How a later value differs from an earlier one, by path."""

    added: list[Path] = field(default_factory=list)
    modified: list[Path] = field(default_factory=list)
    removed: list[Path] = field(default_factory=list)

    def __bool__(self) -> bool:
        """Say whether anything differs."""
        return bool(self.added or self.modified or self.removed)


def member_schema(schema: JsonObject, name: str) -> JsonObject | None:
    """Return the schema of a member of an object; empty where anything may be, None where the name means nothing."""
    properties = child(schema, "properties")
    if name in properties:
        return as_object(properties[name])
    additional = schema.get("additionalProperties")
    if isinstance(additional, dict):
        return as_object(additional)
    is_open = additional is True or schema.get("x-kubernetes-preserve-unknown-fields") or not schema.get("type")
    return {} if is_open else None


def is_apart(schema: JsonObject, value: object) -> bool:
    """Say whether a value is taken apart rather than held as a whole."""
    if isinstance(value, dict):
        return schema.get(_MAP_TYPE) != "atomic"
    return isinstance(value, list) and schema.get(_LIST_TYPE) in {"map", "set"}


def field_set(schema: JsonObject, value: object) -> FieldSet:
    """Return the fields that a value holds.

    Raises:
        UntypedError: It does not fit the schema.
    """
    return FieldSet.of(path for path in _held(schema, value, _NOWHERE) if path)


def compare(schema: JsonObject, old: object, new: object) -> Comparison:
    """Return how a new value differs from an old one."""
    found = Comparison()
    _compare(schema, (old, new), _NOWHERE, found)
    return found


def merge(schema: JsonObject, live: object, applied: object) -> object:
    """Return a live value with an applied one laid over it; neither is changed."""
    if isinstance(live, dict) and isinstance(applied, dict) and is_apart(schema, applied):
        result = dict(live)
        for name, value in applied.items():
            inner = member_schema(schema, name) or {}
            result[name] = merge(inner, live[name], value) if name in live else value
        return result
    if isinstance(live, list) and isinstance(applied, list) and is_apart(schema, applied):
        return _merge_lists(schema, live, applied)
    return applied


def without(schema: JsonObject, value: object, paths: FieldSet) -> object:
    """Return a value without the fields in a set, each with all that lies below it."""
    if not is_apart(schema, value):
        return value
    if isinstance(value, dict):
        return _object_without(schema, value, paths)
    result: list[object] = []
    items = child(schema, "items")
    for element, item in _items(schema, value if isinstance(value, list) else []):
        if (element,) in paths:
            continue
        below = as_object(paths.fields.get(element))
        result.append(without(items, item, FieldSet(below)) if below else item)
    return result


def _object_without(schema: JsonObject, value: JsonObject, paths: FieldSet) -> JsonObject:
    """Return an object without the fields in a set."""
    result: JsonObject = {}
    for name, inner in value.items():
        element = field_element(name)
        if (element,) in paths:
            continue
        below = as_object(paths.fields.get(element))
        result[name] = without(member_schema(schema, name) or {}, inner, FieldSet(below)) if below else inner
    return result


def with_parents(schema: JsonObject, paths: FieldSet) -> FieldSet:
    """Return a set with the named fields that its paths lead through; keys of maps are no named fields."""
    found: set[Path] = set(paths)
    for path in list(found):
        node: JsonObject = schema
        for length, element in enumerate(path[:-1], 1):
            name = field_name(element)
            if name is None:
                node = child(node, "items")
                continue
            if name in child(node, "properties"):
                found.add(path[:length])
            node = member_schema(node, name) or {}
    return FieldSet.of(sorted(found))


def _held(schema: JsonObject, value: object, path: Path) -> Iterator[Path]:
    """Yield the paths that a value holds, itself among them when it is held as a whole."""
    if not is_apart(schema, value) or value == {}:
        yield path
    elif isinstance(value, dict):
        properties = child(schema, "properties")
        for name, inner in value.items():
            below = member_schema(schema, name)
            where = (*path, field_element(name))
            if below is None:
                raise UntypedError(f".{'.'.join(filter(None, map(field_name, where)))}: no such field in the schema")
            if name not in properties:
                yield where
            yield from _held(below, inner, where)
    elif isinstance(value, list):
        items = child(schema, "items")
        for element, item in _items(schema, value):
            yield (*path, element)
            if schema.get(_LIST_TYPE) == "map":
                yield from _held(items, item, (*path, element))


def _compare(schema: JsonObject, sides: tuple[object, object], path: Path, found: Comparison) -> None:
    """Note how two sides differ at and below a path."""
    old, new = sides
    if old == new and type(old) is type(new):
        return
    some = old if new is ABSENT or new is None else new
    if path and (old is ABSENT or new is ABSENT):
        (found.added if old is ABSENT else found.removed).append(path)
    if not is_apart(schema, some) or (not old and not new):
        if old is not ABSENT and new is not ABSENT:
            found.modified.append(path)
        return
    for element, inner, pair in _pairs(schema, old, new):
        _compare(inner, pair, (*path, element), found)


def _pairs(schema: JsonObject, old: object, new: object) -> Iterator[tuple[str, JsonObject, tuple[object, object]]]:
    """Yield the members of two values side by side, each with its path element and schema."""
    if isinstance(old, dict) or isinstance(new, dict):
        before, after = as_object(old), as_object(new)
        for name in dict.fromkeys((*before, *after)):
            pair = before.get(name, ABSENT), after.get(name, ABSENT)
            yield field_element(name), member_schema(schema, name) or {}, pair
        return
    earlier, later = _by_element(schema, old), _by_element(schema, new)
    items = child(schema, "items")
    for element in dict.fromkeys((*earlier, *later)):
        yield element, items, (earlier.get(element, ABSENT), later.get(element, ABSENT))


def _by_element(schema: JsonObject, value: object) -> Mapping[str, object]:
    """Return a list's items by path element; of several with the same keys the last counts."""
    return dict(_items(schema, value)) if isinstance(value, list) else {}


def _items(schema: JsonObject, values: list[object]) -> Iterator[tuple[str, object]]:
    """Yield a list's items with their path elements."""
    keys, defaults = texts(schema, "x-kubernetes-list-map-keys"), child(schema, KEY_DEFAULTS)
    if not defaults and keys:
        properties = child(schema, "items", "properties")
        defaults = {k: child(properties, k)["default"] for k in keys if "default" in child(properties, k)}
    for value in values:
        if schema.get(_LIST_TYPE) == "set":
            yield value_element(value), value
            continue
        item = as_object(value)
        named = {key: item.get(key, defaults.get(key)) for key in keys}
        if all(part is None for part in named.values()):
            raise UntypedError(f"an item of a list has none of its keys {', '.join(keys)}: {encode(value).decode()}")
        yield keys_element({key: part for key, part in named.items() if part is not None}), value


def _merge_lists(schema: JsonObject, live: list[object], applied: list[object]) -> list[object]:
    """Merge two lists by item: the applied order counts, what only the live list has stands where it stood."""
    before, after = list(_items(schema, live)), list(_items(schema, applied))
    old, new = dict(before), dict(after)
    items = child(schema, "items")
    waiting = [element for element, _ in before]
    result = _untouched(waiting, old, new)
    for element, item in after:
        if element not in old:
            result.append(item)
            continue
        while waiting and waiting[0] != element:
            result += _untouched(waiting, old, new)
            if waiting and waiting[0] != element:
                waiting.pop(0)
        waiting = waiting[1:]
        result.append(merge(items, old[element], item))
        result += _untouched(waiting, old, new)
    return result


def _untouched(waiting: list[str], old: Mapping[str, object], new: Mapping[str, object]) -> list[object]:
    """Take, off the front of the live list, the items that the applied list does not have."""
    taken: list[object] = []
    while waiting and waiting[0] not in new:
        taken.append(old[waiting.pop(0)])
    return taken
