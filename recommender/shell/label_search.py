"""Which labels pods had, looked for in a past that may hold more series than one answer can."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import Final

from recommender.history.labels import FoundLabels, LastLabels, PodKey
from recommender.history.pieces import Piece
from recommender.history.queries import LabelQuery, label_query
from recommender.shell.history_source import HistorySource
from recommender.shell.questions import Questions

_PODS_AT_ONCE: Final = 100
_POINTS_AT_ONCE: Final = 288
"""A day, as points of the labels of all pods."""


@dataclass(frozen=True, slots=True)
class LabelSearch:
    """Looks for labels.

    Args:
        source: Asks Prometheus.
        questions: Runs what blocks.
    """

    source: HistorySource
    questions: Questions

    async def all_labels(self) -> Mapping[PodKey, Mapping[str, str]]:
        """Return of each pod the labels that were seen last.

        Raises:
            HistoryError: They cannot be had.
        """
        request = self.source.request
        query = label_query(request.labels_query, request.length_text)
        last = LastLabels(request)
        if not (self.source.behaviour.history_labels_found and query.length):
            await self.questions.ask(lambda: self.source.labels_as_asked(last))
        elif query.is_selector:
            return await self._of_selector(query, last)
        else:
            await self._compare(query, (), last)
        return last.labels

    async def _of_selector(self, query: LabelQuery, last: LastLabels) -> Mapping[PodKey, Mapping[str, str]]:
        """Look for all labels first, and for when they were there only of pods that were labelled anew."""
        found, whole = FoundLabels(self.source.request), self.source.label_piece(query)
        async for _ in self.questions.in_parts(partial(self.source.find_labels, query, found), whole):
            pass
        for pods in found.unsure(_PODS_AT_ONCE):
            await self._compare(query, pods, last)
        return found.sure() | last.labels

    async def _compare(self, query: LabelQuery, pods: tuple[PodKey, ...], last: LastLabels) -> None:
        """Find out when labels were there, of some pods or of all."""
        whole = self.source.label_piece(query).span
        for span in whole.parts(whole.count if pods else _POINTS_AT_ONCE):
            compare = partial(self.source.compare_labels, query, pods, last)
            async for _ in self.questions.in_parts(compare, Piece((), span)):
                pass
