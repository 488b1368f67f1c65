"""Which fields an expression reads that its schemas do not have: found before any object is looked at."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from typing import cast

from evenkeel.simulator.api.expressions import Expression
from evenkeel.simulator.api.fields import JsonObject, child
from evenkeel.simulator.api.protobuf_fields import read_fields
from evenkeel.simulator.api.protobuf_messages import Message, message_classes, part
from evenkeel.simulator.api.typed_values import member_schema

_TABLE = {
    "Any": "url=1:string value=2:bytes",
    "Checked": "expr=4:Expr?",
    "Expr": "const=3:Constant? ident=4:Ident? select=5:Select? call=6:Call? list=7:List? struct=8:Struct? loop=9:Loop?",
    "Constant": "text=6:string?",
    "Ident": "name=1:string",
    "Select": "operand=1:Expr? field=2:string",
    "Call": "target=1:Expr? function=2:string args=3:Expr*",
    "List": "elements=1:Expr*",
    "Struct": "entries=2:Entry*",
    "Entry": "key=3:Expr? value=4:Expr?",
    "Loop": "variable=1:string range=2:Expr? sum=3:string start=4:Expr? condition=5:Expr? step=6:Expr? result=7:Expr?"
    " second=8:string",
}
_INDEX, _OPTIONAL = "_[_]", "_?._"

Scope = Mapping[str, JsonObject | None]
"""Schema by name; None for a name of which nothing is known."""


def undefined_fields(expression: Expression, scope: Scope) -> list[str]:
    """Return the fields that an expression reads and that do not exist, each once and as written.

    Args:
        expression: The expression.
        scope: Schema of what its names stand for.
    """
    envelope = _read("Any", expression.serialized())
    checked = _read("Checked", cast("bytes", part(envelope, "value")))
    found: list[str] = []
    _Walk(found).visit(_expr(checked, "expr"), scope)
    return list(dict.fromkeys(found))


@cache
def _classes() -> dict[str, type]:
    """Return the classes of the messages that expressions are stored in."""
    return message_classes("expressions", {name: read_fields(fields) for name, fields in _TABLE.items()})


def _read(name: str, raw: bytes) -> Message:
    """Read one message."""
    message = cast("Message", _classes()[name]())
    message.ParseFromString(raw)
    return message


def _expr(message: Message, name: str) -> Message:
    """Return a part of a message that is a message."""
    return cast("Message", part(message, name))


def _exprs(message: Message, name: str) -> Sequence[Message]:
    """Return a list of messages in a message."""
    return cast("Sequence[Message]", part(message, name))


class _Walk:
    """One walk through an expression.

    Args:
        found: Where the fields go that do not exist.
    """

    def __init__(self, found: list[str]) -> None:
        self._found = found

    def visit(self, expr: Message, scope: Scope) -> JsonObject | None:
        """Look at an expression and return the schema of its value, None when that is not known."""
        if expr.HasField("ident"):
            return scope.get(str(part(_expr(expr, "ident"), "name")))
        if expr.HasField("select"):
            select = _expr(expr, "select")
            return self._member(self.visit(_expr(select, "operand"), scope), str(part(select, "field")))
        if expr.HasField("call"):
            return self._call(_expr(expr, "call"), scope)
        if expr.HasField("loop"):
            self._loop(_expr(expr, "loop"), scope)
        for inner in _others(expr):
            self.visit(inner, scope)
        return None

    def _member(self, schema: JsonObject | None, name: str) -> JsonObject | None:
        """Return the schema of a member."""
        if not schema:
            return None
        found = member_schema(schema, name) if schema.get("type") in {"object", None} else None
        if found is None:
            self._found.append(name)
        return found or None

    def _call(self, call: Message, scope: Scope) -> JsonObject | None:
        """Look at a call; an index and the choice of a member that may be absent lead further down."""
        function, args = str(part(call, "function")), _exprs(call, "args")
        schemas = [self.visit(arg, scope) for arg in args]
        if call.HasField("target"):
            self.visit(_expr(call, "target"), scope)
        if function == _OPTIONAL:
            self._member(schemas[0], _text(args[1]))
        if function != _INDEX or not schemas[0]:
            return None
        if schemas[0].get("type") == "array":
            return child(schemas[0], "items") or None
        return child(schemas[0], "additionalProperties") or None

    def _loop(self, loop: Message, scope: Scope) -> None:
        """Look at a comprehension: its variable stands for the items of a list."""
        over = self.visit(_expr(loop, "range"), scope)
        is_list = bool(over) and child({"": over}, "").get("type") == "array"
        items = child({"": over}, "", "items") or None if is_list else None
        inner: dict[str, JsonObject | None] = {
            **scope,
            str(part(loop, "variable")): items,
            str(part(loop, "sum")): None,
        }
        second = str(part(loop, "second"))
        if second:
            inner |= {str(part(loop, "variable")): None, second: items}
        for name in ("start", "condition", "step", "result"):
            self.visit(_expr(loop, name), inner)


def _text(expr: Message) -> str:
    """Return the text of a constant."""
    return str(part(_expr(expr, "const"), "text")) if expr.HasField("const") else ""


def _others(expr: Message) -> Iterator[Message]:
    """Yield the parts of a list or an object that an expression makes."""
    yield from _exprs(_expr(expr, "list"), "elements")
    for entry in _exprs(_expr(expr, "struct"), "entries"):
        yield from (_expr(entry, name) for name in ("key", "value") if entry.HasField(name))
