"""Recommendations as columns, and the objects that they stand for."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given

from autoscaling.capping import policy_bounds
from autoscaling.policy import container_policy
from autoscaling.quantity import Format, Quantity
from autoscaling.resources import ResourceList
from autoscaling.vpa import ContainerRecommendation, Recommendation, Vpa
from recommender.estimator import LOWER_BOUND, TARGET, UPPER_BOUND, Estimates
from recommender.grouping import Groups
from recommender.hpa_conflict import held
from recommender.label_sets import TrackedVpa
from recommender.postprocess import recommendations
from recommender.recommendation_table import AmountTexts, humanised
from recommender.settings import RenderingSettings
from tests.builders import amounts, printed
from tests.recommender.rounds import Drawn, rounds
from tests.recommender.scene import APP, integers, vpa


def one_by_one(drawn: Drawn) -> list[Recommendation]:
    """Return the recommendations of a round, each put together from single amounts (recommender 4.3, 4.4)."""
    found = []
    for tracked, (begin, end) in zip(drawn.groups.vpas, pairwise(drawn.groups.bounds.tolist()), strict=True):
        entries = [estimated(drawn, group) for group in range(begin, end) if drawn.groups.is_scaled[group]]
        entries = [held(tracked.vpa, entry, tracked.scaling) if tracked.scaling else entry for entry in entries]
        found.append(Recommendation(tuple(capped(tracked.vpa, entry, drawn.settings.maximum) for entry in entries)))
    return found


def estimated(drawn: Drawn, group: int) -> ContainerRecommendation:
    vectors: list[ResourceList] = []
    for place in (TARGET, LOWER_BOUND, UPPER_BOUND, TARGET):
        cpu, memory = int(drawn.estimates.cpu[place, group]), int(drawn.estimates.memory[place, group])
        written = humanised(memory) if drawn.settings.humanize_memory else Quantity.of_units(memory, Format.BINARY_SI)
        both = {"cpu": Quantity.of_milli(cpu), "memory": written}
        flags = {"cpu": drawn.groups.controls_cpu[group], "memory": drawn.groups.controls_memory[group]}
        vectors.append({name: amount for name, amount in both.items() if flags[name]})
    return ContainerRecommendation(drawn.groups.names[group], *vectors)


def capped(of: Vpa, entry: ContainerRecommendation, maximum: ResourceList) -> ContainerRecommendation:
    bounds = policy_bounds(container_policy(of, entry.container_name), maximum)
    target, lower, upper = (
        bounds.apply(vector or {})[0] for vector in (entry.target, entry.lower_bound, entry.upper_bound)
    )
    return ContainerRecommendation(entry.container_name, target, lower, upper, entry.uncapped_target)


def written(recommendation: Recommendation) -> list[tuple[str, ...]]:
    """Return a recommendation with its amounts as they are written."""
    return [
        (entry.container_name, *(str(printed(vector or {})) for vector in vectors))
        for entry in recommendation.containers
        for vectors in [(entry.target, entry.lower_bound, entry.upper_bound, entry.uncapped_target)]
    ]


@given(rounds())
def test_columns_hold_what_is_computed_one_by_one(drawn: Drawn) -> None:
    """Spec: recommender:4.3, recommender:4.4, beyond:B-14."""
    table, expected = drawn.table, one_by_one(drawn)
    assert [written(each) for each in table] == [written(each) for each in expected]
    assert [written(table[place]) for place in range(len(table))] == [written(each) for each in expected]
    assert table.is_empty.tolist() == [not each.containers for each in expected]


@given(rounds())
def test_only_what_is_held_or_humanised_is_kept_as_an_object(drawn: Drawn) -> None:
    """Spec: beyond:B-14."""
    held_places = {place for place, tracked in enumerate(drawn.groups.vpas) if tracked.scaling}
    kept = set(drawn.table.adjusted)
    assert kept >= held_places
    assert kept == held_places or drawn.settings.humanize_memory


@pytest.mark.parametrize(
    ("row", "places", "groups", "counts"),
    [
        ("recommender:4.1", (), [], []),
        ("recommender:4.1", (0, 1, 2), [0, 2, 3], [1, 0, 2]),
        ("recommender:4.1", (2, 0), [2, 3, 0], [2, 1]),
        ("recommender:4.1", (1,), [], [0]),
    ],
)
def test_entries_are_found_by_the_places_of_their_vpas(
    row: str, places: tuple[int, ...], groups: list[int], counts: list[int]
) -> None:
    containers: tuple[dict[str, list[int]], ...] = ({"a": [0], "b": [1]}, {}, {"a": [2], "c": [3]})
    all_groups = Groups.of([TrackedVpa(vpa(f"v{n}"), APP, linked=linked) for n, linked in enumerate(containers)])
    estimates = Estimates(np.ones((3, 4), dtype=np.int64), np.ones((3, 4), dtype=np.int64))
    listed = np.array([True, False, True, True])
    table = recommendations(all_groups, estimates, RenderingSettings(), listed)
    found = table.entries_of(integers(*places))
    assert (found[0].tolist(), found[1].tolist()) == (groups, counts), row
    assert table.is_empty.tolist() == [False, True, False]


def test_amounts_are_written_as_their_quantities_are() -> None:
    """Spec: api:6."""
    tracked = TrackedVpa(vpa(), APP, linked={"a": [0], "b": [1]})
    estimates = Estimates(integers(*[1500, 2000] * 3).reshape(3, 2), integers(*[2**20, 2**20 + 1] * 3).reshape(3, 2))
    table = recommendations(Groups.of([tracked]), estimates, RenderingSettings())
    both = integers(0, 1)
    assert AmountTexts(table).cpu(both, TARGET) == ["1500m", "2"]
    assert AmountTexts(table).memory(both, UPPER_BOUND) == ["1Mi", "1048577"]
    humanising = recommendations(Groups.of([tracked]), estimates, RenderingSettings(humanize_memory=True))
    assert AmountTexts(humanising).memory(both, LOWER_BOUND) == ["1Mi", "1Mi"]


def test_entries_are_found_by_their_groups() -> None:
    tracked = TrackedVpa(vpa(), APP, linked={"a": [0], "b": [1]})
    estimates = Estimates(integers(1, 2, 3, 4, 5, 6).reshape(3, 2), integers(*[2**20] * 6).reshape(3, 2))
    (entry,) = recommendations(Groups.of([tracked]), estimates, RenderingSettings()).entries(integers(1))
    assert (entry.container_name, entry.target, entry.upper_bound) == ("b", amounts("2m/1Mi"), amounts("6m/1Mi"))
