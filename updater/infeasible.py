"""What nodes could not accommodate, as reducers, in mode InPlace: upstream's memory of it and our own (beyond:B-28)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import NamedTuple

from autoscaling.behaviour import Behaviour
from autoscaling.node import Node
from autoscaling.pod import Pod
from autoscaling.resources import CONTROLLED, amount
from autoscaling.vpa import Recommendation
from updater.resize_progress import resize_progress
from updater.room_watch import FIRST_PAUSE, LONGEST_PAUSE


@dataclass(frozen=True, slots=True)
class InfeasibleMemory:
    """The raw recommendation that was last found infeasible, by UID of the pod, where ``infeasible_memory`` is off.

    An entry lasts as long as its pod; success does not clear it (updater D-46, W-16).
    """

    recommendations: Mapping[str, Recommendation] = field(default_factory=dict)

    def remembering(self, recommendations: Mapping[str, Recommendation]) -> InfeasibleMemory:
        """Return the memory with entries, by UID, set or replaced (updater M-20)."""
        return InfeasibleMemory({**self.recommendations, **recommendations}) if recommendations else self

    def keeping(self, uids: AbstractSet[str]) -> InfeasibleMemory:
        """Return the memory without the entries of other pods than these (updater M-10)."""
        if self.recommendations.keys() <= uids:
            return self
        return InfeasibleMemory({uid: r for uid, r in self.recommendations.items() if uid in uids})

    def holds_back(self, uid: str, recommendation: Recommendation | None) -> bool:
        """Say whether a recommendation need not be tried: one is remembered and this asks for no less of anything.

        Targets are compared exactly, for containers and resources that both name (updater C-3 row 5, P-7 step 1).
        """
        remembered = self.recommendations.get(uid)
        return remembered is not None and not (recommendation and _asks_for_less(recommendation, remembered))


def _asks_for_less(new: Recommendation, old: Recommendation) -> bool:
    """Say whether some target of the new recommendation is strictly below that of the old one."""
    old_targets = {entry.container_name: entry.target for entry in old.containers}
    return any(
        quantity < old_targets[entry.container_name][name]
        for entry in new.containers
        if entry.container_name in old_targets
        for name, quantity in entry.target.items()
        if name in old_targets[entry.container_name]
    )


Spot = tuple[str, str]
"""A container by name, and one of its resources."""


class Change(NamedTuple):
    """What a container had of a resource and what was asked for instead, in nano-units."""

    had: int
    asked: int


@dataclass(frozen=True, slots=True)
class InfeasibleResize:
    """A resize that was refused for good.

    Args:
        uid: Of the pod.
        changes: Of requests, which are all that a node looks at; those that would have stayed are left out.
        node: The pod's node as it was then; None where that is not known.
        generation: Of the spec that asked for it; None where the API server refused it, so that no spec does.
        at: When it was refused.
    """

    uid: str
    changes: Mapping[Spot, Change]
    node: Node | None
    generation: int | None
    at: datetime

    def is_asked_again(self, requests: Mapping[Spot, int]) -> bool:
        """Say whether requests, in nano-units, go at least as far the same way wherever this resize changed anything.

        A node takes all of a resize or nothing, so whatever goes less far anywhere may be accepted.
        """
        return all(
            requests.get(spot, 0) >= change.asked
            if change.asked > change.had
            else requests.get(spot, 0) <= change.asked
            for spot, change in self.changes.items()
        )

    def is_overcome(self, requests: Mapping[Spot, int]) -> bool:
        """Say whether requests, in nano-units, have come some of the way that this resize could not go."""
        return any(
            requests.get(spot, 0) > change.had if change.asked > change.had else requests.get(spot, 0) < change.had
            for spot, change in self.changes.items()
        )


@dataclass(frozen=True, slots=True)
class Held:
    """A refused resize, and for how long from then on it is not asked for again."""

    resize: InfeasibleResize
    length: timedelta = FIRST_PAUSE

    @property
    def until(self) -> datetime:
        """From when on it may be asked for again."""
        return self.resize.at + self.length


@dataclass(frozen=True, slots=True)
class InfeasibleResizes:
    """The last resize that was refused for good, by UID of the pod (beyond:B-28, updater K-4).

    A restart forgets it. A pod whose node still calls its resize infeasible tells by its condition since when; one that
    has given its claim back is tried once more before it waits again.
    """

    by_uid: Mapping[str, Held] = field(default_factory=dict)

    def seeing(self, resizes: Iterable[InfeasibleResize], now: datetime) -> InfeasibleResizes:
        """Return the memory with what a round has found; what is refused again waits twice as long, up to an hour."""
        by_uid = {uid: held for uid, held in self.by_uid.items() if now - held.until <= LONGEST_PAUSE}
        by_uid |= {resize.uid: _held(resize, by_uid.get(resize.uid)) for resize in resizes}
        return InfeasibleResizes(by_uid) if by_uid != self.by_uid else self

    def looking(self, pods: Iterable[Pod], live: AbstractSet[str], behaviour: Behaviour) -> InfeasibleResizes:
        """Return the memory without pods that are gone, and without those that have been resized all the same.

        Args:
            pods: All pods, as they are now.
            live: UIDs of those that are live.
        """
        if not self.by_uid:
            return self
        done = {pod.uid for pod in pods if pod.uid in self.by_uid and self._is_done(pod, behaviour)}
        return InfeasibleResizes({uid: held for uid, held in self.by_uid.items() if uid in live and uid not in done})

    def _is_done(self, pod: Pod, behaviour: Behaviour) -> bool:
        """Say whether a pod has got something of what was refused."""
        if resize_progress(pod, behaviour) is not None:
            return False
        return self.by_uid[pod.uid].resize.is_overcome(accepted_requests(pod))


def asked_requests(pod: Pod) -> dict[Spot, int]:
    """Return the requests of a pod's spec, in nano-units; what is missing counts as zero."""
    return {(c.name, name): amount(c.resources.requests, name).nano for c in pod.containers for name in CONTROLLED}


def accepted_requests(pod: Pod) -> dict[Spot, int]:
    """Return the requests that a pod's node has accepted, in nano-units; what it does not say counts as zero."""
    given = {status.name: status.accepted_requests for status in pod.statuses}
    return {(c.name, name): amount(given.get(c.name), name).nano for c in pod.containers for name in CONTROLLED}


def _held(resize: InfeasibleResize, before: Held | None) -> Held:
    """Return a refused resize with its pause; one that is seen again while it stands keeps the pause it has."""
    if before is None:
        return Held(resize)
    if resize.generation is not None and resize.generation == before.resize.generation:
        return before
    return Held(resize, min(before.length * 2, LONGEST_PAUSE))
