"""Amounts, and what a node's settings leave for pods."""

from __future__ import annotations

from evenkeel.simulator.kubelet.settings import NOTHING_HELD, Amounts, NodeSettings
from tests.evenkeel.simulator.kubelet.pods import GIBIBYTE, MEBIBYTE


def test_amounts_add_and_compare_each_for_itself() -> None:
    small, large = Amounts(1, 5), Amounts(2, 3)
    assert small.plus(large) == Amounts(3, 8)
    assert small.minus(large) == Amounts(-1, 2)
    assert small.at_least(large) == Amounts(2, 5)
    assert small.is_below(large)
    assert large.is_below(small)
    assert not Amounts(2, 5).is_below(large)
    assert NOTHING_HELD.plus(small) == small


def test_reservations_and_threshold_are_taken_off() -> None:
    settings = NodeSettings(
        "n",
        Amounts(4000, 8 * GIBIBYTE),
        kube_reserved=Amounts(100, GIBIBYTE),
        system_reserved=Amounts(200, GIBIBYTE),
        eviction_memory_bytes=100 * MEBIBYTE,
    )
    assert settings.absolute == Amounts(3700, 6 * GIBIBYTE)
    assert settings.allocatable == Amounts(3700, 6 * GIBIBYTE - 100 * MEBIBYTE)
