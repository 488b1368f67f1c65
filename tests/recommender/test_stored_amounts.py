"""Stored recommendations as columns: compared as their objects are."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from autoscaling.vpa import Recommendation
from recommender.estimator import Estimates
from recommender.grouping import Groups
from recommender.label_sets import TrackedVpa
from recommender.postprocess import recommendations
from recommender.settings import RenderingSettings
from recommender.status import is_same_recommendation
from recommender.stored_amounts import StoredAmounts
from recommender.write_rule import has_moved
from tests.recommender.rounds import AMOUNTS, Drawn, fitted, rounds, stored
from tests.recommender.scene import APP, integers, vpa

THRESHOLDS = st.sampled_from((0.0, 0.01, 0.1, 1 / 3)) | st.floats(0, 1)


@given(rounds(), THRESHOLDS, st.data())
def test_columns_compare_as_objects_do(drawn: Drawn, threshold: float, data: st.DataObject) -> None:
    """Spec: recommender:5."""
    table = data.draw(fitted(drawn))
    carried = [data.draw(stored(recommendation)) for recommendation in table]
    everyone = range(len(table))
    amounts = StoredAmounts(drawn.groups)
    # What was read before makes no difference.
    amounts.read(everyone, [data.draw(stored(recommendation)) for recommendation in table])
    amounts.read(everyone, carried)
    places = np.array(data.draw(st.permutations(everyone)), dtype=np.int64)
    found = amounts.compare(table, places, threshold)
    pairs = [(table[place], carried[place]) for place in places.tolist()]
    assert found.differs.tolist() == [not is_same_recommendation(*pair) for pair in pairs]
    assert found.has_moved.tolist() == [has_moved(*pair, threshold) for pair in pairs]


figure = AMOUNTS | st.integers(0, 10**14)


@given(figure, figure, st.sampled_from((0.01, 0.05)) | st.floats(0, 1))
def test_the_edge_of_the_threshold_is_met_to_the_last_bit(old: int, new: int, threshold: float) -> None:
    groups = Groups.of([TrackedVpa(vpa(), APP, linked={"main": [0]})])

    def computed(figure: int) -> Recommendation:
        return recommendations(groups, _estimates(figure), RenderingSettings())[0]

    amounts = StoredAmounts(groups)
    amounts.read([0], [computed(old)])
    for figure in (new, old + int(old * threshold), old + int(old * threshold) + 1, old - int(old * threshold)):
        table = recommendations(groups, _estimates(min(figure, 10**14)), RenderingSettings())
        found = amounts.compare(table, integers(0), threshold)
        assert found.has_moved.tolist() == [has_moved(table[0], computed(old), threshold)]


def _estimates(figure: int) -> Estimates:
    same = np.full((3, 1), figure, dtype=np.int64)
    return Estimates(same, same)


@pytest.mark.parametrize(
    ("row", "places", "expected"), [("recommender:5", [1], [False]), ("recommender:5", [0, 1], [True, False])]
)
def test_only_those_asked_for_are_compared(row: str, places: list[int], expected: list[bool]) -> None:
    groups = Groups.of([TrackedVpa(vpa(name), APP, linked={"main": [0]}) for name in ("v", "w")])
    same = np.full((3, 2), 1000, dtype=np.int64)
    table = recommendations(groups, Estimates(same, same), RenderingSettings())
    amounts = StoredAmounts(groups)
    amounts.read([1], [table[1]])
    assert amounts.compare(table, integers(*places), 0.01).differs.tolist() == expected, row
