"""What of a pod's resize is true by now, and since when it has been waited for (beyond:B-20, B-45).

Unlike ``resize_status``, which reads conditions as upstream does, this believes only what is about the present spec.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Final

from autoscaling.behaviour import Behaviour
from autoscaling.pod import RESIZE_IN_PROGRESS, RESIZE_PENDING, ConditionStatus, Pod, PodCondition
from updater.convergence import is_converged, is_over
from updater.resize_request import read_request
from updater.resize_status import PENDING_REASONS, ResizeStatus, resize_status

_NODE_HAS_IT: Final = frozenset({ResizeStatus.IN_PROGRESS, ResizeStatus.ERROR})
_SERVER_STEP: Final = timedelta(seconds=1)
"""The API server cuts its times to whole seconds, so what it took may be as much younger."""


def resize_progress(pod: Pod, behaviour: Behaviour) -> ResizeStatus | None:
    """Return how far a pod's resize has come, None where it is not in the middle of one.

    With ``timers`` both conditions are looked at, one about an earlier spec is not believed, and where the node has
    not yet looked at the present one the resize is REQUESTED. With ``converged_means_compared`` a pod whose amounts
    do not agree yet is in the middle of one, whatever its conditions say.
    """
    status = _believed(pod) if behaviour.timers else resize_status(pod)
    if status is not None or not behaviour.converged_means_compared:
        return status
    return None if is_over(pod) or is_converged(pod) else ResizeStatus.REQUESTED


def _believed(pod: Pod) -> ResizeStatus | None:
    """Return what the conditions say about the present spec (updater K-19)."""
    is_unseen = 0 < pod.observed_generation < pod.generation
    waiting, working = _true(pod, RESIZE_PENDING), _true(pod, RESIZE_IN_PROGRESS)
    if waiting is not None and not pod.has_overtaken(waiting):
        return PENDING_REASONS.get(waiting.reason, ResizeStatus.UNKNOWN)
    if working is not None and not (is_unseen and pod.has_overtaken(working)):
        # An error may be about the amounts before; that the node is at work is true all the same.
        if working.reason == "Error" and not pod.has_overtaken(working):
            return ResizeStatus.ERROR
        return ResizeStatus.IN_PROGRESS if working.reason in {"", "Error"} else ResizeStatus.UNKNOWN
    return ResizeStatus.REQUESTED if waiting is not None or working is not None else None


def _true(pod: Pod, kind: str) -> PodCondition | None:
    """Return a condition that is True."""
    condition = pod.condition(kind)
    return condition if condition is not None and condition.status is ConditionStatus.TRUE else None


@dataclass(frozen=True, slots=True)
class Sighting:
    """When a process first saw a pod in the middle of the resize that it is in.

    Args:
        generation: Of the pod's spec then.
        since: That time.
        is_new: Whether the process had seen the pod with an earlier spec before, so that the resize is no older.
    """

    generation: int
    since: datetime
    is_new: bool


@dataclass(frozen=True, slots=True)
class Sightings:
    """Pods that were seen in the middle of a resize, by UID, as a reducer; an entry lasts as long as its pod.

    Only what no annotation of ours tells depends on it: resizes that somebody else asked for, and one of ours if the
    process that sent it ended before it had noted that. A restart forgets it, and then those count anew of which the
    API server does not say when it took them.
    """

    by_uid: Mapping[str, Sighting] = field(default_factory=dict)

    def of(self, pod: Pod, now: datetime) -> Sighting:
        """Return since when a pod is known with its present spec, which is now where it was not seen with it."""
        known = self.by_uid.get(pod.uid)
        if known is not None and known.generation == pod.generation:
            return known
        return Sighting(pod.generation, now, is_new=known is not None)

    def seeing(self, pods: Iterable[Pod], now: datetime) -> Sightings:
        """Return the sightings with pods that are in the middle of a resize now."""
        seen = {pod.uid: self.of(pod, now) for pod in pods}
        new = {uid: sighting for uid, sighting in seen.items() if sighting is not self.by_uid.get(uid)}
        return Sightings({**self.by_uid, **new}) if new else self

    def keeping(self, uids: AbstractSet[str]) -> Sightings:
        """Return the sightings of these pods only."""
        if self.by_uid.keys() <= uids:
            return self
        return Sightings({uid: sighting for uid, sighting in self.by_uid.items() if uid in uids})


def waited(pod: Pod, status: ResizeStatus, sightings: Sightings, now: datetime) -> timedelta:
    """Return how long a pod's resize has been waited for in its present state; never less than nothing.

    A resize of ours counts from when it was accepted, one that the node is working on not before it began to. Any other
    counts from when its condition last changed, but never from before it was asked for, as a condition keeps its time
    when the next resize meets the same fate.
    """
    request = read_request(pod)
    condition = _true(pod, RESIZE_IN_PROGRESS) if status in _NODE_HAS_IT else None
    condition = condition or _true(pod, RESIZE_PENDING) or _true(pod, RESIZE_IN_PROGRESS)
    changed = condition.last_transition_time if condition is not None else None
    times: list[datetime] = [request.at] if request is not None else []
    is_ours = request is not None and request.generation >= pod.generation
    if changed is not None and (status in _NODE_HAS_IT or not is_ours):
        times.append(changed)
    if not is_ours:
        times.append(_asked_for(pod, sightings, now))
    return max(now - max(times), timedelta(0))


def _asked_for(pod: Pod, sightings: Sightings, now: datetime) -> datetime:
    """Return when a resize was asked for that is not noted on its pod: rather too late than too early.

    The API server says when it took the last one. Where it does not, the resize may be as young as the first time that
    this process saw the pod in the middle of it.
    """
    sighting = sightings.of(pod, now)
    if pod.resized_at is None:
        return sighting.since
    taken = pod.resized_at + _SERVER_STEP
    return max(taken, sighting.since) if sighting.is_new else taken
