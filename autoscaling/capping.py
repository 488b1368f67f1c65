"""Raw recommendation to processed recommendation: what policy and LimitRanges leave of it for one pod."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from autoscaling.limitrange import LimitRangeItem, NamespaceLimits
from autoscaling.pod import Pod
from autoscaling.pod_limit_scaling import scale_beside_others, scale_to_pod_limits
from autoscaling.policy import container_policy, controlled_values
from autoscaling.quantity import ZERO, Quantity
from autoscaling.resources import CONTROLLED, ContainerResources, ResourceList, amount, in_order
from autoscaling.scaling import Rounding, scale
from autoscaling.vpa import ContainerPolicy, ContainerRecommendation, ControlledValues, Recommendation, Vpa

_LIMIT_RANGE_NOTES = ("capped to fit Min in container LimitRange", "capped to fit Max in container LimitRange")


@dataclass(frozen=True, slots=True)
class ProcessedRecommendation:
    """A recommendation as it applies to one pod.

    Args:
        recommendation: Entries of containers of the pod, capped.
        notes: By container, what was capped in the target and why.
    """

    recommendation: Recommendation
    notes: Mapping[str, tuple[str, ...]]


@dataclass(frozen=True, slots=True)
class Bounds:
    """Smallest and largest amounts; zero and missing mean no bound, and the largest wins over the smallest.

    Args:
        minimum: Lower bounds by resource.
        maximum: Upper bounds by resource.
        minimum_note: End of the note for an amount that was raised.
        maximum_note: End of the note for an amount that was lowered.
    """

    minimum: ResourceList
    maximum: ResourceList
    minimum_note: str
    maximum_note: str

    def apply(self, resources: ResourceList) -> tuple[ResourceList, tuple[str, ...]]:
        """Return the bounded amounts and a note for each change (spec: limits:S4.1)."""
        bounded: dict[str, Quantity] = {}
        notes: list[str] = []
        for name, given in in_order(resources):
            value = given
            lowest, highest = amount(self.minimum, name), amount(self.maximum, name)
            if not lowest.is_zero() and value < lowest:
                value = lowest
                notes.append(f"{name} {self.minimum_note}")
            if not highest.is_zero() and value > highest:
                value = highest
                notes.append(f"{name} {self.maximum_note}")
            bounded[name] = value
        return bounded, tuple(notes)


def policy_bounds(policy: ContainerPolicy | None, global_maximum: ResourceList | None = None) -> Bounds:
    """Return the bounds that a container policy sets.

    Args:
        policy: The policy that applies, or None.
        global_maximum: Fills in what maxAllowed does not name, even below minAllowed (spec: recommender:4.4).
    """
    maximum = dict(global_maximum or {}) | dict(policy.max_allowed if policy else {})
    minimum = policy.min_allowed if policy else {}
    return Bounds(minimum, maximum, "capped to minAllowed", "capped to maxAllowed")


def process(
    pod: Pod, vpa: Vpa, limits: NamespaceLimits, *, spares_others: bool = False
) -> ProcessedRecommendation | None:
    """Return what the VPA's recommendation means for one pod (spec: limits:S2, updater P-2).

    Precedence by order: pod LimitRange, container LimitRange, VPA policy, own limit (with RequestsOnly only).

    Args:
        spares_others: Whether containers without a recommendation are left as they are where a pod LimitRange asks for
            less or more, so that what is recommended has to fit beside them; upstream scales them as well, and crashes
            on those that lack what it would have to scale (case:47). Likewise limits that RequestsOnly leaves as they
            are do not move with the requests then, so a container LimitRange bounds these as they are (limits:S8.7).

    Returns:
        None where the VPA has neither a recommendation nor a resource policy.

    Raises:
        InvalidObjectError: The pod LimitRange cannot be met because a container lacks what would have to be scaled.
    """
    if vpa.recommendation is None and vpa.container_policies is None:
        return None
    raw = vpa.recommendation or Recommendation()
    if limits.pod is not None:
        raw = (scale_beside_others if spares_others else scale_to_pod_limits)(pod, raw, limits.pod)
    entries: list[ContainerRecommendation] = []
    notes: dict[str, tuple[str, ...]] = {}
    for entry in raw.containers:
        container = pod.container(entry.container_name)
        if container is None:
            continue
        current = pod.actual_resources(container)
        policy = container_policy(vpa, entry.container_name)
        capped, notes[entry.container_name] = _cap_entry(
            entry, current, policy, limits.container, limits_stay=spares_others
        )
        entries.append(capped)
    return ProcessedRecommendation(Recommendation(tuple(entries)), notes)


def _cap_entry(
    entry: ContainerRecommendation,
    current: ContainerResources,
    policy: ContainerPolicy | None,
    limits: LimitRangeItem | None,
    *,
    limits_stay: bool,
) -> tuple[ContainerRecommendation, tuple[str, ...]]:
    """Cap target and bounds of one container; the notes are the target's."""
    only_requests = controlled_values(policy) is ControlledValues.REQUESTS_ONLY
    steps: list[Bounds] = []
    if limits is not None:
        steps.append(
            _bounds_as_they_are(limits) if only_requests and limits_stay else _limit_range_bounds(current, limits)
        )
    if policy is not None:
        steps.append(policy_bounds(policy))

    def cap(resources: ResourceList) -> tuple[ResourceList, tuple[str, ...]]:
        """Apply every step in turn."""
        notes: tuple[str, ...] = ()
        for bounds in steps:
            resources, more = bounds.apply(resources)
            notes += more
        if only_requests:
            resources, more = _cap_to_own_limit(resources, current)
            notes += more
        return resources, notes

    target, notes = cap(entry.target)
    lower = cap(entry.lower_bound)[0] if entry.lower_bound is not None else None
    upper = cap(entry.upper_bound)[0] if entry.upper_bound is not None else None
    return replace(entry, target=target, lower_bound=lower, upper_bound=upper), notes


def _limit_range_bounds(current: ContainerResources, item: LimitRangeItem) -> Bounds:
    """Translate a container LimitRange, which bounds limits, into bounds on requests (spec: limits:S5)."""
    maximum = {name: _request_for(name, current, amount(item.maximum, name), item) for name in CONTROLLED}
    minimum: dict[str, Quantity] = {}
    for name in CONTROLLED if item.minimum is not None else ():
        stated = amount(item.minimum, name)
        minimum[name] = max(_request_for(name, current, stated, item), stated)
    return Bounds(minimum, maximum if item.maximum is not None else {}, *_LIMIT_RANGE_NOTES)


def _bounds_as_they_are(item: LimitRangeItem) -> Bounds:
    """Return a container LimitRange as bounds on requests whose limits stay."""
    minimum, maximum = ({name: amount(each, name) for name in CONTROLLED} for each in (item.minimum, item.maximum))
    return Bounds(minimum, maximum, *_LIMIT_RANGE_NOTES)


def _request_for(name: str, current: ContainerResources, bound: Quantity, item: LimitRangeItem) -> Quantity:
    """Return the request whose proportional limit is the bound; zero where no limit follows the request."""
    limit = current.limit(name)
    if limit.value() == 0:
        limit = amount(item.default, name)
    if limit.value() == 0:
        return ZERO
    request = current.request(name)
    return bound if request.value() == 0 else scale(name, request, limit, bound, Rounding.NONE).quantity


def _cap_to_own_limit(
    resources: ResourceList,
    current: ContainerResources,
) -> tuple[ResourceList, tuple[str, ...]]:
    """Keep requests within the container's limits, which RequestsOnly leaves alone (spec: limits:S4.3)."""
    capped = dict(resources)
    notes: list[str] = []
    for name, limit in in_order(current.limits or {}):
        if amount(resources, name).milli_value() > limit.milli_value():
            capped[name] = limit
            notes.append(f"{name} capped to container limit")
    return capped, tuple(notes)
