"""The resize scenarios on the embedded cluster, whole: API server, kubelet, controllers."""

from __future__ import annotations

import pytest

from tests.conformance import rows_api, rows_basic, rows_life, rows_waiting
from tests.conformance.lab import Lab
from tests.conformance.registry import ROWS
from tests.conformance.simulator_bench import SimulatorBench

IDS = [
    "resize:R01",
    "resize:R02",
    "resize:R03",
    "resize:R04",
    "resize:R05",
    "resize:R06",
    "resize:R07",
    "resize:R08",
    "resize:R09",
    "resize:R10",
    "resize:R11",
    "resize:R12",
    "resize:R13",
    "resize:R14",
    "resize:R15",
    "resize:R16",
    "resize:R17",
    "resize:R18",
    "resize:R19",
    "resize:R20",
    "resize:R21",
    "resize:R22",
    "resize:R23",
    "resize:R24",
    "resize:R25",
    "resize:R26",
    "resize:R27",
    "resize:R28",
    "resize:R29",
    "resize:R30",
    "resize:R31",
    "resize:R32",
    "resize:R33",
    "resize:R34",
    "resize:R35",
    "resize:R36",
    "resize:R37",
    "resize:R38",
    "resize:R39",
    "resize:R40",
    "resize:R41",
    "resize:R42",
    "resize:R43",
    "resize:R44",
    "resize:R45",
    "resize:R46",
    "resize:R47",
    "resize:R48",
    "resize:R49",
    "resize:R50",
    "resize:R51",
    "resize:R52",
    "resize:R53",
    "resize:R54",
    "resize:R55",
    "resize:R56",
    "resize:R57",
    "resize:R58",
    "resize:R59",
    "resize:R60",
    "resize:R61",
    "resize:R62",
    "resize:R63",
    "resize:R64",
    "resize:R65",
    "resize:R66",
    "resize:R67",
]


def test_every_scenario_is_here() -> None:
    modules = {rows_api, rows_basic, rows_life, rows_waiting}
    assert len(modules) == 4
    assert sorted(ROWS) == IDS


@pytest.mark.parametrize("identity", IDS)
def test_scenario(identity: str) -> None:
    scenario = ROWS[identity]
    bench = SimulatorBench(scenario.variant)
    assert scenario.needs <= bench.abilities
    with bench.running():
        scenario.play(Lab(bench))
