from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TypeVar

import pytest

from autoscaling.resources import CPU, MEMORY
from recommender.container_table import NO_AGGREGATE
from recommender.instants import instant
from recommender.intake import Intake
from recommender.pair import Later, Pair, in_turn
from recommender.samples import MISSING, SampleColumns, UsageColumns
from recommender.shell.two_threads import TwoThreads
from tests.builders import T0
from tests.recommender.scene import MINUTE, Scene, bits, integers, pod

A = TypeVar("A")
B = TypeVar("B")

WAYS = [("performance:R-1 in turn", in_turn), ("performance:R-1 at a time", TwoThreads())]
_MIB = 1 << 20


class Counted:
    """Does pieces in turn, and counts the pairs."""

    def __init__(self) -> None:
        self.pairs = 0

    def __call__(self, first: Callable[[Later], A], second: Callable[[Later], B], /) -> tuple[A, B]:
        """Return what both pieces come to."""
        self.pairs += 1
        return in_turn(first, second)


def scene() -> Scene:
    """Two pods of their own aggregates."""
    return Scene().observe(pod("p0"), pod("p1", labels={"app": "b"}))


def intake(one: Scene) -> Intake:
    """Return what takes batches into a scene's model, which has all aggregates."""
    return Intake(one.model.containers, one.model.aggregates, lambda _: None)


def fetch(one: Scene, minutes: int, cpu: tuple[int, int], memory: tuple[int, int]) -> UsageColumns:
    """Return a fetch of both containers."""
    rows = integers(one.row(pod="p0"), one.row(pod="p1"))
    return UsageColumns(rows, integers(*[instant(T0 + minutes * MINUTE)] * 2), integers(*cpu), integers(*memory))


@pytest.mark.parametrize(("row", "both"), WAYS)
def test_samples_that_count_are_told_of(row: str, both: Pair) -> None:
    one, told = scene(), []
    one.model.aggregates.use(None, both)

    def tell(samples: SampleColumns, resource: str) -> None:
        told.append((resource, samples.containers.tolist(), samples.amounts.tolist()))

    first, second = one.row(pod="p0"), one.row(pod="p1")
    taken = intake(one).fetch(fetch(one, 0, (100, MISSING), (5 * _MIB, 6 * _MIB)), tell)
    assert (taken.cpu.tolist(), taken.memory.tolist()) == ([True, False], [True, True]), row
    assert sorted(told) == [(CPU, [first], [100]), (MEMORY, [first, second], [5 * _MIB, 6 * _MIB])]
    told.clear()
    taken = intake(one).fetch(fetch(one, -1, (100, 200), (5 * _MIB, MISSING)), tell)
    assert (taken.cpu.tolist(), taken.memory.tolist()) == ([False, False], [False, False]), "recommender:2.1"
    assert sorted(told) == [(CPU, [], []), (MEMORY, [], [])]


@pytest.mark.parametrize(("row", "both"), WAYS)
def test_a_fetch_is_its_two_batches(row: str, both: Pair) -> None:
    at_once, apart = scene(), scene()
    at_once.model.aggregates.use(None, both)
    for minutes in range(4):
        usage = fetch(at_once, minutes, (100 * minutes, 200), (minutes * _MIB, 7 * _MIB))
        taken = intake(at_once).fetch(usage, None)
        for found, counted, accepted in (
            (taken.cpu, taken.cpu_samples(), intake(apart).cpu(usage.cpu_samples())),
            (taken.memory, taken.memory_samples(), intake(apart).memory(usage.memory_samples())),
        ):
            assert found.tolist() == accepted.tolist(), row
            assert len(counted) == accepted.sum()
    ours, theirs = at_once.model.aggregates, apart.model.aggregates
    assert bits(ours.cpu) == bits(theirs.cpu)
    assert bits(ours.memory) == bits(theirs.memory)


def test_where_an_aggregate_may_have_to_be_made_one_resource_follows_the_other() -> None:
    """Spec: recommender:3.4."""
    one, counted = scene(), Counted()
    one.model.aggregates.use(None, counted)
    first = one.row(pod="p0")
    one.model.containers.feed(integers(first), NO_AGGREGATE)
    restored: list[list[int]] = []

    def restore(samples: SampleColumns) -> None:
        restored.append(samples.containers.tolist())
        one.model.containers.feed(integers(first), 0)

    into = replace(intake(one), restore=restore)
    into.fetch(fetch(one, 0, (100, 100), (_MIB, _MIB)), None)
    assert restored[0] == [first, one.row(pod="p1")]
    assert counted.pairs == 0
    into.fetch(fetch(one, 1, (100, 100), (_MIB, _MIB)), None)
    assert counted.pairs == 1
