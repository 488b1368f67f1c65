"""What autoscalers ask for, as their bodies say it."""

from __future__ import annotations

from datetime import timedelta

from evenkeel.simulator.api.fields import JsonObject
from evenkeel.simulator.controllers.autoscaler_spec import (
    DOWN_WINDOW,
    Aim,
    Metric,
    MetricType,
    Pace,
    Policy,
    PolicyType,
    Rules,
    Selection,
    wish_of,
)

TARGET: JsonObject = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"}


def test_metrics() -> None:
    metrics: list[JsonObject] = [
        {"type": "Resource", "resource": {"name": "cpu", "target": {"type": "Utilization", "averageUtilization": 70}}},
        {
            "type": "ContainerResource",
            "containerResource": {
                "name": "memory",
                "container": "app",
                "target": {"type": "AverageValue", "averageValue": "1.5"},
            },
        },
        {"type": "External", "external": {"metric": {"name": "queue"}, "target": {"type": "Value", "value": "3"}}},
    ]
    spec: JsonObject = {"scaleTargetRef": TARGET, "minReplicas": 2, "maxReplicas": 9, "metrics": metrics}
    wish = wish_of({"spec": spec})
    assert (wish.target, wish.least, wish.most) == (TARGET, 2, 9)
    assert wish.metrics == (
        Metric(MetricType.RESOURCE, "cpu", aim=Aim(utilization=70)),
        Metric(MetricType.CONTAINER_RESOURCE, "memory", "app", Aim(average_milli=1500)),
        Metric(MetricType.EXTERNAL),
    )
    assert [str(metric) for metric in wish.metrics] == ["cpu", "memory of container app", "External metric"]
    assert [metric.is_of_pods for metric in wish.metrics] == [True, True, False]
    assert wish.pace == Pace()
    assert wish.pace.down.window == timedelta(minutes=5)


def test_a_pace() -> None:
    behavior: JsonObject = {
        "scaleUp": {
            "stabilizationWindowSeconds": 30,
            "selectPolicy": "Min",
            "tolerance": "25m",
            "policies": [
                {"type": "Pods", "value": 2, "periodSeconds": 60},
                {"type": "Percent", "value": 50, "periodSeconds": 90},
            ],
        },
        "scaleDown": {"selectPolicy": "Disabled", "policies": []},
    }
    pace = wish_of({"spec": {"scaleTargetRef": TARGET, "maxReplicas": 9, "behavior": behavior}}).pace
    policies = (
        Policy(PolicyType.PODS, 2, timedelta(seconds=60)),
        Policy(PolicyType.PERCENT, 50, timedelta(seconds=90)),
    )
    assert pace.is_given
    assert pace.up == Rules(timedelta(seconds=30), Selection.MIN, policies, 0.025)
    assert pace.down == Rules(DOWN_WINDOW, Selection.DISABLED)
