"""Why a VPA recommends what it does, and what comes of it: all parts of ``evenkeel explain`` in one value.

Spec: beyond:B-34.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from autoscaling.objectref import ObjectRef
from autoscaling.quantity import Quantity
from autoscaling.resources import CONTROLLED, MEMORY
from autoscaling.vpa import ContainerRecommendation, TargetRef, Vpa, VpaCondition
from evenkeel.inspection.documents import Block, Table
from evenkeel.inspection.estimation import ContainerEstimate, Estimation, EstimationStep
from evenkeel.inspection.histogram import Histogram, brief, drawn, histogram_of
from evenkeel.inspection.next_steps import AdmissionAnswer, UpdaterAnswer
from recommender.checkpoint import ContainerCheckpoint, RunningWindow

_NOTHING: Final = "-"


@dataclass(frozen=True, slots=True)
class Samples:
    """What a container's checkpoint says of its samples.

    Args:
        count: Number of CPU samples.
        first: Time of the first one.
        last: Time of the last one.
        stored: When the checkpoint was written; samples since then are not in it.
        windows: Memory windows that still ran then, whose peaks are not in the histogram yet.
    """

    count: int
    first: datetime | None
    last: datetime | None
    stored: datetime | None
    windows: tuple[RunningWindow, ...]


@dataclass(frozen=True, slots=True)
class ExplainedContainer:
    """One container of a VPA.

    Args:
        name: Its name.
        samples: None where nothing is stored of it.
        confidence: By resource; 1 is one whole interval of samples.
        histograms: By resource.
        steps: By resource, from the histogram to the amounts before caps.
        reasons: What the strategy says that its targets come from.
        caps: What holds the target back, by name.
        reckoned: What comes out, None for nothing.
        stated: What the VPA's status says, None for nothing.
    """

    name: str
    samples: Samples | None
    confidence: Mapping[str, float]
    histograms: Mapping[str, Histogram]
    steps: Mapping[str, tuple[EstimationStep, ...]]
    reasons: tuple[str, ...]
    caps: tuple[str, ...]
    reckoned: ContainerRecommendation | None
    stated: ContainerRecommendation | None


@dataclass(frozen=True, slots=True)
class Explanation:
    """All there is to say about one VPA.

    Args:
        vpa: The VPA; None where a pod has none.
        pod: The pod that was asked about; None where the VPA was.
        target: What the VPA aims at.
        mode: Its update mode.
        conditions: As its status has them.
        cautions: Conditions that a round of the recommender would set now.
        containers: By name.
        admission: What the webhook would make of a new pod; None where no pod could be made up.
        updater: What the updater would do about each pod, and says of the VPA.
        notes: What was assumed, and what could not be read.
    """

    vpa: ObjectRef | None
    pod: ObjectRef | None
    target: TargetRef | None
    mode: str
    conditions: tuple[VpaCondition, ...]
    cautions: tuple[VpaCondition, ...]
    containers: tuple[ExplainedContainer, ...]
    admission: AdmissionAnswer | None
    updater: tuple[UpdaterAnswer, ...]
    notes: tuple[str, ...]


def explained_containers(
    vpa: Vpa, estimated: Estimation, checkpoints: Iterable[ContainerCheckpoint]
) -> tuple[ExplainedContainer, ...]:
    """Return the containers that have history, a recommendation, or are known of a pod.

    Args:
        vpa: The VPA.
        estimated: How its recommendation comes about.
        checkpoints: Its checkpoints.
    """
    stored = {each.container_name: each for each in checkpoints}
    estimates = {each.container: each for each in estimated.containers}
    given = vpa.recommendation.containers if vpa.recommendation else ()
    stated = {each.container_name: each for each in given}
    names = sorted(stored.keys() | estimates.keys() | stated.keys())
    return tuple(_explained(name, stored.get(name), estimates.get(name), stated.get(name)) for name in names)


def _explained(
    name: str,
    stored: ContainerCheckpoint | None,
    estimate: ContainerEstimate | None,
    stated: ContainerRecommendation | None,
) -> ExplainedContainer:
    """Return one container."""
    samples = (
        Samples(stored.sample_count, stored.first_sample, stored.last_sample, stored.updated, stored.windows)
        if stored
        else None
    )
    histograms = (stored.cpu, stored.memory) if stored else (None, None)
    return ExplainedContainer(
        name=name,
        samples=samples,
        confidence=estimate.confidence if estimate else {},
        histograms={
            resource: histogram_of(each, resource) for resource, each in zip(CONTROLLED, histograms, strict=True)
        },
        steps=estimate.steps if estimate else {},
        reasons=estimate.reasons if estimate else (),
        caps=estimate.caps if estimate else (),
        reckoned=estimate.recommendation if estimate else None,
        stated=stated,
    )


def explanation_blocks(explanation: Explanation) -> Iterator[Block]:
    """Yield what a terminal shows of an explanation."""
    yield _heading(explanation)
    shown = [*explanation.conditions, *explanation.cautions]
    if shown:
        rows = {(c.type, c.status.value, c.reason or _NOTHING, c.message or _NOTHING): None for c in shown}
        yield Table("Conditions", ("TYPE", "STATUS", "REASON", "MESSAGE"), tuple(rows))
    for container in explanation.containers:
        yield from _container_blocks(container)
    if explanation.admission is not None:
        yield from _admission_blocks(explanation.admission)
    yield from _updater_blocks(explanation.updater)
    if explanation.notes:
        yield "Notes\n" + "\n".join(f"  {note}" for note in explanation.notes)


def _heading(explanation: Explanation) -> str:
    """Return the first line."""
    vpa, pod, target = explanation.vpa, explanation.pod, explanation.target
    if vpa is None:
        return f"{pod}: belongs to no VerticalPodAutoscaler"
    aims = f"{target.kind}/{target.name}" if target else "nothing"
    about = f"{pod}, of {vpa}" if pod else str(vpa)
    return f"{about}: mode {explanation.mode}, target {aims}"


def _container_blocks(container: ExplainedContainer) -> Iterator[Block]:
    """Yield what is shown of one container."""
    yield _samples_line(container)
    windows = container.samples.windows if container.samples else ()
    if windows:
        lines = (f"  {each.pod}: {each.peak / 2**20:.0f}Mi so far, until {_time(each.end)}" for each in windows)
        yield f"{container.name}: memory windows that still run, beside the histogram\n" + "\n".join(lines)
    for resource in CONTROLLED:
        steps, histogram = container.steps.get(resource, ()), container.histograms[resource]
        marks = _marks(steps[0]) if steps and histogram.bars else {}
        yield f"{container.name}: {resource} histogram\n" + "\n".join(drawn(histogram, marks))
    rows: list[tuple[str, ...]] = [
        (resource, step.name, *_briefly(step, resource), step.how)
        for resource in CONTROLLED
        for step in container.steps.get(resource, ())
        if container.histograms[resource].bars or (windows and resource == MEMORY)
    ]
    for label, entry in (("recommended", container.reckoned), ("in the status", container.stated)):
        rows += _entry_rows(label, entry)
    yield Table(
        f"{container.name}: from samples to the recommendation",
        ("RESOURCE", "STEP", "TARGET", "LOWER", "UPPER", "HOW"),
        tuple(sorted(rows, key=lambda row: CONTROLLED.index(row[0]))),
    )
    if container.reasons:
        yield f"{container.name}: what the strategy goes by\n" + "\n".join(f"  {each}" for each in container.reasons)
    if container.caps:
        yield f"{container.name}: caps\n" + "\n".join(f"  {cap}" for cap in container.caps)


def _samples_line(container: ExplainedContainer) -> str:
    """Say how much is known of a container."""
    samples = container.samples
    if samples is None:
        return f"Container {container.name}: no checkpoint, so nothing is known of its samples here"
    sure = ", ".join(f"{resource} {share:.3g}" for resource, share in container.confidence.items())
    span = f"{_time(samples.first)} to {_time(samples.last)}"
    return (
        f"Container {container.name}: {samples.count} CPU samples, {span}; confidence {sure or _NOTHING}; "
        f"stored {_time(samples.stored)}"
    )


def _marks(step: EstimationStep) -> Mapping[str, Quantity]:
    """Return the percentiles by the names of the vectors that come of them."""
    return {"lower": step.lower_bound, "target": step.target, "upper": step.upper_bound}


def _briefly(step: EstimationStep, resource: str) -> Iterator[str]:
    """Yield the amounts of a step as they are read at a glance."""
    for amount in (step.target, step.lower_bound, step.upper_bound):
        yield brief(amount, resource)


def _entry_rows(label: str, entry: ContainerRecommendation | None) -> Iterator[tuple[str, ...]]:
    """Yield a row for each resource of a recommendation."""
    for resource in CONTROLLED:
        if entry is not None and resource in entry.target:
            bounds = (entry.lower_bound, entry.upper_bound)
            lower, upper = (str((each or {}).get(resource, _NOTHING)) for each in bounds)
            yield resource, label, str(entry.target[resource]), lower, upper, ""


def _admission_blocks(answer: AdmissionAnswer) -> Iterator[Block]:
    """Yield what the webhook would do."""
    detail = f" {answer.detail}" if answer.detail else ""
    yield f"Admission of {answer.source}: {answer.reason}. {answer.meaning}{detail}"
    if answer.changes:
        yield Table("", ("FIELD", "VALUE"), tuple((each.field, each.value) for each in answer.changes))


def _updater_blocks(answers: Sequence[UpdaterAnswer]) -> Iterator[Block]:
    """Yield what the updater would do, and what the reasons mean."""
    if not answers:
        yield "Updater: no live pod of this VerticalPodAutoscaler"
        return
    rows = tuple(
        (str(each.object), each.action, each.reason, "; ".join(each.changes) or _NOTHING, each.detail or _NOTHING)
        for each in answers
    )
    yield Table("Updater", ("OBJECT", "ACTION", "REASON", "CHANGES", "DETAIL"), rows)
    meanings = {each.reason: f"  {each.reason}: {each.meaning} {each.remedy}".rstrip() for each in answers}
    yield "\n".join(meanings.values())


def _time(moment: datetime | None) -> str:
    return moment.strftime("%Y-%m-%d %H:%M") if moment else _NOTHING
