"""CEL with Kubernetes' quantities."""

from __future__ import annotations

import pytest

from evenkeel.simulator.api.expressions import ExpressionError, read_expression

NAMES = {"self": "dyn", "object": "dyn", "oldObject": "dyn", "variables.limit": "int"}


@pytest.mark.parametrize(
    ("text", "kind", "names", "value"),
    [
        ("(self.type == 'Factor') == has(self.factor)", "bool", {"self": {"type": "Factor"}}, False),
        ("(self.type == 'Factor') == has(self.factor)", "bool", {"self": {"type": "Factor", "factor": 2}}, True),
        (
            "object.spec == oldObject.spec",
            "bool",
            {"object": {"spec": [{"a": None}]}, "oldObject": {"spec": [{}]}},
            False,
        ),
        ("object.?labels.orValue({}) == {}", "bool", {"object": {}}, True),
        ("self.all(key, key.startsWith('x'))", "bool", {"self": {"x1": 1, "x2": 2}}, True),
        ("variables.limit + 1", "int", {"variables.limit": 1}, 2),
        ("object == null", "bool", {"object": None}, True),
        ("'a ' + string(self.n)", "string", {"self": {"n": 3}}, "a 3"),
        ("self.n", "dyn", {"self": {"n": 1.5}}, 1.5),
        ("quantity('1') == quantity('1000m')", "bool", {}, True),
        ("quantity(string(self.n)).compareTo(quantity('1Gi'))", "int", {"self": {"n": "2Gi"}}, 1),
        ("quantity(string(self.n)).compareTo(quantity('3'))", "int", {"self": {"n": 2}}, -1),
        ("quantity('1Ki').asInteger()", "int", {}, 1024),
        ("quantity('1500m').isInteger() || quantity('9999Ei').add(quantity('9999Ei')).isInteger()", "bool", {}, False),
        ("quantity('2').sub(quantity('500m')).sub(1).asApproximateFloat()", "double", {}, 0.5),
        ("quantity('-1').sign() + quantity('0').sign() + quantity('7k').sign()", "int", {}, 0),
        ("quantity('1').isLessThan(quantity('2')) && quantity('3').isGreaterThan(quantity('2'))", "bool", {}, True),
        ("isQuantity('1Gi') && !isQuantity('one')", "bool", {}, True),
    ],
)
def test_values(text: str, kind: str, names: dict[str, object], value: object) -> None:
    expression = read_expression(text, NAMES)
    assert (expression.type, expression.value(names)) == (kind, value)


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("self.", "no viable alternative"),
        ("unknown(1)", "unknown"),
        ("variables.other == 1", "variables.other"),
        ("quantity(1)", "quantity"),
    ],
)
def test_expressions_that_cannot_be_read(text: str, why: str) -> None:
    with pytest.raises(ExpressionError, match="cannot be read") as caught:
        read_expression(text, NAMES)
    assert why in str(caught.value)


@pytest.mark.parametrize(
    ("text", "names", "why"),
    [
        ("self.absent == 1", {"self": {}}, "absent"),
        ("self + 1", {"self": "text"}, "overload"),
        ("quantity(self).sign()", {"self": "junk"}, "junk"),
        ("quantity('1500m').asInteger()", {}, "whole number"),
        ("object.?a", {"object": {"a": 1}}, "object.?a"),
    ],
)
def test_expressions_without_a_value(text: str, names: dict[str, object], why: str) -> None:
    with pytest.raises(ExpressionError) as caught:
        read_expression(text, NAMES).value(names)
    assert why in str(caught.value)


def test_only_a_boolean_can_hold() -> None:
    assert read_expression("self", NAMES).holds({"self": True})
    with pytest.raises(ExpressionError, match="neither true nor false"):
        read_expression("self", NAMES).holds({"self": 1})
