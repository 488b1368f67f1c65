"""Clusters whose recommenders take usage from external metrics, and how their rounds are told apart.

Such a recommender asks for every pod by itself, in an order that upstream leaves to chance. One pod that never changes
marks the rounds: each of them asks for it once. Whatever a round writes comes after it, and before that of the next.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

from e2e.parity.process.world import scalers, surroundings
from e2e.parity.process.world.dice import Dice
from evenkeel.simulator.api.external_metrics import GROUP
from evenkeel.simulator.api.fields import JsonObject
from evenkeel.simulator.api.requestlog import RecordedCall
from evenkeel.simulator.clock import rfc3339

_MARKER = "marker"
_CONTAINER = "c0"
_LABELS = {"app": _MARKER}
_SHARE = 0.5
_METRICS = {"cpu": "cpu_cores", "memory": "memory_bytes"}


@dataclass(frozen=True, slots=True)
class External:
    """Where usage is found among external metrics.

    Args:
        metrics: Resource to metric, at least one.
        container_label: Label that names the container.
    """

    metrics: Mapping[str, str]
    container_label: str

    @property
    def flags(self) -> tuple[str, ...]:
        """Return the flags that say so."""
        named = (f"--external-metrics-{resource}-metric={metric}" for resource, metric in self.metrics.items())
        return ("--use-external-metrics", f"--container-name-label={self.container_label}", *named)

    def is_beginning(self, call: RecordedCall) -> bool:
        """Say whether a call marks a round."""
        metric = next(iter(self.metrics.values()))
        return (
            call.verb == "list"
            and call.path.startswith(f"/apis/{GROUP}/")
            and call.path.endswith(f"/{metric}")
            and f"pod={_MARKER}" in call.query.get("labelSelector", "").split(",")
        )


def make_external(dice: Dice) -> External | None:
    """Make up whether usage is taken from external metrics, and from which."""
    if not dice.chance(_SHARE):
        return None
    return External(dice.weighted_part(_METRICS), dice.pick(("name", "container")))


def marker_objects() -> tuple[JsonObject, ...]:
    """Return the pod that marks the rounds, with its workload and its VPA."""
    metadata: JsonObject = {"name": _MARKER, "namespace": surroundings.FREE}
    containers = [{"name": _CONTAINER, "image": "made-up:1"}]
    template = {"metadata": {"labels": _LABELS}, "spec": {"containers": containers}}
    target = {"apiVersion": "apps/v1", "kind": "Deployment", "name": _MARKER}
    return (
        {
            "apiVersion": "apps/v1",
            "kind": "Deployment",
            "metadata": {**metadata},
            "spec": {"replicas": 1, "selector": {"matchLabels": _LABELS}, "template": template},
        },
        {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {**metadata, "labels": _LABELS},
            "spec": {"nodeName": "node-1", "containers": containers},
            "status": {"phase": "Running"},
        },
        {
            "apiVersion": scalers.API_VERSION,
            "kind": scalers.KIND,
            "metadata": {**metadata},
            "spec": {"targetRef": target},
        },
    )


def marker_row(moment: datetime) -> JsonObject:
    """Return what the pod that marks the rounds uses."""
    return {
        "metadata": {"name": _MARKER, "namespace": surroundings.FREE, "labels": _LABELS},
        "timestamp": rfc3339(moment),
        "window": "30s",
        "containers": [{"name": _CONTAINER, "usage": {"cpu": "100m", "memory": "100Mi"}}],
    }
