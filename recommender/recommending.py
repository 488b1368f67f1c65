"""From the model to the recommendations of its VPAs.

Spec: recommender 4, 6.2 step 4.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from autoscaling.vpa import Recommendation
from recommender.aggregation import AggregateTable
from recommender.cluster_model import ClusterModel
from recommender.estimator import TARGET, Estimates, estimate
from recommender.grouping import Groups, merged_usage
from recommender.postprocess import amounts_by_vpa, humanised, recommendation, rounded_estimates
from recommender.settings import EstimatorSettings, RenderingSettings

Integers = NDArray[np.int64]


def estimates_of(model: ClusterModel, groups: Groups, settings: EstimatorSettings) -> Estimates:
    """Return the raw amounts of groups.

    Args:
        model: Reference times of aggregates may move on.
        groups: Groups of its VPAs.
        settings: How histograms become amounts.
    """
    return estimate(groups, merged_usage(model.aggregates, groups, settings), settings)


def recommend(
    model: ClusterModel, groups: Groups, settings: EstimatorSettings, rendering: RenderingSettings
) -> list[Recommendation]:
    """Return the recommendation of each VPA and remember the uncapped targets in the aggregates.

    Args:
        model: Reference times of aggregates may move on.
        groups: Groups of its VPAs.
        settings: How histograms become amounts.
        rendering: How amounts become quantities.

    Returns:
        One recommendation for each of ``groups.vpas``, in order; empty where no container is scaled.
    """
    estimates = rounded_estimates(groups, estimates_of(model, groups, settings), rendering)
    remember_targets(model.aggregates, groups, estimates, rendering)
    amounts = amounts_by_vpa(groups, estimates)
    return [
        recommendation(tracked.vpa, entries, rendering) for tracked, entries in zip(groups.vpas, amounts, strict=True)
    ]


def remember_targets(
    aggregates: AggregateTable, groups: Groups, estimates: Estimates, rendering: RenderingSettings
) -> None:
    """Keep the uncapped targets, which later samples are compared with; what is switched off keeps its last ones.

    Args:
        aggregates: Changed.
        groups: The groups.
        estimates: Their rounded amounts.
        rendering: Tells whether memory is humanised.
    """
    memory = estimates.memory[TARGET]
    if rendering.humanize_memory:
        memory = np.array([humanised(amount).value() for amount in memory.tolist()], dtype=np.int64)
    scaled = np.repeat(groups.is_scaled, groups.sizes)
    rows = groups.members[scaled]
    aggregates.last_cpu[rows] = np.repeat(np.where(groups.controls_cpu, estimates.cpu[TARGET], 0), groups.sizes)[scaled]
    aggregates.last_memory[rows] = np.repeat(np.where(groups.controls_memory, memory, 0), groups.sizes)[scaled]
