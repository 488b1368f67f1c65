"""A pod as its spec would be after a resize."""

from __future__ import annotations

from dataclasses import replace

from autoscaling.pod import Pod
from updater.shaping import Targets


def resized(pod: Pod, targets: Targets) -> Pod:
    """Return a pod whose spec asks for what a resize sets, its status as it is.

    Args:
        targets: For each of ``pod.containers``; None leaves one as it is.
    """
    pairs = zip(pod.containers, targets, strict=True)
    return replace(
        pod,
        containers=tuple(c if t is None else replace(c, resources=t.merged_into(c.resources)) for c, t in pairs),
    )
