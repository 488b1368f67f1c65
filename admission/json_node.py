"""Reading a JSON tree field by field, as the API's own types would take it.

An absent field and ``null`` are the same, unknown fields do not matter, and a value of another type is an error that
names the field's path.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from autoscaling.errors import EvenkeelError, InvalidQuantityError
from autoscaling.quantity import Quantity
from autoscaling.resources import ResourceList

_NO_FIELDS: Mapping[str, object] = {}


class UnreadableFieldError(EvenkeelError):
    """A field of a submitted object that is not of its type.

    Args:
        path: The field, as in ``spec.updatePolicy.minReplicas``.
        problem: What is there instead of what.
    """

    def __init__(self, path: str, problem: str) -> None:
        super().__init__(f"{path or 'the object'} {problem}")
        self.path = path
        self.problem = problem


@dataclass(frozen=True, slots=True)
class JsonNode:
    """One JSON object and where it stands in the whole.

    Args:
        fields: The object's fields.
        path: Dotted path; empty for the root.
    """

    fields: Mapping[str, object]
    path: str = ""

    @classmethod
    def of(cls, value: object, path: str = "") -> JsonNode:
        """Take a value as an object; nothing at all counts as an empty one.

        Raises:
            UnreadableFieldError: The value is something else.
        """
        if value is None:
            return cls(_NO_FIELDS, path)
        if not isinstance(value, dict):
            raise UnreadableFieldError(path, f"is {_type_name(value)} where an object belongs")
        return cls(value, path)

    def has(self, name: str) -> bool:
        """Say whether a field is there and not null."""
        return self.fields.get(name) is not None

    def child(self, name: str) -> JsonNode:
        """Return an object below this one, an empty one where it is absent."""
        return JsonNode.of(self.fields.get(name), self._at(name))

    def children(self, name: str) -> tuple[JsonNode, ...]:
        """Return the objects of a list."""
        return tuple(JsonNode.of(item, f"{self._at(name)}[{i}]") for i, item in enumerate(self._items(name)))

    def text(self, name: str) -> str | None:
        """Return a string, None where it is absent."""
        value = self.fields.get(name)
        if value is not None and not isinstance(value, str):
            raise UnreadableFieldError(self._at(name), f"is {_type_name(value)} where a string belongs")
        return value

    def texts(self, name: str) -> tuple[str, ...] | None:
        """Return a list of strings, None where it is absent."""
        if not self.has(name):
            return None
        found: list[str] = []
        for index, item in enumerate(self._items(name)):
            if item is not None and not isinstance(item, str):
                raise UnreadableFieldError(f"{self._at(name)}[{index}]", f"is {_type_name(item)}, not a string")
            found.append(item or "")
        return tuple(found)

    def integer(self, name: str, *, bits: int = 32) -> int | None:
        """Return a whole number that fits so many bits with its sign, None where it is absent."""
        value = self.fields.get(name)
        if value is None:
            return None
        if isinstance(value, bool) or not isinstance(value, int):
            raise UnreadableFieldError(self._at(name), f"is {_type_name(value)} where a whole number belongs")
        if not -(2 ** (bits - 1)) <= value < 2 ** (bits - 1):
            raise UnreadableFieldError(self._at(name), f"is {value}, which does not fit {bits} bits")
        return value

    def quantity(self, name: str) -> Quantity | None:
        """Return a quantity, None where it is absent."""
        return _quantity(self.fields[name], self._at(name)) if self.has(name) else None

    def quantities(self, name: str) -> ResourceList:
        """Return a resource list; a name without an amount counts as zero."""
        node = self.child(name)
        return {key: _quantity(value, f"{node.path}[{key}]") for key, value in node.fields.items()}

    def _at(self, name: str) -> str:
        """Return the path of a field of this object."""
        return f"{self.path}.{name}" if self.path else name

    def _items(self, name: str) -> list[object]:
        """Return a list's items; an absent list is empty."""
        value = self.fields.get(name)
        if value is None:
            return []
        if not isinstance(value, list):
            raise UnreadableFieldError(self._at(name), f"is {_type_name(value)} where a list belongs")
        return value


def _quantity(value: object, path: str) -> Quantity:
    """Read a quantity from text or from a plain number."""
    if value is None:
        return Quantity(0)
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        raise UnreadableFieldError(path, f"is {_type_name(value)} where a quantity belongs")
    try:
        return Quantity.parse(str(value))
    except InvalidQuantityError as error:
        raise UnreadableFieldError(path, f"is no quantity: {error}") from error


def _type_name(value: object) -> str:
    """Name a JSON type for a message."""
    names = {dict: "an object", list: "a list", str: "a string", bool: "a truth value", int: "a number"}
    return names.get(type(value), "a number")
