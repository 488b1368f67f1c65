"""Quantities as people write them, and lists of them."""

from __future__ import annotations

from typing import Final

from autoscaling.errors import InvalidQuantityError
from autoscaling.quantity import MAX_INT64, Quantity
from e2e.parity.dice import Dice

CPU_TEXTS: Final = (
    "1500u",
    "10m",
    "100m",
    "0.1",
    "333m",
    "1",
    "2500m",
    "7",
    "0",
    "1e3",
    "250m",
    "123456789n",
    "1.5",
    "25m",
)
MEMORY_TEXTS: Final = (
    "1000", "100M", "32Mi", "0.3Gi", "2Gi", "1e6", "0", "262144k", "104857600", "1500m", "100.50Mi", "250Mi", "1Ti",
)  # fmt: skip


BEYOND_64_BITS: Final = "an amount beyond 64 bits, which wraps around upstream and not here"
"""Why answers may differ: named in docs/parity.md."""

_LARGEST_NANO: Final = MAX_INT64 * 10**6
"""The largest amount whose number of thousandths fits 64 bits."""


def cpu(dice: Dice) -> str:
    """Draw an amount of CPU; most are plain millicores."""
    return dice.pick(dice.among(CPU_TEXTS), f"{dice.whole(1, 4000)}m", f"{int(dice.magnitude(1, 64000))}m")


def memory(dice: Dice) -> str:
    """Draw an amount of memory."""
    plain = str(int(dice.magnitude(1e6, 1e11)))
    return dice.pick(dice.among(MEMORY_TEXTS), f"{dice.whole(1, 4000)}Mi", plain)


def amounts(dice: Dice, share: float = 0.8, odd: float = 0.0) -> dict[str, object]:
    """Draw a resource list; each of the two resources is in it in this share of all draws, others rarely."""
    drawn: dict[str, object] = {}
    if dice.chance(share):
        drawn["cpu"] = cpu(dice)
    if dice.chance(share):
        drawn["memory"] = memory(dice)
    if dice.chance(odd):
        drawn[dice.pick("example.com/gpu", "ephemeral-storage", "hugepages-2Mi", "example.com/a~b")] = dice.pick(
            "1", "2", "3"
        )
    return drawn


def is_beyond_64_bits(answer: object) -> bool:
    """Say whether a text in an answer is an amount whose number of thousandths does not fit 64 bits."""
    if isinstance(answer, dict):
        return any(is_beyond_64_bits(member) for member in answer.values())
    if isinstance(answer, list):
        return any(is_beyond_64_bits(member) for member in answer)
    if not isinstance(answer, str) or not answer[:1].isdigit():
        return False
    try:
        return Quantity.parse(answer).nano > _LARGEST_NANO
    except InvalidQuantityError:
        return False


def wanted_beyond_64_bits(case: object, ours: object, theirs: object) -> str:  # noqa: ARG001 one of several
    """Return why two answers about amounts may differ, empty where they may not."""
    return BEYOND_64_BITS if is_beyond_64_bits(ours) or is_beyond_64_bits(theirs) else ""
