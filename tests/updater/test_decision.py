"""Decisions and the words they are given in."""

from __future__ import annotations

import re

import pytest

from autoscaling.objectref import ObjectRef
from autoscaling.vpa import UpdateMode
from updater.decision import Action, Reason, VpaScope, left_alone

VPA = ObjectRef("VerticalPodAutoscaler", "ns", "v")


@pytest.mark.parametrize("reason", list(Reason))
def test_every_reason_is_a_label_with_a_meaning(reason: Reason) -> None:
    assert re.fullmatch(r"[a-z]+(_[a-z]+)*", reason.value)
    assert reason.name.lower() == reason.value
    assert re.fullmatch(r"[A-Z][^\n]{20,}\.", reason.meaning)


def test_no_two_reasons_mean_the_same() -> None:
    assert len({reason.meaning for reason in Reason}) == len(Reason)


@pytest.mark.parametrize(
    ("reason", "action"),
    [
        (Reason.RESIZE_PENDING, Action.WAIT),
        (Reason.ALREADY_REQUESTED, Action.WAIT),
        (Reason.TOO_YOUNG, Action.SKIP),
        (Reason.BUDGET_USED_UP, Action.SKIP),
    ],
)
def test_pods_left_alone_wait_only_for_a_resize(reason: Reason, action: Action) -> None:
    assert left_alone(VPA, reason).action is action


@pytest.mark.parametrize(
    ("row", "pods", "size"),
    [
        ("updater:7", 0, 0),
        ("updater:7", 1, 0),
        ("updater:7", 2, 1),
        ("updater:7", 3, 1),
        ("updater:7", 4, 2),
        ("updater:K-31f", 2**20 - 1, 19),
        ("updater:K-31f", 2**20, 20),
        ("updater:K-31f", 2**21, 20),
        ("updater:K-31f", 2**40, 20),
    ],
)
def test_size_label(row: str, pods: int, size: int) -> None:
    assert VpaScope(VPA, UpdateMode.RECREATE, pods).size_log2 == size
