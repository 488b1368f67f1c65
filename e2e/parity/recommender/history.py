"""Stored history of a recommender, drawn."""

from __future__ import annotations

from datetime import timedelta
from typing import Final

from e2e.parity.dice import Dice
from e2e.parity.kinds import BEGIN, Case, text_of
from recommender.checkpoint import BUCKET_COUNT

CONTAINERS: Final = ("main", "side", "a.b", "ghost")


def checkpoint(dice: Dice, app: str, begin: int) -> Case:
    """Draw stored history of a container; in one of many something is wrong with it.

    Args:
        app: Namespace and name of what the VPA scales.
        begin: When the recommender starts, in seconds from the beginning of time.
    """
    space, _, name = app.partition("/")
    container = dice.among(CONTAINERS)
    last = begin - dice.pick(0, 60, 3600, 86400, 9 * 86400)
    status: Case = {
        "version": dice.pick(*["v3"] * 15, "v2", ""),
        "cpuHistogram": _histogram(dice),
        "memoryHistogram": _histogram(dice),
        "firstSampleStart": moment_text(last - dice.pick(0, 60, 3600, 86400, 8 * 86400)),
        "lastSampleStart": dice.pick(moment_text(last), moment_text(last), moment_text(last), None),
        "totalSamplesCount": dice.pick(0, 1, 2, 60, 1440, 11520, 100000),
        "lastUpdateTime": moment_text(last),
    }
    vpa = dice.pick(f"v-{name}", f"v-{name}", f"v-{name}", "gone")
    return {
        "apiVersion": "autoscaling.k8s.io/v1",
        "kind": "VerticalPodAutoscalerCheckpoint",
        "metadata": {"namespace": space, "name": f"{vpa}-{container}"},
        "spec": {"vpaObjectName": vpa, "containerName": container},
        "status": status,
    }


def _histogram(dice: Dice) -> Case:
    buckets = dice.some(range(BUCKET_COUNT), dice.pick(1, 6, 20))
    if dice.chance(0.01):
        buckets.append(BUCKET_COUNT)
    stored: Case = {
        "bucketWeights": {str(b): dice.pick(10000, dice.whole(1, 9999)) for b in buckets},
        "totalWeight": dice.pick(dice.magnitude(1e-5, 1e5), 1.0, 0.7000000000000001),
    }
    if dice.chance(0.95):
        day = BEGIN - timedelta(days=dice.whole(-1, 9))
        stored["referenceTimestamp"] = text_of(dice.pick(day, day, day + timedelta(hours=7)))
    return stored


def moment_text(seconds: int) -> str:
    """Return a moment, counted from the beginning of time, as Kubernetes writes it."""
    return text_of(BEGIN + timedelta(seconds=seconds))
