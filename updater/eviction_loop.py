"""Evictions of one workload's pods that change nothing, as a reducer (beyond:B-25, cases 35, 38).

The webhook may be bypassed, throttled or overruled by another one, and then a replacement comes up as its predecessor
was, only to be evicted in turn. Nothing but what replacements ask for shows that.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import Final

from autoscaling.capping import process
from autoscaling.errors import InvalidObjectError
from autoscaling.limitrange import NO_LIMITS, NamespaceLimits
from autoscaling.objectref import ObjectRef
from autoscaling.pod import ConditionStatus, Pod
from autoscaling.resources import in_order
from autoscaling.vpa import Recommendation, Vpa
from updater.conditions import EVICTION_LOOP
from updater.ledger import Eviction
from updater.priority import is_outside, observed_containers, score
from updater.selection import ControlledPods

IN_VAIN: Final = 2
"""One replacement may have slipped past the webhook while that was restarted; a second one tells that it will go on."""
FIRST_PAUSE: Final = timedelta(minutes=10)
LONGEST_PAUSE: Final = timedelta(hours=6)
ATTRIBUTED_FOR: Final = timedelta(minutes=30)
"""A pod that comes up so long after the last eviction is nobody's replacement, and what it should get has moved on."""
_BEFORE_THIS_PROCESS: Final = "pods came up without what was wanted before this updater started"


@dataclass(frozen=True, slots=True)
class Loop:
    """What evictions of one workload's pods have come to.

    Args:
        since: When the first of them was evicted that count.
        last: When the last one was.
        wanted: What its replacement was to get, with bounds.
        judged: UIDs of the replacements seen so far, and of the pods that were evicted.
        in_vain: How many of the last ones in a row came up without what was wanted.
        pauses: How many pauses there were in a row, the present one included.
        until: When the last of them ends, and one more eviction may be tried.
        detail: What the last replacement lacked.
    """

    since: datetime | None = None
    last: datetime | None = None
    wanted: Recommendation | None = None
    judged: frozenset[str] = frozenset()
    in_vain: int = 0
    pauses: int = 0
    until: datetime | None = None
    detail: str = ""

    def evicting(self, wanted: Recommendation | None, now: datetime) -> Loop:
        """Return the loop with one more pod evicted; the one that is tried after a pause is followed by another one."""
        after = replace(self, since=self.since or now, last=now, wanted=wanted)
        return after.paused(now) if self.pauses else after

    def seeing(self, uid: str, lack: str, now: datetime) -> Loop:
        """Return the loop with one more replacement seen.

        Args:
            lack: What it came up without; empty where it has what was wanted, which ends the series.
        """
        judged = self.judged | {uid}
        if not lack:
            return replace(self, judged=judged, in_vain=0, pauses=0, until=None, detail="")
        after = replace(self, judged=judged, in_vain=self.in_vain + 1, detail=lack)
        is_paused = self.until is not None and now < self.until
        return after if after.in_vain < IN_VAIN or is_paused else after.paused(now)

    def is_over(self, now: datetime) -> bool:
        """Say whether nothing more can be learnt from it."""
        if self.until is not None:
            return now > self.until + LONGEST_PAUSE
        return self.last is None or now > self.last + ATTRIBUTED_FOR

    def paused(self, now: datetime) -> Loop:
        """Return the loop with a pause that begins now, twice as long as the one before it."""
        return replace(self, pauses=self.pauses + 1, until=now + pause(self.pauses + 1))


def pause(number: int) -> timedelta:
    """Return how long the first, second and so on pause in a row is."""
    return min(FIRST_PAUSE * (1 << min(number - 1, 10)), LONGEST_PAUSE)


@dataclass(frozen=True, slots=True)
class Loops:
    """The loops by workload, which is the topmost controller that a VPA is for.

    A restart forgets how often in a row there was a pause, but not that there is one: the condition on the VPA tells.
    """

    by_workload: Mapping[ObjectRef, Loop] = field(default_factory=dict)

    def evicting(self, evictions: Iterable[Eviction], now: datetime) -> Loops:
        """Return the loops with the evictions of a round."""
        loops = dict(self.by_workload)
        for eviction in evictions:
            loop = loops.get(eviction.workload, Loop()).evicting(eviction.wanted, now)
            loops[eviction.workload] = replace(loop, judged=loop.judged | {eviction.uid})
        return Loops(loops) if loops else self

    def looking(
        self, controlled: Iterable[ControlledPods], limits: Mapping[str, NamespaceLimits], now: datetime
    ) -> Loops:
        """Return the loops with the replacements that have come up meanwhile; those that are over are forgotten."""
        loops = {workload: loop for workload, loop in self.by_workload.items() if not loop.is_over(now)}
        for one in controlled:
            workload = workload_of(one.vpa)
            loop = loops.get(workload) or _told(one.vpa, now)
            if loop is not None:
                loops[workload] = _looked(loop, one, limits.get(one.vpa.namespace, NO_LIMITS), now)
        return Loops(loops)


def workload_of(vpa: Vpa) -> ObjectRef:
    """Return the workload whose pods a VPA controls."""
    target = vpa.target_ref
    return ObjectRef(target.kind, vpa.namespace, target.name) if target is not None else vpa.ref


def lack_of(pod: Pod, wanted: Recommendation) -> str:
    """Say what of a recommendation a pod lies outside the bounds of, observed and wanted; empty where it has all."""
    if not score(pod, wanted).is_outside_bounds:
        return ""
    observed, lacks = observed_containers(pod), []
    for container in pod.containers:
        entry, requests = wanted.of(container.name), pod.actual_resources(container).requests or {}
        if entry is None or (observed is not None and container.name not in observed):
            continue
        for name, target in in_order(entry.target):
            if name not in requests or is_outside(name, requests, entry):
                lower, upper = (entry.lower_bound or {}).get(name, ""), (entry.upper_bound or {}).get(name, "")
                has = requests.get(name, "none")
                lacks.append(f"container {container.name} has {has} {name}, wanted {target} ({lower} to {upper})")
    return "; ".join(lacks)


def _told(vpa: Vpa, now: datetime) -> Loop | None:
    """Return the loop that a VPA's condition tells of, None where it has none.

    Since when it holds says which pause of the series it would be in.
    """
    condition = next((c for c in vpa.conditions if c.type == EVICTION_LOOP), None)
    if condition is None or condition.status is not ConditionStatus.TRUE:
        return None
    until, number = condition.last_transition_time or now, 0
    while until <= now:
        number += 1
        until += pause(number)
    return Loop(in_vain=IN_VAIN, pauses=max(number, 1), until=until, detail=_BEFORE_THIS_PROCESS)


def _looked(loop: Loop, controlled: ControlledPods, limits: NamespaceLimits, now: datetime) -> Loop:
    """Return a loop with those of a VPA's pods that have come up since the first eviction, the oldest first."""
    since, last, wanted = loop.since, loop.last, loop.wanted
    if since is None or last is None or wanted is None:
        return loop
    # A kubelet tells whole seconds, so a replacement may seem to have started before its predecessor was evicted.
    since = since.replace(microsecond=0)
    pods = [
        (pod.start_time, pod.name, pod)
        for pod in (member.pod for member in controlled.members)
        if pod.start_time is not None
        and since <= pod.start_time <= last + ATTRIBUTED_FOR
        and pod.uid not in loop.judged
    ]
    for _, _, pod in sorted(pods, key=lambda entry: entry[:2]):
        loop = loop.seeing(pod.uid, _lack(pod, wanted, controlled.vpa, limits), now)
    return loop


def _lack(pod: Pod, wanted: Recommendation, vpa: Vpa, limits: NamespaceLimits) -> str:
    """Say what a replacement lacks of both what was wanted then and what is wanted now, which may have moved."""
    lack = lack_of(pod, wanted)
    if not lack:
        return ""
    try:
        processed = process(pod, vpa, limits)
    except InvalidObjectError:
        return lack
    return lack_of(pod, processed.recommendation) if processed is not None else lack
