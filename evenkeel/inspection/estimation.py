"""From stored histograms to a recommendation, step by step, each step taken by the recommender's own code.

The steps are looked at from outside: what a round would recommend for the VPA comes from the same functions, called in
the same order, as in the recommender's round.

Spec: beyond:B-34; recommender 4.2 to 4.4, 6.4.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Final

import numpy as np
from numpy.typing import NDArray

from autoscaling.behaviour import Behaviour, HpaConflict
from autoscaling.capping import policy_bounds
from autoscaling.hpa import HpaIndex
from autoscaling.pod import Pod
from autoscaling.policy import container_policy
from autoscaling.quantity import Quantity
from autoscaling.resources import CONTROLLED, CPU
from autoscaling.targets import ResolvedTarget
from autoscaling.vpa import ContainerRecommendation, Recommendation, Vpa, VpaCondition
from evenkeel.inspection.survey import Survey
from recommender.amounts import MILLICORES_PER_CORE, as_quantity, scaled, truncated
from recommender.checkpoint import ContainerCheckpoint
from recommender.checkpointing import load_checkpoints
from recommender.cluster_model import ClusterModel
from recommender.estimator import Estimates, Minimums, amounts, confidence, estimate, minimums
from recommender.grouping import Groups, MergedUsage, merged_usage
from recommender.hpa_conflict import note_horizontal_scaling
from recommender.node_fit import KnownNodes, NodeFit
from recommender.oom_needs import with_needs
from recommender.postprocess import rounded_estimates
from recommender.recommending import Recommended, recommend
from recommender.removed_containers import without_removed
from recommender.settings import EstimatorSettings, ModelSettings, RenderingSettings
from recommender.status import CAPPED_TO_NODE
from recommender.strategies.applying import as_strategies_say, with_strategies
from recommender.strategies.known import KnownStrategies
from recommender.strategies.running import StrategyRuns
from recommender.unseen import without_unseen
from recommender.vanishing_targets import Sighting, observe_target

Integers = NDArray[np.int64]

_WHOLE: Final = 100.0


@dataclass(frozen=True, slots=True)
class RecommenderRules:
    """What a recommender is set to do."""

    behaviour: Behaviour
    model: ModelSettings = field(default_factory=ModelSettings)
    estimator: EstimatorSettings = field(default_factory=EstimatorSettings)
    rendering: RenderingSettings = field(default_factory=RenderingSettings)


@dataclass(frozen=True, slots=True)
class EstimationStep:
    """One resource of one container after one step.

    Args:
        name: The step.
        how: What it did.
    """

    name: str
    how: str
    target: Quantity
    lower_bound: Quantity
    upper_bound: Quantity


@dataclass(frozen=True, slots=True)
class ContainerEstimate:
    """How one container's recommendation comes about.

    Args:
        container: Its name.
        confidence: How much history there is, by resource; 1 is one whole interval.
        steps: By resource, in order.
        reasons: What the strategy says that its targets come from, by resource; empty where it does not say.
        caps: What holds the target back, by name.
        recommendation: What a round would write for it now, None for nothing.
    """

    container: str
    confidence: dict[str, float]
    steps: dict[str, tuple[EstimationStep, ...]]
    reasons: tuple[str, ...]
    caps: tuple[str, ...]
    recommendation: ContainerRecommendation | None


@dataclass(frozen=True, slots=True)
class Estimation:
    """How the recommendation of one VPA comes about.

    Args:
        containers: By name.
        cautions: Conditions that a round would set with it.
        failures: Checkpoints that cannot be loaded, and why.
    """

    containers: tuple[ContainerEstimate, ...]
    cautions: tuple[VpaCondition, ...]
    failures: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Question:
    """What is to be explained.

    Args:
        vpa: The VPA.
        target: What its target came to.
        pods: Live pods that it controls.
        checkpoints: Its checkpoints.
        now: The time of the look.
    """

    vpa: Vpa
    target: ResolvedTarget
    pods: Sequence[Pod]
    checkpoints: Sequence[ContainerCheckpoint]
    now: datetime


@dataclass(frozen=True, slots=True)
class _Basis:
    """What all steps go by.

    Args:
        groups: The containers as a round has them.
        seen: The same, with only those resources controlled that are recommended.
    """

    model: ClusterModel
    groups: Groups
    seen: Groups
    usage: MergedUsage
    rules: RecommenderRules


def estimation(question: Question, survey: Survey, rules: RecommenderRules) -> Estimation:
    """Return how the recommendation of a VPA comes about from what is stored.

    Args:
        question: The VPA and what belongs to it.
        survey: The cluster, for horizontal autoscalers and nodes.
        rules: What the recommender is set to do.
    """
    model, failures = _model(question, survey, rules)
    groups = model.groups()
    if rules.behaviour.renamed_or_removed_containers:
        groups = without_removed(model, groups, question.now)
    groups = model.strategies.applied(groups, question.now)
    basis = _basis(model, groups, rules)
    steps = tuple(_steps(basis))
    recommended = recommend(model, groups, rules.estimator, rules.rendering, rules.behaviour)
    if rules.behaviour.node_fit:
        recommended = _fitted(recommended, question, survey, model)
    found = recommended.recommendations[0] if len(groups.vpas) else Recommendation()
    cautions = tuple(each for those in recommended.cautions.values() for each in those)
    containers = tuple(_container(basis, place, steps, found, cautions) for place in range(len(groups)))
    return Estimation(containers, cautions, failures)


def _model(question: Question, survey: Survey, rules: RecommenderRules) -> tuple[ClusterModel, tuple[str, ...]]:
    """Return a model of the VPA alone with its pods and history, and what could not be loaded."""
    vpa, now = question.vpa, question.now
    model = ClusterModel(rules.model)
    if rules.behaviour.strategies:
        model.strategies = StrategyRuns(KnownStrategies())
    sighting = Sighting(vpa, question.target, question.target.selector)
    observe_target(model, sighting, now, keeps_history=rules.behaviour.targets_may_vanish)
    for pod in question.pods:
        model.observe_pod(pod, now)
    keeps = rules.behaviour.running_window_saved
    failures = load_checkpoints(model, question.checkpoints, now, keep_windows=keeps)
    model.strategies.take_up(model.groups(), question.checkpoints)
    if rules.behaviour.hpa_conflict is not HpaConflict.OFF:
        note_horizontal_scaling(model, HpaIndex(survey.hpas), question.pods)
    return model, tuple(f"{failure.checkpoint}: {failure.error}" for failure in failures)


def _basis(model: ClusterModel, groups: Groups, rules: RecommenderRules) -> _Basis:
    """Return what a round goes by."""
    seen = groups
    if rules.behaviour.no_recommendation_without_samples:
        seen = without_unseen(model.aggregates, groups)
    seen = as_strategies_say(groups, seen)
    usage = with_needs(model.aggregates, seen, merged_usage(model.aggregates, seen, rules.estimator))
    return _Basis(model, groups, seen, usage, rules)


def _steps(basis: _Basis) -> Iterator[tuple[str, str, Estimates]]:
    """Yield each step up to rounding, by its name, with what it does and the amounts after it."""
    settings, usage, seen = basis.rules.estimator, basis.usage, basis.seen
    nothing = np.zeros(len(seen), dtype=np.int64)
    raw = Estimates(truncated(usage.cpu * MILLICORES_PER_CORE), truncated(usage.memory))
    margin = settings.margin_fraction
    raised = Estimates(raw.cpu + scaled(raw.cpu, margin), raw.memory + scaled(raw.memory, margin))
    yield "percentile", "", raw
    yield "margin", f"plus {margin:.0%} for safety", raised
    yield "confidence", "", amounts(usage, Minimums(nothing, nothing), settings)
    estimated = with_strategies(seen, estimate(seen, usage, settings))
    yield "minimum", "", estimated
    rendering = basis.rules.rendering
    how = f"cpu up to {rendering.round_cpu_millicores}m, memory up to {rendering.round_memory_bytes} bytes"
    yield "rounding", how, rounded_estimates(seen, estimated, rendering)


def _fitted(recommended: Recommended, question: Question, survey: Survey, model: ClusterModel) -> Recommended:
    """Return a recommendation held to what nodes have, where they are known."""
    nodes = survey.snapshot.surroundings.nodes
    if nodes is None:
        return recommended
    workloads = survey.known.workloads
    daemon_sets = tuple(each for each in workloads.values() if each.kind == "DaemonSet")
    fit = NodeFit()
    fit.observe(model, question.pods)
    return fit.applied(recommended, KnownNodes(tuple(nodes.values()), daemon_sets, workloads, (1,)))


def _container(
    basis: _Basis,
    place: int,
    steps: Sequence[tuple[str, str, Estimates]],
    found: Recommendation,
    cautions: Iterable[VpaCondition],
) -> ContainerEstimate:
    """Return how one container's recommendation comes about."""
    settings, usage, name = basis.rules.estimator, basis.usage, basis.groups.names[place]
    samples = (usage.first_sample, usage.last_sample, usage.sample_count)
    intervals = (settings.confidence_interval_cpu, settings.confidence_interval_memory)
    sure = {
        resource: float(confidence(*samples, interval)[place])
        for resource, interval in zip(CONTROLLED, intervals, strict=True)
    }
    taken = {
        resource: tuple(
            _step(step, how or _how(basis, place, step, resource, sure), estimates, resource, place)
            for step, how, estimates in steps
        )
        for resource in CONTROLLED
    }
    entry = found.of(name)
    return ContainerEstimate(name, sure, taken, _reasons(basis, place), _caps(basis, taken, entry, cautions), entry)


def _how(basis: _Basis, place: int, step: str, resource: str, sure: Mapping[str, float]) -> str:
    """Return what a step does to one resource of one container."""
    settings = basis.rules.estimator
    if step == "confidence":
        return f"bounds widened for a confidence of {sure[resource]:.3g}"
    if step == "minimum" and place in basis.groups.choice.places:
        return f"in the place of all that: strategy {basis.groups.vpas[0].vpa.strategy}"
    if step == "minimum":
        least = minimums(basis.seen, settings)
        share = as_quantity(int((least.cpu if resource == CPU else least.memory)[place]), resource)
        strategy = basis.groups.vpas[0].vpa.strategy
        return f"at least {share}, the container's share of the pod's" + (f"; strategy {strategy}" if strategy else "")
    shares = (settings.cpu if resource == CPU else settings.memory).in_order()
    return ", ".join(f"{share * _WHOLE:g} %" for share in shares) + " of the weight lie below"


def _reasons(basis: _Basis, place: int) -> tuple[str, ...]:
    """Return what the strategy of a container says that its targets come from."""
    if place not in basis.groups.choice.places:
        return ()
    found = basis.model.strategies.explained(basis.groups.vpas[0], basis.groups.names[place])
    return () if found is None else (f"cpu: {found.cpu}", f"memory: {found.memory}")


def _step(name: str, how: str, estimates: Estimates, resource: str, place: int) -> EstimationStep:
    """Return one resource of one container after one step."""
    column = (estimates.cpu if resource == CPU else estimates.memory)[:, place]
    target, lower, upper = (as_quantity(int(amount), resource) for amount in column)
    return EstimationStep(name, how, target, lower, upper)


def _caps(
    basis: _Basis,
    steps: dict[str, tuple[EstimationStep, ...]],
    entry: ContainerRecommendation | None,
    cautions: Iterable[VpaCondition],
) -> tuple[str, ...]:
    """Name what keeps a container's target from being what was estimated."""
    if entry is None:
        return ()
    caps: list[str] = []
    for resource, target in entry.target.items():
        if resource in steps:
            name, estimated = entry.container_name, steps[resource][-1].target
            caps += _resource_caps(basis, name, resource, (estimated, target), cautions)
    return tuple(caps)


def _resource_caps(
    basis: _Basis,
    container: str,
    resource: str,
    amounts_seen: tuple[Quantity, Quantity],
    cautions: Iterable[VpaCondition],
) -> list[str]:
    """Name what makes a target of an estimated amount."""
    tracked, (estimated, target) = basis.groups.vpas[0], amounts_seen
    if tracked.scaling is not None and tracked.scaling.covers(container, resource):
        names = ", ".join(hpa.name for hpa in tracked.scaling.hpas)
        return [f"{resource} is {target} for the sake of HorizontalPodAutoscaler {names}"]
    policy = container_policy(tracked.vpa, container)
    notes = policy_bounds(policy, basis.rules.rendering.maximum).apply({resource: estimated})[1]
    is_flag = policy is None or resource not in policy.max_allowed
    flag = f"{resource} capped to --container-recommendation-max-allowed-{resource}"
    caps = [flag if note.endswith("maxAllowed") and is_flag else note for note in notes]
    if not caps and target < estimated:
        caps = [f"{resource} {each.type}: {each.message}" for each in cautions if each.type == CAPPED_TO_NODE]
    return caps
