"""Pods that a round has to look at, told from what the watch brings."""

from __future__ import annotations

from enum import Enum

import pytest
from hypothesis import given
from hypothesis import strategies as st

from autoscaling.kube.table import ObjectTable
from autoscaling.pod import Pod
from recommender.pod_changes import NamespacedName, PodChanges

A, B = ("default", "a"), ("default", "b")


class Step(Enum):
    """What happens to a pod, or to all of them."""

    PUT = "comes or changes"
    DROP = "is deleted"
    REFUSE = "can no longer be read"
    LEARN = "becomes known from history"
    ROUND = "all are looked at"
    FAILED_ROUND = "a round ends before it has looked"
    SLOW_ROUND = "comes or changes while all are looked at"


class World:
    """Pods of an API server, a watch of them, and rounds that know what they have looked at."""

    def __init__(self) -> None:
        self.table: ObjectTable[Pod] = ObjectTable()
        self.changes = PodChanges()
        self.known: dict[NamespacedName, Pod | None] = {}
        self.version = 0

    def put(self, key: NamespacedName) -> None:
        self.version += 1
        change = self.table.put(key, str(self.version), Pod(*key))
        assert change is not None
        self.changes.note(change.key, change.new)

    def lose(self, key: NamespacedName, *, is_unreadable: bool) -> None:
        change = self.table.refuse(key, "broken") if is_unreadable else self.table.drop(key)
        if change is not None:
            self.changes.note(change.key, change.new)

    def learn(self, key: NamespacedName) -> None:
        self.known.setdefault(key, None)
        self.changes.doubt([key])

    def round(self, changing: NamespacedName | None = None) -> None:
        """Look at what is due as the loop does, and compare that with a look at all pods."""
        present = dict(self.table.items())
        looked = self.changes.look()
        due = {key: pod for key, pod in looked.items() if pod is not None}
        assert {key for key, pod in present.items() if self.known.get(key) is not pod} <= due.keys()
        assert all(present[key] is pod for key, pod in due.items()), "what is looked at is there, as it is now"
        if changing is not None:
            self.put(changing)
        self.known.update(due)
        self.changes.doubt(looked)
        self.changes.settle(looked)
        found = self.changes.gone(self.known, self.table.items(), self.table.unreadable)
        assert set(found) == self.known.keys() - self.table.items().keys() - self.table.unreadable.keys()
        for key in found:
            del self.known[key]


PODS = st.sampled_from([("default", name) for name in "abc"])


@given(st.lists(st.tuples(st.sampled_from(Step), PODS), max_size=40))
def test_rounds_find_what_a_look_at_all_pods_would_find(steps: list[tuple[Step, NamespacedName]]) -> None:
    """Spec: recommender:6.2."""
    world = World()
    for step, key in steps:
        match step:
            case Step.PUT:
                world.put(key)
            case Step.DROP | Step.REFUSE:
                world.lose(key, is_unreadable=step is Step.REFUSE)
            case Step.LEARN:
                world.learn(key)
            case Step.ROUND:
                world.round()
            case Step.FAILED_ROUND:
                world.changes.look()
            case Step.SLOW_ROUND:
                world.round(key)
    world.round()
    assert not world.changes.look(), "what has been looked at is not looked at again"


@pytest.mark.parametrize(
    ("row", "present", "unreadable", "gone"),
    [
        ("recommender:6.2 there", {A, B}, set(), []),
        ("recommender:6.2 deleted", {B}, set(), [A]),
        ("recommender:6.2 unreadable", {B}, {A}, []),
        ("recommender:6.2 both", set(), set(), [A, B]),
    ],
)
def test_only_what_is_deleted_is_gone(
    row: str, present: set[NamespacedName], unreadable: set[NamespacedName], gone: list[NamespacedName]
) -> None:
    changes = PodChanges()
    changes.doubt([A, B])
    assert changes.gone([A, B], present, unreadable) == gone, row


def test_what_cannot_be_read_and_is_then_deleted_is_gone() -> None:
    """Spec: recommender:6.2: nobody tells of the end of a pod that could not be read any more."""
    changes = PodChanges()
    changes.note(A, None)
    looked = changes.look()
    changes.doubt(looked)
    changes.settle(looked)
    assert changes.gone([A], [], [A]) == []
    assert changes.gone([A], [], []) == [A]


def test_nothing_is_kept_of_pods_that_are_settled() -> None:
    """Spec: performance:R-5."""
    changes = PodChanges()
    for key in (A, B):
        changes.note(key, Pod(*key))
    looked = changes.look()
    changes.doubt(looked)
    changes.settle(looked)
    assert changes.gone([A, B], [A, B], []) == []
    assert not changes.waiting
    assert not changes.doubtful
