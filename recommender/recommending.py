"""From the model to the recommendations of its VPAs.

Spec: recommender 4, 6.2 step 4.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from autoscaling.behaviour import Behaviour
from autoscaling.vpa import Recommendation
from recommender.aggregation import AggregateTable
from recommender.cluster_model import ClusterModel
from recommender.estimator import TARGET, Estimates, estimate
from recommender.grouping import Groups, merged_usage
from recommender.postprocess import humanised, recommendations, rounded_estimates
from recommender.settings import EstimatorSettings, RenderingSettings
from recommender.unseen import without_silent_entries, without_unseen

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
    model: ClusterModel,
    groups: Groups,
    settings: EstimatorSettings,
    rendering: RenderingSettings,
    behaviour: Behaviour,
) -> list[Recommendation]:
    """Return the recommendation of each VPA and remember the uncapped targets in the aggregates.

    Args:
        model: Reference times of aggregates may move on.
        groups: Groups of its VPAs.
        settings: How histograms become amounts.
        rendering: How amounts become quantities.
        behaviour: Whether resources of which nothing was seen are left out.

    Returns:
        One recommendation for each of ``groups.vpas``, in order; empty where no container is scaled.
    """
    seen = without_unseen(model.aggregates, groups) if behaviour.no_recommendation_without_samples else groups
    estimates = rounded_estimates(seen, estimates_of(model, seen, settings), rendering)
    remember_targets(model.aggregates, seen, estimates, rendering)
    return without_silent_entries(groups, seen, recommendations(seen, estimates, rendering))


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
