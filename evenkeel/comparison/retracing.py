"""The recommender's own arithmetic over stored histograms, step by step, for each side alike.

Nothing is computed anew here: the steps are those of the recommender, each left out until its turn comes.

Spec: beyond:B-35; recommender 4.2 to 4.4, 6.4.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from enum import Enum
from typing import Final

import numpy as np

from autoscaling.matching import NOTHING
from autoscaling.quantity import Quantity
from autoscaling.resources import CPU, MEMORY
from autoscaling.vpa import Vpa
from evenkeel.comparison.use import ContainerKey
from recommender.amounts import as_quantity
from recommender.checkpoint import ContainerCheckpoint
from recommender.checkpointing import LoadFailure, load_checkpoints
from recommender.cluster_model import ClusterModel
from recommender.estimator import TARGET, Estimates, Minimums, amounts, minimums
from recommender.grouping import Groups, merged_usage
from recommender.postprocess import recommendations, rounded_estimates
from recommender.settings import EstimatorSettings, RenderingSettings


class Step(Enum):
    """A step on the way to a target, or another reason why two targets differ, in the order of the way."""

    PRESENCE = "presence"
    """One side recommends nothing."""
    CHECKPOINT_AGE = "checkpoint age"
    """The histograms differ, and one of them ends well before the other."""
    SAMPLES = "samples"
    """The histograms differ, or what was seen since they were stored."""
    PERCENTILE = "percentile"
    MARGIN = "margin"
    MINIMUM = "minimum"
    ROUNDING = "rounding"
    CAPS = "caps"
    UNKNOWN = "unknown"
    """What is known of the two sides does not lead to what they say: flags that were not told, mostly."""


TRACED: Final = (Step.SAMPLES, Step.PERCENTILE, Step.MARGIN, Step.MINIMUM, Step.ROUNDING, Step.CAPS)
"""The steps of the arithmetic, in order."""

_LIKE_FOR_LIKE: Final = EstimatorSettings()
"""What both histograms are asked for alike, whatever the flags of their recommenders say."""


@dataclass(frozen=True, slots=True)
class SideSettings:
    """What the flags of one recommender say about the way from a histogram to a target."""

    estimator: EstimatorSettings = field(default_factory=EstimatorSettings)
    rendering: RenderingSettings = field(default_factory=RenderingSettings)


@dataclass(frozen=True, slots=True)
class State:
    """What one side has stored.

    Args:
        vpas: Its autoscalers.
        checkpoints: Its checkpoints.
        settings: Its flags.
    """

    vpas: Sequence[Vpa]
    checkpoints: Sequence[ContainerCheckpoint]
    settings: SideSettings = field(default_factory=SideSettings)


@dataclass(frozen=True, slots=True)
class Trace:
    """The way of one container.

    Args:
        checkpoint: What it begins with.
        targets: By resource, the target as it is after each step; one that policies leave out has no caps.
    """

    checkpoint: ContainerCheckpoint
    targets: Mapping[str, Mapping[Step, Quantity]]


@dataclass(frozen=True, slots=True)
class Retraced:
    """The ways of all containers of one side.

    Args:
        traces: By container.
        failures: Checkpoints that cannot be loaded.
    """

    traces: Mapping[ContainerKey, Trace]
    failures: tuple[LoadFailure, ...]


def retrace(state: State, now: datetime) -> Retraced:
    """Return how the targets of one side come about from what it has stored.

    Args:
        state: What is stored; checkpoints of other autoscalers are left out.
        now: When it was read.
    """
    model = ClusterModel()
    for vpa in state.vpas:
        model.observe_vpa(vpa, NOTHING)
    stored = [each for each in state.checkpoints if (each.namespace, each.vpa_name) in model.vpas]
    failures = load_checkpoints(model, stored, now)
    groups = model.groups()
    targets: dict[ContainerKey, dict[str, dict[Step, Quantity]]] = {}
    for step, estimates in _estimates(model, groups, state.settings):
        for key, cpu, memory in zip(_keys(groups), *_targets(estimates), strict=True):
            by_resource = targets.setdefault(key, {CPU: {}, MEMORY: {}})
            by_resource[CPU][step] = as_quantity(cpu, CPU)
            by_resource[MEMORY][step] = as_quantity(memory, MEMORY)
        if step is Step.ROUNDING:
            _cap(groups, estimates, state.settings.rendering, targets)
    sources = {(each.namespace, each.vpa_name, each.container_name): each for each in stored}
    return Retraced({key: Trace(sources[key], found) for key, found in targets.items()}, failures)


def _estimates(model: ClusterModel, groups: Groups, settings: SideSettings) -> Iterator[tuple[Step, Estimates]]:
    """Yield the amounts after each step up to rounding."""
    aggregates, own = model.aggregates, settings.estimator
    none = np.zeros(len(groups), dtype=np.int64)
    without_minimum = Minimums(none, none)
    without_margin = replace(own, margin_fraction=0.0)
    alike = merged_usage(aggregates, groups, _LIKE_FOR_LIKE)
    yield Step.SAMPLES, amounts(alike, without_minimum, without_margin)
    usage = merged_usage(aggregates, groups, own)
    yield Step.PERCENTILE, amounts(usage, without_minimum, without_margin)
    yield Step.MARGIN, amounts(usage, without_minimum, own)
    estimated = amounts(usage, minimums(groups, own), own)
    yield Step.MINIMUM, estimated
    yield Step.ROUNDING, rounded_estimates(groups, estimated, settings.rendering)


def _targets(estimates: Estimates) -> tuple[list[int], list[int]]:
    """Return millicores and bytes of the targets of all groups."""
    return estimates.cpu[TARGET].tolist(), estimates.memory[TARGET].tolist()


def _keys(groups: Groups) -> Iterator[ContainerKey]:
    """Yield what each group is of."""
    owners = np.repeat(np.arange(len(groups.vpas)), np.diff(groups.bounds)).tolist()
    for owner, name in zip(owners, groups.names, strict=True):
        yield (*groups.vpas[owner].key, name)


def _cap(
    groups: Groups,
    estimates: Estimates,
    rendering: RenderingSettings,
    targets: Mapping[ContainerKey, Mapping[str, dict[Step, Quantity]]],
) -> None:
    """Add the last step."""
    for tracked, recommendation in zip(groups.vpas, recommendations(groups, estimates, rendering), strict=True):
        for entry in recommendation.containers:
            for resource, target in entry.target.items():
                targets[(*tracked.key, entry.container_name)][resource][Step.CAPS] = target
