"""A pod as its spec would be after a resize."""

from __future__ import annotations

from dataclasses import replace

from autoscaling.pod import Pod
from autoscaling.resources import ContainerResources
from autoscaling.target_resources import ContainerTarget
from updater.shaping import Targets


def resized(pod: Pod, targets: Targets) -> Pod:
    """Return a pod whose spec asks for what a resize sets, its status as it is.

    As the API server does, a container requests what it is limited to where it requests nothing (resize 1.2).

    Args:
        targets: For each of ``pod.containers``; None leaves one as it is.
    """
    pairs = zip(pod.containers, targets, strict=True)
    return replace(
        pod,
        containers=tuple(c if t is None else replace(c, resources=_merged(c.resources, t)) for c, t in pairs),
    )


def _merged(resources: ContainerResources, target: ContainerTarget) -> ContainerResources:
    """Return a container's resources after a resize."""
    limits = {**(resources.limits or {}), **target.limits}
    return ContainerResources({**limits, **(resources.requests or {}), **target.requests}, limits)
