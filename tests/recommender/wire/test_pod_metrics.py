"""Pod metrics as JSON."""

from __future__ import annotations

import json

import pytest

from autoscaling.errors import InvalidObjectError
from recommender.wire.pod_metrics import ContainerUsage, decode_pod_usage
from tests.builders import T0

METRICS = {
    "metadata": {"name": "p", "namespace": "ns", "labels": {"app": "a"}},
    "timestamp": "2026-01-01T00:00:00Z",
    "window": "10s",
    "containers": [
        {"name": "c", "usage": {"cpu": "123456n", "memory": "1500m"}},
        {"name": "bare", "usage": {}},
        {"name": "null", "usage": None},
        {"name": "plain", "usage": {"cpu": 2, "memory": 33554432}},
    ],
}


def test_amounts_are_rounded_up_and_missing_ones_are_zero() -> None:
    usage = decode_pod_usage(json.dumps(METRICS).encode())
    assert (usage.namespace, usage.pod, usage.at) == ("ns", "p", T0)
    assert usage.containers == (
        ContainerUsage("c", 1, 2),
        ContainerUsage("bare", 0, 0),
        ContainerUsage("null", 0, 0),
        ContainerUsage("plain", 2000, 33554432),
    ), "recommender:8.1"


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"containers": [{"name": "c", "usage": {"cpu": "1x"}}]}, "PodMetrics ns/p: quantity '1x'"),
        ({"timestamp": None}, "PodMetrics ns/p: .*timestamp"),
        ({"containers": [{}]}, "PodMetrics ns/p: .*name"),
        ({"metadata": 1}, "unreadable"),
    ],
)
def test_bad_metrics_are_named_with_what_is_wrong(change: dict[str, object], message: str) -> None:
    with pytest.raises(InvalidObjectError, match=message):
        decode_pod_usage(json.dumps({**METRICS, **change}).encode())
