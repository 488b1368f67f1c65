"""Scaling a recommendation so that the pod's sums fit a LimitRange of type Pod (spec: limits:S6).

Where sidecars count (beyond:B-16), a pod's sums are those that the API server checks: of all containers together, or of
a plain init container and the sidecars that run beside it, whichever is more.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from autoscaling.errors import InvalidObjectError
from autoscaling.limitrange import LimitRangeItem
from autoscaling.pod import Container, Pod
from autoscaling.quantity import ZERO, Quantity
from autoscaling.resources import CONTROLLED, ResourceList, amount
from autoscaling.scaling import Rounding, proportional_limit, scale
from autoscaling.vpa import ContainerRecommendation, Recommendation

_VECTORS = ("upper_bound", "target", "lower_bound")


def scale_to_pod_limits(pod: Pod, recommendation: Recommendation, item: LimitRangeItem) -> Recommendation:
    """Scale every container's upper bound, target and lower bound, each on its own, until the pod's sums fit.

    Containers without an entry, but with requests, enter with their requests as target.

    Raises:
        InvalidObjectError: A container lacks the vector that would have to be scaled; upstream crashes there
            (spec: limits:34 to limits:36, beyond:B-32).
    """
    entries = list(recommendation.containers)
    for container in pod.containers:
        requests = pod.actual_resources(container).requests
        if requests and recommendation.of(container.name) is None:
            entries.append(ContainerRecommendation(container.name, target=requests))
    return Recommendation(tuple(_scaled(_Scaling(pod, item), entries, CONTROLLED)))


def scale_beside_others(pod: Pod, recommendation: Recommendation, item: LimitRangeItem) -> Recommendation:
    """Scale what is recommended so that it fits beside what is not, which stays as it is.

    That is so for each resource by itself: a container may have a recommendation for one of them only.

    Raises:
        InvalidObjectError: What stays leaves nothing of the LimitRange's maximum, or a bound that would have to be
            scaled is missing.

    Spec: case:47, beyond:B-12, limits:S8.1.
    """
    entries = list(recommendation.containers)
    for resource in CONTROLLED:
        are_scaled = [_is_recommended(recommendation, c, resource) for c in pod.containers]
        scaled = tuple(c for c, is_scaled in zip(pod.containers, are_scaled, strict=True) if is_scaled)
        others = tuple(c for c, is_scaled in zip(pod.containers, are_scaled, strict=True) if not is_scaled)
        left = _left_beside(pod, scaled, others, (item, resource))
        entries = _scaled(_Scaling(replace(pod, containers=scaled), left), entries, (resource,))
    return Recommendation(tuple(entries))


def _scaled(
    scaling: _Scaling, entries: list[ContainerRecommendation], resources: tuple[str, ...]
) -> list[ContainerRecommendation]:
    """Return the entries with every vector scaled for these resources."""
    for vector in _VECTORS:
        for resource in resources:
            entries = scaling.scaled(entries, vector, resource)
            entries = scaling.scaled_beside_starting(entries, vector, resource)
    return entries


def _is_recommended(recommendation: Recommendation, container: Container, resource: str) -> bool:
    """Say whether a resource of a container has a target."""
    entry = recommendation.of(container.name)
    return entry is not None and resource in entry.target


def _left_beside(
    pod: Pod, scaled: tuple[Container, ...], others: tuple[Container, ...], bounded: tuple[LimitRangeItem, str]
) -> LimitRangeItem:
    """Return what a LimitRange leaves of one resource to the containers that are scaled; raises as its caller does."""
    item, resource = bounded
    minimum, maximum = amount(item.minimum, resource), amount(item.maximum, resource)
    is_bounded = not maximum.is_zero()
    for other in others:
        current = pod.actual_resources(other)
        minimum = _less(minimum, current.request(resource))
        maximum = _less(maximum, current.limit(resource))
    # A maximum of zero is none, which is right where nothing of what is scaled has a limit.
    if is_bounded and maximum.is_zero() and any(not pod.actual_resources(c).limit(resource).is_zero() for c in scaled):
        raise _without_room(pod, [c.name for c in others], resource)
    return replace(item, minimum={resource: minimum}, maximum={resource: maximum})


def _without_room(pod: Pod, others: list[str], resource: str) -> InvalidObjectError:
    """Say that the containers whose resource stays as it is are all that the LimitRange has room for."""
    named = ", ".join(repr(name) for name in others)
    problem = f"{named} without a recommended {resource} leave none of the maximum of the namespace's pod LimitRange"
    return InvalidObjectError(pod.ref, problem, remedy="lower their limits, or widen the LimitRange")


def _less(one: Quantity, other: Quantity) -> Quantity:
    """Return what an amount leaves of another one, at least nothing."""
    return Quantity(max(one.nano - other.nano, 0), one.format)


def _vector(entry: ContainerRecommendation, name: str) -> ResourceList | None:
    """Return one of an entry's vectors by its field name."""
    vectors: dict[str, ResourceList | None] = {
        "upper_bound": entry.upper_bound,
        "target": entry.target,
        "lower_bound": entry.lower_bound,
    }
    return vectors[name]


def _is_before(container: Container, init: Container) -> bool:
    """Say whether a container is a sidecar that has been started when a plain init container runs."""
    place, own = container.init_position, init.init_position
    return place is not None and own is not None and place < own


def _start(container: Container) -> int:
    """Return a sidecar's place among the init containers."""
    return container.init_position or 0


@dataclass(frozen=True, slots=True)
class _Sums:
    """Limits and requests of several containers added up."""

    limits: Quantity = ZERO
    requests: Quantity = ZERO

    def plus(self, other: _Sums) -> _Sums:
        """Return both together."""
        return _Sums(self.limits.plus(other.limits), self.requests.plus(other.requests))


@dataclass(frozen=True, slots=True)
class _Starting:
    """A plain init container at work, and the sidecars that have been started before it.

    Args:
        own: What the init container counts for, which nobody changes.
        beside: How many sidecars, of those in the order of their start.
        theirs: What the sidecars count for.
    """

    own: _Sums
    beside: int
    theirs: _Sums


@dataclass(frozen=True, slots=True)
class _Bound:
    """What the limits of the first sidecars may come to.

    Args:
        beside: How many sidecars.
        limits: What their limits come to as it is, in nano-units.
        room: What they may come to, in nano-units.
    """

    beside: int
    limits: int
    room: int

    def is_less_steep(self, before: _Bound, after: _Bound) -> bool:
        """Say whether less is left of each unit from a bound to this one than from this one to a later one."""
        ours = (self.room - before.room) * (after.limits - self.limits)
        return ours < (after.room - self.room) * (self.limits - before.limits)


_NOBODY = _Bound(0, 0, 0)


def _binding(bounds: list[_Bound]) -> list[_Bound]:
    """Return those of several bounds that decide, when the tightest one is kept first, then the next one, and so on.

    Each sidecar is held back by the tightest of the bounds that it counts for, in which the sidecars before it, held
    back by tighter ones, take no more than they are left: the lower convex hull of room over limits.

    Args:
        bounds: In the order of ``beside``.

    Returns:
        In the same order; between two of them limits shrink by the same factor, from one to the next by a larger one.
    """
    hull = [_NOBODY]
    for bound in bounds:
        if bound.limits == hull[-1].limits:
            if bound.room >= hull[-1].room:
                continue
            hull.pop()
        while len(hull) > 1 and not hull[-1].is_less_steep(hull[-2], bound):
            hull.pop()
        hull.append(bound)
    return hull[1:]


@dataclass(frozen=True, slots=True)
class _Scaling:
    """One pod against one pod-level LimitRange."""

    pod: Pod
    item: LimitRangeItem

    def scaled(
        self, entries: list[ContainerRecommendation], vector: str, resource: str
    ) -> list[ContainerRecommendation]:
        """Return the entries with one resource of one vector scaled where the sums ask for it."""
        sums = self._sums(entries, vector, resource)
        starting = [each.own.plus(each.theirs) for each in self._starting(entries, vector, resource)]
        most_requests = max([sums.requests, *(each.requests for each in starting)])
        most_limits = max([sums.limits, *(each.limits for each in starting)])
        minimum, maximum = amount(self.item.minimum, resource), amount(self.item.maximum, resource)
        fits_maximum = maximum.is_zero() or maximum >= sums.limits
        if minimum <= most_limits and minimum <= most_requests and fits_maximum:
            return entries
        if minimum > most_requests and not sums.limits.is_zero():
            return [self._entry(e, vector, resource, (sums.requests, minimum, Rounding.UP)) for e in entries]
        if sums.limits.is_zero():
            return entries
        total = minimum if minimum > most_limits else ZERO
        total = total if fits_maximum else maximum
        self._require_entries(entries, resource)
        return [self._entry(e, vector, resource, (sums.limits, total, Rounding.DOWN)) for e in entries]

    def scaled_beside_starting(
        self, entries: list[ContainerRecommendation], vector: str, resource: str
    ) -> list[ContainerRecommendation]:
        """Return the entries with sidecars scaled so that plain init containers fit beside them.

        An init container that leaves no room at all is none of our business: that pod is refused whatever we do.

        Spec: beyond:B-16.
        """
        maximum = amount(self.item.maximum, resource)
        if maximum.is_zero():
            return entries
        starting = self._starting(entries, vector, resource)
        rooms = [_Bound(s.beside, s.theirs.limits.nano, maximum.nano - s.own.limits.nano) for s in starting]
        by: dict[str, tuple[Quantity, Quantity, Rounding]] = {}
        before, sidecars = _NOBODY, self._sidecars()
        for bound in _binding([each for each in rooms if each.room > 0 and each.limits > 0]):
            limits, room = bound.limits - before.limits, bound.room - before.room
            if room >= limits:
                break
            shares = (Quantity(limits, maximum.format), Quantity(room, maximum.format), Rounding.DOWN)
            by |= {sidecar.name: shares for sidecar in sidecars[before.beside : bound.beside]}
            before = bound
        return [
            self._entry(e, vector, resource, by[e.container_name]) if e.container_name in by else e for e in entries
        ]

    def _sums(self, entries: list[ContainerRecommendation], vector: str, resource: str) -> _Sums:
        """Return the pod's limits and requests as they would be with this vector."""
        by_name = {e.container_name: e for e in reversed(entries)}
        sums = _Sums()
        for container in self.pod.containers:
            sums = sums.plus(self._amounts(container, by_name.get(container.name), vector, resource))
        return sums

    def _amounts(
        self, container: Container, entry: ContainerRecommendation | None, vector: str, resource: str
    ) -> _Sums:
        """Return the limit and the request that one container would have with this vector."""
        current = self.pod.actual_resources(container)
        request = amount(_vector(entry, vector), resource) if entry else current.request(resource)
        limit = proportional_limit(resource, current, request, amount(self.item.default, resource)).limit
        return _Sums(limit or ZERO, request)

    def _sidecars(self) -> list[Container]:
        """Return the sidecars in the order of their start."""
        return sorted((c for c in self.pod.containers if c.init_position is not None), key=_start)

    def _starting(self, entries: list[ContainerRecommendation], vector: str, resource: str) -> list[_Starting]:
        """Return the plain init containers in order; none where sidecars do not count, as upstream leaves all out."""
        if not self.pod.counts_sidecars or not self.pod.init_containers:
            return []
        by_name = {e.container_name: e for e in reversed(entries)}
        sidecars = self._sidecars()
        theirs, beside = _Sums(), 0
        found: list[_Starting] = []
        for init in self.pod.init_containers:
            while beside < len(sidecars) and _is_before(sidecars[beside], init):
                sidecar = sidecars[beside]
                theirs = theirs.plus(self._amounts(sidecar, by_name.get(sidecar.name), vector, resource))
                beside += 1
            own = _Sums(init.resources.limit(resource), init.resources.request(resource))
            found.append(_Starting(own, beside, theirs))
        return found

    def _entry(
        self,
        entry: ContainerRecommendation,
        vector: str,
        resource: str,
        by: tuple[Quantity, Quantity, Rounding],
    ) -> ContainerRecommendation:
        """Return an entry with one amount scaled by total over sum; one of no container of the pod stays as it is."""
        if self.pod.container(entry.container_name) is None:
            return entry
        resources = _vector(entry, vector)
        if resources is None:
            raise self._unusable(entry.container_name, resource, f"no {vector.replace('_', ' ')} to scale")
        base, total, rounding = by
        scaled = scale(resource, amount(resources, resource), base, total, rounding).quantity
        changed: ResourceList = {**resources, resource: scaled}
        match vector:
            case "upper_bound":
                return replace(entry, upper_bound=changed)
            case "target":
                return replace(entry, target=changed)
            case _:
                return replace(entry, lower_bound=changed)

    def _require_entries(self, entries: list[ContainerRecommendation], resource: str) -> None:
        """Refuse a pod with a container that has neither a recommendation nor requests to scale."""
        names = {e.container_name for e in entries}
        for container in self.pod.containers:
            if container.name not in names:
                raise self._unusable(container.name, resource, "neither a recommendation nor requests to scale")

    def _unusable(self, container: str, resource: str, lack: str) -> InvalidObjectError:
        """Name the container that keeps the pod from fitting the LimitRange."""
        return InvalidObjectError(
            self.pod.ref,
            f"container {container!r} has {lack} for {resource}, so the pod cannot be fitted to its namespace's pod "
            "LimitRange",
            remedy="give the container requests and a recommendation, or widen the LimitRange",
        )
