"""Resizes that a node reports as done and that change nothing, and those that would be such (beyond:B-27, case 32).

A node lifts the limit of the whole pod only when a container that runs is resized. One that was resized between two
runs has its memory in spec and status, and is killed at the limit of before.
"""

from __future__ import annotations

from typing import Final

from autoscaling.pod import Container, ContainerStatus, Pod, Termination
from autoscaling.resources import MEMORY
from autoscaling.target_resources import ContainerTarget
from updater.circumstances import Circumstances
from updater.convergence import is_converged
from updater.decision import Reason
from updater.ledger import Ledger
from updater.resize_request import read_request, was_killed_since
from updater.shaping import Hindrance, Proposal

KILLS: Final = 3
"""The first kill after a resize may have been on its way, and a second one a peak of the start."""


def without_effect(pod: Pod) -> str:
    """Say which containers go on being killed for lack of memory though a resize of ours is reported as done.

    Kills count from the beginning of a series of them, however often the amounts have moved meanwhile.

    Returns:
        Nothing where there is none, or where desired and actual amounts do not agree yet.
    """
    request = read_request(pod)
    if request is None or not is_converged(pod):
        return ""
    found = [
        f"container {status.name} was killed {status.restart_count - request.restarts[status.name]} times"
        for status in pod.statuses
        if status.name in request.restarts
        and status.restart_count - request.restarts[status.name] >= KILLS
        and was_killed_since(_last_end(status), request.at)
    ]
    return ", ".join(found)


def only_what_runs(proposal: Proposal, circumstances: Circumstances, _ledger: Ledger) -> Proposal | Hindrance:
    """Keep a resize back that would give memory to a container which waits to be started after it was killed for it.

    It waits until the container runs. One that was killed again and again may be evicted instead.

    Spec: beyond:B-27, resize 3.8, 6.6.
    """
    if not circumstances.settings.behaviour.resize_without_effect:
        return proposal
    pod = proposal.pod
    waiting = [
        status
        for container, target in zip(pod.containers, proposal.targets, strict=True)
        if target is not None and _raises_memory(pod, container, target)
        for status in _killed_and_waiting(pod, container)
    ]
    if not waiting:
        return proposal
    request = read_request(pod)
    noted = request.restarts if request is not None else {}
    is_hopeless = any(status.restart_count - noted.get(status.name, 0) >= KILLS for status in waiting)
    names = ", ".join(f"container {status.name}" for status in waiting)
    return Hindrance(Reason.CONTAINER_NOT_RUNNING, names, helps_to_evict=is_hopeless)


def _last_end(status: ContainerStatus) -> Termination | None:
    """Return how a container last ended."""
    return status.terminated or status.last_terminated


def _raises_memory(pod: Pod, container: Container, target: ContainerTarget) -> bool:
    """Say whether a container would get more memory than is in force."""
    actual = pod.actual_resources(container)
    request, limit = target.requests.get(MEMORY), target.limits.get(MEMORY)
    return (request is not None and request > actual.request(MEMORY)) or (
        limit is not None and limit > actual.limit(MEMORY)
    )


def _killed_and_waiting(pod: Pod, container: Container) -> tuple[ContainerStatus, ...]:
    """Return a container's status where it does not run since it was killed for lack of memory."""
    status = pod.status_of(container.name)
    if status is None or status.is_running:
        return ()
    ended = _last_end(status)
    return (status,) if ended is not None and ended.reason == "OOMKilled" else ()
