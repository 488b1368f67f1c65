"""How far two amounts are apart, and which of them is nearer to a third.

Spec: beyond:B-35.
"""

from __future__ import annotations

from enum import Enum

from autoscaling.quantity import Quantity


class Nearer(Enum):
    """Which of two amounts is nearer to what was used."""

    OURS = "ours"
    THEIRS = "theirs"
    BOTH = "both"
    """They are as near as each other."""


def distance(one: Quantity, other: Quantity) -> float:
    """Return by how many percent of the larger amount the smaller one is less.

    The order of the two does not matter; it is 0 for equal amounts only, and 100 where one of them is zero.

    Args:
        one: An amount, not negative.
        other: Another one of the same resource.
    """
    least, most = sorted((one.nano, other.nano))
    return 0.0 if least == most else 100.0 * ((most - least) / most)


def nearer(ours: Quantity, theirs: Quantity, used: Quantity) -> Nearer:
    """Return which of two amounts differs less from what was used, in whichever direction.

    Args:
        ours: What we recommend.
        theirs: What upstream recommends.
        used: What was used.
    """
    by_ours, by_theirs = abs(ours.nano - used.nano), abs(theirs.nano - used.nano)
    if by_ours == by_theirs:
        return Nearer.BOTH
    return Nearer.OURS if by_ours < by_theirs else Nearer.THEIRS
