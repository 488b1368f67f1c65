"""What the status of a PodDisruptionBudget says: pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from evenkeel.simulator.api.fields import JsonObject, child, text
from evenkeel.simulator.controllers.pod_state import is_going, is_ready
from evenkeel.simulator.controllers.proportions import scaled

DELETION_PATIENCE = timedelta(minutes=2)
"""How long an evicted pod may stay before it counts again."""


@dataclass(frozen=True, slots=True)
class Health:
    """What a budget demands and has.

    Args:
        expected: How many pods there should be.
        desired: How many of them must stay healthy.
        current: How many are.
    """

    expected: int
    desired: int
    current: int

    @property
    def allowed(self) -> int:
        """How many may be disrupted now."""
        return max(0, self.current - self.desired) if self.expected > 0 else 0


def needs_scale(budget: JsonObject) -> bool:
    """Say whether a budget counts the pods that their controllers ask for, rather than those that are there."""
    spec = child(budget, "spec")
    return spec.get("maxUnavailable") is not None or isinstance(spec.get("minAvailable"), str)


def desired_healthy(budget: JsonObject, expected: int) -> int:
    """Return how many of the expected pods must stay healthy (spec: in-place-resize 4)."""
    spec = child(budget, "spec")
    if spec.get("maxUnavailable") is not None:
        return max(0, expected - scaled(spec["maxUnavailable"], expected, round_up=True))
    return scaled(spec.get("minAvailable", 1), expected, round_up=True)


def still_disrupted(
    disrupted: Mapping[str, datetime], pods: Mapping[str, JsonObject], now: datetime
) -> dict[str, datetime]:
    """Return the evicted pods that are about to go: those that exist, are not going yet, and not for too long."""
    return {
        name: moment
        for name, moment in sorted(disrupted.items())
        if name in pods and not is_going(pods[name]) and moment + DELETION_PATIENCE > now
    }


def count_healthy(pods: Sequence[JsonObject], disrupted: Mapping[str, datetime]) -> int:
    """Return how many pods are ready and neither going nor about to go."""
    return sum(
        1 for pod in pods if not is_going(pod) and text(pod, "metadata", "name") not in disrupted and is_ready(pod)
    )
