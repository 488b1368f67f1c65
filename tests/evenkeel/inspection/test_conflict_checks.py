"""Checks of what gets in each other's way."""

from __future__ import annotations

from dataclasses import replace

import pytest

from autoscaling.hpa import Hpa, UtilizationMetric
from autoscaling.matching import EVERYTHING, SelectingVpa
from autoscaling.vpa import ContainerPolicy, ScalingMode, TargetRef, UpdateMode, Vpa
from evenkeel.inspection.conflict_checks import horizontal_findings, rival_vpa_findings
from evenkeel.inspection.findings import Level
from tests.builders import vpa
from updater.settings import Settings

TARGET = TargetRef("Deployment", "d", "apps/v1")
HPA = Hpa("default", "h", TARGET, (UtilizationMetric("cpu", 80),))


def policies(*listed: ContainerPolicy) -> Vpa:
    return vpa(policies=listed)


MEMORY_ONLY = ContainerPolicy("*", controlled_resources=("memory",))

HORIZONTAL = [
    ("beyond:B-14", vpa(), HPA, [Level.WARNING]),
    ("beyond:B-14 off", vpa(mode=UpdateMode.OFF), HPA, [Level.NOTE]),
    ("beyond:B-14 other target", vpa(), replace(HPA, target=replace(TARGET, name="e")), []),
    ("beyond:B-14 other namespace", vpa(), replace(HPA, namespace="shop"), []),
    ("beyond:B-14 no utilisation", vpa(), replace(HPA, metrics=()), []),
    ("beyond:B-14 not controlled", policies(MEMORY_ONLY), HPA, []),
    ("beyond:B-14 in one container", policies(MEMORY_ONLY, ContainerPolicy("main")), HPA, [Level.WARNING]),
    ("beyond:B-14 scaled by none", policies(ContainerPolicy("*", mode=ScalingMode.OFF)), HPA, []),
]


@pytest.mark.parametrize(("row", "of", "hpa", "levels"), HORIZONTAL, ids=[row[0] for row in HORIZONTAL])
def test_horizontal_autoscalers(row: str, of: Vpa, hpa: Hpa, levels: list[Level]) -> None:
    found = list(horizontal_findings((of,), (hpa,)))
    assert [each.level for each in found] == levels
    assert all("HorizontalPodAutoscaler default/h" in each.message and "cpu" in each.remedy for each in found)


OTHER = replace(vpa(), name="w")
OFF = replace(OTHER, update_policy=vpa(mode=UpdateMode.OFF).update_policy)

RIVALS = [
    ("beyond:B-30 alone", (vpa(),), (), []),
    ("beyond:B-30", (vpa(), OTHER), (), [Level.WARNING, Level.WARNING]),
    ("beyond:B-30 one is off", (vpa(), OFF), (), []),
    ("beyond:B-39 other group", (vpa(),), (OTHER,), [Level.PROBLEM]),
    ("beyond:B-39 other group off", (vpa(),), (OFF,), []),
    ("beyond:B-39 own is off", (OFF,), (vpa(),), []),
]


@pytest.mark.parametrize(("row", "own", "foreign", "levels"), RIVALS, ids=[row[0] for row in RIVALS])
def test_several_vpas(row: str, own: tuple[Vpa, ...], foreign: tuple[Vpa, ...], levels: list[Level]) -> None:
    found = list(rival_vpa_findings([SelectingVpa(each, EVERYTHING) for each in own], foreign, Settings()))
    assert [each.level for each in found] == levels
    assert all(each.remedy for each in found)
