"""From the model to the recommendations of its VPAs.

Spec: recommender 4, 6.2 step 4.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from autoscaling.behaviour import Behaviour, HpaConflict
from autoscaling.resources import CPU, MEMORY
from recommender.aggregation import AggregateTable
from recommender.cautions import Basis, Cautions, cautions
from recommender.cluster_model import ClusterModel
from recommender.estimator import TARGET, Estimates, estimate
from recommender.grouping import Groups, merged_usage
from recommender.hpa_conflict import note_use
from recommender.oom_needs import with_needs
from recommender.postprocess import recommendations, rounded_estimates
from recommender.quality import Members, TargetChanges, replace_targets
from recommender.recommendation_table import RecommendationTable, humanised
from recommender.settings import EstimatorSettings, RenderingSettings
from recommender.strategies.applying import as_strategies_say, with_strategies
from recommender.unseen import listed, without_unseen

Integers = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Recommended:
    """What one round recommends.

    Args:
        recommendations: One for each VPA of the groups, in order; empty where no container is scaled.
        changes: Of the uncapped targets of CPU and memory since the round before.
        cautions: Conditions beyond upstream's.
    """

    recommendations: RecommendationTable
    changes: tuple[TargetChanges, TargetChanges]
    cautions: Cautions


def recommend(
    model: ClusterModel,
    groups: Groups,
    settings: EstimatorSettings,
    rendering: RenderingSettings,
    behaviour: Behaviour,
) -> Recommended:
    """Return the recommendation of each VPA and remember the uncapped targets in the aggregates.

    Args:
        model: Reference times of aggregates may move on.
        groups: Groups of its VPAs, with what other strategies make of them.
        settings: How histograms become amounts.
        rendering: How amounts become quantities.
        behaviour: Whether resources of which nothing was seen are left out, whether requests beside a horizontal
            autoscaler are derived, and which conditions there are.
    """
    seen = without_unseen(model.aggregates, groups) if behaviour.no_recommendation_without_samples else groups
    seen = as_strategies_say(groups, seen)
    usage = with_needs(model.aggregates, seen, merged_usage(model.aggregates, seen, settings))
    if behaviour.hpa_conflict is HpaConflict.DERIVE:
        note_use(seen, usage, settings)
    estimated = with_strategies(seen, estimate(seen, usage, settings))
    estimates = rounded_estimates(seen, estimated, rendering)
    changes = remember_targets(model.aggregates, seen, estimates, rendering)
    found = recommendations(seen, estimates, rendering, listed(groups, seen))
    basis = Basis(groups, seen, usage, found, rendering.maximum)
    return Recommended(found, changes, cautions(basis, settings, behaviour))


def remember_targets(
    aggregates: AggregateTable, groups: Groups, estimates: Estimates, rendering: RenderingSettings
) -> tuple[TargetChanges, TargetChanges]:
    """Keep the uncapped targets, which later samples are compared with; what is switched off keeps its last ones.

    Args:
        aggregates: Changed.
        groups: The groups.
        estimates: Their rounded amounts.
        rendering: Tells whether memory is humanised.

    Returns:
        How CPU and memory targets changed, of aggregates that pods feed.
    """
    memory = estimates.memory[TARGET]
    if rendering.humanize_memory:
        memory = np.array([humanised(amount).value() for amount in memory.tolist()], dtype=np.int64)
    counted = np.repeat(groups.is_scaled, groups.sizes) & ~groups.is_loaded
    of_vpa = np.repeat(np.arange(len(groups.vpas)), np.diff(groups.bounds))
    of_group = np.repeat(np.arange(len(groups)), groups.sizes)[counted]
    members = Members(groups.members[counted], of_vpa[of_group])
    cpu = np.where(groups.controls_cpu, estimates.cpu[TARGET], 0)[of_group]
    amounts = np.where(groups.controls_memory, memory, 0)[of_group]
    return (
        replace_targets(CPU, aggregates.last_cpu, members, cpu, groups.controls_cpu[of_group]),
        replace_targets(MEMORY, aggregates.last_memory, members, amounts, groups.controls_memory[of_group]),
    )
