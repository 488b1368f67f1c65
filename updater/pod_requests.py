"""What a pod holds of its node: the larger of what it asks for, was given and uses (resize section 2)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction

from autoscaling.pod import RESIZE_PENDING, Container, ContainerStatus, Pod
from autoscaling.pod_totals import Amounts, in_start_order, is_infeasible
from autoscaling.resources import CONTROLLED, ResourceList, amount

_NOTHING: Amounts = dict.fromkeys(CONTROLLED, 0)


@dataclass(frozen=True, slots=True)
class ContainerHold:
    """One container that runs for as long as its pod.

    Args:
        asked: Requests of its spec.
        given: What its status says it was given or uses, whichever is more; None where it says neither.
        held: What it counts for.
    """

    asked: Amounts
    given: Amounts | None
    held: Amounts

    def with_requests(self, requests: Amounts) -> Amounts:
        """Return what it would count for with other requests; what it does not name stays as the spec has it."""
        return larger({**self.asked, **requests}, self.given or _NOTHING)


@dataclass(frozen=True, slots=True)
class Phase:
    """Containers that run at the same time.

    Args:
        fixed: What those take that are never resized: the one plain init container of the phase.
        running: Names of the others.
    """

    fixed: Amounts
    running: frozenset[str]


@dataclass(frozen=True, slots=True)
class PodHold:
    """What a pod counts for on its node.

    Args:
        containers: Regular containers and sidecars, by name.
        phases: Sets of containers that run at the same time; the largest decides.
        overhead: What the pod costs besides its containers.
        whole: What the pod itself asks for, in place of its containers' sum; empty where it does not.
    """

    containers: Mapping[str, ContainerHold]
    phases: tuple[Phase, ...]
    overhead: Amounts
    whole: Amounts

    @property
    def total(self) -> Amounts:
        """All of it, as things are."""
        return self.total_of({name: container.held for name, container in self.containers.items()})

    def total_of(self, held: Mapping[str, Amounts]) -> Amounts:
        """Return what the pod would count for if its containers counted for this.

        Args:
            held: For every container.
        """
        return {
            name: self.overhead[name]
            + self.whole.get(
                name, max(p.fixed[name] + sum(held[running][name] for running in p.running) for p in self.phases)
            )
            for name in CONTROLLED
        }

    def share_that_fits(self, name: str, growth: Mapping[str, int], most: int) -> Fraction:
        """Return how much of the growth of its containers the pod can have without counting for more than so much.

        Args:
            name: Of the resource.
            growth: By container, in nano-units.
            most: Likewise, what the whole pod may count for.

        Returns:
            0 to 1.
        """
        share = Fraction(1)
        for phase in self.phases:
            grown = sum(growth.get(running, 0) for running in phase.running)
            if grown > 0:
                now = phase.fixed[name] + sum(self.containers[running].held[name] for running in phase.running)
                share = min(share, Fraction(most - self.overhead[name] - now, grown))
        return max(share, Fraction(0))


def hold_of(pod: Pod) -> PodHold:
    """Return what a pod counts for on its node.

    A container counts for the largest of its spec, of what it was given and of what it uses; for a resize that its node
    has refused the spec is left out. Plain init containers count for their spec, whether or not they have ended;
    sidecars run beside those that start after them. Requests of the pod as a whole stand in place of the sums, and
    overhead comes on top (resize section 2).
    """
    statuses = {status.name: status for status in (*pod.statuses, *pod.init_statuses)}
    refused = is_refused(pod)
    containers: dict[str, ContainerHold] = {}
    started: list[str] = []
    phases: list[Phase] = []
    for init in in_start_order(pod):
        if init.is_sidecar:
            containers[init.name] = _container_hold(init, statuses.get(init.name), refused=refused)
            started.append(init.name)
        else:
            phases.append(Phase(nano(init.resources.requests), frozenset(started)))
    for container in pod.containers:
        if container.name not in containers:
            containers[container.name] = _container_hold(container, statuses.get(container.name), refused=refused)
    phases.append(Phase(_NOTHING, frozenset(containers)))
    placement = pod.placement
    whole = placement.requests if placement is not None else {}
    return PodHold(
        containers,
        tuple(phases),
        nano(placement.overhead if placement is not None else None),
        {name: whole[name].nano for name in CONTROLLED if name in whole},
    )


def is_refused(pod: Pod) -> bool:
    """Say whether the node has called infeasible what the pod's spec asks for now.

    The scheduler believes it of an earlier spec as well, so what has been asked for since then is left out there until
    the node has looked at it; room that may be taken any moment is not free (updater K-19).
    """
    pending = pod.condition(RESIZE_PENDING)
    return is_infeasible(pod) and pending is not None and not pod.has_overtaken(pending)


def nano(resources: ResourceList | None) -> Amounts:
    """Return cpu and memory of a resource list in nano-units; what is missing counts as zero."""
    return {name: amount(resources, name).nano for name in CONTROLLED}


def larger(one: Amounts, other: Amounts) -> Amounts:
    """Return the larger of two amounts, resource by resource."""
    return {name: max(one[name], other[name]) for name in CONTROLLED}


def _container_hold(container: Container, status: ContainerStatus | None, *, refused: bool) -> ContainerHold:
    """Return what one container counts for; a status without resources has no say."""
    asked = nano(container.resources.requests)
    if status is None or status.resources is None:
        return ContainerHold(asked, None, asked)
    given = larger(nano(status.resources.requests), nano(status.allocated))
    return ContainerHold(asked, given, given if refused else larger(asked, given))
