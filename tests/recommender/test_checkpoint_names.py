"""Names of checkpoints that two containers would share."""

from __future__ import annotations

import re

import pytest

from recommender.checkpoint import ContainerCheckpoint
from recommender.checkpoint_names import MAX_LENGTH, marked_name, with_own_name
from tests.builders import T0
from tests.recommender.scene import Scene, pod, vpa

MARKED = marked_name("a", "b-c")
LONG = "v" * 251


def checkpoint(
    vpa_name: str = "a", container: str = "b-c", name: str = "", namespace: str = "default"
) -> ContainerCheckpoint:
    return ContainerCheckpoint(namespace, vpa_name, container, None, None, object_name=name)


def stored(*checkpoints: ContainerCheckpoint) -> dict[tuple[str, str], ContainerCheckpoint]:
    return {(each.namespace, each.name): each for each in checkpoints}


@pytest.mark.parametrize(
    ("row", "known", "expected"),
    [
        ("recommender:13.10 nothing stored", stored(), "a-b-c"),
        ("recommender:13.10 its own", stored(checkpoint()), "a-b-c"),
        ("recommender:13.10 another's", stored(checkpoint("a-b", "c")), MARKED),
        ("recommender:13.10 another's and its own", stored(checkpoint("a-b", "c"), checkpoint(name=MARKED)), MARKED),
        ("recommender:13.10 the other is gone", stored(checkpoint(name=MARKED)), MARKED),
        ("recommender:13.10 other namespace", stored(checkpoint("a-b", "c", namespace="other")), "a-b-c"),
    ],
)
def test_a_stored_name_is_its_owners(
    row: str, known: dict[tuple[str, str], ContainerCheckpoint], expected: str
) -> None:
    fresh = ContainerCheckpoint("default", "a", "b-c", None, None)
    assert with_own_name(fresh, known, Scene().model).name == expected, row


@pytest.mark.parametrize(
    ("row", "other", "container", "is_loaded", "expected"),
    [
        ("recommender:13.10", "a-b", "c", False, MARKED),
        ("recommender:13.10 history alone", "a-b", "c", True, MARKED),
        ("recommender:13.10 other container", "a-b", "d", False, "a-b-c"),
        ("recommender:13.10 other VPA", "a-d", "c", False, "a-b-c"),
        ("recommender:13.10 itself", "a", "b-c", False, "a-b-c"),
    ],
)
def test_of_two_that_would_share_a_name_none_gets_it(
    row: str, other: str, container: str, is_loaded: bool, expected: str
) -> None:
    one = Scene().follow(vpa("a"), vpa(other))
    if is_loaded:
        one.model.set_initial(one.tracked(other), container, T0)
    else:
        one.observe(pod("p", container))
    fresh = ContainerCheckpoint("default", "a", "b-c", None, None)
    assert with_own_name(fresh, {}, one.model).name == expected, row


@pytest.mark.parametrize(
    ("row", "length", "is_kept"),
    [("recommender:13.10", MAX_LENGTH, True), ("recommender:13.10", MAX_LENGTH + 1, False)],
)
def test_what_is_too_long_is_shortened(row: str, length: int, is_kept: bool) -> None:
    fresh = ContainerCheckpoint("default", LONG, "c" * (length - len(LONG) - 1), None, None)
    named = with_own_name(fresh, {}, Scene().model)
    assert (named.name == fresh.name) is is_kept, row
    assert len(named.name) == MAX_LENGTH
    assert named == fresh


@pytest.mark.parametrize("tail", ["-", ".", "-.-", "x"])
def test_a_marked_name_is_a_valid_one(tail: str) -> None:
    name = marked_name(f"{'v' * (242 - len(tail))}{tail}{'w' * 10}", "main")
    assert re.fullmatch(r"v+x?-[0-9a-f]{10}", name)
    assert len({marked_name("a", "b-c"), marked_name("a-b", "c"), marked_name("a", "b-d")}) == 3
