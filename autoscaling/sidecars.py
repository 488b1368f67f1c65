"""Native sidecars: init containers that keep running, and so need what regular containers need.

A pod whose sidecars count has them among its containers, behind the regular ones, so that whatever is decided on
containers is decided on them as well. Plain init containers have ended before any resize, and are left out.

Spec: beyond:B-16, case:26.
"""

from __future__ import annotations

from dataclasses import replace

from autoscaling.pod import Pod


def with_sidecars(pod: Pod) -> Pod:
    """Return a pod whose sidecars count as containers; one that has no init containers is returned as it is.

    Args:
        pod: As decoded; its sidecars' statuses may be missing, as those of new pods are.

    Spec: beyond:B-16.
    """
    if not pod.init_containers or pod.counts_sidecars:
        return pod
    sidecars = tuple(container for container in pod.init_containers if container.is_sidecar)
    if not sidecars:
        return replace(pod, counts_sidecars=True)
    names = frozenset(container.name for container in sidecars)
    return replace(
        pod,
        containers=pod.containers + sidecars,
        init_containers=tuple(container for container in pod.init_containers if not container.is_sidecar),
        statuses=pod.statuses + tuple(status for status in pod.init_statuses if status.name in names),
        init_statuses=(),
        counts_sidecars=True,
    )
