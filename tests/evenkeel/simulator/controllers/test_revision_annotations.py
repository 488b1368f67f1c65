"""Revisions and sizes as annotations."""

from __future__ import annotations

import pytest

from evenkeel.simulator.api.fields import JsonObject, child
from evenkeel.simulator.controllers.revision_annotations import (
    DESIRED,
    HISTORY,
    MOST,
    REVISION,
    annotated_number,
    note_revision,
    note_size,
    revision_of,
)
from evenkeel.simulator.controllers.rollout import Bounds


def annotated(**values: str) -> JsonObject:
    names = {"revision": REVISION, "history": HISTORY}
    return {"metadata": {"annotations": {names.get(name, name): value for name, value in values.items()}}}


@pytest.mark.parametrize(
    ("row", "before", "revision", "after", "history"),
    [
        ("the first", annotated(), 1, 1, None),
        ("a later one", annotated(revision="1"), 4, 4, "1"),
        ("again a later one", annotated(revision="4", history="1"), 6, 6, "1,4"),
        ("known already", annotated(revision="4", history="1,4"), 6, 6, "1,4"),
        ("not an earlier one", annotated(revision="4"), 2, 4, None),
    ],
)
def test_revisions_rise_and_are_remembered(
    row: str, before: JsonObject, revision: int, after: int, history: str | None
) -> None:
    note_revision(before, {}, revision)
    assert revision_of(before) == after, row
    assert child(before, "metadata", "annotations").get(HISTORY) == history, row


def test_the_annotations_of_the_deployment_are_copied_but_for_its_book_keeping() -> None:
    replica_set: JsonObject = {}
    own = annotated(revision="9", team="a") | {}
    child(own, "metadata", "annotations")["kubectl.kubernetes.io/last-applied-configuration"] = "{}"
    note_revision(replica_set, own, 1)
    assert child(replica_set, "metadata", "annotations") == {"team": "a", REVISION: "1"}


def test_sizes() -> None:
    replica_set: JsonObject = {}
    note_size(replica_set, Bounds(3, 2, 0))
    assert (annotated_number(replica_set, DESIRED), annotated_number(replica_set, MOST)) == (3, 5)
    assert annotated_number(annotated(x="-"), "x") is None
