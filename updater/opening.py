"""What the work on a VPA begins with: who is left alone and why, who is worth updating, and the groups' budgets."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Final

from autoscaling.limitrange import NamespaceLimits
from autoscaling.objectref import ObjectRef
from autoscaling.pod import Pod
from autoscaling.vpa import UpdateMode
from autoscaling.workload import Workload
from updater.acceptance import next_change
from updater.attempt import PendingEviction
from updater.candidates import Candidate, acts_in_place, in_sending_order, sort_out
from updater.circumstances import Circumstances
from updater.decision import Decision, VpaScope, left_alone
from updater.group import Groups, form_groups
from updater.ledger import Ledger
from updater.resize_progress import resize_progress
from updater.selection import ControlledPods
from updater.vpa_work import VpaWork

_FOR_EVER: Final = datetime.max.replace(tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class Opening:
    """The start of the work on one VPA, with all that it was reckoned from.

    Args:
        controlled: The VPA and its pods.
        limits: Merged LimitRanges of its namespace.
        workloads: The controllers of its groups; None for one that is not known.
        until: When it may come out otherwise by the time alone; None where it depends on more than is named here.
        settled: Decisions on the pods that are left alone.
        scope: The VPA as decisions name it.
        groups: Budgets before anything is done.
        timed: Pods whose time in the middle of a resize was asked for.
        resizes: Pods to resize, most urgent first.
        evictions: Pods to evict, likewise.
    """

    controlled: ControlledPods
    limits: NamespaceLimits
    workloads: tuple[tuple[ObjectRef, Workload | None], ...]
    until: datetime | None
    settled: tuple[Decision, ...]
    scope: VpaScope
    groups: Groups
    timed: tuple[Pod, ...]
    resizes: tuple[Candidate, ...]
    evictions: tuple[PendingEviction, ...]

    def holds(
        self, controlled: ControlledPods, circumstances: Circumstances, workloads: Mapping[ObjectRef, Workload]
    ) -> bool:
        """Say whether it would come out the same now."""
        return (
            self.until is not None
            and circumstances.now < self.until
            and self.controlled.vpa is controlled.vpa
            and self.controlled.members == controlled.members
            and _is_same(self.limits, circumstances.limits)
            and all(_is_same(workloads.get(ref), workload) for ref, workload in self.workloads)
            and not _remembers_any(controlled, circumstances)
        )

    def begun(self, circumstances: Circumstances, ledger: Ledger) -> VpaWork:
        """Return the work in this round."""
        work = VpaWork(circumstances, self.scope, self.groups, ledger, self.timed, self.resizes, self.evictions)
        return work.advanced()


def opening_of(
    controlled: ControlledPods, circumstances: Circumstances, workloads: Mapping[ObjectRef, Workload]
) -> Opening:
    """Return what the work on a VPA begins with, reckoned only where a round before has not (updater M-13)."""
    openings = circumstances.memory.recall.openings
    found = openings.find(controlled.vpa.ref)
    if found is None or not found.holds(controlled, circumstances, workloads):
        found = _reckoned(controlled, circumstances, workloads)
    if found.until is not None:
        openings.keep(controlled.vpa.ref, found)
    return found


def _reckoned(
    controlled: ControlledPods, circumstances: Circumstances, workloads: Mapping[ObjectRef, Workload]
) -> Opening:
    """Look at every pod of a VPA."""
    vpa, in_place = controlled.vpa, acts_in_place(circumstances)
    groups = form_groups(controlled.members, vpa, workloads, circumstances.settings)
    found = sort_out(controlled.members, groups, circumstances)
    scope = VpaScope(
        vpa=vpa.ref,
        mode=vpa.update_mode,
        pods=len(controlled.members),
        evictable=0 if in_place else len(found.candidates),
        updatable=len(found.candidates) if in_place else 0,
        uid=vpa.uid,
    )
    settled = tuple(
        replace(left_alone(r.pod, r.reason, scope, r.detail, r.uid), missing=r.missing)
        if r.missing
        else left_alone(r.pod, r.reason, scope, r.detail, r.uid)
        for r in found.refusals
    )
    pending = tuple(PendingEviction(candidate, candidate.reason) for candidate in found.candidates)
    return Opening(
        controlled=controlled,
        limits=circumstances.limits,
        workloads=tuple((ref, workloads.get(ref)) for ref in dict.fromkeys(m.group for m in controlled.members)),
        until=_until(controlled, circumstances),
        settled=settled,
        scope=scope,
        groups=groups,
        timed=found.timed,
        resizes=in_sending_order(found.candidates, circumstances) if in_place else (),
        evictions=() if in_place else pending,
    )


def _until(controlled: ControlledPods, circumstances: Circumstances) -> datetime | None:
    """Return when a VPA's pods may be judged otherwise although nothing but the time has changed.

    A pod in the middle of a resize is judged by what was remembered of it and by the room on its node, so it is looked
    at in every round.
    """
    if _remembers_any(controlled, circumstances):
        return None
    until, behaviour = _FOR_EVER, circumstances.settings.behaviour
    for member in controlled.members:
        pod = member.pod
        if resize_progress(pod, behaviour) is not None:
            return None
        change = next_change(pod, circumstances)
        until = until if change is None else min(until, change)
    return until


def _is_same(one: object, other: object) -> bool:
    """Compare two snapshots, which mostly are one and the same."""
    return one is other or one == other


def _remembers_any(controlled: ControlledPods, circumstances: Circumstances) -> bool:
    """Say whether a recommendation was found infeasible for a pod of the VPA, which matters in mode InPlace only."""
    remembered = circumstances.memory.infeasible.recommendations
    if not remembered or controlled.vpa.update_mode is not UpdateMode.IN_PLACE:
        return False
    return any(member.pod.uid in remembered for member in controlled.members)
