"""The container runtime of one node: sandboxes and containers, their control groups, and the calls made to it.

It outlives the kubelet's process: containers go on, and end, while that is down.
"""

from __future__ import annotations

import random
from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from enum import Enum

from evenkeel.simulator.clock import Clock, Timer
from evenkeel.simulator.kubelet.cgroups import Cgroup
from evenkeel.simulator.kubelet.meters import Meter

KEPT_CALLS = 2000
OOM_KILLED = "OOMKilled"
KILLED = 137
_SMALLEST_GRACE = timedelta(seconds=2)


class RuntimeCallError(Exception):
    """The runtime did not do what it was asked to."""


class Verb(Enum):
    """What the runtime was asked to do."""

    SANDBOX = "sandbox"
    START = "start"
    STOP = "stop"
    UPDATE_CONTAINER = "update container"
    UPDATE_POD = "update pod"


@dataclass(frozen=True, slots=True)
class Call:
    """One call, for those who want to see what was done.

    Args:
        at: When.
        verb: What.
        pod: Uid of the pod.
        container: The container; empty for the pod as a whole.
        cgroup: The values that were asked for, where there were any.
        failed: Whether it was refused.
    """

    at: datetime
    verb: Verb
    pod: str
    container: str = ""
    cgroup: Cgroup | None = None
    failed: bool = False


@dataclass(slots=True)
class Container:
    """One container, running or ended.

    Args:
        identity: Its id.
        name: Its name in the pod.
        attempt: How many of that name there were before.
        started: When it started.
        cgroup: Its control group.
        meter: What it has used.
        finished: When it ended.
        exit_code: With what.
        reason: Why, in a word.
        end: The timer of its own end.
    """

    identity: str
    name: str
    attempt: int
    started: datetime
    cgroup: Cgroup
    meter: Meter
    finished: datetime | None = None
    exit_code: int = 0
    reason: str = ""
    end: Timer | None = None

    @property
    def running(self) -> bool:
        """Whether it runs."""
        return self.finished is None


@dataclass(slots=True)
class Sandbox:
    """What a pod has on the node.

    Args:
        pod: The pod's uid.
        address: Its IP address.
        created: Since when.
        cgroup: The control group around its containers.
        meter: What all of it has used.
        containers: The newest container of each name.
        previous: The one before it.
    """

    pod: str
    address: str
    created: datetime
    cgroup: Cgroup
    meter: Meter
    containers: dict[str, Container] = field(default_factory=dict)
    previous: dict[str, Container] = field(default_factory=dict)

    def running(self) -> Iterator[Container]:
        """Yield the containers that run."""
        return (container for container in self.containers.values() if container.running)

    def is_running(self, name: str) -> bool:
        """Say whether a container of a name runs."""
        container = self.containers.get(name)
        return container is not None and container.running


@dataclass(slots=True)
class Failures:
    """Calls that will be refused.

    Args:
        updates: How many updates of containers; None for all until further notice.
        starts: Likewise, starts of containers.
        message: What the runtime says then.
    """

    updates: int | None = 0
    starts: int | None = 0
    message: str = "the runtime refuses by order of the simulation"

    def takes_update(self) -> bool:
        """Say whether the next update is refused, and count it."""
        self.updates, struck = _spent(self.updates)
        return struck

    def takes_start(self) -> bool:
        """Say whether the next start is refused, and count it."""
        self.starts, struck = _spent(self.starts)
        return struck


def _spent(left: int | None) -> tuple[int | None, bool]:
    """Take one from a number of failures that may be without end."""
    if left is None:
        return None, True
    return max(0, left - 1), left > 0


@dataclass(frozen=True, slots=True)
class Start:
    """How a container is to be started.

    Args:
        name: Its name.
        cgroup: Its control group.
        exits_after: After how long it ends by itself.
        exit_code: With what.
    """

    name: str
    cgroup: Cgroup
    exits_after: timedelta | None = None
    exit_code: int = 0


class Runtime:
    """Sandboxes and containers of one node.

    Args:
        clock: The simulation's clock.
        chance: Source of identities.
        address_of: Gives the address of the n-th pod.
        cgroup_version: 1 or 2.
    """

    def __init__(
        self, clock: Clock, chance: random.Random, address_of: Callable[[int], str], cgroup_version: int = 2
    ) -> None:
        self.sandboxes: dict[str, Sandbox] = {}
        self.calls: deque[Call] = deque(maxlen=KEPT_CALLS)
        self.failures = Failures()
        self.on_exit: Callable[[str], None] = lambda _: None
        self._clock = clock
        self._chance = chance
        self._address_of = address_of
        self._cgroup_version = cgroup_version
        self._made = 0

    def create_sandbox(self, pod: str, cgroup: Cgroup) -> Sandbox:
        """Make the sandbox of a pod."""
        now = self._clock.now()
        self._made += 1
        sandbox = Sandbox(pod, self._address_of(self._made), now, cgroup, Meter(now))
        self.sandboxes[pod] = sandbox
        self.calls.append(Call(now, Verb.SANDBOX, pod, cgroup=cgroup))
        return sandbox

    def remove_sandbox(self, pod: str) -> None:
        """Remove a pod's sandbox with all in it; harmless when there is none."""
        sandbox = self.sandboxes.pop(pod, None)
        for container in sandbox.running() if sandbox else ():
            _call_off(container)

    def start(self, pod: str, start: Start) -> Container:
        """Start a container.

        Raises:
            RuntimeCallError: It cannot be started.
        """
        sandbox, now = self.sandboxes[pod], self._clock.now()
        refused = self.failures.takes_start()
        above = self._cgroup_version == 1 and _is_above(start.cgroup.cpu_quota_us, sandbox.cgroup.cpu_quota_us)
        self.calls.append(Call(now, Verb.START, pod, start.name, start.cgroup, failed=refused or above))
        if refused:
            raise RuntimeCallError(self.failures.message)
        if above:
            raise RuntimeCallError("the container's CPU quota is above its pod's")
        before = sandbox.containers.get(start.name)
        attempt = before.attempt + 1 if before else 0
        container = Container(self._identity(), start.name, attempt, now, start.cgroup, Meter(now))
        if before:
            sandbox.previous[start.name] = before
        sandbox.containers[start.name] = container
        if start.exits_after is not None:
            when = now + start.exits_after
            container.end = self._clock.call_at(when, lambda: self._end_by_itself(pod, container, start.exit_code))
        return container

    def update_container(self, pod: str, name: str, cgroup: Cgroup) -> None:
        """Give a running container other values.

        Raises:
            RuntimeCallError: The runtime refuses.
        """
        refused = self.failures.takes_update()
        self.calls.append(Call(self._clock.now(), Verb.UPDATE_CONTAINER, pod, name, cgroup, failed=refused))
        if refused:
            raise RuntimeCallError(self.failures.message)
        self.sandboxes[pod].containers[name].cgroup = cgroup

    def update_pod(self, pod: str, cgroup: Cgroup) -> None:
        """Give a pod's own control group other values."""
        self.calls.append(Call(self._clock.now(), Verb.UPDATE_POD, pod, cgroup=cgroup))
        self.sandboxes[pod].cgroup = cgroup

    def end(self, pod: str, name: str, exit_code: int, reason: str = "") -> None:
        """End a running container now; harmless when it does not run."""
        sandbox = self.sandboxes.get(pod)
        container = sandbox.containers.get(name) if sandbox else None
        if container is None or not container.running:
            return
        _call_off(container)
        container.finished = self._clock.now()
        container.exit_code = exit_code
        container.reason = reason or ("Completed" if exit_code == 0 else "Error")
        self.on_exit(pod)

    def stopped(self, pod: str, name: str, exit_code: int) -> None:
        """End a container that was asked to end."""
        self.calls.append(Call(self._clock.now(), Verb.STOP, pod, name))
        self.end(pod, name, exit_code)

    def _end_by_itself(self, pod: str, container: Container, exit_code: int) -> None:
        """Let a container's process end, if it is still the one."""
        sandbox = self.sandboxes.get(pod)
        if sandbox and sandbox.containers.get(container.name) is container:
            self.end(pod, container.name, exit_code)

    def _identity(self) -> str:
        """Return the id of a new container."""
        return f"{self._chance.getrandbits(256):064x}"


def _call_off(container: Container) -> None:
    """Call off the end that a container was to take by itself."""
    if container.end is not None:
        container.end.cancel()
        container.end = None


def _is_above(value: int | None, limit: int | None) -> bool:
    """Say whether a quota is above another one that exists."""
    return limit is not None and (value is None or value > limit)


def stop_time(wanted: timedelta, grace_seconds: int) -> tuple[timedelta, bool]:
    """Return how long it takes to stop a container, and whether it had to be killed.

    Args:
        wanted: What its preStop hook and its process take.
        grace_seconds: What it is given; less than two seconds count as two.
    """
    allowed = max(timedelta(seconds=grace_seconds), _SMALLEST_GRACE)
    return (allowed, True) if wanted > allowed else (wanted, False)
