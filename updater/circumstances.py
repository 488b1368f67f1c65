"""What every judgement on the pods of one VPA looks at, besides the pod itself."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from autoscaling.limitrange import NamespaceLimits
from autoscaling.objectref import ObjectRef
from autoscaling.stated_times import stated_duration
from autoscaling.vpa import UpdateMode, Vpa
from autoscaling.workload import Template, Workload
from updater.backoff import Backoff
from updater.eviction_loop import Loops
from updater.infeasible import InfeasibleMemory, InfeasibleResizes
from updater.node_policies import NodePolicies
from updater.recall import Recall
from updater.resize_progress import Sightings
from updater.resize_watch import ResizeWatch
from updater.room import Rooms
from updater.room_watch import RoomWatch
from updater.selection import Member
from updater.settings import Settings
from updater.storm_levels import StormLevels, StormLimits
from updater.surroundings import UNKNOWN, Surroundings
from updater.templates import template_of


@dataclass(frozen=True, slots=True)
class Memory:
    """What one round hands to the next; nothing else survives (updater section 1.1).

    Args:
        recall: What need not be reckoned again; decisions do not depend on it.
    """

    infeasible: InfeasibleMemory = field(default_factory=InfeasibleMemory)
    watch: ResizeWatch = field(default_factory=ResizeWatch)
    storms: StormLevels = field(default_factory=StormLevels)
    rooms: RoomWatch = field(default_factory=RoomWatch)
    sightings: Sightings = field(default_factory=Sightings)
    backoff: Backoff = field(default_factory=Backoff)
    recall: Recall = field(default_factory=Recall, compare=False)
    loops: Loops = field(default_factory=Loops)
    node_policies: NodePolicies = field(default_factory=NodePolicies)
    infeasible_resizes: InfeasibleResizes = field(default_factory=InfeasibleResizes)


@dataclass(frozen=True, slots=True)
class Circumstances:
    """One VPA in one round.

    Args:
        vpa: The VPA.
        limits: Merged LimitRanges of its namespace.
        now: Time of the round.
        settings: Flags, gates and behaviour.
        memory: What the round before handed over; nothing found in this round bears on another pod of it.
        surroundings: What else tells whether a change would do harm.
        rooms: What the nodes have left; None where that is not known or does not matter.
        storms: How many changes at a time are borne; None where any number is.
        workloads: The controllers of the cluster, as far as they are known.
    """

    vpa: Vpa
    limits: NamespaceLimits
    now: datetime
    settings: Settings
    memory: Memory
    surroundings: Surroundings = UNKNOWN
    rooms: Rooms | None = None
    storms: StormLimits | None = None
    workloads: Mapping[ObjectRef, Workload] = field(default_factory=dict)

    def template_of(self, member: Member) -> Template:
        """Return what the template of a pod's direct controller asks for (see ``templates.template_of``)."""
        return template_of(member.pod, member.group, self.workloads, self.settings.behaviour)

    @property
    def is_in_place_only(self) -> bool:
        """Whether the mode is InPlace, which never evicts."""
        return self.vpa.update_mode is UpdateMode.IN_PLACE

    @property
    def deferred_timeout(self) -> timedelta:
        """How long a deferred resize is waited for: the VPA's own time goes before the flag's (beyond:B-20)."""
        policy = self.vpa.update_policy
        return self._own(policy.deferred_timeout_seconds if policy else None, self.settings.deferred_timeout)

    @property
    def progress_timeout(self) -> timedelta:
        """How long a resize in progress is waited for: the VPA's own time goes before the flag's (beyond:B-20)."""
        policy = self.vpa.update_policy
        return self._own(policy.progress_timeout_seconds if policy else None, self.settings.progress_timeout)

    def _own(self, seconds: int | None, otherwise: timedelta) -> timedelta:
        return otherwise if seconds is None or not self.settings.behaviour.timers else stated_duration(seconds)
