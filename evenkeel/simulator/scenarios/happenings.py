"""What happens in a simulated cluster, as those who watch a scenario are told it."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from datetime import timedelta
from enum import Enum
from typing import TypeAlias

from evenkeel.simulator.api.fields import JsonObject


class PodChange(Enum):
    """What became of a pod."""

    CREATED = "created"
    STARTED = "started"
    LEAVING = "leaving"
    GONE = "gone"


@dataclass(frozen=True, slots=True)
class PodHappening:
    """A pod came, started or went."""

    at: timedelta
    pod: str
    change: PodChange
    uid: str
    workload: str
    node: str

    @property
    def text(self) -> str:
        """In words."""
        where = f" on {self.node}" if self.node else ""
        return f"pod {self.pod} {self.change.value}{where}"


@dataclass(frozen=True, slots=True)
class Restarted:
    """A container runs again."""

    at: timedelta
    pod: str
    container: str
    count: int
    reason: str

    @property
    def text(self) -> str:
        """In words."""
        why = f" after {self.reason}" if self.reason not in {"", "Completed"} else ""
        return f"container {self.container} of {self.pod} restarted{why}, {self.count} in all"


@dataclass(frozen=True, slots=True)
class Resized:
    """A container has other resources than before."""

    at: timedelta
    pod: str
    container: str
    requests: str
    limits: str

    @property
    def text(self) -> str:
        """In words."""
        return f"container {self.container} of {self.pod} now has requests {self.requests}, limits {self.limits}"


@dataclass(frozen=True, slots=True)
class ResizeStatus:
    """The kubelet says something else about a resize."""

    at: timedelta
    pod: str
    condition: str
    reason: str
    message: str

    @property
    def text(self) -> str:
        """In words."""
        if not self.condition:
            return f"no resize of {self.pod} is waiting or under way"
        return f"{self.pod}: {self.condition}{f' {self.reason}' if self.reason else ''}" + (
            f": {self.message}" if self.message else ""
        )


@dataclass(frozen=True, slots=True)
class Recommended:
    """A VPA recommends something else for a container."""

    at: timedelta
    vpa: str
    container: str
    target: str
    lower: str
    upper: str
    uncapped: str

    @property
    def text(self) -> str:
        """In words."""
        return f"{self.vpa}: {self.container} should have {self.target} ({self.lower} to {self.upper})"


@dataclass(frozen=True, slots=True)
class Told:
    """An event was written, or written once more."""

    at: timedelta
    reason: str
    kind: str
    name: str
    namespace: str
    message: str
    source: str

    @property
    def text(self) -> str:
        """In words."""
        # What the kubelet adds in JSON repeats what other happenings say.
        message = self.message.partition(": {")[0]
        return f"event {self.reason} on {self.kind} {self.name}: {message}"


@dataclass(frozen=True, slots=True)
class Decided:
    """The updater decided something."""

    at: timedelta
    object: str
    action: str
    reason: str
    detail: str

    @property
    def text(self) -> str:
        """In words."""
        return f"updater: {self.action} {self.object}: {self.reason}" + (f" ({self.detail})" if self.detail else "")


@dataclass(frozen=True, slots=True)
class Complained:
    """A process logged a warning or an error."""

    at: timedelta
    process: str
    level: str
    event: str
    detail: str

    @property
    def text(self) -> str:
        """In words."""
        return f"{self.process}: {self.level}: {self.event}" + (f": {self.detail}" if self.detail else "")


@dataclass(frozen=True, slots=True)
class Done:
    """The scenario did something."""

    at: timedelta
    what: str

    @property
    def text(self) -> str:
        """In words."""
        return f"scenario: {self.what}"


@dataclass(frozen=True, slots=True)
class Used:
    """What a container used lately."""

    at: timedelta
    pod: str
    container: str
    cpu: str
    memory: str

    @property
    def text(self) -> str:
        """In words."""
        return f"container {self.container} of {self.pod} uses {self.cpu} CPU, {self.memory} memory"


Happening: TypeAlias = (
    PodHappening | Restarted | Resized | ResizeStatus | Recommended | Told | Decided | Complained | Done | Used
)


def as_record(happening: Happening) -> JsonObject:
    """Return a happening as one line of a recording: its time in seconds, what it is, and its fields."""
    kind = type(happening).__name__
    fields: JsonObject = {
        name: value.value if isinstance(value, Enum) else value for name, value in asdict(happening).items()
    }
    return {**fields, "at": happening.at.total_seconds(), "what": kind[0].lower() + kind[1:]}
