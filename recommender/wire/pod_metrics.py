"""PodMetrics lists of the resource metrics API.

They come by the hundred thousand every round, so this is msgspec and not pydantic, and ends in columns: no object is
kept for a container.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TypeGuard, cast

import msgspec
import numpy as np
from numpy.typing import NDArray

from autoscaling.errors import InvalidObjectError
from autoscaling.objectref import ObjectRef
from autoscaling.quantity import MAX_INT64
from autoscaling.wire.scalars import QuantityText, quantity
from autoscaling.wire.unreadable import UNREADABLE_JSON, UNREADABLE_OBJECT
from recommender.instants import instant
from recommender.usage_table import UsageTable

_NANO_PER_MILLI = 10**6
_KIB = 1024
_COMMA = ord(",")
_ORDINARY = b"0123456789numkKMGTPEi"
"""Characters of quantities in which a number is digits only: no sign, no fraction, no exponent."""

_SLICE = 2000
"""Objects read at a time: as objects they take many times the memory of their columns (performance R-5)."""

_UNREADABLE = (*UNREADABLE_OBJECT, ValueError, OverflowError)


class _Metadata(msgspec.Struct, frozen=True, gc=False):
    name: str = ""
    namespace: str = ""


class _Usage(msgspec.Struct, frozen=True, gc=False):
    cpu: QuantityText = "0"
    memory: QuantityText = "0"


class _Container(msgspec.Struct, frozen=True, gc=False):
    name: str
    usage: _Usage | None = None


class _PodMetrics(msgspec.Struct, frozen=True, gc=False):
    metadata: _Metadata
    timestamp: str
    containers: list[_Container] | None = None


class _ListMetadata(msgspec.Struct, frozen=True, gc=False):
    continue_: str = msgspec.field(default="", name="continue")


class _List(msgspec.Struct, frozen=True, gc=False):
    metadata: _ListMetadata = _ListMetadata()
    items: list[msgspec.Raw] | None = None


class _Named(msgspec.Struct, frozen=True):
    metadata: _Metadata = _Metadata()


_LISTS = msgspec.json.Decoder(_List)
_PODS = msgspec.json.Decoder(_PodMetrics)
_NAMES = msgspec.json.Decoder(_Named)
_NO_USAGE = _Usage()


@dataclass(frozen=True, slots=True)
class UsagePage:
    """One answer of the metrics API.

    Args:
        table: What could be read.
        unreadable: One error for each object that could not.
        continue_token: Asks for the rest; empty when this is all, as metrics-server answers.
    """

    table: UsageTable
    unreadable: tuple[InvalidObjectError, ...] = ()
    continue_token: str = ""


def decode_usage(raw: bytes) -> UsagePage:
    """Read a PodMetricsList (spec: recommender:8.1).

    Raises:
        InvalidObjectError: It is no list at all.
    """
    try:
        whole = _LISTS.decode(raw)
    except UNREADABLE_JSON as error:
        raise InvalidObjectError(
            ObjectRef("PodMetricsList", "", "(unreadable)"), str(error), remedy="look at the metrics server's log"
        ) from error
    items = whole.items or []
    tables: list[UsageTable] = []
    unreadable: list[InvalidObjectError] = []
    for begin in range(0, len(items), _SLICE):
        piece = items[begin : begin + _SLICE]
        try:
            tables.append(_table([_PODS.decode(item) for item in piece]))
        except _UNREADABLE:
            tables += _one_by_one(piece, unreadable)
    return UsagePage(UsageTable.joined(tables), tuple(unreadable), whole.metadata.continue_)


def _one_by_one(items: Sequence[msgspec.Raw], unreadable: list[InvalidObjectError]) -> Iterator[UsageTable]:
    """Read objects of which some cannot be read, and note the errors of those."""
    for item in items:
        try:
            yield _table([_PODS.decode(item)])
        except _UNREADABLE as error:
            unreadable.append(InvalidObjectError(_name(item), str(error), remedy="look at the metrics server's log"))


def _table(pods: Sequence[_PodMetrics]) -> UsageTable:
    """Turn objects into columns.

    Raises:
        InvalidQuantityError: A quantity cannot be read.
        ValueError: A time cannot be read.
    """
    containers = [pod.containers or [] for pod in pods]
    flat = [container for each in containers for container in each]
    usage = [container.usage or _NO_USAGE for container in flat]
    metadata = [pod.metadata for pod in pods]
    # But for those of pods, few names are distinct; they are held once and compared at a glance.
    return UsageTable(
        namespaces=[sys.intern(each.namespace) for each in metadata],
        pods=[each.name for each in metadata],
        sizes=[len(each) for each in containers],
        instants=_instants([pod.timestamp for pod in pods]),
        containers=[sys.intern(container.name) for container in flat],
        millicores=_millicores([each.cpu for each in usage]),
        memory_bytes=_bytes([each.memory for each in usage]),
    )


def _instants(texts: list[str]) -> NDArray[np.int64]:
    """Read times; many pods share one."""
    known = {text: _instant(text) for text in set(texts)}
    return np.array([known[text] for text in texts], dtype=np.int64)


def _instant(text: str) -> int:
    moment = msgspec.convert(text, datetime)
    if moment.tzinfo is None:
        raise ValueError(f"timestamp {text!r} names no time zone; it must be RFC 3339, such as 2026-01-01T00:00:00Z")
    return instant(moment)


def _millicores(texts: list[QuantityText]) -> NDArray[np.int64]:
    """Read CPU amounts, rounded up; metrics-server writes nearly all of them in billionths."""

    def one(text: QuantityText) -> int:
        return min(quantity(text).milli_value(), MAX_INT64)

    read = _numbers(texts, "n") if _are_ordinary(texts) else None
    if read is None:
        return np.array([one(text) for text in texts], dtype=np.int64)
    amounts = -(-read.numbers // _NANO_PER_MILLI)
    amounts[read.others] = [one(texts[place]) for place in read.others]
    return amounts


def _bytes(texts: list[QuantityText]) -> NDArray[np.int64]:
    """Read memory amounts, rounded up; metrics-server writes nearly all of them in kibibytes."""

    def one(text: QuantityText) -> int:
        return min(quantity(text).value(), MAX_INT64)

    read = _numbers(texts, "Ki") if _are_ordinary(texts) else None
    if read is None or read.numbers.max(initial=0) > MAX_INT64 // _KIB:
        return np.array([one(text) for text in texts], dtype=np.int64)
    amounts = read.numbers * _KIB
    amounts[read.others] = [one(texts[place]) for place in read.others]
    return amounts


@dataclass(frozen=True, slots=True)
class _Numbers:
    """Numbers before a suffix, read at once.

    Args:
        numbers: int64[n]; 0 for those with another suffix.
        others: Their places.
    """

    numbers: NDArray[np.int64]
    others: list[int]


def _numbers(texts: list[str], suffix: str) -> _Numbers | None:
    """Read the numbers before a suffix, None where a text is no number with a suffix or a number is too large."""
    others = _without_suffix(texts, suffix.encode())
    if others:
        texts = texts.copy()
        for place in others:
            texts[place] = f"0{suffix}"
    digits = ",".join(texts).replace(f"{suffix},", ",").removesuffix(suffix)
    # Two commas in a row stand for a text that is the suffix alone.
    if digits.encode().translate(None, b"0123456789,") or ",," in f",{digits},":
        return None
    numbers = np.fromstring(digits, dtype=np.int64, sep=",") if texts else np.empty(0, dtype=np.int64)
    # What is too large for 64 bits is read as the largest number there is.
    return None if numbers.max(initial=0) == MAX_INT64 else _Numbers(numbers, others)


def _without_suffix(texts: list[str], suffix: bytes) -> list[int]:
    """Return the places of texts that end otherwise; none of them holds a comma."""
    if not texts:
        return []
    letters = np.frombuffer(f",,{','.join(texts)},".encode(), dtype=np.uint8)
    ends = np.flatnonzero(letters == _COMMA)[2:]
    has_suffix = np.ones(len(ends), dtype=np.bool_)
    for back, letter in enumerate(reversed(suffix), start=1):
        has_suffix &= letters[ends - back] == letter
    return np.flatnonzero(~has_suffix).tolist()


def _are_ordinary(texts: list[QuantityText]) -> TypeGuard[list[str]]:
    """Say whether all quantities are texts of digits and units, whose numbers Python reads as Kubernetes does."""
    try:
        joined = "".join(cast("list[str]", texts))
    except TypeError:
        return False
    return joined.isascii() and not joined.encode().translate(None, _ORDINARY)


def _name(raw: bytes | msgspec.Raw) -> ObjectRef:
    """Return whose JSON this is, as far as that can be told."""
    try:
        metadata = _NAMES.decode(raw).metadata
    except UNREADABLE_JSON:
        return ObjectRef("PodMetrics", "", "(unreadable)")
    return ObjectRef("PodMetrics", metadata.namespace, metadata.name)
