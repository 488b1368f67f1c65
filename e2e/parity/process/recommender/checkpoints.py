"""Checkpoints made up by chance, as an earlier recommender would have left them."""

from __future__ import annotations

from datetime import datetime, timedelta

from e2e.parity.process.world.dice import Dice
from evenkeel.simulator.api.fields import JsonObject
from evenkeel.simulator.clock import rfc3339

API_VERSION = "autoscaling.k8s.io/v1"
KIND = "VerticalPodAutoscalerCheckpoint"
_DAY = timedelta(days=1)


class CheckpointMaker:
    """Makes checkpoints up.

    Args:
        dice: Their chance.
        now: From when their ages count.
    """

    def __init__(self, dice: Dice, now: datetime) -> None:
        self._dice = dice
        self._now = now

    def make(self, namespace: str, vpa: str, container: str) -> JsonObject:
        """Make up the checkpoint of one container of a VPA."""
        dice = self._dice
        last = self._now - timedelta(days=7) + timedelta(hours=dice.between(0, 24))
        length = timedelta(hours=dice.pick((0, 1, 20, 72, 170)))
        status: JsonObject = {
            "version": dice.weighted({"v3": 0.94, "v2": 0.04, "": 0.02}),
            "cpuHistogram": self._histogram(last, 0.02),
            "memoryHistogram": self._histogram(last, 0.1),
            "firstSampleStart": rfc3339(last - length),
            "lastSampleStart": rfc3339(last),
            "totalSamplesCount": max(1, int(length.total_seconds() // 60)),
            "lastUpdateTime": rfc3339(last),
        }
        return {
            "apiVersion": API_VERSION,
            "kind": KIND,
            "metadata": {"name": f"{vpa}-{container}", "namespace": namespace},
            "spec": {"vpaObjectName": vpa, "containerName": container},
            "status": status,
        }

    def _histogram(self, last: datetime, empty: float) -> JsonObject:
        """Make a histogram up: a heap of weight somewhere, and some more beside it."""
        dice = self._dice
        if dice.chance(empty):
            return {"referenceTimestamp": None}
        top = dice.between(2, 90)
        weights = {top: 10_000}
        for _ in range(dice.between(0, 12)):
            weights[max(0, min(175, top + dice.between(-15, 25)))] = dice.between(1, 9999)
        weights[top] = 10_000
        midnight = last.replace(hour=0, minute=0, second=0, microsecond=0)
        return {
            "referenceTimestamp": rfc3339(midnight + dice.pick((0, 1)) * _DAY),
            "bucketWeights": {str(bucket): weight for bucket, weight in sorted(weights.items())},
            "totalWeight": dice.pick((0.1, 1.0, 144.0, dice.within(0.05, 900.0))),
        }
