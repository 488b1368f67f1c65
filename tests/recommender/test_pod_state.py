from __future__ import annotations

from autoscaling.pod import PodPhase
from recommender.aggregation import SharingKey
from recommender.label_sets import LabelSet
from recommender.pod_state import PodState


def test_containers_are_found_by_name() -> None:
    state = PodState("p", LabelSet("default", SharingKey("", {})), PodPhase.RUNNING, ("a", "b"), (7, 3))
    assert (state.row_of("a"), state.row_of("b"), state.row_of("c")) == (7, 3, None)
