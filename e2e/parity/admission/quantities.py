"""Quantities: how they are read, compared, added, rounded and written (spec: api:6)."""

from __future__ import annotations

from typing import Final

from autoscaling.errors import InvalidQuantityError
from autoscaling.quantity import Quantity
from e2e.parity.amounts import CPU_TEXTS, MEMORY_TEXTS
from e2e.parity.dice import Dice
from e2e.parity.kinds import Case, Kind

_SUFFIXES: Final = ("", "n", "u", "m", "k", "M", "G", "T", "Ki", "Mi", "Gi", "Ti", "e3", "E-2", "e0", "e-9", "E1")
_LARGEST_NANO: Final = 9 * 10**24
"""Beyond this a number of thousandths does not fit 64 bits, and there engines differ by intent."""

_BAD: Final = (
    "",
    "1x",
    "1.1.1",
    "--1",
    "1 ",
    "Mi1",
    "1e",
    "0x1",
    "1K",
    "1mi",
    "-",
    ".",
    "+-1",
    "1ee3",
    "1e1.5",
    "\u0661",
)


def draw(dice: Dice) -> Case:
    """Draw texts, most of which are quantities."""
    return {"texts": [_text(dice) for _ in range(dice.whole(1, 12))]}


def _text(dice: Dice) -> str:
    if dice.chance(0.1):
        return dice.among(_BAD)
    if dice.chance(0.15):
        return dice.among((*CPU_TEXTS, *MEMORY_TEXTS))
    sign = dice.pick("", "", "", "+", "-")
    if sign == "-":
        # Of other negative amounts upstream's arithmetic loses digits; nobody asks for them.
        return f"-{dice.whole(1, 9999)}{dice.pick('', 'm', 'k', 'Ki', 'Mi')}"
    whole = dice.pick(
        str(dice.whole(0, 9)), str(int(dice.magnitude(1, 1e5))), "00" + str(dice.whole(0, 2000)), "1000", "1024"
    )
    fraction = dice.pick("", "", "", ".", f".{dice.whole(0, 999)}", f".{dice.whole(0, 10**9)}", ".50", ".000")
    text = f"{sign}{whole}{fraction}{dice.among(_SUFFIXES)}"
    return text if Quantity.parse(text).nano < _LARGEST_NANO else whole


def answer(question: Case) -> object:
    """Read each text and say what it is."""
    texts = question["texts"]
    assert isinstance(texts, list)
    found: list[object] = []
    before: Quantity | None = None
    for text in texts:
        try:
            quantity = Quantity.parse(text)
        except InvalidQuantityError:
            found.append(None)
            continue
        one: Case = {"text": str(quantity), "value": quantity.value(), "milli": quantity.milli_value()}
        if before is not None:
            one["order"] = (quantity > before) - (quantity < before)
            one["sum"] = str(before.plus(quantity))
        before = quantity
        found.append(one)
    return found


QUANTITIES: Final = Kind("quantities", draw, answer)
