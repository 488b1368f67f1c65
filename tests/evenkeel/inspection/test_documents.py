"""Findings as JSON."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta

import pytest

from autoscaling.objectref import ObjectRef
from autoscaling.quantity import Quantity
from autoscaling.vpa import UpdateMode
from evenkeel.inspection.documents import document
from tests.builders import T0


@dataclass(frozen=True, slots=True)
class _Found:
    first_name: str
    seen_at: object


ROWS: list[tuple[object, object]] = [
    (None, None),
    (1.5, 1.5),
    (UpdateMode.OFF, "Off"),
    (Quantity.parse("0.1"), "100m"),
    (ObjectRef("Pod", "a", "b"), "Pod a/b"),
    (T0, "2026-01-01T00:00:00Z"),
    (timedelta(minutes=1), 60.0),
    ((1, ("x",)), [1, ["x"]]),
    ({"a": Quantity.parse("1Gi")}, {"a": "1Gi"}),
    (_Found("x", T0), {"firstName": "x", "seenAt": "2026-01-01T00:00:00Z"}),
]


@pytest.mark.parametrize(("value", "expected"), ROWS)
def test_values(value: object, expected: object) -> None:
    assert document(value) == expected


def test_a_value_of_another_type_is_no_document() -> None:
    with pytest.raises(TypeError, match="set has no form in JSON"):
        document({1, 2})
