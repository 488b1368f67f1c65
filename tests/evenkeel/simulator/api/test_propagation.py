"""What becomes of owned objects: what options ask for, and the finalizers that keep it."""

from __future__ import annotations

import pytest

from evenkeel.simulator.api.fields import JsonObject
from evenkeel.simulator.api.propagation import Propagation, asked_propagation, held_by, propagation_of
from evenkeel.simulator.api.status import StatusError

BACKGROUND, FOREGROUND, ORPHAN = Propagation.BACKGROUND, Propagation.FOREGROUND, Propagation.ORPHAN


@pytest.mark.parametrize(
    ("options", "asked"),
    [
        ({}, None),
        ({"propagationPolicy": None}, None),
        ({"propagationPolicy": "Foreground"}, FOREGROUND),
        ({"propagationPolicy": "Background"}, BACKGROUND),
        ({"propagationPolicy": "Orphan"}, ORPHAN),
        ({"orphanDependents": True}, ORPHAN),
        ({"orphanDependents": False}, BACKGROUND),
    ],
)
def test_what_is_asked_for(options: JsonObject, asked: Propagation | None) -> None:
    assert asked_propagation(options) is asked


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"propagationPolicy": "Sideways"}, 'propagationPolicy: Unsupported value: "Sideways": .*"Background", "Fore'),
        ({"propagationPolicy": "Orphan", "orphanDependents": True}, "set one of them"),
    ],
)
def test_what_cannot_be_asked_for(options: JsonObject, said: str) -> None:
    with pytest.raises(StatusError, match=said) as caught:
        asked_propagation(options)
    assert caught.value.code == 422


@pytest.mark.parametrize(
    ("row", "finalizers", "asked", "usual", "held"),
    [
        ("usual", [], None, BACKGROUND, []),
        ("left to a kind that orphans", ["a"], None, ORPHAN, ["a", "orphan"]),
        ("asked of such a kind", [], BACKGROUND, ORPHAN, []),
        ("asked", ["a"], FOREGROUND, BACKGROUND, ["a", "foregroundDeletion"]),
        ("left as asked before", ["orphan", "a"], None, BACKGROUND, ["orphan", "a"]),
        ("asked for another", ["orphan", "a"], FOREGROUND, BACKGROUND, ["a", "foregroundDeletion"]),
        ("asked for none", ["foregroundDeletion", "a"], BACKGROUND, BACKGROUND, ["a"]),
    ],
)
def test_what_holds_an_object(
    row: str, finalizers: list[str], asked: Propagation | None, usual: Propagation, held: list[str]
) -> None:
    assert held_by(finalizers, asked, usual) == held, row


@pytest.mark.parametrize(
    ("finalizers", "kept"),
    [
        ([], BACKGROUND),
        (["a"], BACKGROUND),
        (["foregroundDeletion"], FOREGROUND),
        (["foregroundDeletion", "orphan"], ORPHAN),
    ],
)
def test_what_finalizers_keep(finalizers: list[str], kept: Propagation) -> None:
    assert propagation_of(finalizers) is kept
