"""LimitRange objects of a namespace, merged into one maximum, minimum and default for each type."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import Enum

from autoscaling.objectref import ObjectRef
from autoscaling.quantity import Quantity
from autoscaling.resources import CONTROLLED, ResourceList


class LimitType(Enum):
    """What an item of a LimitRange bounds; other types do not matter here."""

    CONTAINER = "Container"
    POD = "Pod"


@dataclass(frozen=True, slots=True)
class LimitRangeItem:
    """One item of a LimitRange, or several merged; None stands for an absent map.

    Args:
        maximum: Largest limit.
        minimum: Smallest request and limit.
        default: Limit of a container that states none.
        default_request: Request of a container that states none; not merged.
        ratio: Most times that a limit may be its request; not merged.
    """

    type: LimitType
    maximum: ResourceList | None = None
    minimum: ResourceList | None = None
    default: ResourceList | None = None
    default_request: ResourceList | None = None
    ratio: ResourceList | None = None


@dataclass(frozen=True, slots=True)
class LimitRange:
    """A LimitRange object."""

    namespace: str
    name: str
    items: tuple[LimitRangeItem, ...] = ()

    @property
    def ref(self) -> ObjectRef:
        """The object's kind, namespace and name."""
        return ObjectRef("LimitRange", self.namespace, self.name)


@dataclass(frozen=True, slots=True)
class NamespaceLimits:
    """What the LimitRanges of one namespace amount to.

    Args:
        container: Merged; None where nothing bounds that type.
        pod: Likewise.
        items: All items as they are, in order, as the API server holds pods against them.
    """

    container: LimitRangeItem | None = None
    pod: LimitRangeItem | None = None
    items: tuple[LimitRangeItem, ...] = ()


NO_LIMITS = NamespaceLimits()


def merge(limit_ranges: Iterable[LimitRange]) -> NamespaceLimits:
    """Merge all LimitRanges of one namespace: lowest maximum, highest minimum, last default (spec: limits:S2)."""
    items = [item for limit_range in limit_ranges for item in limit_range.items]
    return NamespaceLimits(
        container=_merge_items([i for i in items if i.type is LimitType.CONTAINER]),
        pod=_merge_items([i for i in items if i.type is LimitType.POD]),
        items=tuple(items),
    )


def contradiction(limits: NamespaceLimits) -> str:
    """Say where merged LimitRanges leave no amount that fits; empty where they leave one.

    The API server takes no LimitRange that contradicts itself, but several of one namespace may contradict each other,
    and then no pod with limits can be created there.
    """
    problems = [
        f"{item.type.value} {name}: minimum {item.minimum[name]} exceeds maximum {item.maximum[name]}"
        for item in (limits.container, limits.pod)
        if item is not None and item.minimum is not None and item.maximum is not None
        for name in CONTROLLED
        if name in item.minimum and name in item.maximum and item.minimum[name] > item.maximum[name]
    ]
    return "; ".join(problems)


def _merge_items(items: list[LimitRangeItem]) -> LimitRangeItem | None:
    """Merge the items of one type; None where no item has a maximum, minimum or default."""
    useful = [i for i in items if any(m is not None for m in (i.maximum, i.minimum, i.default))]
    if not useful:
        return None
    defaults = [i.default for i in useful if i.default is not None]
    return LimitRangeItem(
        useful[0].type,
        maximum=_extreme([i.maximum for i in useful if i.maximum is not None], highest=False),
        minimum=_extreme([i.minimum for i in useful if i.minimum is not None], highest=True),
        default=defaults[-1] if defaults else None,
    )


def _extreme(lists: list[ResourceList], *, highest: bool) -> ResourceList | None:
    """Return the highest or the lowest amount of cpu and memory over several lists, None for no list.

    Of equal amounts in different notations it is the last one, which is then written to pods.
    """
    if not lists:
        return None
    pick = max if highest else min
    merged: dict[str, Quantity] = dict(lists[0])
    for name in CONTROLLED:
        stated = [entries[name] for entries in reversed(lists) if name in entries]
        if stated:
            merged[name] = pick(stated)
    return merged
