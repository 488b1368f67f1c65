"""Scalars shared by all wire models: quantities and resource lists."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache

from autoscaling.quantity import Quantity
from autoscaling.resources import ResourceList

QuantityText = str | int | float
"""A quantity as JSON has it: text, or a plain number."""


@lru_cache(maxsize=65536)
def _parsed(text: str) -> Quantity:
    """Read a quantity; a cluster holds few distinct texts."""
    return Quantity.parse(text)


def quantity(value: QuantityText) -> Quantity:
    """Read one quantity.

    Raises:
        InvalidQuantityError: The value is no quantity.
    """
    return _parsed(value if isinstance(value, str) else str(value))


def resource_list(values: Mapping[str, QuantityText] | None) -> ResourceList:
    """Read a resource list; an absent one is empty.

    Raises:
        InvalidQuantityError: A value is no quantity.
    """
    return {name: quantity(value) for name, value in (values or {}).items()}


def optional_resource_list(values: Mapping[str, QuantityText] | None) -> ResourceList | None:
    """Read a resource list; an absent one stays absent."""
    return None if values is None else resource_list(values)
