from __future__ import annotations

from autoscaling.pod import PodPhase
from recommender.aggregation import SharingKey
from recommender.label_sets import LabelSet
from recommender.pod_state import PodState


def test_containers_are_found_by_name() -> None:
    state = PodState("p", LabelSet("default", SharingKey("", {})), PodPhase.RUNNING, ("a", "b"), (7, 3))
    assert (state.row_of("a"), state.row_of("b"), state.row_of("c")) == (7, 3, None)


def test_replicas_hold_the_names_of_their_containers_once() -> None:
    """Spec: performance R-5."""
    one, other = (PodState(name, LabelSet("default", SharingKey("", {})), PodPhase.RUNNING) for name in ("p", "q"))
    for row, name in enumerate(("a", "b")):
        one.add(name, row)
        other.add(name, row + 2)
    assert one.names is other.names
    assert (one.names, one.rows, other.rows) == (("a", "b"), (0, 1), (2, 3))
    other.add("c", 4)
    assert (one.names, other.names) == (("a", "b"), ("a", "b", "c"))
