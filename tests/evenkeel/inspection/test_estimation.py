"""From stored histograms to a recommendation, step by step."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from autoscaling.behaviour import Behaviour, Profile
from autoscaling.hpa import Hpa, UtilizationMetric
from autoscaling.matching import of_labels
from autoscaling.node import Node
from autoscaling.ownership import ControllerKey
from autoscaling.placement import Placement
from autoscaling.pod import Pod
from autoscaling.targets import KnownControllers, ResolvedTarget
from autoscaling.vpa import ContainerPolicy, TargetRef, Vpa
from evenkeel.inspection.estimation import Estimation, Question, RecommenderRules, estimation
from evenkeel.inspection.survey import Survey
from recommender.checkpoint import (
    BUCKET_COUNT,
    ContainerCheckpoint,
    HistogramCheckpoint,
    RunningWindow,
    StrategyRecord,
)
from recommender.settings import RenderingSettings
from recommender.strategies.interface import Usage
from recommender.strategies.shipped import ADAPTIVE, KRR_SIMPLE
from tests.builders import T0, amounts, container, pod, vpa
from updater.snapshot import Snapshot

RULES = RecommenderRules(Behaviour.of(Profile.EVENKEEL))
TARGET = ResolvedTarget(of_labels({"app": "a"}), controllers=(ControllerKey("default", "Deployment", "d", "apps/v1"),))
EMPTY = Snapshot.of((), (), (), {}, ())
NO_CLUSTER = Survey(EMPTY, KnownControllers.of((), {}))
POD = pod(container("main", "100m/100Mi"))


def checkpoint(
    cpu: dict[int, int] | None = None, memory: dict[int, int] | None = None, name: str = "main"
) -> ContainerCheckpoint:
    return ContainerCheckpoint(
        "default",
        "v",
        name,
        HistogramCheckpoint(T0, cpu or {}, 100.0 if cpu else 0.0),
        HistogramCheckpoint(T0, memory or {}, 8.0 if memory else 0.0),
        first_sample=T0 - timedelta(days=1),
        last_sample=T0,
        sample_count=1440,
        updated=T0,
    )


def explained(
    of: Vpa,
    *stored: ContainerCheckpoint,
    pods: Sequence[Pod] = (POD,),
    survey: Survey = NO_CLUSTER,
    rules: RecommenderRules = RULES,
) -> Estimation:
    return estimation(Question(of, TARGET, pods, stored, T0), survey, rules)


def policy(**bounds: str) -> tuple[ContainerPolicy, ...]:
    return (
        ContainerPolicy(
            "*", min_allowed=amounts(bounds.get("least", "-")), max_allowed=amounts(bounds.get("most", "-"))
        ),
    )


CAPS = [
    ("beyond:B-34 none", vpa(), RULES, ()),
    ("beyond:B-34 maxAllowed", vpa(policies=policy(most="100m/-")), RULES, ("cpu capped to maxAllowed",)),
    ("beyond:B-34 minAllowed", vpa(policies=policy(least="-/4Gi")), RULES, ("memory capped to minAllowed",)),
    (
        "beyond:B-34 a flag of the recommender",
        vpa(policies=policy(most="100m/-")),
        replace(RULES, rendering=RenderingSettings(maximum=amounts("50m/100Mi"))),
        ("cpu capped to maxAllowed", "memory capped to --container-recommendation-max-allowed-memory"),
    ),
]


@pytest.mark.parametrize(("row", "of", "rules", "caps"), CAPS, ids=[row[0] for row in CAPS])
def test_caps_have_names(row: str, of: Vpa, rules: RecommenderRules, caps: tuple[str, ...]) -> None:
    (main,) = explained(of, checkpoint({20: 10000}, {30: 10000}), rules=rules).containers
    assert main.caps == caps


def test_a_horizontal_autoscaler_is_named() -> None:
    """beyond:B-14, beyond:B-34."""
    hpa = Hpa("default", "h", TargetRef("Deployment", "d", "apps/v1"), (UtilizationMetric("cpu", 80),))
    found = explained(vpa(), checkpoint({20: 10000}, {30: 10000}), survey=replace(NO_CLUSTER, hpas=(hpa,)))
    assert found.containers[0].caps == ("cpu is 100m for the sake of HorizontalPodAutoscaler h",)
    assert [caution.type for caution in found.cautions] == ["HPAConflict"]
    off = replace(RULES, behaviour=RULES.behaviour.with_overrides({"hpa_conflict": "off"}))
    assert (
        not explained(vpa(), checkpoint({20: 1}), survey=replace(NO_CLUSTER, hpas=(hpa,)), rules=off).containers[0].caps
    )


def test_the_minimum_is_shared_by_the_containers_of_a_pod() -> None:
    """recommender:4.2, beyond:B-34."""
    pods = (pod(container("main"), container("side")),)
    found = explained(vpa(), checkpoint({0: 1}, {0: 1}), checkpoint({0: 1}, {0: 1}, "side"), pods=pods)
    for each in found.containers:
        assert str(each.steps["cpu"][-1].target) == "12m"
        assert each.steps["cpu"][3].how == "at least 12m, the container's share of the pod's"


def test_a_strategy_without_a_minimum() -> None:
    """beyond:B-10, beyond:B-34."""
    (main,) = explained(replace(vpa(), strategy="vpa-min0"), checkpoint({0: 1}, {0: 1})).containers
    assert str(main.steps["cpu"][-1].target) == "11m"
    assert main.steps["cpu"][3].how.endswith("; strategy vpa-min0")


def test_a_strategy_with_a_state_of_its_own() -> None:
    """beyond:B-10, beyond:B-34: it goes on from what the checkpoint has of it."""
    state, at = KRR_SIMPLE.start(1), np.array([T0.timestamp()])
    state.observe(Usage(np.array([0]), at, np.array([60.0]), np.array([0.4]), np.array([2e8])))
    stored = replace(checkpoint({20: 1}, {20: 1}), strategy=StrategyRecord("krr-simple", state.save(0)))
    (main,) = explained(replace(vpa(), strategy="krr-simple"), stored).containers
    assert str(main.steps["cpu"][-1].target) == "400m"
    assert str(main.steps["memory"][-1].target) == "230000000"
    assert main.steps["cpu"][3].how == "in the place of all that: strategy krr-simple"
    assert main.reasons == ()


def test_a_strategy_that_chooses_says_what_it_has_chosen() -> None:
    """beyond:B-10, beyond:B-34, quality:Q-18."""
    state, ends = ADAPTIVE.start(1), T0.timestamp() + 3600.0 * np.arange(-72.0, 1.0)
    count = len(ends)
    hours = (np.zeros(count, dtype=np.int64), ends, np.full(count, 3600.0))
    state.observe(Usage(*hours, np.full(count, 0.4), np.where(ends > ends[-1] - 3600.0, 2e8, np.nan)))
    stored = replace(checkpoint({20: 1}, {20: 1}), strategy=StrategyRecord("adaptive", state.save(0)))
    (main,) = explained(replace(vpa(), strategy="adaptive"), stored).containers
    assert main.steps["cpu"][3].how == "in the place of all that: strategy adaptive"
    cpu, memory = main.reasons
    assert cpu == f"cpu: {state.explain(0).cpu}"
    assert "largest of 1 hour (cost 0), " in cpu
    assert memory == "memory: upstream's rule, until there are 2 days of history"


def test_what_was_not_seen_is_not_recommended() -> None:
    """beyond:B-8, beyond:B-34."""
    (main,) = explained(vpa(), checkpoint({20: 1})).containers
    assert main.recommendation is not None
    assert set(main.recommendation.target) == {"cpu"}


def test_a_checkpoint_that_cannot_be_loaded_is_named() -> None:
    """beyond:B-34."""
    found = explained(vpa(), replace(checkpoint({20: 1}), version="v1"))
    assert "version 'v1' is not 'v3'" in found.failures[0]
    assert [each.recommendation for each in found.containers] == [None]


def test_the_room_of_nodes_is_named() -> None:
    """beyond:B-11, beyond:B-34."""
    node = Node("n", amounts("200m/1Gi"))
    around = replace(EMPTY.surroundings, nodes={"n": node})
    survey = replace(NO_CLUSTER, snapshot=replace(EMPTY, surroundings=around))
    placed = replace(POD, placement=Placement())
    (main,) = explained(vpa(), checkpoint({20: 1}, {0: 1}), pods=(placed,), survey=survey).containers
    assert main.recommendation is not None
    assert str(main.recommendation.target["cpu"]) == "200m"
    assert main.caps[0].startswith("cpu CappedToNode: ")
    off = replace(RULES, behaviour=RULES.behaviour.with_overrides({"node_fit": "false"}))
    assert explained(vpa(), checkpoint({20: 1}), pods=(placed,), survey=survey, rules=off).containers[0].caps == ()


def test_a_memory_window_that_still_runs_counts() -> None:
    """beyond:B-2, beyond:B-34."""
    window = RunningWindow("p", 200 * 2**20, 200 * 2**20, T0 + timedelta(hours=1), T0)
    stored = replace(checkpoint({20: 1}), windows=(window,))
    (main,) = explained(vpa(), stored).containers
    assert main.recommendation is not None
    assert main.steps["memory"][0].target >= amounts("-/200Mi")["memory"]
    without = replace(RULES, behaviour=RULES.behaviour.with_overrides({"running_window_saved": "false"}))
    assert set(explained(vpa(), stored, rules=without).containers[0].recommendation.target) == {"cpu"}  # type: ignore[union-attr]


def test_a_vpa_without_history_and_pods() -> None:
    assert explained(vpa(), pods=()).containers == ()


HISTOGRAM = st.dictionaries(st.integers(0, BUCKET_COUNT - 2), st.integers(1, 10_000), min_size=1, max_size=6)


@settings(max_examples=15)
@given(cpu=HISTOGRAM, memory=HISTOGRAM)
def test_the_last_step_is_the_recommendation_where_nothing_caps_it(cpu: dict[int, int], memory: dict[int, int]) -> None:
    """beyond:B-34: what is shown is what the recommender would write."""
    (main,) = explained(vpa(), checkpoint(cpu, memory)).containers
    entry = main.recommendation
    assert entry is not None
    for resource, steps in main.steps.items():
        assert [step.name for step in steps] == ["percentile", "margin", "confidence", "minimum", "rounding"]
        assert entry.target[resource] == steps[-1].target
        assert (entry.lower_bound or {})[resource] == steps[-1].lower_bound
        assert (entry.upper_bound or {})[resource] == steps[-1].upper_bound
        assert steps[0].lower_bound <= steps[0].target <= steps[0].upper_bound
