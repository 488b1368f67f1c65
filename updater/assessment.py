"""What a VPA's recommendation means for a pod, reckoned once for all pods that are alike."""

from __future__ import annotations

from dataclasses import dataclass

from autoscaling.capping import ProcessedRecommendation
from autoscaling.pod import Pod
from autoscaling.resources import ResourceList
from autoscaling.workload import NO_TEMPLATE, Template
from updater.admissible import recommendation_for
from updater.circumstances import Circumstances
from updater.priority import OBSERVED_ANNOTATION, Priority, score
from updater.templates import with_own_ratios


@dataclass(frozen=True, slots=True)
class Assessment:
    """The processed recommendation, None where there is none, and the score against it."""

    processed: ProcessedRecommendation | None
    priority: Priority


class Assessor:
    """Assesses the pods of one VPA; the replicas of a controller mostly ask for the same, so the work is done once.

    Args:
        circumstances: The VPA and the LimitRanges of its namespace.
    """

    def __init__(self, circumstances: Circumstances) -> None:
        self._circumstances = circumstances
        # With the template whose identity is part of the key, so that no other can take its place.
        self._known: dict[tuple[object, ...], tuple[Assessment, Template]] = {}

    def of(self, pod: Pod, template: Template = NO_TEMPLATE) -> Assessment:
        """Return a pod's assessment.

        Args:
            template: What its controller's template asks for, whose ratios of limits to requests count where known.

        Raises:
            InvalidObjectError: The recommendation cannot be made to fit the pod (see ``capping.process``).
        """
        vpa, items = self._circumstances.vpa, self._circumstances.limits.items
        shape = (*_shape(pod), id(template), *_bound_shape(pod, is_bound=bool(items)))
        found = self._known.get(shape)
        if found is None:
            basis = with_own_ratios(pod, template, vpa, items)
            processed = recommendation_for(pod, basis, self._circumstances)
            priority = score(pod, processed.recommendation if processed else None)
            found = self._known[shape] = Assessment(processed, priority), template
        return found[0]


def _shape(pod: Pod) -> tuple[object, ...]:
    """Return all of a pod that its assessment depends on, notation of amounts included."""
    shape: list[object] = [pod.annotation(OBSERVED_ANNOTATION)]
    for container in pod.containers:
        resources = pod.actual_resources(container)
        shape += (container.name, _amounts(resources.requests), _amounts(resources.limits))
    if pod.counts_sidecars:
        shape += _starting_shape(pod)
    return tuple(shape)


def _starting_shape(pod: Pod) -> tuple[object, ...]:
    """Return what plain init containers count for in a pod's totals, and which sidecars run beside them (B-16)."""
    shape: list[object] = [container.init_position for container in pod.containers]
    for container in pod.init_containers:
        resources = container.resources
        shape += (container.init_position, _amounts(resources.requests), _amounts(resources.limits))
    return tuple(shape)


def _bound_shape(pod: Pod, *, is_bound: bool) -> tuple[object, ...]:
    """Return what the API server looks at in a pod whose amounts are bound by more than its containers (B-12, B-17).

    Args:
        is_bound: Whether there are LimitRanges.
    """
    whole = pod.placement
    shape: list[object] = []
    if whole is not None and (whole.has_pod_resources or whole.overhead):
        shape += (_amounts(whole.requests), _amounts(whole.limits), _amounts(whole.overhead))
    for container in (*pod.containers, *pod.init_containers) if is_bound or shape else ():
        resources = container.resources
        shape += (container.init_position, _amounts(resources.requests), _amounts(resources.limits))
    return tuple(shape)


def _amounts(resources: ResourceList | None) -> tuple[object, ...] | None:
    """Return a resource list by value; equal amounts may differ in how they are printed."""
    if resources is None:
        return None
    parts: list[object] = []
    for name, quantity in resources.items():
        # A format is one of three objects that live for ever, and its identity is much quicker to hash than itself.
        parts += (name, quantity.nano, id(quantity.format), quantity.text)
    return tuple(parts)
