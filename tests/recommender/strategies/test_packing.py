"""Columns as text and back (beyond:B-2, beyond:B-10)."""

from __future__ import annotations

import base64
import json
import zlib

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from recommender.strategies.interface import Json
from recommender.strategies.packing import LONGEST_COLUMN, nested, packed, unpacked


@given(
    floats=st.lists(st.floats(allow_nan=True)),
    numbers=st.lists(st.integers(0, 2**32 - 1)),
    whole=st.lists(st.integers(-(2**63), 2**63 - 1)),
)
def test_what_is_packed_comes_back_to_the_last_bit(floats: list[float], numbers: list[int], whole: list[int]) -> None:
    """Law: through JSON without NaN, whatever the numbers are."""
    columns: dict[str, NDArray[np.generic]] = {
        "floats": np.array(floats, dtype=np.float64),
        "numbers": np.array(numbers, dtype=np.uint32),
        "whole": np.array(whole, dtype=np.int64),
    }
    saved = json.loads(json.dumps(packed(columns), allow_nan=False))
    found = unpacked(saved, {name: column.dtype for name, column in columns.items()})
    assert found.keys() == columns.keys()
    for name, column in columns.items():
        assert found[name].dtype == column.dtype
        assert found[name].tobytes() == column.tobytes(), name


def text(data: bytes) -> str:
    return base64.b64encode(data).decode()


@pytest.mark.parametrize(
    ("row", "saved"),
    [
        ("beyond:B-10 missing", None),
        ("beyond:B-10 no text", 7),
        ("beyond:B-10 no base64", "%"),
        ("beyond:B-10 not compressed", text(b"12345678")),
        ("beyond:B-10 cut off", text(zlib.compress(bytes(80))[:-4])),
        ("beyond:B-10 a part of a number", text(zlib.compress(bytes(81)))),
        ("beyond:B-10 too long", text(zlib.compress(bytes(8 * LONGEST_COLUMN + 8)))),
    ],
)
def test_what_is_no_column_is_refused(row: str, saved: Json) -> None:
    with pytest.raises(ValueError, match="saved state of a row: amounts is no packed column"):
        unpacked({"amounts": saved}, {"amounts": np.float64})
    assert row


def test_an_object_inside_of_another() -> None:
    assert nested({"cpu": {"a": 1}}, "cpu") == {"a": 1}
    with pytest.raises(ValueError, match="saved state of a row: memory is no object"):
        nested({"memory": 7}, "memory")
