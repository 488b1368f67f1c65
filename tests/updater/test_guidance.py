"""What is said of each reason: complete, and true of every round that can be drawn."""

from __future__ import annotations

import re
from dataclasses import fields

import pytest
from hypothesis import given

from autoscaling.behaviour import Behaviour
from tests.updater.test_laws import MEMORIES, OUTCOMES, SETTINGS, clusters, played
from updater.circumstances import Memory
from updater.decision import Outcome, Reason
from updater.guidance import GUIDANCE
from updater.settings import Settings
from updater.snapshot import Snapshot

SWITCHES = {field.name for field in fields(Behaviour)}
RULES = re.compile(r"(updater|beyond|case):[A-Z0-9][A-Za-z0-9-]*(, (updater|beyond|case):[A-Z0-9][A-Za-z0-9-]*)*")


def test_every_reason_has_an_entry_in_order() -> None:
    assert list(GUIDANCE) == list(Reason)


@pytest.mark.parametrize("reason", list(Reason))
def test_an_entry_is_complete(reason: Reason) -> None:
    about = GUIDANCE[reason]
    assert RULES.fullmatch(about.rules)
    assert re.fullmatch(r"[A-Z-][^\n|]*\.", about.remedy)
    assert about.actions
    assert len(set(about.actions)) == len(about.actions)
    assert set(about.switches) <= SWITCHES


@given(clusters(), SETTINGS, MEMORIES, OUTCOMES)
def test_every_decision_is_one_that_the_page_lists(
    cluster: Snapshot, settings: Settings, memory: Memory, outcomes: list[Outcome]
) -> None:
    for decision in played(cluster, settings, memory, outcomes).decisions:
        about = GUIDANCE[decision.reason]
        assert decision.action in about.actions
        assert not about.switches or any(getattr(settings.behaviour, name) for name in about.switches)
