"""Resources by whose utilisation a horizontal autoscaler scales a VPA's target: found, and held at their request.

Such an autoscaler keeps use at a share of the request. A request that follows use down makes it add pods, of which each
uses less, and so on without end. So the request is left as it is: target and bounds of the resource become the request
that the pods have, and only ``uncappedTarget`` still tells what was estimated.

The request of a container is the largest of all pods that run, so that none shrinks while requests differ, as they do
during a rollout. A resource for which no pod has a request is not recommended: no utilisation of it can be told, and a
request would set the horizontal autoscaler to work. While no pod runs, what was recommended before stays, as long as it
was held then, too. Bounds of the VPA's own policies still apply: they are the user's word.

On request a resource is derived instead: its request becomes use divided by the share that is aimed at, once that is
well away from the request. As long as the horizontal autoscaler has room it keeps use at that share, so any request is
as good as another and none changes; only where it has reached its least or largest number of pods does the request
follow.

Spec: beyond:B-14, case:43.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from itertools import pairwise
from typing import Final

from autoscaling.hpa import ContainerResource, HorizontalScaling, Hpa, HpaIndex, Use
from autoscaling.pod import ConditionStatus, Pod
from autoscaling.quantity import Quantity
from autoscaling.resources import CONTROLLED, CPU, MEMORY, ResourceList
from autoscaling.vpa import ContainerRecommendation, Vpa, VpaCondition
from recommender.amounts import MILLICORES_PER_CORE, as_quantity, from_quantity, truncated
from recommender.cluster_model import INACTIVE, ClusterModel
from recommender.estimator import TARGET, minimums
from recommender.grouping import Groups, MergedUsage
from recommender.label_sets import TrackedVpa
from recommender.settings import EstimatorSettings
from recommender.status import HPA_CONFLICT, is_active

DERIVED_TOLERANCE: Final = 0.2
"""Share of the request by which a derived one must differ: more than the tenth that horizontal autoscalers tolerate
and the twentieth that a bucket is wide."""


def note_horizontal_scaling(model: ClusterModel, hpas: HpaIndex, pods: Iterable[Pod]) -> None:
    """Note at each VPA what scales its target by shares of requests.

    Args:
        model: Its VPAs are changed.
        hpas: All horizontal autoscalers.
        pods: All pods as they are now.
    """
    found: dict[TrackedVpa, tuple[Hpa, ...]] = {}
    for tracked in model.vpas.values():
        tracked.scaling = None
        scaled_by = hpas.of(tracked.controllers) if hpas else ()
        if scaled_by:
            found[tracked] = scaled_by
    requests = _requests(model, found, pods) if found else {}
    for tracked, scaled_by in found.items():
        tracked.scaling = HorizontalScaling(scaled_by, requests[tracked])


def _requests(
    model: ClusterModel, vpas: Iterable[TrackedVpa], pods: Iterable[Pod]
) -> dict[TrackedVpa, dict[ContainerResource, int]]:
    """Return the largest requests among the running pods of each VPA."""
    requests: dict[TrackedVpa, dict[ContainerResource, int]] = {tracked: {} for tracked in vpas}
    for pod in pods:
        state = model.pods.get((pod.namespace, pod.name))
        if state is None or pod.phase in INACTIVE or pod.is_terminating:
            continue
        for tracked in state.label_set.vpas:
            if tracked in requests:
                _raise_to(requests[tracked], pod)
    return requests


def _raise_to(requests: dict[ContainerResource, int], pod: Pod) -> None:
    """Raise requests to those of one more pod; what is reported as in force counts, as it does for the updater."""
    for container in pod.containers:
        actual = pod.actual_resources(container)
        for resource in CONTROLLED:
            key = container.name, resource
            requests[key] = max(requests.get(key, 0), from_quantity(actual.request(resource), resource))


def held(vpa: Vpa, entry: ContainerRecommendation, scaling: HorizontalScaling) -> ContainerRecommendation:
    """Return a container's recommendation with the resources held that a horizontal autoscaler measures by.

    Args:
        vpa: The VPA as observed: tells what was recommended before.
        entry: As estimated.
        scaling: What scales the VPA's target.
    """
    covered = [resource for resource in entry.target if scaling.covers(entry.container_name, resource)]
    if not covered:
        return entry
    fixed = {resource: _held_amount(vpa, entry.container_name, resource, scaling) for resource in covered}
    return replace(
        entry,
        target=_with(entry.target, fixed),
        lower_bound=_with(entry.lower_bound or {}, fixed),
        upper_bound=_with(entry.upper_bound or {}, fixed),
    )


def _held_amount(vpa: Vpa, container: str, resource: str, scaling: HorizontalScaling) -> Quantity | None:
    """Return what a resource is held at, None where that cannot be told."""
    request = scaling.requests.get((container, resource))
    if request is not None:
        return as_quantity(_settled(request, container, resource, scaling), resource) if request else None
    before = vpa.recommendation.of(container) if vpa.recommendation and is_active(vpa, HPA_CONFLICT) else None
    return before.target.get(resource) if before else None


def _settled(request: int, container: str, resource: str, scaling: HorizontalScaling) -> int:
    """Return a request, or what use derives where that is known and well away from it."""
    use, percent = scaling.uses.get((container, resource)), scaling.percent(container, resource)
    if use is None or not percent:
        return request
    derived = max(-(-use.amount * 100 // percent), use.minimum)
    return request if abs(derived - request) <= request * DERIVED_TOLERANCE else derived


def note_use(groups: Groups, usage: MergedUsage, settings: EstimatorSettings) -> None:
    """Note at each VPA beside a horizontal autoscaler what its containers use, for requests to be derived from.

    Args:
        groups: Their VPAs are changed; only resources that are recommended count.
        usage: Of these groups.
        settings: Least amounts of a pod.
    """
    minimum = minimums(groups, settings)
    amounts = {CPU: truncated(usage.cpu[TARGET] * MILLICORES_PER_CORE), MEMORY: truncated(usage.memory[TARGET])}
    columns = ((CPU, groups.controls_cpu, minimum.cpu), (MEMORY, groups.controls_memory, minimum.memory))
    for tracked, (begin, end) in zip(groups.vpas, pairwise(groups.bounds.tolist()), strict=True):
        if tracked.scaling is not None:
            uses = {
                (groups.names[place], resource): Use(int(amounts[resource][place]), int(least[place]))
                for place in range(begin, end)
                for resource, flags, least in columns
                if flags[place]
            }
            tracked.scaling = replace(tracked.scaling, uses=uses)


def _with(vector: ResourceList, fixed: Mapping[str, Quantity | None]) -> ResourceList:
    """Return a vector with other amounts of some resources; those without an amount are left out."""
    amounts = {resource: fixed.get(resource, given) for resource, given in vector.items()}
    return {resource: amount for resource, amount in amounts.items() if amount is not None}


def hpa_conditions(groups: Groups) -> dict[TrackedVpa, VpaCondition]:
    """Return the condition of each VPA that has a resource in common with a horizontal autoscaler.

    Args:
        groups: Containers of the VPAs, with what their policies let be recommended.
    """
    conditions: dict[TrackedVpa, VpaCondition] = {}
    for tracked, (begin, end) in zip(groups.vpas, pairwise(groups.bounds.tolist()), strict=True):
        if tracked.scaling is None:
            continue
        controlled = {
            (groups.names[place], resource)
            for place in range(begin, end)
            for resource, flags in ((CPU, groups.controls_cpu), (MEMORY, groups.controls_memory))
            if flags[place]
        }
        message = _message(tracked.scaling, controlled)
        if message:
            conditions[tracked] = VpaCondition(HPA_CONFLICT, ConditionStatus.TRUE, "ScaledOnUtilization", message)
    return conditions


def _message(scaling: HorizontalScaling, controlled: Iterable[ContainerResource]) -> str:
    """Return which autoscalers meet the VPA on what, and the way out; empty where they do not meet."""
    pairs, clashes, resources = sorted(controlled), [], set[str]()
    for hpa in scaling.hpas:
        for metric in hpa.metrics:
            if any(metric.covers(*pair) for pair in pairs):
                whose = f" of container {metric.container}" if metric.container else ""
                clashes.append(f"{hpa.ref} scales this target on utilization of {metric.resource}{whose}")
                resources.add(metric.resource)
    if not clashes:
        return ""
    named = " and ".join(sorted(resources))
    verb = "is" if len(resources) == 1 else "are"
    what = "derived from the utilization aimed at" if scaling.uses else "held at the pods' request"
    return (
        f"{'; '.join(clashes)}: {named} {verb} {what}. Scale horizontally on another metric, or leave {named} out of "
        "controlledResources of this VPA"
    )
