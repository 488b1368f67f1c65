"""Policies and statuses of a recommender's VPAs, drawn."""

from __future__ import annotations

from datetime import timedelta
from typing import Final

from e2e.parity.amounts import amounts
from e2e.parity.dice import Dice
from e2e.parity.kinds import BEGIN, Case, text_of
from e2e.parity.recommender.history import CONTAINERS

_CONDITIONS: Final = (
    "ConfigDeprecated",
    "ConfigUnsupported",
    "FetchingHistory",
    "LowConfidence",
    "NoPodsMatched",
    "Other",
    "RecommendationProvided",
)


def policy(dice: Dice) -> Case:
    """Draw a container policy."""
    options: Case = {
        "mode": dice.pick("Auto", "Off"),
        "minAllowed": amounts(dice, 0.6, 0.05),
        "maxAllowed": amounts(dice, 0.6, 0.05),
        "controlledResources": dice.pick(
            ["cpu"], ["memory"], [], ["cpu", "memory"], ["disk"], ["memory", "cpu", "disk"]
        ),
        "oomBumpUpRatio": dice.pick("1.5", "2", "1", "1.2345"),
        "oomMinBumpUp": dice.pick("0", "50Mi", "1Gi", "100.5"),
        "memoryAggregationIntervalSeconds": dice.pick(3600, 7200, 86400),
        "memoryAggregationIntervalCount": dice.pick(1, 4, 8),
    }
    chosen = dice.some(sorted(options), 4)
    return {"containerName": dice.pick(*CONTAINERS, "*", "*"), **{name: options[name] for name in chosen}}


def status(dice: Dice) -> Case:
    """Draw a status that another recommender has left."""
    conditions = [_condition(dice, kind) for kind in dice.some(_CONDITIONS, 3)]
    drawn: Case = {"conditions": conditions}
    if dice.chance(0.6):
        entries = [
            {"containerName": name, **{vector: amounts(dice) for vector in ("target", "lowerBound", "upperBound")}}
            for name in dice.some(CONTAINERS, 2)
        ]
        drawn["recommendation"] = {"containerRecommendations": entries}
    return drawn


def _condition(dice: Dice, kind: str) -> Case:
    since = text_of(BEGIN - timedelta(days=1))
    drawn: Case = {"type": kind, "status": dice.pick("True", "False"), "lastTransitionTime": since}
    return {**drawn, "message": "m"} if dice.chance(0.5) else drawn
