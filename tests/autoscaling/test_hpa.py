"""Which controllers a horizontal autoscaler scales, and by what."""

from __future__ import annotations

import pytest

from autoscaling.hpa import HorizontalScaling, Hpa, HpaIndex, UtilizationMetric
from autoscaling.ownership import ControllerKey
from autoscaling.vpa import TargetRef

CPU = (UtilizationMetric("cpu", 80),)


def hpa(name: str, kind: str, api_version: str, metrics: tuple[UtilizationMetric, ...] = CPU) -> Hpa:
    return Hpa("default", name, TargetRef(kind, "web", api_version), metrics)


@pytest.mark.parametrize(
    ("row", "scaling", "target", "is_same"),
    [
        ("beyond:B-14 same", hpa("h", "Deployment", "apps/v1"), ("Deployment", "web", "apps/v1"), True),
        ("beyond:B-14 version", hpa("h", "Deployment", "apps/v1beta1"), ("Deployment", "web", "apps/v1"), True),
        ("beyond:B-14 group", hpa("h", "Deployment", "acme.io/v1"), ("Deployment", "web", "apps/v1"), False),
        ("beyond:B-14 core", hpa("h", "Deployment", "v1"), ("Deployment", "web", "apps/v1"), False),
        ("beyond:B-14 no group", hpa("h", "Deployment", "apps/v1"), ("Deployment", "web", ""), True),
        ("beyond:B-14 wrong group", hpa("h", "Deployment", "apps/v1"), ("Deployment", "web", "acme.io/v1"), True),
        (
            "beyond:B-14 core kind",
            hpa("h", "ReplicationController", "v1"),
            ("ReplicationController", "web", "v1"),
            True,
        ),
        ("beyond:B-14 kind", hpa("h", "StatefulSet", "apps/v1"), ("Deployment", "web", "apps/v1"), False),
        ("beyond:B-14 name", hpa("h", "Deployment", "apps/v1"), ("Deployment", "api", "apps/v1"), False),
        (
            "beyond:B-14 own kind",
            hpa("h", "Rollout", "argoproj.io/v1alpha1"),
            ("Rollout", "web", "argoproj.io/v1"),
            True,
        ),
        ("beyond:B-14 own group", hpa("h", "Rollout", "argoproj.io/v1"), ("Rollout", "web", "acme.io/v1"), False),
    ],
)
def test_the_same_target(row: str, scaling: Hpa, target: tuple[str, str, str], *, is_same: bool) -> None:
    kind, name, api_version = target
    index = HpaIndex([scaling])
    assert index.of([ControllerKey("default", kind, name, api_version)]) == ((scaling,) if is_same else ()), row
    assert index.of([ControllerKey("other", kind, name, api_version)]) == (), row


def test_any_of_several_controllers_counts_and_none_twice() -> None:
    one, two = hpa("b", "Deployment", "apps/v1"), hpa("a", "Rollout", "argoproj.io/v1")
    index = HpaIndex([one, two])
    keys = [
        ControllerKey("default", "Deployment", "web", "apps/v1"),
        ControllerKey("default", "Deployment", "web", "apps/v2"),
        ControllerKey("default", "Rollout", "web", "argoproj.io/v1"),
    ]
    assert index.of(keys) == (two, one)
    assert index.of([]) == ()


def test_what_scales_by_other_metrics_is_left_out() -> None:
    assert not HpaIndex([hpa("h", "Deployment", "apps/v1", ())])
    assert HpaIndex([hpa("h", "Deployment", "apps/v1")])


@pytest.mark.parametrize(
    ("row", "metric", "container", "resource", "covers"),
    [
        ("beyond:B-14 pod", UtilizationMetric("cpu", 80), "main", "cpu", True),
        ("beyond:B-14 other resource", UtilizationMetric("cpu", 80), "main", "memory", False),
        ("beyond:B-14 container", UtilizationMetric("memory", 80, "main"), "main", "memory", True),
        ("beyond:B-14 other container", UtilizationMetric("memory", 80, "main"), "side", "memory", False),
    ],
)
def test_what_a_metric_is_measured_by(
    row: str, metric: UtilizationMetric, container: str, resource: str, *, covers: bool
) -> None:
    scaling = HorizontalScaling((hpa("h", "Deployment", "apps/v1", (UtilizationMetric("disk", 1), metric)),), {})
    assert scaling.covers(container, resource) is covers, row


def test_a_horizontal_autoscaler_is_named_by_kind_and_place() -> None:
    assert str(hpa("h", "Deployment", "apps/v1").ref) == "HorizontalPodAutoscaler default/h"
