"""How long pods stay on nodes that drive them away."""

from __future__ import annotations

from datetime import timedelta

import pytest

from evenkeel.simulator.api.fields import JsonObject
from evenkeel.simulator.controllers.taint_patience import driving_taints, patience

SECOND = timedelta(seconds=1)


def taint(key: str, effect: str = "NoExecute", value: str = "") -> JsonObject:
    return {"key": key, "effect": effect, "value": value}


def toleration(key: str = "", seconds: int | None = None, **fields: object) -> JsonObject:
    made: JsonObject = {"operator": "Exists", "effect": "NoExecute", **fields}
    if key:
        made["key"] = key
    if seconds is not None:
        made["tolerationSeconds"] = seconds
    return made


A, B = taint("a"), taint("b")
ROWS: list[tuple[str, list[JsonObject], list[JsonObject], timedelta | None]] = [
    ("no taint", [], [], None),
    ("not tolerated", [A], [], 0 * SECOND),
    ("another tolerated", [A], [toleration("b")], 0 * SECOND),
    ("for ever", [A], [toleration("a")], None),
    ("all of them for ever", [A, B], [toleration()], None),
    ("for a while", [A], [toleration("a", 300)], 300 * SECOND),
    ("for no time", [A], [toleration("a", 0)], 0 * SECOND),
    ("for less than no time", [A], [toleration("a", -5)], 0 * SECOND),
    ("the shorter of two", [A, B], [toleration("a", 300), toleration("b", 60)], 60 * SECOND),
    ("one of two for ever", [A, B], [toleration("a"), toleration("b", 60)], 60 * SECOND),
    ("one of two not at all", [A, B], [toleration("a")], 0 * SECOND),
    ("the first that meets it", [A], [toleration("a", 60), toleration()], 60 * SECOND),
    ("of another effect", [A], [toleration("a", effect="NoSchedule")], 0 * SECOND),
    ("of any effect", [A], [toleration("a", effect="")], None),
    ("of the same value", [taint("a", value="x")], [toleration("a", operator="Equal", value="x")], None),
    ("of another value", [taint("a", value="x")], [toleration("a", operator="Equal", value="y")], 0 * SECOND),
]


@pytest.mark.parametrize(("row", "taints", "tolerations", "expected"), ROWS, ids=[row[0] for row in ROWS])
def test_patience(
    row: str, taints: list[JsonObject], tolerations: list[JsonObject], expected: timedelta | None
) -> None:
    assert patience(taints, tolerations) == expected, row


def test_only_one_effect_drives_pods_away() -> None:
    assert driving_taints([taint("a", "NoSchedule"), A, taint("b", "PreferNoSchedule")]) == [A]
