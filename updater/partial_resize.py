"""Patching only those containers and resources of a pod that are worth it (beyond:B-23, updater K-16)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from autoscaling.pod import Container
from autoscaling.resources import MEMORY, ResourceList
from autoscaling.target_resources import ContainerTarget
from autoscaling.vpa import ContainerRecommendation
from updater.acceptance import is_old_enough, quickly_killed
from updater.changes import restarts_for
from updater.circumstances import Circumstances
from updater.decision import Reason
from updater.ledger import Ledger
from updater.priority import is_outside, relative_difference
from updater.shaping import Hindrance, Proposal


def only_what_is_worth_it(proposal: Proposal, circumstances: Circumstances, _ledger: Ledger) -> Proposal | Hindrance:
    """Leave out of a resize what no rule asks for by itself; limits go with their requests.

    A resource of a container stays in the resize if

    - its request is out of its bounds, or there is none;
    - the pod is old enough to be updated within its bounds, and the resource's own difference reaches the threshold.
      Where none of a container's does but their sum does, all of them stay, except those for which it restarts;
    - it is the memory of a container that was killed for lack of it a short while ago, and grows. Where the container
      restarts for it, its own difference must reach the threshold all the same;
    - its own difference reaches the threshold, no container restarts for it, and anything else of the pod stays: a pod
      that is resized at all is not to be resized once more for that a little later.

    A resize under way is judged by what it asks for as well as by what is in force. Boosts that are taken back stay
    whole.

    Spec: beyond:B-23.
    """
    if not circumstances.settings.behaviour.partial_resize or not proposal.sets_anything:
        return proposal
    worth = _Worth(proposal, circumstances)
    pairs = zip(proposal.pod.containers, proposal.targets, strict=True)
    if not proposal.expired and not worth.is_resized_at_all(proposal):
        return Hindrance(Reason.CHANGE_TOO_SMALL, "no container by itself is worth a resize")
    left = tuple(t if c.name in proposal.expired else worth.left_of(c, t) for c, t in pairs)
    return replace(proposal, targets=left)


@dataclass(frozen=True, slots=True)
class _Change:
    """One resource of one container.

    Args:
        is_outside: Whether its request is missing or out of its bounds.
        difference: How far it is from its target, relative to what it is.
        grows: Whether it gets more.
        restarts: Whether the container restarts for it.
    """

    is_outside: bool
    difference: float
    grows: bool
    restarts: bool


class _Worth:
    """What of one proposal is worth it."""

    def __init__(self, proposal: Proposal, circumstances: Circumstances) -> None:
        self._pod = proposal.pod
        self._processed = proposal.processed
        self._threshold = circumstances.settings.pod_update_threshold
        self._is_old_enough = is_old_enough(proposal.pod, circumstances)
        self._killed = quickly_killed(proposal.pod, circumstances)

    def is_resized_at_all(self, proposal: Proposal) -> bool:
        """Say whether anything of the pod is worth it by itself."""
        pairs = zip(self._pod.containers, proposal.targets, strict=True)
        return any(self._kept(container, self._changes(container, target)) for container, target in pairs)

    def left_of(self, container: Container, target: ContainerTarget | None) -> ContainerTarget | None:
        """Return what stays of one container's target, None for nothing."""
        changes = self._changes(container, target)
        kept = self._kept(container, changes) | {name for name, c in changes.items() if self._goes_along(c)}
        if target is None or not kept:
            return None
        requests = {name: amount for name, amount in target.requests.items() if name in kept}
        return replace(target, requests=requests, limits={n: a for n, a in target.limits.items() if n in kept})

    def _goes_along(self, change: _Change) -> bool:
        """Say whether a change is large and harmless enough to go along with another one."""
        return change.difference >= self._threshold and not change.restarts

    def _changes(self, container: Container, target: ContainerTarget | None) -> dict[str, _Change]:
        """Return what a target changes about each resource; nothing where nothing is recommended."""
        entry = self._processed.recommendation.of(container.name) if self._processed is not None else None
        if target is None or entry is None:
            return {}
        return {name: self._change(container, name, entry) for name in target.requests}

    def _kept(self, container: Container, changes: dict[str, _Change]) -> frozenset[str]:
        """Return the resources of a container that stay by themselves."""
        large = {name for name, change in changes.items() if change.difference >= self._threshold}
        kept = {name for name, change in changes.items() if change.is_outside}
        if self._is_old_enough:
            together = sum(change.difference for change in changes.values()) >= self._threshold
            kept |= large or {name for name, change in changes.items() if together and not change.restarts}
        memory = changes.get(MEMORY)
        if memory is not None and container.name in self._killed and memory.grows:
            kept |= {MEMORY} if MEMORY in large or not memory.restarts else set()
        return frozenset(kept)

    def _change(self, container: Container, name: str, entry: ContainerRecommendation) -> _Change:
        """Return what is changed about one resource, by what is in force or by what is asked for, whichever is more."""
        wanted = entry.target[name].milli_value()
        lists = tuple(self._requests(container))
        stated = [requests[name].milli_value() for requests in lists if name in requests]
        return _Change(
            is_outside=any(name not in requests or is_outside(name, requests, entry) for requests in lists),
            difference=max(relative_difference(current, wanted) for current in (stated or (0,))),
            grows=any(wanted > current for current in stated),
            restarts=restarts_for(container, name),
        )

    def _requests(self, container: Container) -> Iterator[ResourceList]:
        """Yield the requests in force and those of the spec."""
        yield self._pod.actual_resources(container).requests or {}
        yield container.resources.requests or {}
