"""Columns of a row as text for JSON, to the last bit, and back (spec: beyond B-2, B-10)."""

from __future__ import annotations

import base64
import binascii
import math
import zlib
from collections.abc import Mapping
from typing import Final

import numpy as np
from numpy.typing import DTypeLike, NDArray

from recommender.strategies.interface import Json, JsonObject

LONGEST_COLUMN: Final = 1 << 16
"""Numbers that a column may have; whoever can write checkpoints could otherwise have the process run out of memory."""

_LEVEL: Final = 1
"""Of compression: every row is saved in every round, and higher ones take several times as long for little."""

Column = NDArray[np.generic]
Forms = Mapping[str, DTypeLike]


def packed(columns: Mapping[str, NDArray[np.generic]]) -> dict[str, Json]:
    """Return columns as text.

    Args:
        columns: Numbers by name.

    Returns:
        Base64 of the compressed little-endian numbers, by name.
    """
    return {name: _text(column) for name, column in columns.items()}


def _text(column: Column) -> str:
    little = np.ascontiguousarray(column).astype(column.dtype.newbyteorder("<"))
    return base64.b64encode(zlib.compress(_shuffled(little), _LEVEL)).decode("ascii")


def _shuffled(column: Column) -> bytes:
    """Return all first bytes of the numbers, then all second ones: those are alike, and so are compressed better."""
    return column.view(np.uint8).reshape(-1, column.dtype.itemsize).T.tobytes()


def unpacked(saved: JsonObject, forms: Forms) -> dict[str, Column]:
    """Return the columns that text stands for.

    Args:
        saved: What ``packed`` returned.
        forms: Type of the numbers of each column that is wanted.

    Raises:
        ValueError: A column is missing, too long or none of ``packed``.
    """
    return {name: _column(name, saved.get(name), np.dtype(form)) for name, form in forms.items()}


def unpacked_amount(saved: JsonObject, name: str) -> float:
    """Return the one amount that a column holds; NaN stands for none.

    Args:
        saved: What ``packed`` returned.
        name: Of the column, a float64[1].

    Raises:
        ValueError: It is missing, or holds no amount.
    """
    numbers: list[float] = unpacked(saved, {name: np.float64})[name].tolist()
    if len(numbers) != 1 or numbers[0] < 0.0 or math.isinf(numbers[0]):
        raise ValueError(f"saved state of a row: {name} is no amount")
    return numbers[0]


def _column(name: str, text: Json, form: np.dtype[np.generic]) -> Column:
    problem = f"saved state of a row: {name} is no packed column"
    if not isinstance(text, str):
        raise ValueError(problem)  # noqa: TRY004 - the interface has one error for all that cannot be read
    reader = zlib.decompressobj()
    try:
        data = reader.decompress(base64.b64decode(text, validate=True), LONGEST_COLUMN * form.itemsize)
    except (binascii.Error, zlib.error) as error:
        raise ValueError(problem) from error
    if not reader.eof or len(data) % form.itemsize:
        raise ValueError(problem)
    by_byte = np.frombuffer(data, dtype=np.uint8).reshape(form.itemsize, -1)
    return np.ascontiguousarray(by_byte.T).view(form.newbyteorder("<")).reshape(-1).astype(form)


def nested(saved: JsonObject, name: str) -> JsonObject:
    """Return an object inside of a saved one.

    Raises:
        ValueError: There is none of that name.
    """
    found = saved.get(name)
    if not isinstance(found, dict):
        raise ValueError(f"saved state of a row: {name} is no object")  # noqa: TRY004 - as above
    return found
