"""What a recommendation comes to for a pod as admission would apply it: no more than the API server takes."""

from __future__ import annotations

from dataclasses import replace

from autoscaling.acceptable_targets import Targets, acceptable_targets, limits_for_capping
from autoscaling.capping import ProcessedRecommendation, process
from autoscaling.pod import Pod
from autoscaling.resources import ResourceList
from autoscaling.target_resources import ContainerTarget, container_targets
from autoscaling.vpa import ContainerRecommendation, Recommendation
from updater.circumstances import Circumstances


def recommendation_for(pod: Pod, basis: Pod, circumstances: Circumstances) -> ProcessedRecommendation | None:
    """Return what the VPA's recommendation means for a pod, without what the API server would refuse.

    Bounds of an amount that is held back are left out: that the pod lies outside is not to be helped, so it is updated
    only for what it can get.

    Args:
        pod: As its spec has it.
        basis: The same, with the amounts that ratios of limits to requests are taken from.

    Raises:
        InvalidObjectError: The recommendation cannot be made to fit the pod (see ``capping.process``).

    Spec: beyond:B-12, beyond:B-17, case:46.
    """
    vpa, limits, behaviour = circumstances.vpa, circumstances.limits, circumstances.settings.behaviour
    capping = limits_for_capping(basis, limits) if behaviour.only_what_is_accepted else limits
    processed = process(basis, vpa, capping, spares_others=behaviour.limit_range_and_quota)
    if not behaviour.only_what_is_accepted or processed is None or vpa.recommendation is None:
        return processed
    wanted = container_targets(basis, vpa, processed, limits)
    held = acceptable_targets(pod, wanted, limits)
    if held == wanted:
        return processed
    given = {c.name: pair for c, *pair in zip(pod.containers, wanted, held, strict=True)}
    entries = (_held_back(entry, *given[entry.container_name]) for entry in processed.recommendation.containers)
    return replace(processed, recommendation=Recommendation(tuple(entries)))


def targets_for(
    pod: Pod, basis: Pod, processed: ProcessedRecommendation | None, circumstances: Circumstances
) -> Targets:
    """Return what each container of a pod is to get, without what the API server would refuse.

    Args:
        pod: As its spec has it.
        basis: The same, with the amounts that ratios of limits to requests are taken from.
        processed: What ``recommendation_for`` returned.
    """
    targets = container_targets(basis, circumstances.vpa, processed, circumstances.limits)
    if not circumstances.settings.behaviour.only_what_is_accepted:
        return targets
    return acceptable_targets(pod, targets, circumstances.limits)


def _held_back(
    entry: ContainerRecommendation, wanted: ContainerTarget, held: ContainerTarget
) -> ContainerRecommendation:
    """Return an entry with the requests that are left of it, and bounds of those only that are as wanted."""
    free = {name for name, amount in wanted.requests.items() if held.requests.get(name) == amount}

    def of_free(bound: ResourceList | None) -> ResourceList | None:
        """Return a bound without what is held back."""
        return None if bound is None else {name: a for name, a in bound.items() if name in free}

    return replace(
        entry,
        target=held.requests,
        lower_bound=of_free(entry.lower_bound),
        upper_bound=of_free(entry.upper_bound),
    )
