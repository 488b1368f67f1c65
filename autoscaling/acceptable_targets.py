"""New resources of a pod made such that the API server takes them, wherever it takes the pod as it is.

The API server checks each resource by itself. So where a resource cannot be made to fit, the whole pod keeps what it
has of it, and is taken or refused as it would be without us.

Spec: beyond:B-12, beyond:B-17, admission:13 (11).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Final

from autoscaling.limit_range_check import faults
from autoscaling.limitrange import LimitRangeItem, LimitType, NamespaceLimits
from autoscaling.placement import Placement
from autoscaling.pod import Container, Pod
from autoscaling.pod_budget import Budget, Move, Pair, Stage
from autoscaling.pod_totals import Side, in_start_order
from autoscaling.quantity import Quantity
from autoscaling.resources import CONTROLLED, CPU, ContainerResources, ResourceList
from autoscaling.target_resources import NOTHING, ContainerTarget

Targets = tuple[ContainerTarget, ...]

MOST_STARTING: Final = 200
"""Init containers, sidecars among them, up to which it is worked out what runs beside what; no such pod is meant."""

_MILLI: Final = 1000
_NO_PLACEMENT: Final = Placement()


def limits_for_capping(pod: Pod, limits: NamespaceLimits) -> NamespaceLimits:
    """Return the LimitRanges that a recommendation is capped by before its targets are made acceptable.

    A pod that is within the LimitRanges for pods is not scaled to them beforehand, as that changes containers without a
    recommendation as well and fails where one has nothing to scale (case:47); ``acceptable_targets`` sees to them. A
    pod beyond them could not be created as it is, and is scaled.

    Spec: beyond:B-12, limits:S8.1, limits:S8.2.
    """
    if limits.pod is None or faults(pod, (item for item in limits.items if item.type is LimitType.POD)):
        return limits
    return replace(limits, pod=None)


def acceptable_targets(pod: Pod, targets: Targets, limits: NamespaceLimits) -> Targets:
    """Return what each container gets, held back where the API server would refuse the pod for it.

    - Resources other than cpu and memory are left out.
    - A resource whose limit is zero stays, as no request can be above that.
    - Each container is kept within its own limit, its LimitRanges and the limits of the pod as a whole.
    - Rises are cut by the same share until the pod is within its own requests and the LimitRanges for pods; a pod that
      has such bounds and more than ``MOST_STARTING`` init containers stays as it is.

    Args:
        pod: As its spec has it; what its status says does not count.
        targets: For each of ``pod.containers``, in order.

    Returns:
        The same targets where nothing is held back; else each amount that differs has its reason in ``held_back``.
    """
    held = tuple(_only_controlled(target) for target in targets)
    for name in CONTROLLED:
        held = _Fitting.of(pod, limits, name).held(held)
    return held


def _only_controlled(target: ContainerTarget) -> ContainerTarget:
    """Return a target without resources that need a limit of the same amount, or none at all."""
    others = sorted({*target.requests, *target.limits} - set(CONTROLLED))
    for name in others:
        target = _without(target, name, "neither cpu nor memory")
    return target


def _without(target: ContainerTarget, name: str, cause: str) -> ContainerTarget:
    """Return a target that leaves one resource as it is."""
    return replace(
        target,
        requests={key: amount for key, amount in target.requests.items() if key != name},
        limits={key: amount for key, amount in target.limits.items() if key != name},
        held_back=(*target.held_back, f"{name} not set: {cause}"),
    )


@dataclass(frozen=True, slots=True)
class _Fitting:
    """One resource of one pod.

    Args:
        name: Of the resource.
        items: The LimitRange items that bound it, with nothing else in them.
        placement: What the pod has as a whole.
    """

    pod: Pod
    name: str
    items: tuple[LimitRangeItem, ...]
    placement: Placement

    @classmethod
    def of(cls, pod: Pod, limits: NamespaceLimits, name: str) -> _Fitting:
        """Pick out what bounds one resource."""
        items = tuple(item for whole in limits.items if (item := _only(whole, name)) is not None)
        return cls(pod, name, items, pod.placement or _NO_PLACEMENT)

    def held(self, targets: Targets) -> Targets:
        """Return the targets with this resource held back where it must be."""
        held = tuple(map(self._within_own, self.pod.containers, targets))
        if not any(self._is_set(target) for target in held) or not self._is_bound:
            return held
        if len(in_start_order(self.pod)) > MOST_STARTING:
            return tuple(self._without(target, f"more than {MOST_STARTING} init containers") for target in held)
        held = self._within_sums(held)
        if self._is_taken(held):
            return held
        return tuple(self._without(target, "the pod would be refused") for target in held)

    @property
    def _is_bound(self) -> bool:
        """Whether anything but a container's own limit bounds its amounts."""
        return bool(self.items) or self.name in self.placement.requests or self.name in self.placement.limits

    def _without(self, target: ContainerTarget, cause: str) -> ContainerTarget:
        """Return a target that leaves this resource as it is, if it sets it at all."""
        return _without(target, self.name, cause) if self._is_set(target) else target

    def _is_set(self, target: ContainerTarget) -> bool:
        return self.name in target.requests or self.name in target.limits

    def _within_own(self, container: Container, target: ContainerTarget) -> ContainerTarget:
        """Keep one container within its own limit, the LimitRanges for containers and the pod's limit."""
        if not self._is_set(target) or self._is_plain(container, target):
            return target
        limit = (container.resources.limits or {}).get(self.name)
        if limit is not None and limit.is_zero():
            return self._without(target, "its limit is zero")
        wanted = self._pair(container, target)
        if wanted.request < 0 or (wanted.limit or 0) < 0:
            return self._without(target, "the recommendation is negative")
        pair = self._clamped(wanted, is_limit_set=self.name in target.limits)
        if pair == wanted:
            return target
        if self.name not in target.requests and pair.request != wanted.request:
            return self._without(target, "the container would be refused")
        return self._with(target, pair, "the bounds of its container")

    def _is_plain(self, container: Container, target: ContainerTarget) -> bool:
        """Say whether nothing bounds a container but a limit that what it is to get is below, as is mostly so."""
        own, request = (container.resources.limits or {}).get(self.name), target.requests.get(self.name)
        if self._is_bound or request is None or request.nano < 0 or (own is not None and own.is_zero()):
            return False
        limit = target.limits.get(self.name, own)
        return limit is None or request <= limit

    def _pair(self, container: Container, target: ContainerTarget | None) -> Pair:
        """Return request and limit of a container as the API server would have them."""
        resources = (target or NOTHING).merged_into(container.resources)
        request, limit = (
            amounts.get(self.name) if amounts else None for amounts in (resources.requests, resources.limits)
        )
        return Pair(request.milli_value() if request else 0, None if limit is None else limit.milli_value())

    def _clamped(self, pair: Pair, *, is_limit_set: bool) -> Pair:
        """Return a container's amounts within what bounds it alone; a limit that is not set here stays."""
        items = [item for item in self.items if item.type is LimitType.CONTAINER]
        least = max(_amounts((item.minimum for item in items), self.name), default=0)
        stated = [*_amounts((item.maximum for item in items), self.name)]
        stated += _amounts((self.placement.limits,), self.name)
        limit, most = pair.limit, min(stated, default=None)
        if is_limit_set and limit is not None:
            limit = max(limit, least) if most is None else min(max(limit, least), most)
        request = max(pair.request, least)
        ceiling = most if limit is None else limit
        if ceiling is not None:
            request = min(request, ceiling)
        ratio = min(_amounts((item.ratio for item in items), self.name), default=None)
        if ratio is None or limit is None or limit * _MILLI <= ratio * request:
            return Pair(request, limit)
        if is_limit_set and ratio * request // _MILLI >= max(least, request):
            return Pair(request, self._whole(ratio * request // _MILLI))
        return Pair(min(-(-limit * _MILLI // max(ratio, 1)), limit), limit)

    @property
    def _grain(self) -> int:
        """The least step of this resource in thousandths: a thousandth of a core, or a byte."""
        return 1 if self.name == CPU else _MILLI

    def _whole(self, milli: int) -> int:
        """Return an amount without what is less than a grain."""
        return milli // self._grain * self._grain

    def _with(self, target: ContainerTarget, pair: Pair, cause: str) -> ContainerTarget:
        """Return a target with other amounts of this resource where it sets some."""
        requests, limits = dict(target.requests), dict(target.limits)
        if self.name in requests:
            requests[self.name] = self._quantity(pair.request, requests[self.name])
        if self.name in limits and pair.limit is not None:
            limits[self.name] = self._quantity(pair.limit, limits[self.name])
        held_back = (*target.held_back, f"{self.name} held back by {cause}")
        return replace(target, requests=requests, limits=limits, held_back=held_back)

    def _quantity(self, milli: int, wanted: Quantity) -> Quantity:
        """Return an amount in the notation of another, and that itself where both are the same to the API server."""
        return wanted if wanted.milli_value() == milli else Quantity.of_milli(milli, wanted.format)

    def _within_sums(self, targets: Targets) -> Targets:
        """Keep the pod within its own requests and the LimitRanges for pods."""
        budget = self._budget()
        if not budget.most and not budget.least:
            return targets
        moves = [
            Move(self._pair(container, None), self._pair(container, target))
            for container, target in zip(self.pod.containers, targets, strict=True)
        ]
        settled = budget.settled(moves, self._grain)
        whose = "the pod's own requests" if self.name in self.placement.requests else "the LimitRange for pods"
        return tuple(
            self._settled(target, move, pair, whose) for target, move, pair in zip(targets, moves, settled, strict=True)
        )

    def _settled(self, target: ContainerTarget, move: Move, pair: Pair, whose: str) -> ContainerTarget:
        """Return a target with what a container is left of its move."""
        if pair == move.new or not self._is_set(target):
            return target
        return self._without(target, whose) if pair == move.old else self._with(target, pair, whose)

    def _budget(self) -> Budget:
        """Return what the pod's sums may be."""
        items = [item for item in self.items if item.type is LimitType.POD]
        own = self.placement.requests.get(self.name)
        overhead = self.placement.overhead.get(self.name)
        extra = overhead.milli_value() if overhead else 0
        least, most = dict[Side, int](), dict[Side, int]()
        for side, whole in ((Side.REQUESTS, self.placement.requests), (Side.LIMITS, self.placement.limits)):
            if self.name in whole:
                continue
            if lows := [*_amounts((item.minimum for item in items), self.name)]:
                least[side] = max(lows) - extra
            if highs := [*_amounts((item.maximum for item in items), self.name)]:
                most[side] = min(highs) - extra
        if own is not None:
            most[Side.REQUESTS] = own.milli_value()
        return Budget(tuple(self._stages()), tuple(most.items()), tuple(least.items()))

    def _stages(self) -> Iterator[Stage]:
        """Yield what runs at the same time: all that keeps running, and each init container at its turn."""
        counted = {c.init_position: i for i, c in enumerate(self.pod.containers) if c.init_position is not None}
        running = Pair(0, 0)
        started: set[int] = set()
        for container in in_start_order(self.pod):
            own = self._pair(container, None)
            if container.init_position in counted:
                started.add(counted[container.init_position])
            elif container.is_sidecar:
                running = _sum(running, own)
                yield Stage(frozenset(started), running)
            else:
                yield Stage(frozenset(started), _sum(running, own))
        yield Stage(frozenset(range(len(self.pod.containers))), running)

    def _is_taken(self, targets: Targets) -> bool:
        """Say whether the API server would take the pod as far as this resource goes."""
        pod = _resulting(self.pod, targets)
        pairs = [self._pair(container, None) for container in pod.containers]
        if any(pair.limit is not None and pair.request > pair.limit for pair in pairs):
            return False
        whole = self.placement.limits.get(self.name)
        if whole is not None and any((pair.limit or 0) > whole.milli_value() for pair in pairs):
            return False
        own = self.placement.requests.get(self.name)
        if own is not None and any(_total(stage, pairs) > own.milli_value() for stage in self._stages()):
            return False
        return not faults(pod, self.items)


def _only(item: LimitRangeItem, name: str) -> LimitRangeItem | None:
    """Return what an item says of one resource, None where that is nothing."""
    maximum, minimum, ratio = (
        {name: amounts[name]} if amounts and name in amounts else None
        for amounts in (item.maximum, item.minimum, item.ratio)
    )
    if maximum is None and minimum is None and ratio is None:
        return None
    return LimitRangeItem(item.type, maximum=maximum, minimum=minimum, ratio=ratio)


def _amounts(lists: Iterable[ResourceList | None], name: str) -> Iterator[int]:
    """Yield what several lists state of one resource, in thousandths."""
    return (amounts[name].milli_value() for amounts in lists if amounts and name in amounts)


def _sum(one: Pair, other: Pair) -> Pair:
    """Add what two containers come to."""
    return Pair(one.request + other.request, (one.limit or 0) + (other.limit or 0))


def _total(stage: Stage, pairs: list[Pair]) -> int:
    """Return the requests of a stage."""
    return stage.fixed.request + sum(pairs[index].request for index in stage.members)


def _resulting(pod: Pod, targets: Targets) -> Pod:
    """Return the pod that the API server would hold, each amount rounded up to a thousandth."""
    pairs = zip(pod.containers, targets, strict=True)
    return replace(pod, containers=tuple(_given(container, target) for container, target in pairs))


def _given(container: Container, target: ContainerTarget) -> Container:
    resources = target.merged_into(container.resources)
    rounded = (
        {key: Quantity.of_milli(amount.milli_value()) for key, amount in (each or {}).items()}
        for each in (resources.requests, resources.limits)
    )
    return replace(container, resources=ContainerResources(*rounded))
