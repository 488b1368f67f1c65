"""Objects and usage of a tenant who means harm, as they might lie in a cluster whose API server let them through."""

from __future__ import annotations

from collections.abc import Iterator

from evenkeel.simulator.api.fields import JsonObject, child
from tests.embedded import Json, owner, pod_object, recommended_status, vpa_object

NAMESPACE = "hostile"
NODE = "node2"
"""Where the tenant's pods are; whoever shares a node with somebody shares its room."""

AMOUNTS = (
    *("1e400", "-1", "99999999999999999999Gi", "0", "NaN", "Infinity", "1e308", "-1e308", "1n", "9" * 1000, "9" * 5000),
    *("", " 1", "1 ", "0x10", "1e-400", "1Zi", "\u0661", "-99999999999999999999Gi", "1e18", "9223372036854775808"),
)
"""Amounts that nobody means."""

TIMES = ("9999-12-31T23:59:59Z", "0001-01-01T00:00:00Z", "4052-01-01T00:00:00Z", "2026-01-01T00:00:00", "soon", "")
"""Times that nobody means."""

NAMES = (
    *(
        "\u202eevil",
        "a\u0000b",
        "x" * 5000,
        "..",
        "a/b",
        "a;b",
        'a"b\\',
        "\U0001f4a9",
        "\u0430dmin",
        " ",
        "a\nlevel=error",
    ),
    *("{{7*7}}", "$(NAMESPACE)", "<script>alert(1)</script>", "%s%n", "'; drop table pods; --"),
)
"""Names that no API server lets through."""

_DEEP = "[" * 100_000
ANNOTATIONS = {
    "evenkeel.dev/resize-requested": _DEEP,
    "evenkeel.dev/asked": '{"main":{"requests":{"cpu":"1e400"},"limits":{"cpu":"-1"}}}',
    "vpaCpuStartupBoost/main": '{"requests":{"cpu":1e999},"limits":' + "[" * 5000,
    "vpaCpuStartupBoost/nobody": "null",
    "vpaObservedContainers": ", ".join(f"c{number}" for number in range(20_000)),
    "vpaInPlaceUpdated": "true",
    "vpaUpdates": "Pod resources updated by nobody: container 0: cpu request",
    "evenkeel.dev/state": _DEEP,
    "filler": "x" * 600_000,
}
"""A megabyte of annotations, most of them forged."""


def _pod(name: str, **metadata: object) -> JsonObject:
    pod = pod_object(name, "evil")
    child(pod, "metadata").update({"namespace": NAMESPACE, "uid": f"uid-{name[:20]}", **metadata})
    child(pod, "spec")["nodeName"] = NODE
    return pod


def _sized(name: str, amount: object) -> JsonObject:
    pod = _pod(name)
    resources = {"requests": {"cpu": amount, "memory": amount}, "limits": {"cpu": amount, "memory": amount}}
    container = {"name": "main", "image": "i", "resources": resources}
    child(pod, "spec")["containers"] = [container]
    status = child(pod, "status")
    status["containerStatuses"] = [{"name": "main", "ready": True, "restartCount": 0, "resources": resources}]
    return pod


def _dated(name: str, moment: str) -> JsonObject:
    pod = _pod(name)
    ended = {"reason": "OOMKilled", "exitCode": 137, "startedAt": moment, "finishedAt": moment}
    status = child(pod, "status")
    status["startTime"] = moment
    conditions = [{"type": kind, "status": "True", "reason": "Deferred", "lastTransitionTime": moment}
                  for kind in ("Ready", "PodResizePending", "PodResizeInProgress")]  # fmt: skip
    status["conditions"] = conditions
    status["containerStatuses"] = [
        {"name": "main", "ready": True, "restartCount": 2**40, "lastState": {"terminated": ended}}
    ]
    return pod


def pods() -> Iterator[JsonObject]:
    """Yield the tenant's pods; each has another fault."""
    yield _pod("annotated", annotations=ANNOTATIONS)
    crowded = _pod("crowded", labels={"app": "crowd"}, ownerReferences=[owner("ReplicaSet", "crowd-rs")])
    names = [f"c{number}" for number in range(1000)]
    resources = {"requests": {"cpu": "1m", "memory": "1Mi"}}
    child(crowded, "spec")["containers"] = [{"name": name, "image": "i", "resources": resources} for name in names]
    child(crowded, "status")["containerStatuses"] = [{"name": name, "resources": resources} for name in names]
    yield crowded
    yield from (_sized(f"sized-{number}", amount) for number, amount in enumerate(AMOUNTS))
    yield from (_dated(f"dated-{number}", moment) for number, moment in enumerate(TIMES))
    for number, name in enumerate(NAMES):
        odd = _pod(f"odd-{number}", labels={"app": "odd", name: name}, ownerReferences=[])
        child(odd, "spec")["containers"] = [{"name": name, "image": name, "resources": {"requests": {name: "1"}}}]
        yield odd


def controllers() -> Iterator[Json]:
    """Yield what the tenant's pods belong to."""
    for app in ("evil", "crowd"):
        selector = {"matchLabels": {"app": app}}
        template = {"metadata": {"labels": {"app": app}}, "spec": {"containers": [{"name": "main", "image": "i"}]}}
        for kind, name, owners in (("Deployment", app, []), ("ReplicaSet", f"{app}-rs", [owner("Deployment", app)])):
            metadata = {"name": name, "namespace": NAMESPACE, "ownerReferences": owners}
            spec = {"replicas": 10**9, "selector": selector, "template": template}
            yield {"apiVersion": "apps/v1", "kind": kind, "metadata": metadata, "spec": spec}


def _vpa(name: str, status: Json | None = None, target: str = "evil", **spec: object) -> Json:
    made = vpa_object(target, status=status, **spec)
    return {**made, "metadata": {"name": name, "namespace": NAMESPACE}}


def vpas() -> Iterator[Json]:
    """Yield the tenant's VPAs; each has another fault."""
    yield _vpa("plain", recommended_status("400m", "100Mi"))
    policies = [{"containerName": f"c{number}", "minAllowed": {"cpu": "1m"}} for number in range(1000)]
    entries = [
        {"containerName": f"c{number}", "target": {"cpu": "1", "memory": "1Gi"}, "upperBound": {"cpu": "1e300"}}
        for number in range(1000)
    ]
    yield _vpa(
        "crowded",
        {"recommendation": {"containerRecommendations": entries}},
        "crowd",
        resourcePolicy={"containerPolicies": policies},
    )
    for number, amount in enumerate(AMOUNTS):
        bounds = {"minAllowed": {"cpu": amount, "memory": amount}, "maxAllowed": {"cpu": amount, "memory": amount}}
        policy = {"containerPolicies": [{"containerName": "*", **bounds}]}
        yield _vpa(f"sized-{number}", recommended_status(amount, amount), resourcePolicy=policy)
    for number, moment in enumerate(TIMES):
        conditions = [{"type": "RecommendationProvided", "status": "True", "lastTransitionTime": moment}]
        yield _vpa(f"dated-{number}", {"conditions": conditions, "observedGeneration": 2**62})
    for number, seconds in enumerate((-1, 0, 2**31 - 1, 2**62, 10**30)):
        update = {"updateMode": "InPlaceOrRecreate", "minReplicas": seconds, "evictAfterOOMSeconds": seconds}
        boost = {"cpu": {"type": "Factor", "factor": seconds, "durationSeconds": seconds}}
        yield _vpa(f"long-{number}", recommended_status("1", "1Gi"), updatePolicy=update, startupBoost=boost)


def limits() -> Iterator[Json]:
    """Yield LimitRanges that nothing can satisfy."""
    for number, amount in enumerate(AMOUNTS):
        bounds = {"max": {"cpu": amount}, "min": {"cpu": amount, "memory": amount}, "default": {"memory": amount}}
        items = [{"type": kind, **bounds} for kind in ("Container", "Pod")]
        metadata = {"name": f"limits-{number}", "namespace": NAMESPACE}
        yield {"apiVersion": "v1", "kind": "LimitRange", "metadata": metadata, "spec": {"limits": items}}


def usage(now: str) -> Iterator[JsonObject]:
    """Yield what a lying metrics server says of the tenant's pods."""
    for number, amount in enumerate(AMOUNTS):
        containers = [{"name": "main", "usage": {"cpu": amount, "memory": amount}}]
        metadata = {"name": f"sized-{number}", "namespace": NAMESPACE}
        yield {"metadata": metadata, "timestamp": now, "window": "30s", "containers": containers}
    for number, moment in enumerate(TIMES):
        containers = [{"name": "main", "usage": {"cpu": "1", "memory": "1Gi"}}]
        metadata = {"name": f"dated-{number}", "namespace": NAMESPACE}
        yield {"metadata": metadata, "timestamp": moment, "window": "30s", "containers": containers}
    crowd = [{"name": f"c{number}", "usage": {"cpu": "1", "memory": "1Gi"}} for number in range(2000)]
    yield {"metadata": {"name": "crowded", "namespace": NAMESPACE}, "timestamp": now, "containers": crowd}
    yield {"metadata": {"name": "annotated", "namespace": NAMESPACE}, "timestamp": now, "containers": None}
    yield {"metadata": None, "timestamp": now}
