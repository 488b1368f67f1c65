"""Which of its pods a ReplicaSet gives up first."""

from __future__ import annotations

import math
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import cmp_to_key

from evenkeel.simulator.api.fields import JsonObject, child, text
from evenkeel.simulator.api.store import Stored
from evenkeel.simulator.controllers.pod_state import LONG_AGO, created, is_active, most_restarts, ready_since

_COST = "controller.kubernetes.io/pod-deletion-cost"
_PHASES = {"Pending": 0, "Unknown": 1, "Running": 2}


@dataclass(frozen=True, slots=True)
class _Candidate:
    """What one pod is compared by."""

    stored: Stored
    before_readiness: tuple[int, ...]
    ready: datetime | None
    restarts: tuple[int, ...]
    created: datetime


def deletion_order(pods: list[Stored], related: list[Stored], now: datetime) -> list[Stored]:
    """Return pods in the order in which they are given up.

    First those without a node, then by phase, not ready, lower deletion cost, more pods of the same workload on the
    node, ready for a shorter time, more restarts, younger. Times that are of the same order of magnitude leave it to
    the uid, so that not always the youngest goes.

    Args:
        pods: The candidates.
        related: All pods of the same workload, by which crowded nodes are found.
        now: The present.
    """
    crowd: dict[str, int] = {}
    for stored in related:
        if is_active(stored.body):
            node = text(stored.body, "spec", "nodeName")
            crowd[node] = crowd.get(node, 0) + 1
    candidates = [_candidate(stored, crowd) for stored in pods]

    def compare(one: _Candidate, other: _Candidate) -> int:
        return _compare(one, other, now)

    return [candidate.stored for candidate in sorted(candidates, key=cmp_to_key(compare))]


def _candidate(stored: Stored, crowd: dict[str, int]) -> _Candidate:
    """Return what a pod is compared by."""
    body = stored.body
    node, ready = text(body, "spec", "nodeName"), ready_since(body)
    rank = (
        int(bool(node)),
        _PHASES.get(text(body, "status", "phase"), 1),
        int(ready is not None),
        _cost(body),
        -crowd.get(node, 0),
    )
    restarts = (-most_restarts(body, "containerStatuses"), -most_restarts(body, "initContainerStatuses"))
    return _Candidate(stored, rank, ready, restarts, created(body))


def _cost(pod: JsonObject) -> int:
    """Return what a pod's annotation says it costs to delete it; 0 when that cannot be read."""
    try:
        return int(str(child(pod, "metadata", "annotations").get(_COST, 0)))
    except ValueError:
        return 0


def _compare(one: _Candidate, other: _Candidate, now: datetime) -> int:
    """Compare two pods: negative when the first goes first."""
    if one.before_readiness != other.before_readiness:
        return -1 if one.before_readiness < other.before_readiness else 1
    if one.ready is not None and other.ready is not None and one.ready != other.ready:
        return _by_age(one, other, (one.ready, other.ready), now)
    if one.restarts != other.restarts:
        return -1 if one.restarts < other.restarts else 1
    if one.created != other.created:
        return _by_age(one, other, (one.created, other.created), now)
    return 0


def _by_age(one: _Candidate, other: _Candidate, times: tuple[datetime, datetime], now: datetime) -> int:
    """Compare by two times: the younger first, or by uid when the ages are of one order of magnitude."""
    if LONG_AGO in times:
        return -1 if times[0] == LONG_AGO else 1
    ranks = [_magnitude(now - moment) for moment in times]
    if ranks[0] != ranks[1]:
        return ranks[0] - ranks[1]
    return -1 if one.stored.uid < other.stored.uid else 1


def _magnitude(age: timedelta) -> int:
    """Return the binary order of magnitude of an age in nanoseconds."""
    nanoseconds = age // timedelta(microseconds=1) * 1000
    return int(math.log2(nanoseconds)) if nanoseconds > 0 else -1
