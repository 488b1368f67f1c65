"""The strategies that the recommender brings (beyond:B-10)."""

from __future__ import annotations

import importlib
import tomllib
from dataclasses import replace
from pathlib import Path

import pytest

from autoscaling.vpa import is_strategy_name
from recommender.settings import EstimatorSettings
from recommender.strategies.known import ENTRY_POINTS, OWN_STRATEGIES
from recommender.strategies.vpa import BUILT_IN, VPA_DEFAULT, VPA_MIN0, BankStrategy

ROOT = Path(__file__).parents[3]


def test_the_distribution_lists_its_own_strategies() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    points = project["entry-points"][ENTRY_POINTS]
    loaded = {}
    for name, value in points.items():
        module, _, attribute = value.partition(":")
        loaded[name] = getattr(importlib.import_module(module), attribute)
    assert loaded == dict(OWN_STRATEGIES)


def test_all_are_well_named() -> None:
    assert all(is_strategy_name(name) and strategy.name == name for name, strategy in BUILT_IN.items())


@pytest.mark.parametrize(
    ("row", "strategy", "minimum"), [("beyond:B-10", VPA_DEFAULT, (25.0, 250.0)), ("beyond:B-10", VPA_MIN0, (0.0, 0.0))]
)
def test_they_differ_in_the_minimum_alone(row: str, strategy: BankStrategy, minimum: tuple[float, float]) -> None:
    settings = EstimatorSettings(margin_fraction=0.3)
    cpu, memory = minimum
    expected = replace(settings, pod_minimum_cpu_millicores=cpu, pod_minimum_memory_mib=memory)
    assert strategy.adjusted(settings) == expected, row
