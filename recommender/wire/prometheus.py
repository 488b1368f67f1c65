"""Answers of Prometheus' HTTP API.

An answer holds up to some million points, so the points of a series go from the bytes straight into arrays.
"""

from __future__ import annotations

from dataclasses import dataclass

import msgspec
import numpy as np
from numpy.typing import NDArray

from recommender.history.errors import HistoryError, Trouble
from recommender.history.series import Answer, Series, Shape

_BRACKETS = b'[]" \t\r\n'
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
    result: msgspec.Raw


_ENVELOPES = msgspec.json.Decoder(_Envelope)
_RESULTS = msgspec.json.Decoder(_Result)
_SERIES = msgspec.json.Decoder(list[_Series])
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
        result = _RESULTS.decode(_data(raw, query))
        shape = Shape(result.result_type)
        if shape not in {Shape.MATRIX, Shape.VECTOR}:
            return Answer(shape, ())
        return Answer(shape, tuple(_series(each) for each in _SERIES.decode(result.result)))
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


def _data(raw: bytes, asked: str) -> msgspec.Raw:
    envelope = _ENVELOPES.decode(raw)
    if envelope.status != "success":
        said = envelope.error or f"status {envelope.status!r}"
        raise HistoryError(f"{asked}: {said}", remedy=_REMEDY, trouble=Trouble.FINAL)
    return envelope.data


def _series(each: _Series) -> Series:
    raw = bytes(each.values) if len(each.values) > len(b"[]") else bytes(each.value)
    numbers = _numbers(raw)
    instants = np.round(numbers[0::2] * 1000.0).astype(np.int64) * 10**6
    return Series(each.metric, instants, numbers[1::2])


def _numbers(raw: bytes) -> NDArray[np.float64]:
    """Return the times and values of points, one after the other.

    Raises:
        ValueError: They are no pairs of numbers.
    """
    bare = raw.translate(None, _BRACKETS)
    if not bare:
        return np.empty(0)
    try:
        numbers = np.array(_FLOATS.decode(b"[%b]" % bare))
    except msgspec.DecodeError:
        # Infinity and what is no number are none in JSON.
        numbers = np.array([float(text) for text in bare.split(b",")])
    if len(numbers) % 2:
        raise ValueError(f"a point is no pair: {raw[:80]!r}")
    return numbers
