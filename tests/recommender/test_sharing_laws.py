"""One history for a workload says the same as one for each set of labels (spec: beyond:B-3)."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from autoscaling.matching import of_labels
from autoscaling.pod import Owner, Pod
from autoscaling.targets import KnownControllers, resolve_target
from autoscaling.vpa import Recommendation, TargetRef
from autoscaling.workload import Workload
from recommender.cluster_model import ClusterModel
from recommender.grouping import merge_members, merged_samples, merged_usage
from recommender.histogram_bank import HistogramBank
from recommender.oom import OomRecord
from recommender.owner_keys import OwnerKeys, SharingRules
from recommender.recommending import recommend
from recommender.settings import EstimatorSettings, RenderingSettings
from tests.builders import T0
from tests.recommender.scene import MINUTE, UPSTREAM, columns
from tests.recommender.scene import pod as bare_pod
from tests.recommender.scene import vpa as bare_vpa

Floats = NDArray[np.float64]

PODS = 4
ESTIMATOR = EstimatorSettings()
_TIE = 1e-9
APP = of_labels({"app": "a"})
KNOWN = KnownControllers.of([Workload("DaemonSet", "default", "web", APP, "apps/v1")], {})


@dataclass(frozen=True)
class Event:
    """A pod's use, or a kill of it."""

    pod: int
    minute: int
    millicores: int
    memory: int
    is_kill: bool


events = st.builds(
    Event,
    pod=st.integers(0, PODS - 1),
    minute=st.integers(0, 3 * 1440),
    millicores=st.integers(0, 8000),
    memory=st.integers(0, 2**34),
    is_kill=st.booleans(),
)


def pods() -> list[Pod]:
    owners = (Owner("apps/v1", "DaemonSet", "web", controller=True),)
    return [
        replace(bare_pod(f"p{n}", labels={"app": "a", "controller-revision-hash": str(n)}), uid=f"u{n}", owners=owners)
        for n in range(PODS)
    ]


def fed(told: list[Event], *, shares: bool) -> ClusterModel:
    """Return a model with a VPA over the pods and all that happened to them."""
    keys = OwnerKeys(SharingRules(by_controller=shares, runs_by_owner=False), lambda: KNOWN)
    model = ClusterModel(key_of=keys)
    vpa = replace(bare_vpa(), target_ref=TargetRef("DaemonSet", "web", "apps/v1"))
    model.observe_vpa(vpa, keys.selector_of(resolve_target(vpa, KNOWN)))
    for each in pods():
        model.observe_pod(each, T0)
    for event in told:
        at, row = T0 + event.minute * MINUTE, model.row_of("default", f"p{event.pod}", "main")
        assert row is not None
        if event.is_kill:
            model.take_ooms([OomRecord("default", f"p{event.pod}", "main", at, event.memory)], T0)
        else:
            model.take_cpu(columns([row], [at], [event.millicores]), T0)
            model.take_memory(columns([row], [at], [event.memory]), T0)
    return model


def merged(model: ClusterModel, bank: HistogramBank) -> HistogramBank:
    groups = model.groups()
    return merge_members(bank, groups.members, groups.starts, groups.sizes)


def shares_of_weight(bank: HistogramBank) -> Floats:
    """Return what each bucket holds of the weight of a bank's only row."""
    total = bank.weights.sum()
    row: Floats = bank.weights[0]
    return row / total if total else row


def recommendation(model: ClusterModel) -> Recommendation:
    found = recommend(model, model.groups(), ESTIMATOR, RenderingSettings(), UPSTREAM)
    return found.recommendations[0]


@given(st.lists(events, max_size=40).map(lambda told: sorted(told, key=lambda event: event.minute)))
@settings(max_examples=60, deadline=None)
def test_a_shared_history_recommends_what_separate_ones_do(told: list[Event]) -> None:
    """Spec: beyond:B-3: equal but for rounding, which can matter only where a percentile falls on a bucket's edge."""
    shared, separate = fed(told, shares=True), fed(told, shares=False)
    assert (shared.aggregate_count, separate.aggregate_count) == (1, PODS)
    counts = [merged_samples(model.aggregates, model.groups()) for model in (shared, separate)]
    assert [column.tolist() for column in counts[0]] == [column.tolist() for column in counts[1]]
    usage = merged_usage(shared.aggregates, shared.groups(), ESTIMATOR)
    is_tie = False
    for percentiles, ours, theirs, found in (
        (ESTIMATOR.cpu, shared.aggregates.cpu, separate.aggregates.cpu, usage.cpu),
        (ESTIMATOR.memory, shared.aggregates.memory, separate.aggregates.memory, usage.memory),
    ):
        one, other = merged(shared, ours), merged(separate, theirs)
        np.testing.assert_allclose(shares_of_weight(one), shares_of_weight(other), rtol=1e-9, atol=1e-12)
        quantiles = percentiles.in_order()
        row = np.array([0], dtype=np.int64)
        lowest = other.percentile(row, [q - _TIE for q in quantiles])
        highest = other.percentile(row, [q + _TIE for q in quantiles])
        assert (lowest <= found).all()
        assert (found <= highest).all()
        is_tie |= bool((lowest != highest).any())
    if not is_tie:
        assert recommendation(shared) == recommendation(separate)
