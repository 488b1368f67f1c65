"""Use of a time that has passed, for whoever has no model to take it into (spec: beyond B-7, B-36)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Protocol

from recommender.history.pieces import Piece, Span
from recommender.history.points import Screened
from recommender.history.series import ContainerKey, FlawRecord


@dataclass(frozen=True, slots=True)
class PastPiece:
    """What counts of a piece of the past.

    Args:
        piece: What was asked for.
        keys: Containers, by their numbers in the points.
        points: What counts.
    """

    piece: Piece
    keys: Mapping[ContainerKey, int]
    points: Screened


class PastUse(Protocol):
    """Reads use of the past; blocks."""

    @property
    def flaws(self) -> FlawRecord:
        """What was wrong with series so far."""

    def queries(self) -> tuple[str, str]:
        """Return what is asked for CPU and memory, but for the namespaces."""

    def span(self) -> Span:
        """Return all instants."""

    def sizes(self) -> Mapping[str, int]:
        """Return each namespace, and about how many series of a resource it has.

        Raises:
            HistoryError: There is no answer.
        """

    def fetch(self, piece: Piece) -> Iterator[PastPiece]:
        """Yield a piece, or the parts of one that is too much at once, the oldest first.

        Raises:
            HistoryError: There is no answer, or it cannot be used.
        """

    def close(self) -> None:
        """Close the connections."""
