"""What a StatefulSet does next, decided from its pods in the order of their ordinals: pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import Enum


class Act(Enum):
    """What is done to one ordinal."""

    CREATE = "create"
    DELETE = "delete"


@dataclass(frozen=True, slots=True)
class PodState:
    """What matters of one pod.

    Args:
        revision: Name of the revision it was made from.
        finished: Whether it has ended.
        going: Whether it is being deleted.
        available: Whether it runs and has been ready for long enough.
    """

    revision: str
    finished: bool = False
    going: bool = False
    available: bool = True

    @property
    def healthy(self) -> bool:
        """Whether it can be counted on."""
        return self.available and not self.going and not self.finished


@dataclass(frozen=True, slots=True)
class Order:
    """What a StatefulSet asks for.

    Args:
        start: The first ordinal.
        replicas: How many there are to be.
        ordered: Whether each pod waits for the one before it.
        update: Name of the revision of the present template.
        partition: From which ordinal on pods are updated; None when they are only updated once somebody deletes them.
        unavailable: How many pods an update may have unavailable at a time.
    """

    start: int
    replicas: int
    ordered: bool
    update: str
    partition: int | None = 0
    unavailable: int = 1

    @property
    def wanted(self) -> range:
        """The ordinals that there are to be."""
        return range(self.start, self.start + self.replicas)


def next_acts(order: Order, pods: Mapping[int, PodState]) -> list[tuple[int, Act]]:
    """Return what is to be done now, in order; what waits for something else is not in it.

    Args:
        order: What is asked for.
        pods: The pods by ordinal.
    """
    acts, settled = _filled(order, pods)
    if not settled:
        return acts
    condemned = sorted((ordinal for ordinal in pods if ordinal not in order.wanted), reverse=True)
    more, settled = _condemned(order, pods, condemned)
    acts += more
    if not settled or order.partition is None:
        return acts
    return acts + _updated(order, pods)


def _filled(order: Order, pods: Mapping[int, PodState]) -> tuple[list[tuple[int, Act]], bool]:
    """Replace what has ended and create what is missing; returns whether one may go on from there."""
    acts: list[tuple[int, Act]] = []
    for ordinal in order.wanted:
        pod = pods.get(ordinal)
        if pod is None:
            acts.append((ordinal, Act.CREATE))
        elif pod.finished and not pod.going:
            acts.append((ordinal, Act.DELETE))
        elif pod.healthy:
            continue
        if order.ordered:
            return acts, False
    return acts, True


def _condemned(
    order: Order, pods: Mapping[int, PodState], condemned: Sequence[int]
) -> tuple[list[tuple[int, Act]], bool]:
    """Delete what is beyond the wanted ordinals, the highest first; returns whether one may go on from there."""
    acts: list[tuple[int, Act]] = []
    unhealthy = [ordinal for ordinal in sorted(pods) if not pods[ordinal].healthy]
    for ordinal in condemned:
        pod = pods[ordinal]
        if order.ordered and (pod.going or (not pod.healthy and ordinal != unhealthy[0])):
            return acts, False
        if not pod.going:
            acts.append((ordinal, Act.DELETE))
        if order.ordered:
            return acts, False
    return acts, True


def _updated(order: Order, pods: Mapping[int, PodState]) -> list[tuple[int, Act]]:
    """Delete pods of earlier templates, the highest ordinal first, as many as may be unavailable."""
    acts: list[tuple[int, Act]] = []
    budget = order.unavailable
    assert order.partition is not None
    for ordinal in reversed(order.wanted):
        if ordinal < order.start + order.partition or budget <= 0:
            break
        pod = pods.get(ordinal)
        if pod is None or (pod.revision == order.update and pod.healthy):
            budget -= int(pod is None)
            continue
        if pod.revision != order.update and not pod.going and not pod.finished:
            acts.append((ordinal, Act.DELETE))
        budget -= 1
    return acts


def revision_for(order: Order, current: str, ordinal: int) -> str:
    """Return from which revision the pod of an ordinal is made: below the partition from the earlier one."""
    return current if order.partition is not None and ordinal < order.start + order.partition else order.update
