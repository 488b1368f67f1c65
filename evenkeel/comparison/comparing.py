"""Every autoscaler of upstream's beside ours: amounts, distance, what is nearer to use, why, and a verdict.

Spec: beyond:B-35.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from enum import Enum

from autoscaling.quantity import Quantity
from autoscaling.resources import CONTROLLED
from autoscaling.vpa import ContainerRecommendation, Vpa
from evenkeel.comparison.distance import Nearer, distance, nearer
from evenkeel.comparison.reasons import Standpoint, Subject, reason
from evenkeel.comparison.retracing import Retraced, SideSettings, State, Step, retrace
from evenkeel.comparison.supposing import Suppositions
from evenkeel.comparison.use import ContainerKey, ObservedUse, used


class Verdict(Enum):
    """How our target stands to upstream's."""

    SAME = "same"
    HIGHER = "ours is higher"
    LOWER = "ours is lower"
    ONLY_OURS = "only ours"
    ONLY_THEIRS = "only theirs"


@dataclass(frozen=True, slots=True)
class Row:
    """One resource of one container.

    Args:
        namespace: Of upstream's autoscaler.
        name: Of upstream's autoscaler.
        container: Name of the container.
        resource: ``cpu`` or ``memory``.
        ours: Our target; None for none.
        theirs: Upstream's target; None for none.
        distance_percent: See ``distance``; None where one target is missing.
        verdict: How the targets stand to each other.
        used: What was seen to be used; None where nothing was looked at or seen.
        nearer: Which target is nearer to that; None where that cannot be told.
        step: Where the targets part; None where they do not.
        detail: What is different there.
        ours_at_step: Our amount after that step, from what is stored; None where it cannot be told.
        theirs_at_step: Upstream's, likewise.
    """

    namespace: str
    name: str
    container: str
    resource: str
    ours: Quantity | None
    theirs: Quantity | None
    distance_percent: float | None
    verdict: Verdict
    used: Quantity | None = None
    nearer: Nearer | None = None
    step: Step | None = None
    detail: str = ""
    ours_at_step: Quantity | None = None
    theirs_at_step: Quantity | None = None

    @property
    def key(self) -> ContainerKey:
        """The container."""
        return self.namespace, self.name, self.container

    def is_beyond(self, threshold: float) -> bool:
        """Say whether the targets are more than so many percent apart; one alone always is."""
        return self.distance_percent is None or self.distance_percent > threshold


@dataclass(frozen=True, slots=True)
class Comparison:
    """Both sides beside each other.

    Args:
        rows: By namespace, name, container and resource.
        notes: What there is nothing to compare of, and why.
    """

    rows: tuple[Row, ...]
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Sides:
    """What both sides have stored.

    Args:
        ours: Our own group.
        theirs: Upstream's.
        now: When it was read.
    """

    ours: State
    theirs: State
    now: datetime


def compare(sides: Sides, use: ObservedUse, share: float) -> Comparison:
    """Compare every autoscaler of upstream's with ours for the same workload.

    Args:
        sides: What is stored.
        use: What the pods of upstream's autoscalers were seen to use.
        share: Percentile of use that targets are held against, above 0, at most 1.
    """
    ours, theirs = (_Side.of(state, sides.now) for state in (sides.ours, sides.theirs))
    failures = (*ours.retraced.failures, *theirs.retraced.failures)
    notes = [f"{failure.checkpoint}: {failure.error}" for failure in failures]
    rows: list[Row] = []
    for pair in pairs(sides.ours.vpas, sides.theirs.vpas):
        found = list(_rows(_Traced(pair, ours, theirs), use, share))
        rows += found
        if not found:
            what = "neither side recommends anything yet" if pair.ours is not None else "nothing is recommended yet"
            notes.append(f"{pair.theirs.ref}: {what}")
        if pair.ours is None:
            notes.append(f"{pair.theirs.ref}: has no twin in our own group; run `evenkeel shadow sync`")
    order = {resource: number for number, resource in enumerate(CONTROLLED)}
    rows.sort(key=lambda row: (*row.key, order[row.resource]))
    return Comparison(tuple(rows), tuple(notes))


@dataclass(frozen=True, slots=True)
class Pair:
    """One autoscaler of upstream's and ours for the same workload; None where there is none."""

    theirs: Vpa
    ours: Vpa | None


def pairs(ours: Iterable[Vpa], theirs: Iterable[Vpa]) -> Iterator[Pair]:
    """Find to each autoscaler of upstream's ours for the same workload: of the same name, else the first by name."""
    by_target: dict[tuple[str, str, str], list[Vpa]] = {}
    for vpa in sorted(ours, key=lambda each: each.ref):
        if vpa.target_ref is not None:
            by_target.setdefault((vpa.namespace, vpa.target_ref.kind, vpa.target_ref.name), []).append(vpa)
    for vpa in sorted(theirs, key=lambda each: each.ref):
        target = vpa.target_ref
        found = by_target.get((vpa.namespace, target.kind, target.name), []) if target is not None else []
        yield Pair(vpa, next((each for each in found if each.name == vpa.name), found[0] if found else None))


@dataclass(frozen=True, slots=True)
class _Side:
    """What one side's targets come from."""

    settings: SideSettings
    retraced: Retraced
    suppositions: Suppositions

    @classmethod
    def of(cls, state: State, now: datetime) -> _Side:
        """Work out what is asked for every target."""
        return cls(state.settings, retrace(state, now), Suppositions(state.settings))

    def standpoint(self, vpa: Vpa | None, container: str, resource: str) -> Standpoint:
        """Return what is known of one resource of one container."""
        if vpa is None:
            return Standpoint(None, self.settings)
        entries = _entries(vpa)
        entry = entries.get(container)
        return Standpoint(
            vpa,
            self.settings,
            self.retraced.traces.get((vpa.namespace, vpa.name, container)),
            entry.target.get(resource) if entry is not None else None,
            (entry.uncapped_target or {}).get(resource) if entry is not None else None,
            self.suppositions.of(len(entries), resource) if entries else None,
        )


@dataclass(frozen=True, slots=True)
class _Traced:
    """A pair with what both sides' targets come from."""

    pair: Pair
    ours: _Side
    theirs: _Side

    def subject(self, container: str, resource: str) -> Subject:
        """Return one resource of one container on both sides."""
        return Subject(
            container,
            resource,
            self.ours.standpoint(self.pair.ours, container, resource),
            self.theirs.standpoint(self.pair.theirs, container, resource),
        )


def _rows(traced: _Traced, use: ObservedUse, share: float) -> Iterator[Row]:
    """Yield the rows of a pair: every resource of every container that one side recommends."""
    entries = {**_entries(traced.pair.theirs), **_entries(traced.pair.ours)}
    for container in entries:
        for resource in CONTROLLED:
            subject = traced.subject(container, resource)
            if subject.ours.target is not None or subject.theirs.target is not None:
                key = (traced.pair.theirs.namespace, traced.pair.theirs.name, container)
                yield _row(key, subject, used(use, key, resource, share))


def _entries(vpa: Vpa | None) -> Mapping[str, ContainerRecommendation]:
    """Return what is recommended by container."""
    recommendation = vpa.recommendation if vpa is not None else None
    return {entry.container_name: entry for entry in recommendation.containers} if recommendation is not None else {}


def _row(key: ContainerKey, subject: Subject, seen: Quantity | None) -> Row:
    """Return what there is to say about one resource of one container."""
    ours, theirs = subject.ours.target, subject.theirs.target
    both = (ours, theirs) if ours is not None and theirs is not None else None
    why = reason(subject)
    return Row(
        *key,
        subject.resource,
        ours,
        theirs,
        distance(*both) if both else None,
        _verdict(ours, theirs),
        seen,
        nearer(*both, seen) if both and seen is not None else None,
        why.step if why else None,
        why.detail if why else "",
        why.ours if why else None,
        why.theirs if why else None,
    )


def _verdict(ours: Quantity | None, theirs: Quantity | None) -> Verdict:
    """Return how our target stands to theirs, of which at least one is there."""
    if ours is None or theirs is None:
        return Verdict.ONLY_THEIRS if ours is None else Verdict.ONLY_OURS
    if ours == theirs:
        return Verdict.SAME
    return Verdict.HIGHER if ours > theirs else Verdict.LOWER
