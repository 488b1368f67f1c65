"""The sizes of a Deployment's sets, step by step."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evenkeel.simulator.controllers.rollout import Bounds, SetState, grown, rescaled, shrunk

START = datetime(2026, 1, 1, tzinfo=UTC)


def made(
    name: str, replicas: int, available: int | None = None, *, age: int = 0, most: int | None = None,
    desired: int | None = None,
) -> SetState:  # fmt: skip
    """A set with so many replicas, all or some of which are available."""
    shown = replicas if available is None else available
    return SetState(name, replicas, replicas, shown, START - timedelta(seconds=age), most, desired)


@pytest.mark.parametrize(
    ("row", "replicas", "surge", "unavailable", "bounds"),
    [
        ("the usual quarter", 4, "25%", "25%", Bounds(4, 1, 1)),
        ("surge up, unavailable down", 10, "25%", "25%", Bounds(10, 3, 2)),
        ("one pod", 1, "25%", "25%", Bounds(1, 1, 0)),
        ("counts", 5, 2, 1, Bounds(5, 2, 1)),
        ("nothing may move, so one may be missing", 5, 0, 0, Bounds(5, 0, 1)),
        ("a share that rounds to nothing", 3, 0, "10%", Bounds(3, 0, 1)),
        ("not more than there are", 2, 0, 5, Bounds(2, 0, 2)),
        ("no pods", 0, "25%", "25%", Bounds(0, 0, 0)),
    ],
)
def test_bounds(row: str, replicas: int, surge: object, unavailable: object, bounds: Bounds) -> None:
    assert Bounds.of(replicas, surge, unavailable) == bounds, row


def test_how_many_there_may_and_must_be() -> None:
    assert (Bounds(4, 1, 2).most, Bounds(4, 1, 2).least) == (5, 2)
    assert (Bounds(0, 3, 0).most, Bounds(0, 3, 0).least) == (0, 0)


@pytest.mark.parametrize(
    ("row", "bounds", "new", "old", "size"),
    [
        ("room for the surge", Bounds(4, 1, 1), made("n", 0), [made("o", 4)], 1),
        ("no room", Bounds(4, 1, 1), made("n", 1), [made("o", 4)], 1),
        ("old ones have left", Bounds(4, 1, 1), made("n", 1), [made("o", 2)], 3),
        ("not beyond what is asked for", Bounds(4, 9, 1), made("n", 1), [], 4),
        ("too large", Bounds(2, 1, 1), made("n", 5), [], 2),
        ("more there than allowed", Bounds(2, 0, 1), made("n", 0), [made("o", 5)], 0),
        ("just right", Bounds(2, 1, 1), made("n", 2), [made("o", 9)], 2),
    ],
)
def test_growing(row: str, bounds: Bounds, new: SetState, old: list[SetState], size: int) -> None:
    assert grown(bounds, new, old) == size, row


@pytest.mark.parametrize(
    ("row", "bounds", "new", "old", "sizes"),
    [
        ("as many as may be missing", Bounds(4, 1, 1), made("n", 1, 0), [made("o", 4)], {"o": 3}),
        ("nothing to spare", Bounds(4, 1, 1), made("n", 2, 0), [made("o", 3)], {}),
        ("an available new one frees an old one", Bounds(4, 1, 1), made("n", 2, 1), [made("o", 3)], {"o": 2}),
        ("old ones that serve nobody go first", Bounds(4, 1, 0), made("n", 1, 0), [made("o", 4, 3)], {}),
        ("also when others are short", Bounds(10, 3, 2), made("n", 3, 0), [made("o", 10, 4)], {"o": 8}),
        ("the oldest first", Bounds(4, 0, 2), made("n", 0), [made("p", 2), made("o", 2, age=9)], {"o": 0}),
        ("two sets in one step", Bounds(4, 0, 3), made("n", 0), [made("p", 2), made("o", 2, age=9)], {"o": 0, "p": 1}),
        ("no old pods", Bounds(4, 1, 1), made("n", 4), [made("o", 0)], {}),
        ("no old sets", Bounds(4, 1, 1), made("n", 4), [], {}),
    ],
)
def test_shrinking(row: str, bounds: Bounds, new: SetState, old: list[SetState], sizes: dict[str, int]) -> None:
    assert shrunk(bounds, new, old) == sizes, row


@pytest.mark.parametrize(
    ("row", "bounds", "new", "old", "sizes"),
    [
        ("one active set", Bounds(5, 1, 1), made("n", 3), [made("o", 0)], {"n": 5}),
        ("the active set may be an old one", Bounds(5, 1, 1), made("n", 0), [made("o", 3)], {"o": 5}),
        ("from nothing the new one", Bounds(5, 1, 1), made("n", 0), [made("o", 0)], {"n": 5}),
        (
            "from nothing the latest, before there is a new one",
            Bounds(5, 1, 1),
            None,
            [made("o", 0, age=9), made("p", 0)],
            {"p": 5},
        ),
        ("no set at all", Bounds(5, 1, 1), None, [], {}),
        ("it is the size already", Bounds(3, 1, 1), made("n", 3), [], {}),
        ("the new one has all, so old ones go", Bounds(3, 1, 1), made("n", 3, 3, desired=3), [made("o", 2)], {"o": 0}),
        (
            "in proportion, up",
            Bounds(20, 0, 1),
            made("n", 5, most=10),
            [made("o", 5, age=9, most=10)],
            {"n": 10, "o": 10},
        ),
        (
            "in proportion, down",
            Bounds(5, 0, 1),
            made("n", 5, most=10),
            [made("o", 5, age=9, most=10)],
            {"n": 3, "o": 2},
        ),
        (
            "what rounding leaves goes to the largest",
            Bounds(4, 0, 1),
            made("n", 1, most=3),
            [made("o", 2, age=9, most=3)],
            {"o": 3},
        ),
        ("to nothing", Bounds(0, 1, 0), made("n", 2, most=4), [made("o", 2, age=9, most=4)], {"n": 0, "o": 0}),
        (
            "without a note, and nothing there",
            Bounds(8, 0, 1),
            replace(made("n", 2), present=0),
            [made("o", 2, age=9)],
            {"o": 6},
        ),
        ("without a note, by what is there", Bounds(8, 0, 1), made("n", 2), [made("o", 2, age=9)], {"n": 6}),
    ],
)
def test_rescaling(row: str, bounds: Bounds, new: SetState | None, old: list[SetState], sizes: dict[str, int]) -> None:
    assert rescaled(bounds, new, old) == sizes, row


@given(
    replicas=st.integers(1, 12),
    surge=st.integers(0, 4),
    unavailable=st.integers(0, 4),
    old_sizes=st.lists(st.integers(0, 8), min_size=1, max_size=3),
)
def test_a_rollout_keeps_its_bounds_and_comes_to_its_end(
    replicas: int, surge: int, unavailable: int, old_sizes: list[int]
) -> None:
    """Law: never more than allowed once it began so, never fewer available than demanded, and it ends."""
    bounds = Bounds.of(replicas, surge, unavailable)
    new = made("new", 0)
    old = [made(f"old{i}", size, age=i + 1) for i, size in enumerate(old_sizes)]
    for _ in range(200):
        size = grown(bounds, new, old)
        total = sum(state.replicas for state in old)
        assert size + total <= max(bounds.most, new.replicas + total)
        new = replace(new, replicas=size)
        sizes = shrunk(bounds, new, old)
        available = new.available + sum(state.available for state in old)
        lost = sum(max(0, state.available - sizes.get(state.name, state.replicas)) for state in old)
        assert lost == 0 or available - lost >= bounds.least
        if new.available == new.replicas == replicas and not any(state.replicas for state in old):
            return
        old = [_applied(state, sizes.get(state.name, state.replicas)) for state in old]
        new = replace(new, available=min(new.replicas, new.available + 1))
    raise AssertionError((new, old))


def _applied(state: SetState, size: int) -> SetState:
    return replace(state, replicas=size, available=min(state.available, size))


@given(
    before=st.integers(1, 12),
    after=st.integers(0, 12),
    share=st.integers(1, 11),
    surge=st.integers(0, 3),
)
def test_rescaling_reaches_the_new_total(before: int, after: int, share: int, surge: int) -> None:
    """Law: the sizes add up to what is allowed, unless one set alone is told the size."""
    first = min(share, before)
    bounds = Bounds.of(after, surge, 1)
    new = made("n", first, 0, most=before)
    old = [made("o", before - first, age=9, most=before)]
    sizes = rescaled(bounds, new, old)
    total = sum(sizes.get(state.name, state.replicas) for state in [new, *old])
    assert total == (after if first == before else bounds.most)
