"""What the resize scenarios need of a cluster, whether it is simulated or real.

A scenario creates pods, changes them, and waits until something is so. How time passes meanwhile is the bench's own
affair: a simulated cluster moves its clock, a real one lets the caller wait.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import Enum, auto
from typing import Protocol, TypeVar

from evenkeel.simulator.api.fields import JsonObject
from evenkeel.simulator.kubelet.settings import Amounts

T = TypeVar("T")


class Ability(Enum):
    """What not every bench can do; a scenario names what it needs and is left out elsewhere."""

    FAILING_UPDATES = auto()
    KUBELET_RESTART = auto()
    NODE_PRESSURE = auto()
    RUNTIME_CALLS = auto()
    STATIC_PODS = auto()
    EVICTION_THRESHOLD = auto()


class Variant(Enum):
    """How the node of a scenario differs from the usual one."""

    USUAL = auto()
    STATIC_CPU = auto()
    LIMITED_SWAP = auto()


@dataclass(frozen=True, slots=True)
class Answer:
    """What the API server said.

    Args:
        code: HTTP status code.
        body: The object, or the Status of a refusal.
    """

    code: int
    body: JsonObject


@dataclass(frozen=True, slots=True)
class Seen:
    """One version of a pod that a watcher saw.

    Args:
        at: When.
        pod: The whole object.
    """

    at: datetime
    pod: JsonObject


@dataclass(frozen=True, slots=True)
class Doing:
    """What a container does by itself.

    Args:
        memory_bytes: Memory it holds from its start on, in a way that counts as usage.
        releases_after: Age at which it gives that back.
        exits_after: Age at which it ends.
        exit_code: With what it ends.
        deaf: Whether it ignores being asked to end.
    """

    memory_bytes: int = 0
    releases_after: timedelta | None = None
    exits_after: timedelta | None = None
    exit_code: int = 0
    deaf: bool = False


IDLE = Doing()


@dataclass(frozen=True, slots=True)
class Call:
    """One call to the container runtime.

    Args:
        container: Which container; empty for the pod's own control group.
        cpu_quota_us: The CPU quota it set.
        memory_bytes: The memory limit it set.
    """

    container: str
    cpu_quota_us: int | None
    memory_bytes: int | None


class Bench(Protocol):
    """A cluster with a node of its own for one scenario."""

    abilities: frozenset[Ability]
    namespace: str
    node: str
    allocatable: Amounts
    absolute: Amounts
    slack: timedelta
    """How much later than on an idle machine something may happen."""

    def call(self, method: str, path: str, body: object = None, content_type: str = "application/json") -> Answer:
        """Send one request to the API server."""

    def container(self, name: str, resources: JsonObject, does: Doing = IDLE) -> JsonObject:
        """Return a container for a pod's spec that does something."""

    def now(self) -> datetime:
        """Return the time that the API server's timestamps are in."""

    def wait_until(self, check: Callable[[], T | None], what: str, timeout: timedelta) -> T:
        """Let time pass until a check returns something true, and return that.

        Raises:
            AssertionError: It does not within the time-out.
        """

    def pass_time(self, by: timedelta) -> None:
        """Let time pass."""

    def history(self, name: str) -> Sequence[Seen]:
        """Return all versions of a pod that were seen so far, oldest first."""

    def metrics_text(self) -> str:
        """Return the kubelet's metrics."""

    def memory_limit_bytes(self, pod_uid: str, container_id: str = "") -> int | None:
        """Return the memory limit in the control group of a container, or of the pod itself."""

    def cpu_quota_us(self, pod_uid: str, container_id: str = "") -> int | None:
        """Return the CPU quota in the control group of a container, or of the pod itself."""

    def fail_updates(self, times: int | None) -> None:
        """Let the next updates of containers fail; None for all until told otherwise, 0 for none any more."""

    def restart_kubelet(self, pause: timedelta, meanwhile: Callable[[], None] = lambda: None) -> datetime:
        """Stop the kubelet, do something, start it after a pause, and return when it was started."""

    def set_disk_pressure(self, *, holds: bool) -> None:
        """Let the node be short of disk space, or not any more."""

    def runtime_calls(self, pod_uid: str) -> Sequence[Call]:
        """Return the calls that changed control groups of a pod, in order."""

    def put_manifest(self, name: str, pod: JsonObject) -> None:
        """Put the manifest of a static pod on the node, in place of an earlier one of that name."""
