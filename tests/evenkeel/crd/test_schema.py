"""The building blocks of a schema."""

from __future__ import annotations

import re

import jsonschema
import pytest
from hypothesis import given
from hypothesis import strategies as st

from evenkeel.crd.schema import (
    QUANTITY_PATTERN,
    Json,
    array,
    integer,
    mapping,
    number,
    opaque,
    quantity,
    rule,
    structure,
    text,
    timestamp,
)

_SUFFIXES = ["", *"numkMGTPE", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei", "e3", "E-3", "e+1"]


@given(
    sign=st.sampled_from(["", "+", "-"]),
    whole=st.integers(min_value=0),
    fraction=st.sampled_from(["", ".", ".5", ".000"]),
    suffix=st.sampled_from(_SUFFIXES),
)
def test_every_way_to_write_a_quantity_matches(sign: str, whole: int, fraction: str, suffix: str) -> None:
    assert re.search(QUANTITY_PATTERN, f"{sign}{whole}{fraction}{suffix}")


@pytest.mark.parametrize(
    ("row", "written"),
    [
        ("api:6", ""),
        ("api:6", "K"),
        ("api:6", "1K"),
        ("api:6", "1 "),
        ("api:6", " 1"),
        ("api:6", "--1"),
        ("api:6", "."),
        ("api:6", "1mi"),
        ("api:6", "1ki"),
        ("api:6", "1e"),
        ("api:6", "1MiB"),
        ("api:6", "0x1"),
        ("api:6", "1,5"),
    ],
)
def test_what_is_no_quantity_does_not_match(row: str, written: str) -> None:
    assert not re.search(QUANTITY_PATTERN, written), row


def test_a_quantity_is_a_number_or_text() -> None:
    node = quantity("Amount.", max_length=3)
    for good in (1, -1, "100", "5Gi"):
        jsonschema.validate(good, node)
    refused: list[Json] = [1.5, True, None, [], "1000", "x"]
    for bad in refused:
        with pytest.raises(jsonschema.ValidationError):
            jsonschema.validate(bad, node)


def test_a_quantity_inside_a_map_has_no_description_and_no_longest_form() -> None:
    assert set(quantity()) == {"anyOf", "pattern", "x-kubernetes-int-or-string"}


def test_optional_keywords_appear_only_when_asked_for() -> None:
    assert text("A.") == {"description": "A.", "type": "string"}
    assert text("A.", choices=("x", "y"))["enum"] == ["x", "y"]
    assert integer("A.") == {"description": "A.", "type": "integer"}
    assert integer("A.", bits=64, minimum=0) == {
        "description": "A.",
        "type": "integer",
        "format": "int64",
        "minimum": 0,
    }
    assert number("A.") == {"description": "A.", "type": "number"}
    assert "nullable" not in timestamp("A.")
    assert timestamp("A.", nullable=True)["nullable"] is True
    assert "required" not in structure("A.", {})


def test_containers_hold_the_schemas_they_were_given() -> None:
    inner = text("A.")
    assert array("B.", inner)["items"] == inner
    assert mapping("B.", inner)["additionalProperties"] == inner
    assert structure("B.", {"a": inner}, required=("a",)) == {
        "description": "B.",
        "type": "object",
        "properties": {"a": inner},
        "required": ["a"],
    }
    assert opaque("B.")["x-kubernetes-preserve-unknown-fields"] is True
    assert rule("self", "why") == {"rule": "self", "message": "why"}
