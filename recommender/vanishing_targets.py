"""Targets that cannot be resolved for a while, or whose selector changes: the VPA keeps its history.

A Deployment that is deleted and applied again, an API server that does not answer for a scale, a blue-green switch:
none of them says anything about what the containers need. As long as the VPA's targetRef is the same, its history
stays.

Spec: beyond:B-1, case:17, case:18.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from autoscaling.matching import Selector
from autoscaling.targets import ResolvedTarget
from autoscaling.vpa import Vpa
from recommender.checkpoint import ContainerCheckpoint
from recommender.cluster_model import ClusterModel, NamespacedName
from recommender.instants import NEVER, instant, nanoseconds
from recommender.label_sets import TrackedVpa


@dataclass(frozen=True, slots=True)
class Sighting:
    """A VPA as it was seen in one round.

    Args:
        vpa: The object.
        target: What its target came to.
        selector: What the VPA is followed by; it selects nothing where the target cannot be resolved.
    """

    vpa: Vpa
    target: ResolvedTarget
    selector: Selector


def observe_target(model: ClusterModel, sighting: Sighting, now: datetime, *, keeps_history: bool) -> TrackedVpa:
    """Let a model see a VPA, which may keep its history as long as its targetRef is the same.

    Args:
        model: Changed.
        sighting: The VPA.
        now: The time of the round.
        keeps_history: Whether it does; otherwise history starts anew with every change of the selector, and none
            selects anything while the target cannot be resolved.
    """
    vpa, target = sighting.vpa, sighting.target
    known = model.vpas.get((vpa.namespace, vpa.name))
    if known is None or not keeps_history or known.vpa.target_ref != vpa.target_ref:
        tracked = model.observe_vpa(vpa, sighting.selector)
    elif target.is_unresolved:
        tracked = model.observe_vpa(vpa, known.selector)
    elif sighting.selector is known.selector or str(sighting.selector) == str(known.selector):
        tracked = model.observe_vpa(vpa, sighting.selector)
    else:
        tracked = _follow_anew(model, known, sighting, now)
    tracked.controllers = target.controllers
    if tracked is not known or not (keeps_history and target.is_unresolved):
        tracked.pod_selector = target.selector
    if keeps_history and target.is_unresolved:
        tracked.target_missing_at = instant(now)
    return tracked


def is_as_observed(tracked: TrackedVpa | None, vpa: Vpa, target: ResolvedTarget) -> bool:
    """Say whether a VPA need not be observed again, whose target came to the same as when it was observed last.

    What others share with it is brought up to date in every round, and so is when a target was missing.
    """
    return tracked is not None and tracked.vpa is vpa and not (tracked.is_shared or target.is_unresolved)


def _follow_anew(model: ClusterModel, known: TrackedVpa, sighting: Sighting, now: datetime) -> TrackedVpa:
    """Follow a VPA by another selector; what only the former one selects counts as loaded history from now on."""
    former, initial = known.linked, known.initial
    # The model releases what a VPA that starts anew had loaded, so that is taken away before.
    known.initial = {}
    tracked = model.observe_vpa(sighting.vpa, sighting.selector)
    tracked.initial = initial
    tracked.checkpoint_written, tracked.target_missing_at = known.checkpoint_written, known.target_missing_at
    for container, rows in former.items():
        for row in set(rows) - set(tracked.linked.get(container, ())):
            if container not in tracked.initial:
                tracked.initial[container] = model.aggregates.create(instant(now))
            model.aggregates.absorb(tracked.initial[container], row)
    model.links_version += 1
    return tracked


def may_replace(
    new: ContainerCheckpoint, stored: ContainerCheckpoint | None, tracked: TrackedVpa, interval: timedelta
) -> bool:
    """Say whether a checkpoint may be written over the stored one.

    While the target is missing, and for an interval after, none with fewer samples takes the place of another.

    Args:
        new: What would be written.
        stored: What is stored; None where nothing is known to be.
        tracked: The VPA.
        interval: How long the target must have been back.
    """
    if stored is None or new.sample_count >= stored.sample_count or tracked.target_missing_at == NEVER:
        return True
    return instant(new.updated) - tracked.target_missing_at >= nanoseconds(interval)


def late_checkpoints(
    vpas: Sequence[TrackedVpa], stored: Iterable[ContainerCheckpoint]
) -> tuple[ContainerCheckpoint, ...]:
    """Return the stored checkpoints of VPAs that came under this recommender while it ran.

    Another recommender has served such a VPA before. A checkpoint that is older than the VPA is another VPA's of the
    same name, and is left out.

    Args:
        vpas: The VPAs.
        stored: All checkpoints.
    """
    created: Mapping[NamespacedName, datetime | None] = {tracked.key: tracked.vpa.created for tracked in vpas}
    return tuple(checkpoint for checkpoint in stored if _is_of(checkpoint, created))


def _is_of(checkpoint: ContainerCheckpoint, created: Mapping[NamespacedName, datetime | None]) -> bool:
    """Say whether a checkpoint was written during the life of one of some VPAs."""
    begin = created.get((checkpoint.namespace, checkpoint.vpa_name))
    return begin is not None and checkpoint.updated is not None and checkpoint.updated >= begin


def newly_served(model: ClusterModel, before: Collection[NamespacedName]) -> list[TrackedVpa]:
    """Return the VPAs of a model that were not among some before."""
    return [tracked for key, tracked in model.vpas.items() if key not in before]
