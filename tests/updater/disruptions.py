"""Pods that are Ready or not and the disruption budgets over them, in a few words."""

from __future__ import annotations

from dataclasses import replace

from autoscaling.behaviour import UPSTREAM
from autoscaling.disruption_budget import DisruptionBudget
from autoscaling.matching import Selector, of_labels
from autoscaling.pod import READY, ConditionStatus, Pod, PodCondition
from tests.updater.situations import EVENKEEL
from updater.settings import Settings
from updater.surroundings import Surroundings

OWN = of_labels({"app": "a"})
"""Matches every pod of the scenes."""


def ready(subject: Pod, status: ConditionStatus = ConditionStatus.TRUE) -> Pod:
    """Return a pod that is Ready, or not."""
    others = tuple(c for c in subject.conditions if c.type != READY)
    return replace(subject, conditions=(*others, PodCondition(READY, status)))


def unready(subject: Pod) -> Pod:
    """Return a pod that is not Ready."""
    return ready(subject, ConditionStatus.FALSE)


def budget(
    allowed: int = 1, healthy: int = 2, desired: int = 2, name: str = "b", selector: Selector = OWN
) -> DisruptionBudget:
    """Return a disruption budget; by default it has as many healthy pods as it needs."""
    return DisruptionBudget(
        "default", name, selector, disruptions_allowed=allowed, current_healthy=healthy, desired_healthy=desired
    )


def protected(*budgets: DisruptionBudget) -> Surroundings:
    """Return surroundings in which only these budgets are known."""
    return Surroundings(budgets={"default": budgets} if budgets else {})


def with_only(*switches: str) -> Settings:
    """Return settings as upstream's but for some switches."""
    return replace(EVENKEEL, behaviour=UPSTREAM.with_overrides(dict.fromkeys(switches, "true")))
