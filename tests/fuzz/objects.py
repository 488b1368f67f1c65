"""Objects and texts that targets are meant for, and the words that fuzzing puts into them."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator

from tests.embedded import Json, node_object, pod_object, recommended_status, vpa_object

ODD_WORDS = (
    *(b"1e400", b"-1", b"99999999999999999999Gi", b"NaN", b"Infinity", b"1e999", b"-0", b"9" * 1200, b"1e308", b"1n"),
    *(b"\\ud800", b"\\u0000", b"\\u202e", b"\xff\xfe", b"\xc3\x28", b"[" * 1200, b'{"a":' * 1200, b'"' + b"x" * 300),
    *(b"9999-12-31T23:59:59Z", b"0001-01-01T00:00:00+14:00", b"2026-01-01T00:00:00", b"null", b"true", b"{}", b"[]"),
)
"""Amounts, texts and times that nobody means."""

POD = pod_object("web-0", "web")
SIDECARS: Json = {
    **POD,
    "metadata": {
        "name": "p",
        "namespace": "default",
        "generateName": "p-",
        "uid": "u",
        "labels": {"app": "web"},
        "annotations": {
            "vpaObservedContainers": "main, side",
            "vpaCpuStartupBoost/main": '{"requests":{"cpu":"1"},"limits":{}}',
            "evenkeel.dev/resize-requested": '{"generation":3,"at":"2026-01-01T00:00:00+00:00","restarts":{"main":1}}',
            "evenkeel.dev/asked": '{"main":{"requests":{"cpu":"1"},"limits":{"cpu":"2"}}}',
        },
        "ownerReferences": [{"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "web-rs", "controller": True}],
        "managedFields": [{"subresource": "resize", "time": "2026-01-01T00:00:00Z"}],
    },
    "spec": {
        "nodeName": "node2",
        "containers": [
            {"name": "main", "resources": {"requests": {"cpu": "100m", "memory": "1e3"}, "limits": {"cpu": 1}}},
            {"name": "side", "resizePolicy": [{"resourceName": "memory", "restartPolicy": "RestartContainer"}]},
        ],
        "initContainers": [{"name": "init", "restartPolicy": "Always", "resources": {"requests": {"cpu": "0.5"}}}],
        "resources": {"requests": {"cpu": "2"}},
        "overhead": {"memory": "1Mi"},
        "tolerations": [{"key": "k", "operator": "Exists", "effect": "NoSchedule"}],
    },
    "status": {
        "phase": "Running",
        "qosClass": "Burstable",
        "conditions": [
            {"type": "PodResizePending", "status": "True", "reason": "Deferred", "observedGeneration": 3},
            {"type": "Ready", "status": "True", "lastTransitionTime": "2026-01-01T00:00:00Z"},
        ],
        "containerStatuses": [
            {
                "name": "main",
                "ready": True,
                "restartCount": 2,
                "resources": {"requests": {"cpu": "50m"}},
                "allocatedResources": {"cpu": "50m"},
                "state": {"running": {}},
                "lastState": {"terminated": {"reason": "OOMKilled", "finishedAt": "2026-01-01T00:00:00Z"}},
            }
        ],
    },
}
VPA = vpa_object(
    "web",
    status=recommended_status("400m", "100Mi"),
    updatePolicy={
        "updateMode": "InPlaceOrRecreate",
        "minReplicas": 1,
        "evictAfterOOMSeconds": 60,
        "evictionRequirements": [{"resources": ["cpu"], "changeRequirement": "TargetHigherThanRequests"}],
    },
    resourcePolicy={
        "containerPolicies": [
            {
                "containerName": "*",
                "mode": "Auto",
                "minAllowed": {"cpu": "1m"},
                "maxAllowed": {"memory": "1Gi"},
                "controlledResources": ["cpu", "memory"],
                "controlledValues": "RequestsAndLimits",
                "oomBumpUpRatio": "1.5",
                "startupBoost": {"cpu": {"type": "Factor", "factor": 2, "durationSeconds": 10}},
            }
        ]
    },
    startupBoost={"cpu": {"type": "Quantity", "quantity": "100m"}},
    recommenders=[{"name": "default"}],
)
LIMIT_RANGE: Json = {
    "metadata": {"name": "limits", "namespace": "default"},
    "spec": {"limits": [{"type": "Container", "max": {"cpu": "4"}, "min": {"memory": "1Mi"}, "default": {"cpu": "1"}}]},
}
HPA: Json = {
    "metadata": {"name": "web", "namespace": "default"},
    "spec": {
        "scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"},
        "metrics": [
            {
                "type": "Resource",
                "resource": {"name": "cpu", "target": {"type": "Utilization", "averageUtilization": 5}},
            }
        ],
    },
}
BUDGET: Json = {
    "metadata": {"name": "web", "namespace": "default"},
    "spec": {"selector": {"matchLabels": {"app": "web"}}, "minAvailable": 1},
    "status": {"disruptionsAllowed": 1, "currentHealthy": 2, "desiredHealthy": 1, "expectedPods": 2},
}
QUOTA: Json = {
    "metadata": {"name": "q", "namespace": "default"},
    "spec": {"hard": {"requests.cpu": "4"}, "scopes": ["Terminating"]},
    "status": {"hard": {"requests.cpu": "4"}, "used": {"requests.cpu": "1"}},
}
NODE = node_object()
CHECKPOINT: Json = {
    "apiVersion": "autoscaling.evenkeel.dev/v1",
    "metadata": {"name": "web-main", "namespace": "default", "resourceVersion": "7", "annotations": {}},
    "spec": {"vpaObjectName": "web", "containerName": "main"},
    "status": {
        "lastUpdateTime": "2026-01-01T00:00:00Z",
        "version": "v3",
        "cpuHistogram": {
            "referenceTimestamp": "2026-01-01T00:00:00Z",
            "bucketWeights": {"0": 10000, "8": 5000},
            "totalWeight": 4.5,
        },
        "memoryHistogram": {"referenceTimestamp": None, "bucketWeights": {"5": 1}, "totalWeight": 1},
        "firstSampleStart": "2026-01-01T00:00:00Z",
        "lastSampleStart": "2026-01-01T00:00:00Z",
        "totalSamplesCount": 3,
        "runningWindows": [
            {"pod": "p", "peakBytes": 1, "windowEnd": "2026-01-02T00:00:00Z", "lastSample": "2026-01-01T00:00:00Z"}
        ],
    },
}
USAGE: Json = {
    "kind": "PodMetricsList",
    "metadata": {"continue": "next"},
    "items": [
        {
            "metadata": {"name": "web-0", "namespace": "default"},
            "timestamp": "2026-01-01T00:01:00Z",
            "window": "30s",
            "containers": [
                {"name": "main", "usage": {"cpu": "12345678n", "memory": "20480Ki"}},
                {"name": "side", "usage": {"cpu": "100m", "memory": "3e6"}},
            ],
        },
        {"metadata": {"name": "p", "namespace": "b"}, "timestamp": "2026-01-01T00:01:00.5Z", "containers": []},
    ],
}
EXTERNAL: Json = {
    "items": [
        {"metricLabels": {"name": "main"}, "timestamp": "2026-01-01T00:00:00Z", "value": "1500m"},
        {"metricLabels": None, "value": 1},
    ]
}
PROMETHEUS: Json = {
    "status": "success",
    "data": {
        "resultType": "matrix",
        "result": [
            {"metric": {"pod": "p"}, "values": [[1767225600, "0.5"], [1767225660.5, "NaN"], [1767225720, "+Inf"]]}
        ],
    },
}
VECTOR: Json = {
    "status": "success",
    "data": {"resultType": "vector", "result": [{"metric": {}, "value": [1767225600, "1"]}]},
}
NO_SUCCESS: Json = {"status": "error", "errorType": "bad_data", "error": "why"}
NAMES: Json = {"status": "success", "data": ["a", "b"]}
EVICTION: Json = {
    "metadata": {
        "name": "e",
        "namespace": "default",
        "creationTimestamp": "2026-01-01T00:00:00Z",
        "annotations": {
            "offending_containers": "a,b",
            "offending_containers_usage": "1Mi,2",
            "starved_resource": "memory,cpu",
        },
    },
    "reason": "Evicted",
    "involvedObject": {"kind": "Pod", "namespace": "default", "name": "p"},
}
DEPLOYMENT: Json = {
    "metadata": {"name": "web", "namespace": "default", "uid": "u", "resourceVersion": "3"},
    "spec": {
        "replicas": 2,
        "selector": {
            "matchLabels": {"app": "web"},
            "matchExpressions": [{"key": "k", "operator": "In", "values": ["v"]}],
        },
        "template": {"spec": {"containers": [{"name": "main", "resources": {"requests": {"cpu": "1"}}}]}},
    },
    "status": {"desiredNumberScheduled": 1},
}


def text(value: object) -> bytes:
    """Return JSON as the API server writes it."""
    return json.dumps(value, separators=(",", ":")).encode()


def words_in(seeds: Iterable[bytes]) -> tuple[bytes, ...]:
    """Return every name and text of JSON seeds, in quotes, beside the odd ones."""
    found = {json.dumps(word).encode(): None for seed in seeds for word in _texts(json.loads(seed))}
    return (*found, *ODD_WORDS)


def _texts(value: object) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for key, inner in value.items():
            yield key
            yield from _texts(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from _texts(inner)
