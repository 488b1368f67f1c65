"""Why two targets differ: the first step after which they never agree again, in words with the amounts at that step.

Spec: beyond:B-35.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from autoscaling.capping import policy_bounds
from autoscaling.pod import ConditionStatus
from autoscaling.policy import container_policy, controlled_resources, scaling_mode
from autoscaling.quantity import Quantity
from autoscaling.resources import CPU, MEMORY
from autoscaling.vpa import ScalingMode, Vpa
from evenkeel.comparison.retracing import TRACED, SideSettings, Step, Trace
from evenkeel.comparison.supposing import SUPPOSED, Supposed

OLD: Final = timedelta(minutes=10)
"""A checkpoint that ends so much before the other is told by its age: checkpoints are written every few minutes."""

_FINER: Final = frozenset({Step.CHECKPOINT_AGE, Step.PERCENTILE})
"""Steps that what is stored can tell from other samples, and going back from a target cannot."""

_OF_OURS_ALONE: Final = frozenset({"HPAConflict", "CappedToNode", "StrategyUnavailable", "UsageFallback"})
"""Conditions under which our recommender recommends something else than its histograms say."""


@dataclass(frozen=True, slots=True)
class Standpoint:
    """What is known of one container on one side.

    Args:
        vpa: The autoscaler; None where there is none.
        settings: What its recommender's flags say.
        trace: How its target comes about; None where nothing is stored.
        target: What is recommended; None for nothing.
        uncapped: The same before caps; None where it is not told.
        supposed: What any use would lead to; None where that is not asked.
    """

    vpa: Vpa | None
    settings: SideSettings
    trace: Trace | None = None
    target: Quantity | None = None
    uncapped: Quantity | None = None
    supposed: Supposed | None = None

    @property
    def buckets(self) -> frozenset[int]:
        """The buckets that the percentile of its use may have come from; none where no use leads to its target."""
        return frozenset() if self.supposed is None else self.supposed.buckets_of(self.uncapped)

    def way(self, bucket: int) -> Mapping[Step, Quantity]:
        """Return the target after each step that can be gone back over, if its use was in one bucket."""
        return {} if self.supposed is None else {step: self.supposed.at(step, bucket) for step in SUPPOSED}


@dataclass(frozen=True, slots=True)
class Subject:
    """Which amount of which container, on both sides.

    Args:
        container: Name of the container.
        resource: ``cpu`` or ``memory``.
        ours: Our side.
        theirs: Upstream's.
    """

    container: str
    resource: str
    ours: Standpoint
    theirs: Standpoint


@dataclass(frozen=True, slots=True)
class Reason:
    """Why two targets differ.

    Args:
        step: Where they part for good.
        detail: What is different there.
        ours: Our amount after that step; None where it cannot be told.
        theirs: Upstream's, likewise.
    """

    step: Step
    detail: str
    ours: Quantity | None = None
    theirs: Quantity | None = None


def reason(subject: Subject) -> Reason | None:
    """Return why two targets differ, None where they do not."""
    ours, theirs = subject.ours, subject.theirs
    if ours.target is None or theirs.target is None:
        return Reason(Step.PRESENCE, _absence(subject)) if ours.target != theirs.target else None
    if ours.target == theirs.target:
        return None
    if ours.uncapped is not None and ours.uncapped == theirs.uncapped:
        # What is told outweighs what was stored a while ago.
        return Reason(Step.CAPS, _caps(subject), ours.target, theirs.target)
    stored = _stored_parting(subject)
    if stored is not None and _is_as_told(subject):
        return _reason(stored, subject)
    implied = _implied_parting(subject)
    if implied is None:
        return Reason(Step.UNKNOWN, _unknown(subject))
    if implied.step is Step.SAMPLES and stored is not None and stored.step in _FINER:
        return _reason(stored, subject)
    return _reason(implied, subject)


@dataclass(frozen=True, slots=True)
class _Parting:
    """The step after which two targets never agree again, and the amounts after it."""

    step: Step
    ours: Quantity | None
    theirs: Quantity | None


def _reason(parting: _Parting, subject: Subject) -> Reason:
    """Add the words."""
    return Reason(parting.step, _detail(parting.step, subject), parting.ours, parting.theirs)


def _is_as_told(subject: Subject) -> bool:
    """Say whether what is stored leads to what both sides say."""
    return all(_leads_to_target(side, subject.resource) for side in (subject.ours, subject.theirs))


def _leads_to_target(side: Standpoint, resource: str) -> bool:
    """Say whether what is stored leads to a target, and to the one before caps where that is told."""
    way = side.trace.targets[resource] if side.trace is not None else {}
    return side.target == way.get(Step.CAPS) and side.uncapped in {None, way.get(Step.ROUNDING)}


def _stored_parting(subject: Subject) -> _Parting | None:
    """Return where targets traced from checkpoints part; None where there are none to trace, or where they do not."""
    ours, theirs = subject.ours.trace, subject.theirs.trace
    if ours is None or theirs is None:
        return None
    mine, other = ours.targets[subject.resource], theirs.targets[subject.resource]
    step = _last_apart(TRACED, mine, other)
    if step is None:
        return None
    is_old = step is Step.SAMPLES and abs(_ends_earlier(ours, theirs)) > OLD
    return _Parting(Step.CHECKPOINT_AGE if is_old else step, mine.get(step), other.get(step))


def _implied_parting(subject: Subject) -> _Parting | None:
    """Return where targets part if we go back from what is told; None where no use leads to it."""
    mine, other = subject.ours.buckets, subject.theirs.buckets
    if not mine or not other:
        return None
    common = mine & other
    ours, theirs = subject.ours.way(min(common or mine)), subject.theirs.way(min(common or other))
    step = _last_apart(SUPPOSED, ours, theirs)
    return None if step is None else _Parting(step, ours[step], theirs[step])


def _last_apart(steps: Sequence[Step], ours: Mapping[Step, Quantity], theirs: Mapping[Step, Quantity]) -> Step | None:
    """Return the first step after which two ways never meet again, None where they meet in the end."""
    parting = None
    for step in reversed(steps):
        if ours.get(step) == theirs.get(step):
            break
        parting = step
    return parting


def _detail(step: Step, subject: Subject) -> str:
    """Return what is different at a step."""
    mine, other = subject.ours.settings, subject.theirs.settings
    match step:
        case Step.CHECKPOINT_AGE | Step.SAMPLES:
            return _samples(subject, is_old=step is Step.CHECKPOINT_AGE)
        case Step.PERCENTILE:
            return _two(*(_percentile(side, subject.resource) for side in (mine, other)))
        case Step.MARGIN:
            return _two(*(f"{side.estimator.margin_fraction:g}" for side in (mine, other)))
        case Step.MINIMUM:
            return f"share of the least amounts of a pod: {_two(*(_minimum(side, subject) for side in (mine, other)))}"
        case Step.ROUNDING:
            return _two(*(_rounding(side, subject.resource) for side in (mine, other)))
        case _:
            return _caps(subject)


def _two(ours: str, theirs: str) -> str:
    """Return what holds for each side."""
    return f"ours {ours}, theirs {theirs}" if ours != theirs else f"both {ours}"


def _samples(subject: Subject, *, is_old: bool) -> str:
    """Say what histograms hold."""
    ours, theirs = subject.ours.trace, subject.theirs.trace
    told = _two(*(_history(trace) for trace in (ours, theirs)))
    if ours is None or theirs is None or not is_old:
        return told
    earlier = _ends_earlier(ours, theirs)
    return f"{'ours' if earlier > timedelta(0) else 'theirs'} ends {abs(earlier)} before the other; {told}"


def _history(trace: Trace | None) -> str:
    if trace is None:
        return "nothing stored"
    stored = trace.checkpoint
    if stored.first_sample is None:
        return f"{stored.sample_count} CPU samples"
    return f"{stored.sample_count} CPU samples from {_time(stored.first_sample)} to {_time(stored.last_sample)}"


def _time(moment: datetime | None) -> str:
    return "?" if moment is None else moment.strftime("%Y-%m-%dT%H:%M:%SZ")


def _ends_earlier(ours: Trace, theirs: Trace) -> timedelta:
    """Return how long before theirs our histogram ends, negative for after; nothing where one has no samples."""
    mine, other = ours.checkpoint.last_sample, theirs.checkpoint.last_sample
    return other - mine if mine is not None and other is not None else timedelta(0)


def _percentile(side: SideSettings, resource: str) -> str:
    percentiles = {CPU: side.estimator.cpu, MEMORY: side.estimator.memory}
    return f"{percentiles[resource].target:g}"


def _minimum(side: SideSettings, subject: Subject) -> str:
    if subject.resource == CPU:
        return f"of {side.estimator.pod_minimum_cpu_millicores:g}m"
    return f"of {side.estimator.pod_minimum_memory_mib:g}Mi"


def _rounding(side: SideSettings, resource: str) -> str:
    if resource == CPU:
        whole = " (whole cores where annotated)" if side.rendering.integer_cpu else ""
        return f"to {max(side.rendering.round_cpu_millicores, 1)}m{whole}"
    return f"to {max(side.rendering.round_memory_bytes, 1)} bytes"


def _caps(subject: Subject) -> str:
    """Say what bounds the target on each side."""
    return _two(*(_bounds(side, subject) for side in (subject.ours, subject.theirs)))


def _bounds(side: Standpoint, subject: Subject) -> str:
    policy = container_policy(side.vpa, subject.container) if side.vpa is not None else None
    bounds = policy_bounds(policy, side.settings.rendering.maximum)
    named = (("minAllowed", bounds.minimum), ("maxAllowed", bounds.maximum))
    told = [f"{name} {amounts[subject.resource]}" for name, amounts in named if subject.resource in amounts]
    return " ".join([*(told or ["no bounds"]), *_named_conditions(side)])


def _named_conditions(side: Standpoint) -> Iterator[str]:
    """Name the conditions that say why a target is another than its histogram and bounds make it."""
    conditions = side.vpa.conditions if side.vpa is not None else ()
    held = [c.type for c in conditions if c.status is ConditionStatus.TRUE and c.type in _OF_OURS_ALONE]
    if held:
        yield f"({', '.join(sorted(held))})"


def _absence(subject: Subject) -> str:
    """Say which side recommends nothing, and why as far as its object tells."""
    whose, side = ("ours", subject.ours) if subject.ours.target is None else ("theirs", subject.theirs)
    vpa = side.vpa
    if vpa is None:
        return "there is no object of our own group; run `evenkeel shadow sync`"
    policy = container_policy(vpa, subject.container)
    if scaling_mode(policy) is ScalingMode.OFF:
        return f"{whose}: mode of the container's policy is Off"
    if subject.resource not in controlled_resources(policy):
        return f"{whose}: not among controlledResources"
    problems = [c for c in vpa.conditions if c.status is ConditionStatus.TRUE and c.type != "RecommendationProvided"]
    told = "; ".join(f"{c.type}: {c.message}" if c.message else c.type for c in problems)
    return f"{whose}: {told or 'nothing recommended yet; see whether its recommender runs and serves it'}"


def _unknown(subject: Subject) -> str:
    """Say which side no use leads to."""
    sides = (("ours", "--our-flags", subject.ours), ("theirs", "--their-flags", subject.theirs))
    lost = [
        f"no use leads to {name} ({side.uncapped or side.target}) by the flags known of its recommender; "
        f"give them with {option}"
        for name, option, side in sides
        if not side.buckets
    ]
    return "; ".join([*lost, *(f"ours has {each}" for each in _named_conditions(subject.ours))])
