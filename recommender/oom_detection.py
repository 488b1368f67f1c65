"""OOM kills as they show in two successive states of a pod (spec: recommender:8.3)."""

from __future__ import annotations

from autoscaling.ownership import pod_controller
from autoscaling.pod import Container, ContainerStatus, Pod, Termination
from autoscaling.quantity import within_64_bits
from autoscaling.resources import MEMORY
from recommender.oom import OomRecord

_REASON = "OOMKilled"
_RUN_KIND = "Job"


def oom_kills(old: Pod, new: Pod) -> tuple[OomRecord, ...]:
    """Return the kills that happened between two states of a pod.

    A kill shows as a container that is now terminated, or as one that runs again with one restart more. The memory is
    the request in force in the state before the restart, so that a resize meanwhile does not count.
    """
    found: list[OomRecord] = []
    for status in new.statuses:
        before = old.status_of(status.name)
        if before is None:
            continue
        terminated = _new_kill(before, status)
        if terminated is not None:
            found += _record(new, status.name, terminated)
            continue
        terminated = _kill_before_restart(before, status)
        if terminated is not None:
            found += _record(old, status.name, terminated)
    return tuple(found)


def oom_kills_at_first_sight(pod: Pod) -> tuple[OomRecord, ...]:
    """Return the kills that show in a pod when it is first seen, of each container the last one.

    Spec: beyond:B-5, recommender 13 (5).
    """
    found: list[OomRecord] = []
    for status in pod.statuses:
        for end in (status.terminated, status.last_terminated):
            if end is not None and end.reason == _REASON:
                found += _record(pod, status.name, end)
                break
    return tuple(found)


def oom_kills_of_run(pod: Pod) -> tuple[OomRecord, ...]:
    """Return the kills that show in a Job's pod when it is first seen; of another controller's pods none.

    A run may be so short that nothing was seen of it before.

    Spec: beyond:B-19.
    """
    controller = pod_controller(pod)
    return oom_kills_at_first_sight(pod) if controller is not None and controller.kind == _RUN_KIND else ()


def _new_kill(before: ContainerStatus, now: ContainerStatus) -> Termination | None:
    """Return the end of a container that is terminated for memory and was not, or was so for another run."""
    is_new = before.terminated is None or now.restart_count > before.restart_count
    return now.terminated if now.terminated and now.terminated.reason == _REASON and is_new else None


def _kill_before_restart(before: ContainerStatus, now: ContainerStatus) -> Termination | None:
    """Return the end of the last run of a container that was running before and runs again."""
    restarted = before.is_running and now.is_running and now.restart_count > before.restart_count
    last = now.last_terminated
    return last if restarted and last and last.reason == _REASON else None


def _record(pod: Pod, name: str, terminated: Termination) -> list[OomRecord]:
    """Return the record of one kill; one without a time cannot be placed and is left out."""
    if terminated.finished_at is None:
        return []
    # What a status reports counts even where the spec has no such container.
    stated = pod.actual_resources(pod.container(name) or Container(name)).request(MEMORY)
    request = within_64_bits(stated.value())
    return [OomRecord(pod.namespace, pod.name, name, terminated.finished_at, request)]
