"""How long resizes of ours take until the pods have what they ask for, and which come to nothing (beyond:B-45)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from enum import Enum
from typing import Final

from autoscaling.behaviour import Behaviour
from autoscaling.pod import RESIZE_IN_PROGRESS, RESIZE_PENDING, Pod
from updater.convergence import is_converged, is_over
from updater.decision import Action, Decision, Reason
from updater.resize_progress import resize_progress
from updater.resize_request import REQUESTED_ANNOTATION, ResizeRequest, read_request
from updater.resize_status import ResizeStatus

_CONDITIONS: Final = frozenset({RESIZE_PENDING, RESIZE_IN_PROGRESS})


class ResizeOutcome(Enum):
    """How a resize that was accepted ended."""

    COMPLETED = "completed"
    FAILED = "failed"
    """The pod was evicted, or gave its claim back, before it had what it asked for."""


@dataclass(frozen=True, slots=True)
class Followed:
    """A request that was seen on a pod.

    Args:
        text: As the pod's annotation has it, by which it is known again.
        request: What it says; None where nothing more is to be counted of it.
    """

    text: str
    request: ResizeRequest | None


@dataclass(frozen=True, slots=True)
class Requests:
    """The requests of live pods by UID, as a reducer.

    Each is counted once at most. What has converged before a process looks for the first time may have been counted by
    the one before it, so it is not counted: a restart loses the requests that converge while nobody looks. What is
    still under way then is counted by the new process, with all of its time, as the annotation has it. A request that
    another change of the pod's spec has overtaken is dropped, as is one of a pod that ends or goes by itself.

    Args:
        by_uid: Requests that were seen in the last look.
        has_looked: Whether there was one.
    """

    by_uid: Mapping[str, Followed] = field(default_factory=dict)
    has_looked: bool = False

    def seeing(self, pods: Iterable[Pod], now: datetime) -> tuple[Requests, tuple[timedelta, ...]]:
        """Return the requests after another look, and how long those took that have converged since the last one.

        Args:
            pods: All live pods.
        """
        found: dict[str, Followed] = {}
        took: list[timedelta] = []
        for pod in pods:
            text = pod.annotation(REQUESTED_ANNOTATION)
            if text is None or is_over(pod):
                continue
            known = self.by_uid.get(pod.uid)
            is_known = known is not None and known.text == text
            request = known.request if known is not None and is_known else read_request(pod)
            if request is not None and request.generation != pod.generation:
                request = None
            if request is not None and is_converged(pod):
                if self.has_looked or is_known:
                    took.append(max(now - request.at, timedelta(0)))
                request = None
            found[pod.uid] = Followed(text, request)
        return Requests(found, has_looked=True), tuple(took)

    def failing(self, decision: Decision, now: datetime) -> tuple[Requests, timedelta | None]:
        """Return the requests after a change that succeeded, and how long the one took that it put an end to."""
        known = self.by_uid.get(decision.uid)
        is_end = decision.action is Action.EVICT or decision.reason is Reason.CLAIM_RELEASED
        if not is_end or known is None or known.request is None:
            return self, None
        rest = {**self.by_uid, decision.uid: Followed(known.text, None)}
        return replace(self, by_uid=rest), max(now - known.request.at, timedelta(0))

    def states(self, pods: Iterable[Pod], behaviour: Behaviour) -> Counter[ResizeStatus]:
        """Return how many pods are in the middle of a resize, by how far that has come.

        Whether a pod is asked for tells its conditions and our requests, as comparing all pods' amounts takes long.
        """
        counts: Counter[ResizeStatus] = Counter()
        for pod in pods:
            known = self.by_uid.get(pod.uid)
            is_ours = known is not None and known.request is not None
            if not is_ours and not any(condition.type in _CONDITIONS for condition in pod.conditions):
                continue
            status = None if is_over(pod) else resize_progress(pod, behaviour)
            if status is not None:
                counts[status] += 1
        return counts
