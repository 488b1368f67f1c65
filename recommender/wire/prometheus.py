"""Answers of Prometheus' HTTP API.

An answer holds up to some million points, so the points of a series go from the bytes straight into arrays.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import msgspec
import numpy as np

from recommender.history.errors import HistoryError, Trouble
from recommender.history.series import Answer, Series, Shape

_BRACKETS: Final = b'[]" \t\r\n'
_POINT_BYTES: Final = 16
"""Of a time and a value as 64-bit numbers."""

_REMEDY = "check that --prometheus-address is the address of a Prometheus server or of something that answers like one"


class _Envelope(msgspec.Struct, frozen=True):
    status: str = ""
    data: msgspec.Raw = msgspec.Raw(b"null")
    error_type: str = msgspec.field(default="", name="errorType")
    error: str = ""


class _Series(msgspec.Struct, frozen=True, gc=False):
    metric: dict[str, str] = {}
    values: msgspec.Raw = msgspec.Raw(b"[]")
    value: msgspec.Raw = msgspec.Raw(b"[]")


class _Result(msgspec.Struct, frozen=True):
    result_type: str = msgspec.field(name="resultType")
    # A scalar or a string is a list of a number and a text.
    result: list[_Series | float | str]


class _Answer(msgspec.Struct, frozen=True):
    status: str = ""
    data: _Result | None = None
    error: str = ""


_ENVELOPES = msgspec.json.Decoder(_Envelope)
_ANSWERS = msgspec.json.Decoder(_Answer)
_FLOATS = msgspec.json.Decoder(list[float])
_NAMES = msgspec.json.Decoder(list[str])


@dataclass(frozen=True, slots=True)
class Refusal:
    """What Prometheus says instead of an answer.

    Args:
        kind: Its error type, such as ``bad_data``, ``execution`` or ``timeout``; empty where it says none.
        text: Its own words, or the beginning of whatever came instead.
    """

    kind: str
    text: str


def decode_answer(raw: bytes, query: str) -> Answer:
    """Read the answer to a query.

    Raises:
        HistoryError: It is none.
    """
    try:
        found = _result(raw, query)
        shape = Shape(found.result_type)
        if shape not in {Shape.MATRIX, Shape.VECTOR}:
            return Answer(shape, ())
        return Answer(shape, _all_series([each for each in found.result if isinstance(each, _Series)]))
    except (msgspec.DecodeError, ValueError) as error:
        raise HistoryError(f"{query}: unreadable answer: {error}", remedy=_REMEDY) from error


def decode_names(raw: bytes, asked: str) -> tuple[str, ...]:
    """Read the values of a label.

    Raises:
        HistoryError: They are none.
    """
    try:
        return tuple(_NAMES.decode(_data(raw, asked)))
    except msgspec.DecodeError as error:
        raise HistoryError(f"{asked}: unreadable answer: {error}", remedy=_REMEDY) from error


def decode_refusal(raw: bytes) -> Refusal:
    """Read what came with a status that is no success."""
    try:
        envelope = _ENVELOPES.decode(raw)
    except msgspec.DecodeError:
        return Refusal("", raw[:200].decode(errors="replace").strip())
    return Refusal(envelope.error_type, envelope.error)


def _result(raw: bytes, asked: str) -> _Result:
    answer = _ANSWERS.decode(raw)
    _check(answer.status, answer.error, asked)
    if answer.data is None:
        raise ValueError("it holds no data")
    return answer.data


def _data(raw: bytes, asked: str) -> msgspec.Raw:
    envelope = _ENVELOPES.decode(raw)
    _check(envelope.status, envelope.error, asked)
    return envelope.data


def _check(status: str, error: str, asked: str) -> None:
    """Refuse an answer that is no success although it came with the status code of one."""
    if status != "success":
        said = error or f"status {status!r}"
        raise HistoryError(f"{asked}: {said}", remedy=_REMEDY, trouble=Trouble.FINAL)


def _all_series(found: Sequence[_Series]) -> tuple[Series, ...]:
    """Return series, whose points are converted all at once."""
    packed = [_packed(bytes(each.values) if len(each.values) > len(b"[]") else bytes(each.value)) for each in found]
    numbers = np.frombuffer(b"".join(packed)).reshape(-1, 2)
    instants = np.round(numbers[:, 0] * 1000.0).astype(np.int64)
    instants *= 10**6
    values = np.ascontiguousarray(numbers[:, 1])
    series, begin = [], 0
    for each, points in zip(found, packed, strict=True):
        end = begin + len(points) // _POINT_BYTES
        series.append(Series(each.metric, instants[begin:end], values[begin:end]))
        begin = end
    return tuple(series)


def _packed(raw: bytes) -> bytes:
    """Return the times and values of points, one after the other, as 64-bit numbers.

    Raises:
        ValueError: They are no pairs of numbers.
    """
    bare = raw.translate(None, _BRACKETS)
    if not bare:
        return b""
    try:
        numbers = _FLOATS.decode(b"[%b]" % bare)
    except msgspec.DecodeError:
        # Infinity and what is no number are none in JSON.
        numbers = [float(text) for text in bare.split(b",")]
    if len(numbers) % 2:
        raise ValueError(f"a point is no pair: {raw[:80]!r}")
    # Three times as fast as making an array of the list.
    return struct.pack(f"={len(numbers)}d", *numbers)
