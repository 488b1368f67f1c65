"""What the VPAs of a round carry in their statuses, as columns: only those that have changed are looked at again.

Spec: recommender 5; performance R-3.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

from autoscaling.vpa import UpdateMode, Vpa
from recommender.aggregation import UPDATE_MODES
from recommender.grouping import Groups
from recommender.label_sets import TrackedVpa
from recommender.recommendation_table import RecommendationTable
from recommender.status import has_recommendation, tells_no_more
from recommender.stored_amounts import Comparison, StoredAmounts

Integers = NDArray[np.int64]
Flags = NDArray[np.bool_]
Frame = TypeVar("Frame")

_FACTS = 5


class ObservedStatuses(Generic[Frame]):
    """Facts about the VPAs of a round in the order of its groups; mutable, owned by the task of the rounds.

    Args:
        frame: Makes of a VPA what its conditions and its generation are written by.

    Attributes:
        frames: What was made of each VPA, kept for as long as its conditions and its generation stay the same.
        kinds: Update modes in force and API versions that occur, each pair once.
    """

    def __init__(self, frame: Callable[[Vpa], Frame]) -> None:
        self.frames: list[Frame] = []
        self.kinds: list[tuple[UpdateMode, str]] = []
        self._frame = frame
        self._vpas: tuple[TrackedVpa, ...] = ()
        self._seen: list[Vpa | None] = []
        self._facts = np.zeros((_FACTS, 0), dtype=np.int64)
        self._start(Groups.of(()))

    def _column(self, fact: int) -> Integers:
        column: Integers = self._facts[fact]
        return column

    @property
    def kind(self) -> Integers:
        """int64[vpas], place of each VPA's update mode and API version in ``kinds``."""
        return self._column(0)

    @property
    def stated_mode(self) -> Integers:
        """int64[vpas], update mode as stated, as its place in ``UPDATE_MODES``."""
        return self._column(1)

    @property
    def tells_no_more(self) -> Flags:
        """bool[vpas], whether the conditions tell of a recommendation and of nothing else."""
        return self._column(2) > 0

    @property
    def is_current(self) -> Flags:
        """bool[vpas], whether the status is about the object as it is."""
        return self._column(3) > 0

    @property
    def has_recommendation(self) -> Flags:
        """bool[vpas], whether there is a recommendation that the conditions vouch for."""
        return self._column(4) > 0

    def look(self, groups: Groups) -> None:
        """Look at the VPAs that are other objects than in the round before.

        Args:
            groups: Of all VPAs.
        """
        if groups.vpas is not self._vpas:
            self._start(groups)
        pairs = zip(groups.vpas, self._seen, strict=True)
        fresh = [place for place, (tracked, known) in enumerate(pairs) if tracked.vpa is not known]
        for place in fresh:
            self._note(place, groups.vpas[place])

    def _start(self, groups: Groups) -> None:
        """Take up other groups; what is known of their VPAs stays known, but for the amounts of their containers."""
        known = {tracked: place for place, tracked in enumerate(self._vpas)}
        before = [known.get(tracked) for tracked in groups.vpas]
        self._seen = [None if place is None else self._seen[place] for place in before]
        pairs = zip(groups.vpas, before, strict=True)
        self.frames = [self._frame(each.vpa) if place is None else self.frames[place] for each, place in pairs]
        places = np.array([len(known) if place is None else place for place in before], dtype=np.int64)
        self._facts = np.pad(self._facts, ((0, 0), (0, 1)))[:, places]
        self._vpas = groups.vpas
        self._stored = StoredAmounts(groups)
        self._is_read = np.zeros(len(groups.vpas), dtype=np.bool_)

    def _note(self, place: int, tracked: TrackedVpa) -> None:
        vpa, known = tracked.vpa, self._seen[place]
        if known is not None and (known.conditions, known.generation) != (vpa.conditions, vpa.generation):
            self.frames[place] = self._frame(vpa)
        kind = vpa.update_mode, tracked.api_version
        if kind not in self.kinds:
            self.kinds.append(kind)
        self._facts[:, place] = (
            self.kinds.index(kind),
            UPDATE_MODES.index(vpa.stated_mode),
            tells_no_more(vpa),
            vpa.observed_generation == vpa.generation,
            has_recommendation(vpa),
        )
        self._seen[place] = vpa
        self._is_read[place] = False

    def compare(self, table: RecommendationTable, places: Integers, threshold: float) -> Comparison:
        """Compare recommendations with those that some VPAs carry.

        Args:
            table: What was computed, for the same groups.
            places: int64[n], places of the VPAs.
            threshold: Share by which an amount must have moved.
        """
        unread = places[~self._is_read[places]]
        if len(unread):
            listed = unread.tolist()
            self._stored.read(listed, [self._vpas[place].vpa.recommendation for place in listed])
            self._is_read[unread] = True
        return self._stored.compare(table, places, threshold)
