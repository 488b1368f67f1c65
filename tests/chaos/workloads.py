"""What runs in a plant: workloads whose use depends on nothing but the time, and what guards them."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import timedelta
from typing import Final

from autoscaling.runtime.api_group import ApiGroup
from evenkeel.simulator.api.fields import JsonObject
from evenkeel.simulator.workloads.choices import USAGE_KEY
from evenkeel.simulator.workloads.demand import Behaviour, Demand, Usage
from evenkeel.simulator.workloads.functions import Burst, Constant, Diurnal
from tests.chaos.plant import Plant

GROUP: Final = ApiGroup.EVENKEEL
MIB: Final = 1 << 20
CONTAINER: Final = "main"


@dataclass(frozen=True, slots=True)
class Workload:
    """A Deployment and its VPA.

    Args:
        name: Of both.
        usage: What each of its pods uses, whatever the time of its start.
        replicas: How many pods.
        mode: The VPA's update mode.
        min_replicas: The VPA's, None for the updater's own.
        least_available: Of its disruption budget; 0 for none.
        restarts: Whether its container restarts for a resize of its memory.
        resources: Of the template.
    """

    name: str
    usage: Usage
    replicas: int = 2
    mode: str = "InPlaceOrRecreate"
    min_replicas: int | None = None
    least_available: int = 0
    restarts: bool = False
    resources: JsonObject = field(
        default_factory=lambda: {"requests": {"cpu": "50m", "memory": "32Mi"}, "limits": {"cpu": "4", "memory": "2Gi"}}
    )


def load(cores: float, mebibytes: int) -> Demand:
    """Return a demand."""
    return Demand(cores, mebibytes * MIB)


WORKLOADS: Final = (
    Workload("steady", Constant(load(0.3, 300)), replicas=3, least_available=2, restarts=True),
    Workload("daily", Diurnal(load(0.1, 200), load(0.6, 500), period=timedelta(hours=6)), replicas=4),
    Workload("bursts", Burst(load(0.1, 150), load(0.8, 250), timedelta(minutes=40), timedelta(minutes=10))),
    Workload("evicted", Constant(load(0.2, 400)), replicas=4, mode="Recreate", least_available=3),
    Workload("many", Constant(load(0.4, 350)), replicas=10, mode="Recreate", min_replicas=3),
    Workload("lone", Constant(load(0.5, 200)), replicas=1, min_replicas=1),
    Workload(
        "even",
        Constant(load(0.2, 100)),
        resources={"requests": {"cpu": "100m", "memory": "64Mi"}, "limits": {"cpu": "100m", "memory": "1Gi"}},
    ),
)


async def deploy(plant: Plant, *workloads: Workload) -> None:
    """Create workloads with their VPAs and budgets, a quota and a LimitRange over all of them."""
    for one in workloads:
        plant.cluster.catalogue.add(one.name, Behaviour(since_origin=one.usage))
        for document in _documents(one):
            await plant.cluster.administrator.apply(document)


async def guard(plant: Plant) -> None:
    """Put a LimitRange and a ResourceQuota over the namespace of the workloads."""
    item: JsonObject = {"type": "Container", "min": {"memory": "16Mi"}, "max": {"cpu": "6", "memory": "6Gi"}}
    limits: JsonObject = {"kind": "LimitRange", "apiVersion": "v1", "spec": {"limits": [item]}}
    hard: JsonObject = {"requests.cpu": "18", "requests.memory": "20Gi"}
    quota: JsonObject = {"kind": "ResourceQuota", "apiVersion": "v1", "spec": {"hard": hard}}
    for one in (limits, quota):
        await plant.cluster.administrator.apply({**one, "metadata": {"name": "all", "namespace": "default"}})


def _documents(one: Workload) -> list[JsonObject]:
    labels: JsonObject = {"app": one.name}
    restart: JsonObject = {"resourceName": "memory", "restartPolicy": "RestartContainer"}
    container: JsonObject = {"name": CONTAINER, "image": "simulated:1", "resources": one.resources}
    if one.restarts:
        container["resizePolicy"] = [restart]
    template: JsonObject = {
        "metadata": {"labels": labels, "annotations": {USAGE_KEY: f"{CONTAINER}={one.name}"}},
        "spec": {"containers": [container], "terminationGracePeriodSeconds": 5},
    }
    policy: JsonObject = {"updateMode": one.mode}
    if one.min_replicas is not None:
        policy["minReplicas"] = one.min_replicas
    reference: JsonObject = {"apiVersion": "apps/v1", "kind": "Deployment", "name": one.name}
    metadata: JsonObject = {"name": one.name, "namespace": "default"}
    spec: JsonObject = {"replicas": one.replicas, "selector": {"matchLabels": labels}, "template": template}
    requests_only: JsonObject = {"containerName": "*", "controlledValues": "RequestsOnly"}
    resource: JsonObject = {"containerPolicies": [requests_only]}
    scaler: JsonObject = {"targetRef": reference, "updatePolicy": policy, "resourcePolicy": resource}
    documents: list[JsonObject] = [
        {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": metadata, "spec": spec},
        {"apiVersion": f"{GROUP}/v1", "kind": "VerticalPodAutoscaler", "metadata": metadata, "spec": scaler},
    ]
    if one.least_available:
        budget: JsonObject = {"minAvailable": one.least_available, "selector": {"matchLabels": labels}}
        documents.append(
            {"apiVersion": "policy/v1", "kind": "PodDisruptionBudget", "metadata": metadata, "spec": budget}
        )
    return documents
