"""HorizontalPodAutoscaler objects as JSON."""

from __future__ import annotations

import json

import pytest

from autoscaling.errors import InvalidObjectError
from autoscaling.hpa import Hpa, UtilizationMetric
from autoscaling.vpa import TargetRef
from autoscaling.wire.hpas import decode_hpa

Json = dict[str, object]


def raw(metrics: list[Json] | None, **target: object) -> bytes:
    """Return an object as KEDA or kubectl would leave it on the server."""
    spec: Json = {
        "scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web", **target},
        "minReplicas": 1,
        "maxReplicas": 10,
    }
    if metrics is not None:
        spec["metrics"] = metrics
    return json.dumps(
        {
            "apiVersion": "autoscaling/v2",
            "kind": "HorizontalPodAutoscaler",
            "metadata": {"name": "web", "namespace": "shop", "resourceVersion": "7"},
            "spec": spec,
            "status": {"currentReplicas": 2},
        }
    ).encode()


def resource(name: str, **target: object) -> Json:
    return {"type": "Resource", "resource": {"name": name, "target": target}}


def of_container(name: str, container: str, **target: object) -> Json:
    return {
        "type": "ContainerResource",
        "containerResource": {"name": name, "container": container, "target": target},
    }


EXTERNAL: Json = {
    "type": "External",
    "external": {"metric": {"name": "queue"}, "target": {"type": "AverageValue", "averageValue": "5"}},
}


@pytest.mark.parametrize(
    ("row", "metrics", "expected"),
    [
        (
            "beyond:B-14 utilization",
            [resource("cpu", type="Utilization", averageUtilization=80)],
            (UtilizationMetric("cpu", 80),),
        ),
        ("beyond:B-14 amount per pod", [resource("cpu", type="AverageValue", averageValue="500m")], ()),
        (
            "beyond:B-14 container",
            [of_container("memory", "main", type="Utilization", averageUtilization=70)],
            (UtilizationMetric("memory", 70, "main"),),
        ),
        (
            "beyond:B-14 KEDA",
            [EXTERNAL, resource("memory", type="Utilization", averageUtilization=60)],
            (UtilizationMetric("memory", 60),),
        ),
        ("beyond:B-14 other metrics only", [EXTERNAL], ()),
        ("beyond:B-14 the server's default", None, (UtilizationMetric("cpu", 80),)),
        ("beyond:B-14 the server's default", [], (UtilizationMetric("cpu", 80),)),
    ],
)
def test_metrics(row: str, metrics: list[Json] | None, expected: tuple[UtilizationMetric, ...]) -> None:
    read = decode_hpa(raw(metrics))
    assert read == Hpa("shop", "web", TargetRef("Deployment", "web", "apps/v1"), expected, "7"), row


def test_an_object_without_a_target_is_named_in_the_error() -> None:
    with pytest.raises(InvalidObjectError, match=r"HorizontalPodAutoscaler shop/web: field spec\.scaleTargetRef\.kind"):
        decode_hpa(raw([], kind=None))
