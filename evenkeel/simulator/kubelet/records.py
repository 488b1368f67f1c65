"""What a kubelet keeps about each pod: in memory until its process ends, and on disk beyond that."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime, timedelta
from enum import Enum

from autoscaling.resources import ContainerResources
from evenkeel.simulator.api.fields import JsonObject
from evenkeel.simulator.clock import Timer
from evenkeel.simulator.kubelet.conditions import ResizeConditions
from evenkeel.simulator.kubelet.podview import Allocation, PodView
from evenkeel.simulator.kubelet.script import Gate, Script
from evenkeel.simulator.kubelet.settings import Amounts


class Stage(Enum):
    """How far a pod's life has come on the node."""

    ACTIVE = "active"
    TERMINATING = "terminating"
    FINISHED = "finished"


@dataclass(frozen=True, slots=True)
class Ending:
    """Why the kubelet ends a pod that nobody has deleted.

    Args:
        reason: Reason of the pod's status.
        message: Its message.
        disruption: Message of the condition that tells of it; empty for none.
        rejected: Whether the pod was never taken in.
    """

    reason: str
    message: str
    disruption: str = ""
    rejected: bool = False


@dataclass(frozen=True, slots=True)
class Waiting:
    """Why a container does not run."""

    reason: str
    message: str = ""


@dataclass(slots=True)
class BackOff:
    """The delay before a crashed container starts again.

    Args:
        delay: How long.
        updated: When it was last made longer.
    """

    delay: timedelta
    updated: datetime


@dataclass(slots=True)
class PodRecord:
    """One pod in the kubelet's memory.

    Args:
        view: The pod as last seen in the API server.
        started: When the kubelet first saw it.
        conditions: Its resize conditions.
        stage: How far its life has come.
        synced_generation: Generation of the spec that was last synced.
        last_sync: When the last sync ended.
        waiting: Why containers do not run, by name, as found by the last sync.
        back_offs: Crash loops, by container and its resources.
        ending: Why the kubelet ends it.
        status: The status that was last made of it.
        wake: The timer of the next sync.
        wake_at: When that is.
        script: The sync, or the termination, under way.
        again_at: When another sync was asked for during this one.
        resync: The timer of the sync without a cause.
        holds: What it holds of the node, until something changes.
        dead: Opens once none of its containers runs any more.
        is_stale: Whether the next sync still works with the allocation before the last.
        syncing: The allocation that the sync under way works with, whatever is granted meanwhile.
    """

    view: PodView
    started: datetime
    conditions: ResizeConditions = field(default_factory=ResizeConditions)
    stage: Stage = Stage.ACTIVE
    synced_generation: int = 0
    last_sync: datetime | None = None
    waiting: dict[str, Waiting] = field(default_factory=dict)
    back_offs: dict[tuple[str, str], BackOff] = field(default_factory=dict)
    ending: Ending | None = None
    status: JsonObject = field(default_factory=dict)
    wake: Timer | None = None
    wake_at: datetime | None = None
    script: Script | None = None
    again_at: datetime | None = None
    resync: Timer | None = None
    holds: Amounts | None = None
    dead: Gate = field(default_factory=Gate)
    is_stale: bool = False
    syncing: Allocation | None = None


@dataclass(slots=True)
class Checkpoints:
    """What survives the kubelet's process: what was granted to each pod, and what was last put in force.

    Args:
        allocated: By pod uid.
        actuated: By pod uid.
    """

    allocated: dict[str, Allocation] = field(default_factory=dict)
    actuated: dict[str, dict[str, ContainerResources]] = field(default_factory=dict)

    def allocation(self, view: PodView) -> Allocation:
        """Return what a pod was granted; what it asks for while nothing was."""
        return self.allocated.get(view.uid, view.desired)

    def in_force(self, uid: str) -> dict[str, ContainerResources]:
        """Return what was last put in force for a pod, for writing into."""
        return self.actuated.setdefault(uid, {})

    def forget(self, uid: str) -> None:
        """Drop a pod."""
        self.allocated.pop(uid, None)
        self.actuated.pop(uid, None)
