"""Fields that an expression reads and that its schema does not have."""

from __future__ import annotations

import pytest

from evenkeel.simulator.api.expression_fields import undefined_fields
from evenkeel.simulator.api.expressions import read_expression
from evenkeel.simulator.api.fields import JsonObject

NUMBER: JsonObject = {"type": "integer"}
SCHEMA: JsonObject = {
    "type": "object",
    "properties": {
        "a": NUMBER,
        "m": {"type": "object", "additionalProperties": {"type": "object", "properties": {"x": NUMBER}}},
        "l": {"type": "array", "items": {"type": "object", "properties": {"n": NUMBER}}},
        "free": {"type": "object", "x-kubernetes-preserve-unknown-fields": True},
        "either": {"x-kubernetes-int-or-string": True},
    },
}


@pytest.mark.parametrize(
    ("text", "unknown"),
    [
        ("self.a > 0", []),
        ("self.zz == 1", ["zz"]),
        ("has(self.zz) || has(self.a)", ["zz"]),
        ("self.zz == self.zz", ["zz"]),
        ("self.a.b == 1", ["b"]),
        ("self.l.n == 1", ["n"]),
        ("self.l.all(x, x.n > 0)", []),
        ("self.l.all(x, x.k > 0)", ["k"]),
        ("self.l[0].n == 1 && self.l[0].q == 1", ["q"]),
        ("self.m.k.x == 1 && self.m['k'].y == 1", ["y"]),
        ("self.m.all(k, self.m[k].x > 0 && self.m[k].w > 0)", ["w"]),
        ("self.free.any.thing == 1 && self.either == 1", []),
        ("self.?opt.orValue(1) == 1", ["opt"]),
        ("self.?a.orValue(1) == 1", []),
        ("[self.p, self.a].size() == 2 && {'a': self.q}.a == 1", ["p", "q"]),
        ("self.l.filter(x, x.bad == 1).size() == 0", ["bad"]),
        ("self.a == 1 ? self.b : self.a", ["b"]),
        ("oldSelf.a == self.a && oldSelf.c == 1", ["c"]),
        ("other.anything == 1", []),
    ],
)
def test_fields(text: str, unknown: list[str]) -> None:
    expression = read_expression(text, {"self": "dyn", "oldSelf": "dyn", "other": "dyn"})
    assert undefined_fields(expression, {"self": SCHEMA, "oldSelf": SCHEMA, "other": None}) == unknown
