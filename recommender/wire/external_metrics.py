"""ExternalMetricValueLists of the external metrics API: the use of one pod's containers, one value each."""

from __future__ import annotations

from datetime import datetime

import msgspec

from autoscaling.errors import InvalidObjectError
from autoscaling.objectref import ObjectRef
from autoscaling.quantity import within_64_bits
from autoscaling.resources import CPU
from autoscaling.wire.scalars import QuantityText, quantity
from autoscaling.wire.unreadable import UNREADABLE_OBJECT
from recommender.external_usage import ExternalAnswer
from recommender.instants import NEVER, instant


class _Value(msgspec.Struct, frozen=True):
    metric_labels: dict[str, str] | None = msgspec.field(default=None, name="metricLabels")
    timestamp: datetime | None = None
    value: QuantityText | None = None


class _List(msgspec.Struct, frozen=True):
    items: list[_Value] | None = None


_LISTS = msgspec.json.Decoder(_List)


def decode_external(raw: bytes, ref: ObjectRef, resource: str, container_label: str) -> ExternalAnswer:
    """Read the values of one pod.

    Of several values of one container the last counts; those without the label are left out.

    Args:
        raw: The answer.
        ref: What was asked for.
        resource: What is measured: ``cpu`` in millicores, ``memory`` in bytes, both rounded up.
        container_label: Label that names the container.

    Raises:
        InvalidObjectError: It is no such list, or one of its values cannot be read.

    Spec: recommender 8.2.
    """
    try:
        values = _LISTS.decode(raw).items or []
        amounts: dict[str, int] = {}
        for value in values:
            # A value that cannot be read spoils the answer, whether it names a container or not.
            amount = _amount(value.value, resource)
            if value.metric_labels and container_label in value.metric_labels:
                amounts[value.metric_labels[container_label]] = amount
        return ExternalAnswer(_instant(values[0].timestamp) if values else None, amounts)
    except (*UNREADABLE_OBJECT, ValueError) as error:
        raise InvalidObjectError(ref, str(error), remedy="look at the log of the external metrics adapter") from error


def _amount(value: QuantityText | None, resource: str) -> int:
    """Return an amount, held within the range of an int64."""
    read = quantity("0" if value is None else value)
    return within_64_bits(read.milli_value() if resource == CPU else read.value())


def _instant(timestamp: datetime | None) -> int:
    """Return when a value was measured.

    Raises:
        ValueError: The time names no time zone.
    """
    if timestamp is not None and timestamp.tzinfo is None:
        raise ValueError(f"timestamp {timestamp} names no time zone; it must be RFC 3339, such as 2026-01-01T00:00:00Z")
    return NEVER if timestamp is None else instant(timestamp)
