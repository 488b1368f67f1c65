"""Flags of a recommender, drawn."""

from __future__ import annotations

from typing import Final

from e2e.parity.dice import Dice
from e2e.parity.kinds import Case

SECOND: Final = 10**9
MINUTE: Final = 60 * SECOND
HOUR: Final = 60 * MINUTE
DAY: Final = 24 * HOUR

DEFAULTS: Final[Case] = {
    "name": "default",
    "namespace": "",
    "ignored": [""],
    "memorySaver": False,
    "perVpaConfig": False,
    "memoryInterval": DAY,
    "memoryIntervalCount": 8,
    "memoryHalfLife": DAY,
    "cpuHalfLife": DAY,
    "oomRatio": 1.2,
    "oomMinBump": 104857600.0,
    "margin": 0.15,
    "podMinCpuMillicores": 25.0,
    "podMinMemoryMib": 250.0,
    "cpuPercentiles": [0.9, 0.5, 0.95],
    "memoryPercentiles": [0.9, 0.5, 0.95],
    "cpuConfidence": DAY,
    "memoryConfidence": DAY,
    "roundCpu": 1,
    "roundMemory": 1,
    "humanizeMemory": False,
    "integerCpu": False,
    "maxAllowed": {},
    "checkpointsGcInterval": 10 * MINUTE,
}


def drawn_flags(dice: Dice) -> Case:
    """Draw flags: the defaults, some of them changed."""
    changes: Case = {
        "name": dice.pick("default", "other"),
        "namespace": dice.pick("n1", "n2"),
        "ignored": dice.pick(["n2"], ["n1", "zz"]),
        "memorySaver": True,
        "perVpaConfig": True,
        "memoryInterval": dice.pick(HOUR, 6 * HOUR, 48 * HOUR),
        "memoryIntervalCount": dice.pick(1, 2, 30),
        "memoryHalfLife": dice.pick(HOUR, 7 * HOUR, 100 * HOUR),
        "cpuHalfLife": dice.pick(HOUR, 7 * HOUR, 100 * HOUR),
        "oomRatio": dice.pick(1.0, 1.5, 2.0, 1.23456),
        "oomMinBump": dice.pick(0.0, 1.0, 1e9),
        "margin": dice.pick(0.0, 0.5, 0.1, 1.0),
        "podMinCpuMillicores": dice.pick(0.0, 1.0, 10.5, 15.0, 1000.0),
        "podMinMemoryMib": dice.pick(0.0, 1.0, 99.9, 100.0),
        "cpuPercentiles": [dice.share() for _ in "abc"],
        "memoryPercentiles": [dice.pick(0.0, 1.0, dice.share()) for _ in "abc"],
        "cpuConfidence": dice.pick(HOUR, 12 * HOUR, 90 * SECOND, 48 * HOUR),
        "memoryConfidence": dice.pick(HOUR, 12 * HOUR, 90 * SECOND, 48 * HOUR),
        "roundCpu": dice.pick(0, -1, 5, 50, 1000),
        "roundMemory": dice.pick(0, -1, 1000, 1 << 20, 128 << 20),
        "humanizeMemory": True,
        "integerCpu": True,
        "maxAllowed": dice.pick(
            {"cpu": "500m"}, {"memory": "1Gi"}, {"cpu": "0", "memory": "300M"}, {"cpu": "2", "memory": "64Gi"}
        ),
        "checkpointsGcInterval": dice.pick(MINUTE, HOUR),
    }
    changed = dice.some(sorted(changes), 6) if dice.chance(0.6) else []
    return {**DEFAULTS, **{name: changes[name] for name in changed}}
