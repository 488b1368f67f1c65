"""Objects an API server must take or refuse, in both groups; read offline and on a real API server alike."""

from __future__ import annotations

from dataclasses import dataclass

from autoscaling.runtime.api_group import ApiGroup
from evenkeel.crd.schema import Json, Schema

TAKEN = ""
"""In place of the path of the refused field: nothing is refused."""


@dataclass(frozen=True, slots=True)
class Case:
    """One object and what happens to it.

    Args:
        row: Spec id.
        name: What is tried.
        body: The object's ``spec`` (or ``status``), the rest is always the same.
        upstream: Path of the refused field in upstream's group, or TAKEN.
        own: The same in the own group.
        server_only: The rule is CEL, a time's form or a list's key, which plain JSON schema lacks.
    """

    row: str
    name: str
    body: Schema
    upstream: str
    own: str
    server_only: bool = False

    def refused(self, group: ApiGroup) -> str:
        """Path of the field that is refused in a group, or TAKEN."""
        return self.own if group is ApiGroup.EVENKEEL else self.upstream

    @property
    def label(self) -> str:
        """The name of the test."""
        return f"{self.row} {self.name}"


def autoscaler(group: ApiGroup, spec: Schema, name: str = "web") -> Schema:
    """A VerticalPodAutoscaler of a group."""
    metadata: Schema = {"name": name, "namespace": "default"}
    return {"apiVersion": f"{group.value}/v1", "kind": "VerticalPodAutoscaler", "metadata": metadata, "spec": spec}


def checkpoint(group: ApiGroup, rest: Schema, name: str = "web-app") -> Schema:
    """A VerticalPodAutoscalerCheckpoint of a group."""
    metadata: Schema = {"name": name, "namespace": "default"}
    kind = "VerticalPodAutoscalerCheckpoint"
    return {"apiVersion": f"{group.value}/v1", "kind": kind, "metadata": metadata, **rest}


TARGET: Schema = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"}


def _spec(**rest: Json) -> Schema:
    return {"targetRef": TARGET, **rest}


def _update(**policy: Json) -> Schema:
    return _spec(updatePolicy=policy)


def _policies(*policies: Json) -> Schema:
    return _spec(resourcePolicy={"containerPolicies": list(policies)})


def _policy(**policy: Json) -> Schema:
    return _policies({"containerName": "app", **policy})


def _boost(**cpu: Json) -> Schema:
    return _spec(startupBoost={"cpu": cpu})


def _container_boost(**cpu: Json) -> Schema:
    return _policy(startupBoost={"cpu": cpu})


def _bounds(lowest: Json, highest: Json, resource: str = "cpu") -> Schema:
    return _policy(minAllowed={resource: lowest}, maxAllowed={resource: highest})


def _both(row: str, name: str, body: Schema, refused: str = TAKEN, *, server_only: bool = False) -> Case:
    return Case(row, name, body, refused, refused, server_only=server_only)


def _own(row: str, name: str, body: Schema, refused: str, *, server_only: bool = False) -> Case:
    return Case(row, name, body, TAKEN, refused, server_only=server_only)


_POLICY = "spec.resourcePolicy.containerPolicies"
_FIRST = f"{_POLICY}[0]"
_BOOST = "spec.startupBoost.cpu"
_CONTAINER_BOOST = f"{_FIRST}.startupBoost.cpu"

SPECS: tuple[Case, ...] = (
    _both("api:1.1", "target only", _spec()),
    _both("api:1.1", "no target", {}, "spec.targetRef"),
    _both("api:1.1", "target without kind", {"targetRef": {"name": "web"}}, "spec.targetRef.kind"),
    _both("api:1.1", "target without name", {"targetRef": {"kind": "Deployment"}}, "spec.targetRef.name"),
    _both("api:1.1", "target without apiVersion", {"targetRef": {"kind": "Deployment", "name": "web"}}),
    _both("api:1.1", "target with an odd apiVersion", {"targetRef": {**TARGET, "apiVersion": "no/such/thing"}}),
    *(
        _both("api:1.1", f"mode {mode}", _update(updateMode=mode))
        for mode in ("Off", "Initial", "Recreate", "InPlaceOrRecreate", "InPlace", "Auto")
    ),
    _both("api:1.1", "mode in lower case", _update(updateMode="off"), "spec.updatePolicy.updateMode"),
    _both("api:1.1", "empty mode", _update(updateMode=""), "spec.updatePolicy.updateMode"),
    _both("api:1.1", "update policy without mode", _update()),
    _both("api:1.1", "one replica", _update(minReplicas=1)),
    _own("api:7.1", "no replica", _update(minReplicas=0), "spec.updatePolicy.minReplicas"),
    _own("api:7.1", "negative replicas", _update(minReplicas=-1), "spec.updatePolicy.minReplicas"),
    _both("api:1.1", "half a replica", _update(minReplicas=1.5), "spec.updatePolicy.minReplicas"),
    # A format names the width for clients; an API server does not hold custom objects to it.
    _both("api:1.1", "replicas beyond 32 bits", _update(minReplicas=2**31)),
    _both("api:1.1", "one second after OOM", _update(evictAfterOOMSeconds=1)),
    _both("api:1.1", "no second after OOM", _update(evictAfterOOMSeconds=0), "spec.updatePolicy.evictAfterOOMSeconds"),
    _both("beyond:B-20", "a second to wait", _update(inPlaceDeferredTimeoutSeconds=1, inPlaceProgressTimeoutSeconds=1)),
    *(
        _own("beyond:B-20", f"{name} {value}", _update(**{name: value}), f"spec.updatePolicy.{name}")
        for name in ("inPlaceDeferredTimeoutSeconds", "inPlaceProgressTimeoutSeconds")
        for value in (0, -1, 1.5)
    ),
    *(
        _both(
            "api:1.1",
            f"eviction when {change}",
            _update(evictionRequirements=[{"resources": ["cpu"], "changeRequirement": change}]),
        )
        for change in ("TargetHigherThanRequests", "TargetLowerThanRequests")
    ),
    _both(
        "api:1.1",
        "eviction on an unknown change",
        _update(evictionRequirements=[{"resources": ["cpu"], "changeRequirement": "Higher"}]),
        "spec.updatePolicy.evictionRequirements[0].changeRequirement",
    ),
    _both(
        "api:1.1",
        "eviction without change",
        _update(evictionRequirements=[{"resources": ["cpu"]}]),
        "spec.updatePolicy.evictionRequirements[0].changeRequirement",
    ),
    _both(
        "api:1.1",
        "eviction without resources",
        _update(evictionRequirements=[{"changeRequirement": "TargetHigherThanRequests"}]),
        "spec.updatePolicy.evictionRequirements[0].resources",
    ),
    _both(
        "api:1.1",
        "eviction on any resource name",
        _update(evictionRequirements=[{"resources": ["disk"], "changeRequirement": "TargetHigherThanRequests"}]),
    ),
    _both("api:1.1", "policy for all", _policies({"containerName": "*", "mode": "Off"})),
    _both("api:1.1", "policy mode Auto", _policy(mode="Auto")),
    _both("api:1.1", "unknown policy mode", _policy(mode="Initial"), f"{_FIRST}.mode"),
    _own("api:7.1", "policy without container name", _policies({"mode": "Auto"}), f"{_FIRST}.containerName"),
    _own("api:7.1", "policy with empty name", _policies({"containerName": ""}), f"{_FIRST}.containerName"),
    _both("api:1.1", "two policies", _policies({"containerName": "app"}, {"containerName": "*"})),
    _own(
        "api:7.1",
        "two policies for one container",
        _policies({"containerName": "app"}, {"containerName": "app", "mode": "Off"}),
        f"{_POLICY}[1]",
        server_only=True,
    ),
    _both("api:1.1", "bounds", _policy(minAllowed={"cpu": "10m", "memory": 1}, maxAllowed={"cpu": 2, "memory": "1Gi"})),
    _both("api:1.1", "bound with a fraction as number", _policy(minAllowed={"cpu": 0.5}), f"{_FIRST}.minAllowed.cpu"),
    _both("api:1.1", "bound that is no quantity", _policy(maxAllowed={"cpu": "much"}), f"{_FIRST}.maxAllowed.cpu"),
    _both("api:1.1", "bound with upper-case kilo", _policy(maxAllowed={"cpu": "1K"}), f"{_FIRST}.maxAllowed.cpu"),
    _both("api:1.1", "bound with a blank", _policy(maxAllowed={"cpu": "1 "}), f"{_FIRST}.maxAllowed.cpu"),
    _both("api:1.1", "empty bound", _policy(maxAllowed={"cpu": ""}), f"{_FIRST}.maxAllowed.cpu"),
    _both("api:1.1", "negative bound", _policy(minAllowed={"cpu": "-1"})),
    _both("api:7.1", "equal bounds written differently", _bounds("1", "1000m")),
    _both("api:7.1", "equal bounds, number and text", _bounds(1024, "1Ki", "memory")),
    _both("api:7.1", "exponents", _bounds("1e3", "1E3", "memory")),
    _both("api:7.1", "quantities of odd form", _bounds("+.5", "5.")),
    _both("api:7.1", "a maximum alone", _policy(maxAllowed={"cpu": "1"})),
    _both("api:7.1", "a minimum alone", _policy(minAllowed={"cpu": "1"})),
    _both("api:7.1", "bounds on different resources", _policy(minAllowed={"cpu": 2}, maxAllowed={"memory": 1})),
    _own("api:7.1", "bounds out of order", _bounds("1001m", "1"), _FIRST, server_only=True),
    _own("api:7.1", "bounds out of order by number", _bounds(2, 1), _FIRST, server_only=True),
    _own("api:7.1", "memory bounds out of order", _bounds("1Gi", "1G", "memory"), _FIRST, server_only=True),
    _own("api:7.1", "other bounds out of order", _bounds(2, 1, "example.com/gpu"), _FIRST, server_only=True),
    _own("api:7.1", "maximum zero below minimum", _bounds("1m", 0), _FIRST, server_only=True),
    _both("api:1.1", "controlled resources", _policy(controlledResources=["cpu", "memory"])),
    _both("api:1.1", "no controlled resources", _policy(controlledResources=[])),
    _own("api:7.1", "other resource", _policy(controlledResources=["cpu", "disk"]), f"{_FIRST}.controlledResources[1]"),
    _both("api:1.1", "requests only", _policy(controlledValues="RequestsOnly")),
    _both("api:1.1", "requests and limits", _policy(controlledValues="RequestsAndLimits")),
    _both("api:1.1", "limits only", _policy(controlledValues="LimitsOnly"), f"{_FIRST}.controlledValues"),
    _both("api:1.1", "bump", _policy(oomBumpUpRatio="1.5", oomMinBumpUp="100Mi")),
    _both("api:1.1", "bump of odd size, left to the webhook", _policy(oomBumpUpRatio="0.1", oomMinBumpUp=-1)),
    _both("api:1.1", "bump that is no quantity", _policy(oomBumpUpRatio="x"), f"{_FIRST}.oomBumpUpRatio"),
    _both("api:1.1", "memory windows", _policy(memoryAggregationIntervalSeconds=1, memoryAggregationIntervalCount=1)),
    _both(
        "api:1.1",
        "empty memory window",
        _policy(memoryAggregationIntervalSeconds=0),
        f"{_FIRST}.memoryAggregationIntervalSeconds",
    ),
    _both(
        "api:1.1",
        "no memory window",
        _policy(memoryAggregationIntervalCount=0),
        f"{_FIRST}.memoryAggregationIntervalCount",
    ),
    _both("api:1.1", "named recommender", _spec(recommenders=[{"name": "fast"}])),
    _both("api:1.1", "recommender without name", _spec(recommenders=[{}]), "spec.recommenders[0].name"),
    _both("beyond:B-10", "named strategy", _spec(recommender={"strategy": "vpa-min0"})),
    _both("beyond:B-10", "no strategy named", _spec(recommender={})),
    _own("beyond:B-10", "odd strategy", _spec(recommender={"strategy": "Peak"}), "spec.recommender.strategy"),
    _own("beyond:B-10", "long strategy", _spec(recommender={"strategy": "a" * 64}), "spec.recommender.strategy"),
    _own("api:7.1", "two recommenders", _spec(recommenders=[{"name": "a"}, {"name": "b"}]), "spec.recommenders"),
    _both("api:1.1", "empty boost", _spec(startupBoost={})),
    _both("api:1.1", "boost by factor", _boost(type="Factor", factor=2, durationSeconds=10)),
    _both("api:1.1", "boost by quantity", _boost(type="Quantity", quantity="500m")),
    _both("api:1.1", "negative boost, left to the webhook", _boost(type="Quantity", quantity=-1, durationSeconds=-1)),
    _both("api:1.1", "boost without type", _boost(factor=2), f"{_BOOST}.type"),
    _both("api:1.1", "boost of unknown type", _boost(type="Percent", factor=2), f"{_BOOST}.type"),
    _both("api:1.1", "fractional factor", _boost(type="Factor", factor=1.5), f"{_BOOST}.factor"),
    _own("api:7.1", "factor zero", _boost(type="Factor", factor=0), f"{_BOOST}.factor"),
    _both("api:1.1", "factor missing", _boost(type="Factor"), _BOOST, server_only=True),
    _both("api:1.1", "quantity missing", _boost(type="Quantity"), _BOOST, server_only=True),
    _both("api:1.1", "factor and quantity", _boost(type="Factor", factor=2, quantity=1), _BOOST, server_only=True),
    _both("api:1.1", "quantity and factor", _boost(type="Quantity", factor=2, quantity=1), _BOOST, server_only=True),
    _both("api:1.1", "container boost", _container_boost(type="Factor", factor=3)),
    _both("api:1.1", "container factor missing", _container_boost(type="Factor"), _CONTAINER_BOOST, server_only=True),
    _own("api:7.1", "container factor zero", _container_boost(type="Factor", factor=0), f"{_CONTAINER_BOOST}.factor"),
)

_RECOMMENDED: Schema = {"cpu": "25m", "memory": "262144k"}
_CONDITION: Schema = {"type": "RecommendationProvided", "status": "True", "lastTransitionTime": "2026-01-02T03:04:05Z"}


def _recommendation(**entry: Json) -> Schema:
    return {"recommendation": {"containerRecommendations": [{"containerName": "app", **entry}]}}


_ENTRY = "status.recommendation.containerRecommendations[0]"

STATUSES: tuple[Case, ...] = (
    _both("api:1.2", "empty", {}),
    _both("api:1.2", "no containers", {"recommendation": {"containerRecommendations": []}}),
    _both(
        "api:1.2",
        "four vectors",
        _recommendation(
            target=_RECOMMENDED, lowerBound=_RECOMMENDED, upperBound=_RECOMMENDED, uncappedTarget=_RECOMMENDED
        ),
    ),
    _both("api:1.2", "target alone", _recommendation(target=_RECOMMENDED)),
    _both("api:1.2", "no target", _recommendation(lowerBound=_RECOMMENDED), f"{_ENTRY}.target"),
    _both("api:1.2", "target that is no quantity", _recommendation(target={"cpu": "1K"}), f"{_ENTRY}.target.cpu"),
    _both(
        "api:1.2",
        "entry without name",
        {"recommendation": {"containerRecommendations": [{"target": _RECOMMENDED}]}},
    ),
    _both("api:1.2", "condition", {"conditions": [{**_CONDITION, "reason": "x", "message": "y"}]}),
    _both("api:1.2", "condition with any status", {"conditions": [{"type": "LowConfidence", "status": "Perhaps"}]}),
    _both("api:1.2", "condition without status", {"conditions": [{"type": "a"}]}, "status.conditions[0].status"),
    _both("api:1.2", "condition without type", {"conditions": [{"status": "True"}]}, "status.conditions[0].type"),
    _both("api:1.2", "two conditions of one type", {"conditions": [_CONDITION, _CONDITION]}),
    _both(
        "api:1.2",
        "condition with a bad time",
        {"conditions": [{**_CONDITION, "lastTransitionTime": "yesterday"}]},
        "status.conditions[0].lastTransitionTime",
        server_only=True,
    ),
    _both(
        "api:1.2",
        "condition with a negative generation",
        {"conditions": [{**_CONDITION, "observedGeneration": -1}]},
        "status.conditions[0].observedGeneration",
    ),
    _both("api:1.2", "generation", {"observedGeneration": 0}),
    _both("api:1.2", "negative generation", {"observedGeneration": -1}, "status.observedGeneration"),
)

_HISTOGRAM: Schema = {
    "referenceTimestamp": "2026-01-02T00:00:00Z",
    "bucketWeights": {"0": 10000, "17": 1},
    "totalWeight": 12.5,
}

CHECKPOINTS: tuple[Case, ...] = (
    _both("api:2", "nothing", {}),
    _both(
        "api:2",
        "whole",
        {
            "spec": {"vpaObjectName": "web", "containerName": "app"},
            "status": {
                "lastUpdateTime": "2026-01-02T03:04:05Z",
                "version": "v3",
                "cpuHistogram": _HISTOGRAM,
                "memoryHistogram": _HISTOGRAM,
                "firstSampleStart": "2026-01-01T00:00:00Z",
                "lastSampleStart": "2026-01-02T03:04:00Z",
                "totalSamplesCount": 1440,
            },
        },
    ),
    _both(
        "api:2",
        "times that are null",
        {
            "status": {
                "lastUpdateTime": None,
                "firstSampleStart": None,
                "lastSampleStart": None,
                "cpuHistogram": {"referenceTimestamp": None},
            }
        },
    ),
    _both("api:2", "buckets of any form", {"status": {"cpuHistogram": {"bucketWeights": {"x": {"y": "z"}}}}}),
    _both("api:2", "count as text", {"status": {"totalSamplesCount": "1"}}, "status.totalSamplesCount"),
    _both("api:2", "version as number", {"status": {"version": 3}}, "status.version"),
    _both(
        "api:2",
        "weight as text",
        {"status": {"cpuHistogram": {"totalWeight": "1"}}},
        "status.cpuHistogram.totalWeight",
    ),
    _both(
        "api:2",
        "buckets as a list",
        {"status": {"memoryHistogram": {"bucketWeights": [1, 2]}}},
        "status.memoryHistogram.bucketWeights",
    ),
    _both("api:2", "bad time", {"status": {"lastUpdateTime": "now"}}, "status.lastUpdateTime", server_only=True),
)
