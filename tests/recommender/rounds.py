"""Rounds for laws: VPAs of every kind, what was estimated for their containers, and what their statuses say."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from hypothesis import strategies as st

from autoscaling.hpa import HorizontalScaling, Hpa, UtilizationMetric
from autoscaling.pod import ConditionStatus
from autoscaling.quantity import Format, Quantity
from autoscaling.resources import ResourceList
from autoscaling.vpa import (
    ContainerPolicy,
    ContainerRecommendation,
    Recommendation,
    ScalingMode,
    TargetRef,
    Vpa,
    VpaCondition,
)
from recommender.estimator import Estimates
from recommender.grouping import Groups
from recommender.label_sets import TrackedVpa
from recommender.node_caps import fitted_to_nodes
from recommender.node_rooms import NodeRoom
from recommender.postprocess import recommendations
from recommender.recommendation_table import RecommendationTable
from recommender.settings import RenderingSettings
from recommender.vpa_rooms import RoomColumns
from tests.builders import T0, amounts
from tests.recommender.scene import APP, vpa

NAMES = ("a", "b", 'odd"name\\')
AMOUNTS = st.sampled_from((0, 1, 25, 999, 1000, 1001, 1024, 1536, 250000, 2**20, 262144000, 380258472, 10**14))
BOUNDS = st.sampled_from(("-", "500m/-", "-/300M", "1/1Gi", "250m/250Mi", "0/0", "1500u/1"))
PROVIDED = VpaCondition("RecommendationProvided", ConditionStatus.TRUE, last_transition_time=T0)
CONDITIONS = st.sampled_from(
    (
        (PROVIDED,),
        (PROVIDED,),
        (PROVIDED,),
        (),
        (replace(PROVIDED, reason="Some"),),
        (replace(PROVIDED, status=ConditionStatus.FALSE),),
        (PROVIDED, VpaCondition("ResizeBlocked", ConditionStatus.TRUE, "NoRoom", "m", T0)),
        (VpaCondition("LowConfidence", ConditionStatus.TRUE, "LittleHistory", "m", T0), PROVIDED),
    )
)


@dataclass(frozen=True)
class Drawn:
    """What a round has computed.

    Args:
        groups: Of its VPAs.
        estimates: What was estimated for them.
        settings: How that is written.
    """

    groups: Groups
    estimates: Estimates
    settings: RenderingSettings

    @property
    def table(self) -> RecommendationTable:
        """Its recommendations."""
        return recommendations(self.groups, self.estimates, self.settings)


@st.composite
def policies(draw: st.DrawFn) -> ContainerPolicy:
    return ContainerPolicy(
        draw(st.sampled_from((*NAMES, "*"))),
        mode=draw(st.sampled_from((None, None, None, ScalingMode.OFF))),
        min_allowed=amounts(draw(BOUNDS)),
        max_allowed=amounts(draw(BOUNDS)),
        controlled_resources=draw(st.sampled_from((None, None, ("cpu",), ("memory",), ()))),
    )


@st.composite
def tracked_vpas(draw: st.DrawFn, name: str) -> TrackedVpa:
    """Draw a VPA of up to three containers."""
    followed = vpa(name, *draw(st.lists(policies(), max_size=2) | st.just([])))
    tracked = TrackedVpa(followed, APP, linked={each: [0] for each in draw(st.sets(st.sampled_from(NAMES)))})
    if draw(st.sampled_from((False, False, False, True))):
        hpa = Hpa("default", name, TargetRef("Deployment", name), (UtilizationMetric("cpu", 50),))
        tracked.scaling = HorizontalScaling((hpa,), {("a", "cpu"): 500})
    return tracked


@st.composite
def rounds(draw: st.DrawFn) -> Drawn:
    """Draw a round of up to four VPAs."""
    groups = Groups.of([draw(tracked_vpas(f"v{number}")) for number in range(draw(st.integers(0, 4)))])
    shape = 3, len(groups)
    cpu, memory = (
        np.array(draw(st.lists(AMOUNTS, min_size=3 * shape[1], max_size=3 * shape[1])), dtype=np.int64).reshape(shape)
        for _ in range(2)
    )
    maximum, is_humanised = draw(st.just("-") | BOUNDS), draw(st.sampled_from((False, False, False, True)))
    return Drawn(
        groups, Estimates(cpu, memory), RenderingSettings(humanize_memory=is_humanised, maximum=amounts(maximum))
    )


@st.composite
def fitted(draw: st.DrawFn, drawn: Drawn) -> RecommendationTable:
    """Draw the recommendations of a round, as they are or held to what a node has."""
    table, count = drawn.table, len(drawn.groups.vpas)
    nodes = draw(st.just(()) | st.builds(NodeRoom, st.just("n"), AMOUNTS, AMOUNTS).map(lambda room: (room,)))
    nowhere = np.zeros(count, dtype=np.int64)
    return fitted_to_nodes(table, RoomColumns(nowhere, (nodes,), np.stack((nowhere, nowhere)))).table


@st.composite
def stored(draw: st.DrawFn, computed: Recommendation) -> Recommendation | None:
    """Draw what a VPA carries: nothing, what was computed, or something near it."""
    if draw(st.sampled_from((True, False, False, False, False))):
        return draw(st.sampled_from((None, Recommendation())))
    entries = [draw(st.just(entry) | near(entry)) for entry in computed.containers]
    if draw(st.sampled_from((True, False, False, False))):
        entries = list(draw(st.permutations(entries)))
    return Recommendation(tuple(entries))


@st.composite
def near(draw: st.DrawFn, entry: ContainerRecommendation) -> ContainerRecommendation:
    """Draw an entry that differs from another one in something, or only in how it is written."""
    vectors = [entry.target, entry.lower_bound or {}, entry.upper_bound or {}, entry.uncapped_target or {}]
    at = draw(st.integers(0, 3))
    changes: dict[str, ResourceList] = {
        "none": {},
        "more": {**vectors[at], "disk": Quantity.parse("1Gi")},
        "far": amounts("2k/20Gi"),
    }
    for resource, amount in vectors[at].items():
        for key, nano in (
            ("other format", amount.nano),
            ("at the edge", amount.nano + amount.nano // 100),
            ("beyond it", amount.nano + amount.nano // 100 + 10**9),
            ("below it", amount.nano - amount.nano // 100),
            ("a trifle", amount.nano + 1),
        ):
            changes[f"{resource} {key}"] = {**vectors[at], resource: Quantity(nano, Format.DECIMAL_EXPONENT)}
    vectors[at] = changes[draw(st.sampled_from(sorted(changes)))]
    name = draw(st.sampled_from((entry.container_name,) * 5 + ("other",)))
    return ContainerRecommendation(name, *vectors)


def carrying(tracked: TrackedVpa, carried: Recommendation | None, seen: Sequence[VpaCondition], lag: int) -> Vpa:
    """Return a VPA with a status.

    Args:
        tracked: The VPA.
        carried: Its recommendation.
        seen: Its conditions.
        lag: Generations that the status is behind.
    """
    return replace(
        tracked.vpa, recommendation=carried, conditions=tuple(seen), generation=3, observed_generation=3 - lag
    )
