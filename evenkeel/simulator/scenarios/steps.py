"""What is done to a cluster in the course of a scenario, as scenario files say it."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from enum import StrEnum
from typing import Annotated, TypeAlias

from pydantic import Discriminator, Tag

from evenkeel.simulator import faults
from evenkeel.simulator.api.fields import JsonObject
from evenkeel.simulator.scenarios.syntax import Amount, Duration, Part
from evenkeel.simulator.scenarios.usage import UsageDocument


class Program(StrEnum):
    """The three processes, by their short names."""

    RECOMMENDER = "recommender"
    UPDATER = "updater"
    ADMISSION = "admission"


@dataclass(frozen=True, slots=True, kw_only=True)
class Timed(Part):
    """Something that is done at a time from the start."""

    at: Duration = timedelta(0)


@dataclass(frozen=True, slots=True, kw_only=True)
class Apply(Timed):
    """Create objects, or merge into those that exist."""

    apply: tuple[JsonObject, ...]


@dataclass(frozen=True, slots=True)
class Reference(Part):
    """One object."""

    kind: str
    name: str
    api_version: str = "v1"
    namespace: str = "default"


@dataclass(frozen=True, slots=True, kw_only=True)
class Delete(Timed):
    """Delete an object."""

    delete: Reference


@dataclass(frozen=True, slots=True)
class Advice(Part):
    """A recommendation that somebody else than the recommender gives."""

    vpa: str
    containers: dict[str, dict[str, Amount]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Recommend(Timed):
    """Write a recommendation into a VPA's status; the recommender must not serve it."""

    recommend: Advice


@dataclass(frozen=True, slots=True)
class NewUsage(Part):
    """Another usage for a container of a workload."""

    workload: str
    usage: UsageDocument
    container: str = "main"


@dataclass(frozen=True, slots=True, kw_only=True)
class Use(Timed):
    """Let the running containers of a workload use something else from now on."""

    use: NewUsage


@dataclass(frozen=True, slots=True)
class Refusal(Part):
    """An answer that says no."""

    code: int
    reason: str = ""
    message: str = "refused by an injected fault"
    retry_after_seconds: int | None = None


@dataclass(frozen=True, slots=True)
class Interruption(Part):
    """How a watch ends."""

    after_events: int = 0
    abruptly: bool = False


@dataclass(frozen=True, slots=True)
class ApiFault(Part):
    """What goes wrong with which requests; exactly one of the last five says what."""

    verb: str = "*"
    path: str = ""
    count: int | None = 1
    skip: int = 0
    refuse: Refusal | None = None
    delay: Duration | None = None
    drop_connection: bool = False
    end_watch: Interruption | None = None
    expire_history: bool = False

    def __post_init__(self) -> None:
        """Refuse a fault that does nothing, or several things."""
        given = [self.refuse, self.delay, self.end_watch, self.drop_connection or None, self.expire_history or None]
        if sum(one is not None for one in given) != 1:
            raise ValueError("say exactly one of refuse, delay, dropConnection, endWatch and expireHistory")

    def rule(self) -> faults.Fault:
        """Return the rule for the API server."""
        return faults.Fault(self._action(), self.verb, self.path, self.count, self.skip)

    def _action(self) -> faults.Action:
        if self.refuse is not None:
            refusal = self.refuse
            return faults.Refuse(refusal.code, refusal.reason, refusal.message, refusal.retry_after_seconds)
        if self.delay is not None:
            return faults.Delay(self.delay)
        if self.end_watch is not None:
            return faults.EndWatch(self.end_watch.after_events, self.end_watch.abruptly)
        return faults.DropConnection() if self.drop_connection else faults.ExpireHistory()


@dataclass(frozen=True, slots=True, kw_only=True)
class Break(Timed):
    """Let requests go wrong from now on."""

    fault: ApiFault


@dataclass(frozen=True, slots=True, kw_only=True)
class Restart(Timed):
    """End one of the three processes and start it again."""

    restart: Program


class KubeletChange(StrEnum):
    """What is done to the program of a node's kubelet; containers run on without it."""

    STOP = "stop"
    START = "start"
    RESTART = "restart"


class PressureKind(StrEnum):
    """What a node can be short of."""

    DISK = "DiskPressure"
    PID = "PIDPressure"
    MEMORY = "MemoryPressure"


@dataclass(frozen=True, slots=True)
class NodeChange(Part):
    """Something that happens to a node.

    Args:
        name: The node.
        pressure: A pressure that it has from now on.
        relief: A pressure that it has no longer.
        kubelet: What is done to its kubelet.
        refused_updates: How many of the next calls that update a container fail.
    """

    name: str
    pressure: PressureKind | None = None
    relief: PressureKind | None = None
    kubelet: KubeletChange | None = None
    refused_updates: int | None = None

    def __post_init__(self) -> None:
        """Refuse a change that changes nothing."""
        if not self.words():
            raise ValueError("say at least one of pressure, relief, kubelet and refusedUpdates")

    def words(self) -> list[str]:
        """Return what happens, for who watches."""
        said = {
            "begins to have": self.pressure,
            "has no longer": self.relief,
            "kubelet:": self.kubelet,
            "refused updates:": self.refused_updates,
        }
        return [f"{what} {value}" for what, value in said.items() if value is not None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Trouble(Timed):
    """Let something happen to a node."""

    node: NodeChange


_KINDS: dict[str, type[Timed]] = {
    "apply": Apply,
    "delete": Delete,
    "recommend": Recommend,
    "use": Use,
    "fault": Break,
    "restart": Restart,
    "node": Trouble,
}


def step_key(value: object) -> str | None:
    """Return the key that says what a step does."""
    return next((key for key in _KINDS if key in value), None) if isinstance(value, dict) else None


Step: TypeAlias = Annotated[
    Annotated[Apply, Tag("apply")]
    | Annotated[Delete, Tag("delete")]
    | Annotated[Recommend, Tag("recommend")]
    | Annotated[Use, Tag("use")]
    | Annotated[Break, Tag("fault")]
    | Annotated[Restart, Tag("restart")]
    | Annotated[Trouble, Tag("node")],
    Discriminator(step_key),
]
STEP_KEYS = tuple(_KINDS)
