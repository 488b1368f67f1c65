"""What a new pod asked for before it was changed, noted on it where its LimitRanges would not have let it in as it was.

Such a pod is scaled to its LimitRanges from what it asked for. Whoever judges it later needs that, too, and cannot
always read it in the template of its controller.
"""

from __future__ import annotations

import json
from functools import lru_cache
from typing import Final

from autoscaling.errors import MALFORMED
from autoscaling.limit_range_check import faults
from autoscaling.limitrange import NamespaceLimits
from autoscaling.pod import Pod
from autoscaling.quantity import Quantity
from autoscaling.resources import ContainerResources, ResourceList, resource_texts
from autoscaling.workload import NO_TEMPLATE, Template

ASKED_ANNOTATION: Final = "evenkeel.dev/asked"

_REMEMBERED: Final = 4096


def asked_text(pod: Pod, limits: NamespaceLimits) -> str:
    """Return what is to be noted on a new pod, empty where its LimitRanges let it in as it is.

    Args:
        pod: As it was submitted.

    Spec: case:46.
    """
    if not limits.items or not faults(pod, limits.items):
        return ""
    noted = {
        container.name: {
            "requests": resource_texts(container.resources.requests or {}),
            "limits": resource_texts(container.resources.limits or {}),
        }
        for container in (*pod.containers, *pod.init_containers)
    }
    return json.dumps(noted, separators=(",", ":"))


def asked_template(pod: Pod) -> Template:
    """Return what a pod asked for when it was new, empty where nothing that can be read is noted (spec: case:46)."""
    text = pod.annotation(ASKED_ANNOTATION)
    return NO_TEMPLATE if text is None else _read(text)


@lru_cache(_REMEMBERED)
def _read(text: str) -> Template:
    """Read a note; replicas of one controller have the same."""
    try:
        noted = json.loads(text)
        return {
            str(name): ContainerResources(_amounts(each["requests"]), _amounts(each["limits"]))
            for name, each in noted.items()
        }
    except MALFORMED:
        return NO_TEMPLATE


def _amounts(texts: dict[str, str]) -> ResourceList:
    """Read amounts."""
    return {str(name): Quantity.parse(text) for name, text in texts.items()}
