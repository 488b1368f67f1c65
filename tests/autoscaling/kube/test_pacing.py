"""The real clock and dice."""

from __future__ import annotations

from datetime import timedelta

import pytest

from autoscaling.kube.pacing import SystemPacing

pytestmark = pytest.mark.anyio


async def test_the_wall_clock_is_aware_and_the_other_never_runs_backwards() -> None:
    pacing = SystemPacing()
    first, now = pacing.monotonic(), pacing.now()
    await pacing.sleep(0)
    assert now.utcoffset() == timedelta(0)
    assert pacing.now() >= now
    assert pacing.monotonic() >= first


def test_dice_are_repeatable_when_asked_to_be() -> None:
    first, second = SystemPacing(seed=1), SystemPacing(seed=1)
    rolls = [first.random() for _ in range(100)]
    assert rolls == [second.random() for _ in range(100)]
    assert 0.0 <= min(rolls) < 0.2
    assert 0.8 < max(rolls) < 1.0
