"""CEL, the language of validation rules, admission policies and match conditions, with Kubernetes' quantities.

Objects come in untyped, so that a field without a value is noticed when a rule meets it, not when the rule is read.
Of Kubernetes' own functions those on quantities are known; a rule that needs another one is refused when it is read.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from typing import cast

from cel_expr_python import cel  # type: ignore[import-untyped]
from cel_expr_python.ext import ext_optional, ext_strings  # type: ignore[import-untyped]
from google.protobuf.timestamp_pb2 import Timestamp  # type: ignore[import-untyped]

from autoscaling.errors import InvalidQuantityError
from autoscaling.quantity import Quantity
from evenkeel.simulator.api.fields import JsonObject
from evenkeel.simulator.clock import parse_rfc3339

DYNAMIC, BOOLEAN, TEXT = "dyn", "bool", "string"
_NANO = "nano"
"""Key under which a quantity's amount is kept, in billionths, as text: it may be larger than CEL's numbers."""

_BILLION = 10**9
_LARGEST = 2**63 - 1


class ExpressionError(Exception):
    """An expression cannot be read, or has no value for what it was given; the text says why."""


@dataclass(frozen=True, slots=True)
class Expression:
    """One expression that has been read.

    Args:
        text: As written.
        type: Type of its value as far as it is known beforehand: ``bool``, ``string``, ``dyn`` or another one's name.
    """

    text: str
    type: str
    _compiled: cel.Expression

    def value(self, names: Mapping[str, object]) -> object:
        """Return the expression's value for values of its names.

        Raises:
            ExpressionError: It has none.
        """
        try:
            result = self._compiled.eval(data=dict(names))
            failure = str(result.value()) if result.type() == cel.Type.ERROR else ""
            value = None if failure else cast("object", result.plain_value())
        except (RuntimeError, TypeError, ValueError) as error:
            failure, value = str(error), None
        if failure:
            raise ExpressionError(f"expression {self.text!r}: {_first_line(failure)}")
        return value

    def serialized(self) -> bytes:
        """Return the expression as the library stores it."""
        return cast("bytes", self._compiled.serialize())

    def holds(self, names: Mapping[str, object]) -> bool:
        """Return the expression's value, which must be a boolean.

        Raises:
            ExpressionError: It has none, or another one.
        """
        value = self.value(names)
        if not isinstance(value, bool):
            raise ExpressionError(f"expression {self.text!r} is neither true nor false")
        return value


def read_expression(text: str, types: Mapping[str, str]) -> Expression:
    """Read an expression in which some names stand for values.

    Args:
        text: The expression.
        types: Type by name, dotted names such as ``variables.limit`` included.

    Raises:
        ExpressionError: It cannot be read.
    """
    return _read(text, tuple(sorted(types.items())))


def moment_value(text: str) -> object:
    """Return a time, given as JSON writes it, as expressions hold it."""
    moment = parse_rfc3339(text)
    return Timestamp(seconds=int(moment.timestamp()), nanos=moment.microsecond * 1000)


@cache
def _read(text: str, types: tuple[tuple[str, str], ...]) -> Expression:
    """Read an expression once."""
    try:
        compiled = _environment(types).compile(text)
    except RuntimeError as error:
        raise ExpressionError(f"expression {text!r} cannot be read: {_first_line(str(error))}") from None
    return Expression(text, _type_name(compiled.return_type()), compiled)


@cache
def _environment(types: tuple[tuple[str, str], ...]) -> cel.Env:
    """Return the environment that knows some names."""
    variables = {name: _TYPES.get(kind, cel.Type.DYN) for name, kind in types}
    extensions = [ext_optional.ExtOptional(), ext_strings.ExtStrings()]
    return cel.NewEnv(variables=variables, extensions=extensions, functions=_quantity_functions())


_TYPES = {
    BOOLEAN: cel.Type.BOOL,
    TEXT: cel.Type.STRING,
    "int": cel.Type.INT,
    "double": cel.Type.DOUBLE,
    "list": cel.Type.LIST,
    "map": cel.Type.MAP,
}


def _type_name(kind: cel.Type) -> str:
    """Return a type's name; what is no type of its own here counts as dynamic."""
    name = str(kind.name()).lower().partition("<")[0]
    return name if name in _TYPES else DYNAMIC if name == DYNAMIC else f"another type ({name})"


def _first_line(message: str) -> str:
    """Return the first line of what the library says, without its own words for kinds of errors."""
    first = message.partition("\n")[0]
    head, _, rest = first.partition(": ")
    return (rest if head.isupper() or "_" in head else first).removesuffix(" [INVALID_ARGUMENT]")


def _quantity_functions() -> list[cel.FunctionDecl]:
    """Return Kubernetes' functions on quantities."""
    kind, integer, boolean, text = cel.Type.MAP, cel.Type.INT, cel.Type.BOOL, cel.Type.STRING
    other = [kind]
    mixed: dict[str, Callable[[int, int], int]] = {"add": lambda a, b: a + b, "sub": lambda a, b: a - b}
    return [
        _function("quantity", kind, [text], _quantity),
        _function("isQuantity", boolean, [text], _is_quantity),
        _function("compareTo", integer, other, _compare, on=kind),
        _function("isGreaterThan", boolean, other, lambda a, b: _compare(a, b) > 0, on=kind),
        _function("isLessThan", boolean, other, lambda a, b: _compare(a, b) < 0, on=kind),
        _function("sign", integer, [], lambda a: _sign(_nano(a)), on=kind),
        _function("isInteger", boolean, [], _is_integer, on=kind),
        _function("asInteger", integer, [], _as_integer, on=kind),
        _function("asApproximateFloat", cel.Type.DOUBLE, [], lambda a: _nano(a) / _BILLION, on=kind),
        *(_arithmetic(name, operation) for name, operation in mixed.items()),
    ]


def _function(
    name: str,
    returns: cel.Type,
    takes: list[cel.Type],
    body: Callable[..., object],
    *,
    on: cel.Type | None = None,
) -> cel.FunctionDecl:
    """Return one function, called on a value when ``on`` names its type."""
    parameters = takes if on is None else [on, *takes]
    overload = cel.Overload(f"{name}_quantity", returns, parameters, is_member=on is not None, impl=body)
    return cel.FunctionDecl(name, [overload])


def _arithmetic(name: str, operation: Callable[[int, int], int]) -> cel.FunctionDecl:
    """Return one operation that quantities have with each other and with whole numbers."""
    kind = cel.Type.MAP

    def with_quantity(left: JsonObject, right: JsonObject) -> JsonObject:
        return {_NANO: str(operation(_nano(left), _nano(right)))}

    def with_integer(left: JsonObject, right: int) -> JsonObject:
        return {_NANO: str(operation(_nano(left), right * _BILLION))}

    overloads = [
        cel.Overload(f"{name}_quantity", kind, [kind, kind], is_member=True, impl=with_quantity),
        cel.Overload(f"{name}_int", kind, [kind, cel.Type.INT], is_member=True, impl=with_integer),
    ]
    return cel.FunctionDecl(name, overloads)


def _quantity(text: str) -> JsonObject:
    """Return a quantity as expressions hold it: equal amounts are equal values."""
    try:
        return {_NANO: str(Quantity.parse(text).nano)}
    except InvalidQuantityError as error:
        raise ValueError(str(error)) from None


def _is_quantity(text: str) -> bool:
    """Say whether a text is a quantity."""
    try:
        Quantity.parse(text)
    except InvalidQuantityError:
        return False
    return True


def _nano(quantity: JsonObject) -> int:
    """Return a quantity's amount in billionths."""
    return int(str(quantity[_NANO]))


def _compare(left: JsonObject, right: JsonObject) -> int:
    """Return -1, 0 or 1 as one quantity is less than, equal to or greater than another."""
    return _sign(_nano(left) - _nano(right))


def _sign(number: int) -> int:
    """Return the sign of a number."""
    return (number > 0) - (number < 0)


def _is_integer(quantity: JsonObject) -> bool:
    """Say whether a quantity is a whole number that CEL can hold."""
    whole, rest = divmod(_nano(quantity), _BILLION)
    return not rest and abs(whole) <= _LARGEST


def _as_integer(quantity: JsonObject) -> int:
    """Return a quantity as a whole number."""
    if not _is_integer(quantity):
        raise ValueError("the quantity is no whole number, or too large for one")
    return _nano(quantity) // _BILLION
