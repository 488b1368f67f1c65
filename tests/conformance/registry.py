"""The scenarios by their id, and what each needs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from tests.conformance.bench import Ability, Variant
from tests.conformance.lab import Lab


@dataclass(frozen=True, slots=True)
class Row:
    """One scenario.

    Args:
        identity: Its id, such as ``resize:R01``.
        play: Plays it; assertions fail where the cluster behaves otherwise.
        needs: What the bench must be able to do.
        variant: What the node must be like.
    """

    identity: str
    play: Callable[[Lab], None]
    needs: frozenset[Ability]
    variant: Variant


ROWS: dict[str, Row] = {}


def row(
    identity: str, *needs: Ability, variant: Variant = Variant.USUAL
) -> Callable[[Callable[[Lab], None]], Callable[[Lab], None]]:
    """Register a function as the scenario of an id."""

    def register(play: Callable[[Lab], None]) -> Callable[[Lab], None]:
        assert identity not in ROWS, identity
        ROWS[identity] = Row(identity, play, frozenset(needs), variant)
        return play

    return register
