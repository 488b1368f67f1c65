"""Answers of Prometheus' HTTP API.

An answer holds up to some million points, so the points of a series go from the bytes straight into arrays.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

import msgspec
import numpy as np

from autoscaling.wire.unreadable import UNREADABLE_JSON
from recommender.history.errors import HistoryError, Trouble
from recommender.history.series import Answer, Series, Shape
from recommender.instants import LATEST_MOMENT, SECOND

_BRACKETS: Final = b'[]" \t\r\n'
_BEFORE_POINTS: Final = b'},"values":[['
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
        places = _places_of_points(raw)
        shape, series = _found(_without(raw, places), query)
        if places and len(places) != len(series):
            # Some series hold other points than those that were found.
            places, (shape, series) = [], _found(raw, query)
        points = (raw[place] for place in places) if places else map(_points_of, series)
        return Answer(shape, _all_series(series, points))
    except (*UNREADABLE_JSON, ValueError) as error:
        raise HistoryError(f"{query}: unreadable answer: {error}", remedy=_REMEDY) from error


def decode_names(raw: bytes, asked: str) -> tuple[str, ...]:
    """Read the values of a label.

    Raises:
        HistoryError: They are none.
    """
    try:
        return tuple(_NAMES.decode(_data(raw, asked)))
    except UNREADABLE_JSON as error:
        raise HistoryError(f"{asked}: unreadable answer: {error}", remedy=_REMEDY) from error


def decode_refusal(raw: bytes) -> Refusal:
    """Read what came with a status that is no success."""
    try:
        envelope = _ENVELOPES.decode(raw)
    except UNREADABLE_JSON:
        return Refusal("", raw[:200].decode(errors="replace").strip())
    return Refusal(envelope.error_type, envelope.error)


def _found(raw: bytes, asked: str) -> tuple[Shape, list[_Series]]:
    """Return the kind of an answer, and the series of one that has some."""
    answer = _ANSWERS.decode(raw)
    _check(answer.status, answer.error, asked)
    if answer.data is None:
        raise ValueError("it holds no data")
    shape = Shape(answer.data.result_type)
    if shape not in {Shape.MATRIX, Shape.VECTOR}:
        return shape, []
    return shape, [each for each in answer.data.result if isinstance(each, _Series)]


def _data(raw: bytes, asked: str) -> msgspec.Raw:
    envelope = _ENVELOPES.decode(raw)
    _check(envelope.status, envelope.error, asked)
    return envelope.data


def _check(status: str, error: str, asked: str) -> None:
    """Refuse an answer that is no success although it came with the status code of one."""
    if status != "success":
        said = error or f"status {status!r}"
        raise HistoryError(f"{asked}: {said}", remedy=_REMEDY, trouble=Trouble.FINAL)


def _places_of_points(raw: bytes) -> list[slice]:
    """Find the points in a matrix as Prometheus writes it: they end a series, and stand between braces.

    Looking for braces takes a small part of the time of reading the points as JSON.

    Returns:
        Where the points of each series are, without the brackets around all; none where the answer is written in
        another way or holds other points, too.
    """
    places = []
    brace = raw.find(_BEFORE_POINTS)
    while brace >= 0:
        begin, brace = brace + len(_BEFORE_POINTS) - 1, raw.find(b"}", brace + 1)
        if not raw.endswith(b"]]", begin, brace) or raw.find(b"{", begin, brace) >= 0:
            return []
        places.append(slice(begin, brace - 1))
        while brace >= 0 and not raw.startswith(_BEFORE_POINTS, brace):
            brace = raw.find(b"}", brace + 1)
    return places


def _without(raw: bytes, places: Sequence[slice]) -> bytes:
    """Leave out parts of an answer."""
    begins = (0, *(place.stop for place in places))
    ends = (*(place.start for place in places), len(raw))
    return b"".join([raw[begin:end] for begin, end in zip(begins, ends, strict=True)])


def _points_of(series: _Series) -> bytes:
    """Return the points of a series, or the one point that one of a vector has."""
    return bytes(series.values) if len(series.values) > len(b"[]") else bytes(series.value)


def _all_series(found: Sequence[_Series], points: Iterable[bytes]) -> tuple[Series, ...]:
    """Return series with their points, which are converted all at once.

    Raises:
        ValueError: A point has no time, or one beyond all that can be reckoned with.
    """
    packed = [_packed(each) for each in points]
    numbers = np.frombuffer(b"".join(packed)).reshape(-1, 2)
    if not (np.abs(numbers[:, 0]) <= LATEST_MOMENT / SECOND).all():
        raise ValueError("a point's time is beyond the year 2100, or none at all")
    instants = np.round(numbers[:, 0] * 1000.0).astype(np.int64)
    instants *= 10**6
    values = np.ascontiguousarray(numbers[:, 1])
    series, begin = [], 0
    for each, pairs in zip(found, packed, strict=True):
        end = begin + len(pairs) // _POINT_BYTES
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
    return _packing(len(numbers))(*numbers)


@lru_cache(maxsize=64)
def _packing(count: int) -> Callable[..., bytes]:
    """Return what packs so many numbers, three times as fast as an array is made of a list of them."""
    return struct.Struct(f"{count}d").pack
