"""What statuses carry, as columns that follow the objects."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np
import pytest

from autoscaling.pod import ConditionStatus
from autoscaling.vpa import Recommendation, UpdateMode, UpdatePolicy, Vpa, VpaCondition
from recommender.aggregation import UPDATE_MODES
from recommender.estimator import Estimates
from recommender.grouping import Groups
from recommender.label_sets import TrackedVpa
from recommender.observed_statuses import ObservedStatuses
from recommender.postprocess import recommendations
from recommender.settings import RenderingSettings
from tests.builders import T0, recommended
from tests.recommender.rounds import PROVIDED, carrying
from tests.recommender.scene import APP, SECOND, integers, vpa

SOME = Recommendation((recommended("main", "1/1Gi"),))
LOW = VpaCondition("LowConfidence", ConditionStatus.TRUE, "LittleHistory", "m", T0)


def following(*names: str) -> list[TrackedVpa]:
    return [TrackedVpa(replace(vpa(name), recommendation=SOME), APP, linked={"main": [0]}) for name in names]


@dataclass
class Framing:
    """Makes frames, and remembers of what."""

    made: list[str] = field(default_factory=list)

    def __call__(self, of: Vpa) -> str:
        """Return the conditions of a VPA as its frame."""
        self.made.append(of.name)
        return f"{of.name} {','.join(condition.type for condition in of.conditions)}"


@pytest.mark.parametrize(
    ("row", "object_", "tells_no_more", "is_current", "has_recommendation"),
    [
        ("recommender:5", carrying(following("v")[0], SOME, [PROVIDED], 0), True, True, True),
        ("recommender:5", carrying(following("v")[0], SOME, [PROVIDED], 1), True, False, True),
        ("recommender:5", carrying(following("v")[0], Recommendation(), [PROVIDED], 0), True, True, False),
        ("recommender:5", carrying(following("v")[0], None, [], 0), False, True, False),
        ("recommender:5", carrying(following("v")[0], SOME, [LOW, PROVIDED], 0), False, True, True),
        ("recommender:5", carrying(following("v")[0], SOME, [LOW], 0), False, True, False),
        ("recommender:5", carrying(following("v")[0], SOME, [replace(PROVIDED, reason="r")], 0), False, True, True),
    ],
)
def test_facts_of_a_status(
    row: str, object_: Vpa, tells_no_more: bool, is_current: bool, has_recommendation: bool
) -> None:
    observed, (tracked,) = ObservedStatuses(Framing()), following("v")
    tracked.vpa = object_
    observed.look(Groups.of([tracked]))
    facts = observed.tells_no_more, observed.is_current, observed.has_recommendation
    assert [column.tolist() for column in facts] == [[tells_no_more], [is_current], [has_recommendation]], row


def test_modes_are_told_as_stated_and_as_in_force() -> None:
    """Spec: recommender:10."""
    observed, both = ObservedStatuses(Framing()), following("v", "w")
    both[0].vpa = replace(both[0].vpa, update_policy=UpdatePolicy(UpdateMode.OFF))
    both[1].api_version = "v1beta2"
    observed.look(Groups.of(both))
    assert [UPDATE_MODES[code] for code in observed.stated_mode.tolist()] == [UpdateMode.OFF, None]
    kinds = [observed.kinds[code] for code in observed.kind.tolist()]
    assert kinds == [(UpdateMode.OFF, "v1"), (UpdateMode.RECREATE, "v1beta2")]


def test_a_frame_is_made_anew_only_where_conditions_have_changed() -> None:
    framing, both = Framing(), following("v", "w")
    observed, groups = ObservedStatuses(framing), Groups.of(both)
    observed.look(groups)
    both[0].vpa = replace(both[0].vpa, resource_version="2")
    both[1].vpa = replace(both[1].vpa, conditions=(PROVIDED,))
    observed.look(groups)
    both[1].vpa = replace(both[1].vpa, conditions=(replace(PROVIDED, last_transition_time=T0 + SECOND),))
    observed.look(groups)
    assert framing.made == ["v", "w", "w", "w"]
    assert observed.frames == ["v ", "w RecommendationProvided"]


def test_other_groups_leave_known_what_is_known_of_their_vpas() -> None:
    framing, (first, second, third) = Framing(), following("u", "v", "w")
    observed = ObservedStatuses(framing)
    second.vpa = carrying(second, SOME, [PROVIDED], 0)
    observed.look(Groups.of([second, third]))
    observed.look(Groups.of([first, second]))
    assert framing.made == ["v", "w", "u"]
    assert observed.frames == ["u ", "v RecommendationProvided"]
    assert observed.is_current.tolist() == [True, True]
    assert observed.tells_no_more.tolist() == [False, True]


def test_what_is_stored_is_read_again_where_the_object_is_another() -> None:
    """Spec: recommender:5."""
    observed, (tracked,) = ObservedStatuses(Framing()), following("v")
    groups = Groups.of([tracked])
    table = recommendations(groups, Estimates(np.full((3, 1), 1000), np.full((3, 1), 2**30)), RenderingSettings())
    differing = []
    other = Recommendation((recommended("main", "2/1Gi"),))
    for carried in (other, table[0], None, table[0]):
        tracked.vpa = replace(tracked.vpa, recommendation=carried)
        observed.look(groups)
        differing += observed.compare(table, integers(0), 0.01).differs.tolist()
    assert differing == [True, False, True, False]
