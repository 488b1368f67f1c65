"""What a strategy recommends, looked at before it counts (spec: beyond:B-10, quality Q-6)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from recommender.estimator import LOWER_BOUND, TARGET, UPPER_BOUND
from recommender.strategies.interface import Bounds, ResourceBounds

Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]

LOWER_DIVISOR: Final = 1.1
"""What a target is divided by for a lower bound, where the strategy gives none."""

UPPER_DIVISOR: Final = 0.9
"""Likewise for the upper bound."""


class MisshapenError(ValueError):
    """An answer that has not the form of one."""


@dataclass(frozen=True, slots=True)
class Answer:
    """Target and bounds of every row; the first axis is ``TARGET``, ``LOWER_BOUND``, ``UPPER_BOUND``.

    Args:
        cpu: float64[3, rows], cores; NaN where none is recommended.
        memory: float64[3, rows], bytes.
        is_impossible: bool[rows], where an amount is negative, infinite or no number, or out of order with the others.
    """

    cpu: Floats
    memory: Floats
    is_impossible: Flags


def answer(given: object, rows: int) -> Answer:
    """Return a checked copy of what a strategy recommends, with the bounds that it left out.

    Args:
        given: What ``recommend`` returned.
        rows: How many rows the state has.

    Raises:
        MisshapenError: It is not made of columns of so many rows.
    """
    if not isinstance(given, Bounds):
        raise MisshapenError(f"recommend returned {type(given).__name__}, not Bounds")
    cpu = _amounts("cpu_cores", given.cpu_cores, rows)
    memory = _amounts("memory_bytes", given.memory_bytes, rows)
    return Answer(cpu, memory, _is_impossible(cpu) | _is_impossible(memory))


def _amounts(name: str, given: object, rows: int) -> Floats:
    """Return float64[3, rows] of one resource."""
    if not isinstance(given, ResourceBounds):
        raise MisshapenError(f"{name} is {type(given).__name__}, not ResourceBounds")
    amounts = np.empty((3, rows))
    amounts[TARGET] = _column(f"{name}.target", given.target, rows)
    for place, divisor, bound, column in (
        (LOWER_BOUND, LOWER_DIVISOR, "lower", given.lower),
        (UPPER_BOUND, UPPER_DIVISOR, "upper", given.upper),
    ):
        amounts[place] = amounts[TARGET] / divisor if column is None else _column(f"{name}.{bound}", column, rows)
    return amounts


def _column(name: str, given: object, rows: int) -> Floats:
    if not isinstance(given, np.ndarray) or given.dtype.kind not in "fiu":
        raise MisshapenError(f"{name} is no array of numbers")
    if given.shape != (rows,):
        raise MisshapenError(f"{name} has the shape {given.shape}, not ({rows},)")
    return given.astype(np.float64)


def _is_impossible(amounts: Floats) -> Flags:
    """Say of each row with a target whether its amounts cannot be."""
    target, lower, upper = amounts[TARGET], amounts[LOWER_BOUND], amounts[UPPER_BOUND]
    # Whatever is compared with NaN is false.
    is_possible = (lower >= 0.0) & (lower <= target) & (target <= upper) & (upper < np.inf)
    found: Flags = ~np.isnan(target) & ~is_possible
    return found
