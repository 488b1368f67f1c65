"""Which parts of the surroundings are asked for."""

from __future__ import annotations

import pytest

from autoscaling.behaviour import UPSTREAM, Behaviour, Profile
from updater.surroundings import Interest


@pytest.mark.parametrize(
    ("row", "behaviour", "expected"),
    [
        ("upstream", UPSTREAM, set()),
        ("evenkeel", Behaviour.of(Profile.EVENKEEL), {"nodes", "budgets", "quotas", "memory", "placements"}),
        ("beyond:B-22", UPSTREAM.with_overrides({"memory_shrink_guard": "true"}), {"memory"}),
        ("beyond:B-12", UPSTREAM.with_overrides({"limit_range_and_quota": "true"}), {"quotas", "placements"}),
        ("beyond:B-24", UPSTREAM.with_overrides({"free_room": "true"}), {"nodes", "placements"}),
        ("beyond:B-28", UPSTREAM.with_overrides({"infeasible_memory": "true"}), {"nodes"}),
        ("beyond:B-43", UPSTREAM.with_overrides({"pdbs_are_read_too": "true"}), {"budgets"}),
        (
            "beyond:B-25",
            UPSTREAM.with_overrides({"eviction_only_when_it_helps": "true"}),
            {"quotas", "placements"},
        ),
    ],
)
def test_only_what_a_rule_needs_is_asked_for(row: str, behaviour: Behaviour, expected: set[str]) -> None:
    interest = Interest.of(behaviour)
    assert {name for name in Interest.__slots__ if getattr(interest, name)} == expected, row
