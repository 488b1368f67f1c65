"""The switches between Evenkeel's way and upstream's."""

from __future__ import annotations

import re
from dataclasses import fields

import pytest

from autoscaling.behaviour import Behaviour, HpaConflict, Profile
from autoscaling.errors import ConfigurationError

RULE = re.compile(r"(B-\d+|K-\d+|E\d+|cases? \d+|(admission|recommender|updater|performance) [\dA-Z])")
"""An id of a rule, as the table in docs/parity.md has it."""


def test_profiles_turn_every_switch() -> None:
    names = [f.name for f in fields(Behaviour) if f.name != "hpa_conflict"]
    assert all(getattr(Behaviour.of(Profile.EVENKEEL), name) is True for name in names)
    assert all(getattr(Behaviour.of(Profile.UPSTREAM), name) is False for name in names)
    assert Behaviour.of(Profile.EVENKEEL).hpa_conflict is HpaConflict.HOLD
    assert Behaviour.of(Profile.UPSTREAM).hpa_conflict is HpaConflict.OFF
    assert Behaviour() == Behaviour.of(Profile.EVENKEEL)


def test_every_switch_names_its_rule_and_what_a_user_sees_with_and_without_it() -> None:
    for switch in fields(Behaviour):
        assert RULE.match(switch.metadata["rule"]), switch.name
        ours, otherwise, upstreams = switch.metadata["effect"].partition("therwise ")
        assert ours, switch.name
        assert otherwise, f"{switch.name}: why there is a switch is what happens otherwise"
        assert upstreams.endswith("."), switch.name


def test_a_single_switch_is_settable() -> None:
    upstream = Behaviour.of(Profile.UPSTREAM)
    assert upstream.with_overrides({"uid_preconditions": "true"}).uid_preconditions
    assert not Behaviour().with_overrides({"uid_preconditions": "false"}).uid_preconditions
    assert upstream.with_overrides({}) == upstream


@pytest.mark.parametrize(
    ("value", "way"),
    [
        ("true", HpaConflict.HOLD),
        ("false", HpaConflict.OFF),
        ("hold", HpaConflict.HOLD),
        ("off", HpaConflict.OFF),
        ("derive", HpaConflict.DERIVE),
    ],
)
def test_one_of_several_ways_is_settable(value: str, way: HpaConflict) -> None:
    for profile in Profile:
        assert Behaviour.of(profile).with_overrides({"hpa_conflict": value}).hpa_conflict is way


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("uid_precondition", "true", "did you mean 'uid_preconditions'"),
        ("xyz", "true", "known names are"),
        ("uid_preconditions", "yes", "must be true or false"),
        ("hpa_conflict", "HOLD", "must be true, false, off, hold or derive"),
    ],
)
def test_unknown_names_and_values_are_refused(name: str, value: str, message: str) -> None:
    with pytest.raises(ConfigurationError, match=message):
        Behaviour().with_overrides({name: value})
