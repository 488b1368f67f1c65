"""Eight days of use that real systems have recorded: the traces among the tests' data.

Each trace is the use of one container, and two traces in the order of their names are the containers of one pod, which
lives all the time. What was recorded every minute or every five minutes is told every five minutes: CPU as the mean of
the five minutes before, as a counter shows it, memory as it is at that moment. Of a longer trace the beginning is told;
a shorter one begins anew at its end, as often as that takes. A trace without memory has none here, either, and that of
a whole pool of machines stays as large as it is.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

from e2e.prometheus.past import CONTAINERS, DAY, SCRAPE, TEMPLATE_HASH, PastPod
from evenkeel.simulator.api.fields import JsonObject
from evenkeel.simulator.clock import rfc3339
from evenkeel.simulator.workloads.demand import Demand
from evenkeel.simulator.workloads.traces import Trace, load_traces

Frames = Sequence[Sequence[JsonObject]]
"""What the metrics API tells of pods, time after time."""

_FOLDER = Path(__file__).parents[2] / "tests" / "data" / "traces"
_NAMESPACES = 4
_MINUTE = 60
_LENGTH = 8 * DAY
_EARLIER = 3600
"""Seconds before the eight days: a rate at their beginning is that of the time before."""


class Told:
    """A source of metrics that goes on each time it is asked, and stays with the last.

    Args:
        frames: What it tells, time after time.
    """

    def __init__(self, frames: Frames) -> None:
        self._frames = frames
        self._times = 0
        self.ended: datetime | None = None
        """When it was asked again after the last; whoever asks in rounds has then taken all of it in."""

    def pods(self) -> list[JsonObject]:
        """Return what is told next."""
        if self._times == len(self._frames) and self.ended is None:
            self.ended = datetime.now(UTC)
        self._times = min(self._times + 1, len(self._frames))
        return list(self._frames[self._times - 1])

    def nodes(self) -> list[JsonObject]:
        """Return nothing; no recommender asks."""
        return []


@dataclass(frozen=True, slots=True)
class Recording:
    """Pods that use what was recorded.

    Args:
        pods: The pods.
        traces: The trace of each container, by the names of pod and container.
        now: The present, at which all of them end.
    """

    pods: Sequence[PastPod]
    traces: Mapping[tuple[str, str], Trace]
    now: int

    def cpu_seconds(self, pod: PastPod, container: str) -> Iterable[float]:
        """Return the CPU time of each step between two points."""
        for at in pod.instants():
            minutes = range(at - SCRAPE, at, _MINUTE)
            yield _MINUTE * sum(self._cores(pod, container, minute) for minute in minutes)

    def memory_bytes(self, pod: PastPod, container: str) -> Iterable[int]:
        """Return the memory at each point; nothing where none was recorded."""
        if self.has_memory(pod, container):
            for at in pod.instants():
                yield self._memory(pod, container, at)

    def has_memory(self, pod: PastPod, container: str) -> bool:
        """Say whether memory was recorded."""
        return any(demand.working_set_bytes for demand in self.traces[pod.name, container].demands)

    def frames(self, step: timedelta) -> Frames:
        """Return what the metrics API tells of all pods, step by step through the eight days."""
        seconds = int(step.total_seconds())
        instants = range(self.now - _LENGTH + seconds, self.now + 1, seconds)
        return [[self._row(pod, at) for pod in self.pods] for at in instants]

    def _row(self, pod: PastPod, at: int) -> JsonObject:
        """Return what the metrics API tells of a pod at a moment."""
        rows: list[JsonObject] = []
        for container in CONTAINERS:
            usage: JsonObject = {"cpu": f"{round(self._cores(pod, container, at) * 10**9)}n"}
            if self.has_memory(pod, container):
                usage["memory"] = str(self._memory(pod, container, at))
            rows.append({"name": container, "usage": usage})
        moment = rfc3339(datetime.fromtimestamp(at, UTC))
        metadata: JsonObject = {"name": pod.name, "namespace": pod.namespace, "creationTimestamp": moment}
        return {"metadata": metadata, "timestamp": moment, "window": "5m0s", "containers": [*rows]}

    def _cores(self, pod: PastPod, container: str, at: int) -> float:
        return self._demand(pod, container, at).cpu_cores

    def _memory(self, pod: PastPod, container: str, at: int) -> int:
        return self._demand(pod, container, at).working_set_bytes

    def _demand(self, pod: PastPod, container: str, at: int) -> Demand:
        """Return what a container uses at a moment; its trace has begun with its pod."""
        return self.traces[pod.name, container].at(timedelta(seconds=at - pod.first), 0)


def read_recording(now: int) -> Recording:
    """Read all traces.

    Args:
        now: The present, in seconds since the epoch.

    Raises:
        OSError: They cannot be read.
        ValueError: One of them cannot, or there is one without another that shares its pod.
    """
    found = {name: trace for file in sorted(_FOLDER.glob("*.csv.gz")) for name, trace in load_traces(file).items()}
    names = sorted(found)
    pods: list[PastPod] = []
    traces: dict[tuple[str, str], Trace] = {}
    for number, shared in enumerate(zip(names[::2], names[1::2], strict=True)):
        app = f"recorded-{number:02}"
        name, first = f"{app}-{TEMPLATE_HASH}-abcd0", now - _LENGTH - _EARLIER
        pods.append(PastPod(f"shop-{number % _NAMESPACES}", app, name, first, now, (0, 0), 0, is_alive=True))
        traces |= {(name, container): found[one] for container, one in zip(CONTAINERS, shared, strict=True)}
    return Recording(pods, traces, now)
