"""Some days in the past of a cluster: who used how much when, and what went wrong meanwhile."""

from __future__ import annotations

import random
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import cycle
from pathlib import Path
from typing import Protocol

DAY, HOUR = 86_400, 3_600
SCRAPE = 300
"""Seconds between two points: exactly one of them lies in the five minutes that Prometheus looks back."""

CPU, MEMORY, LABELS = "container_cpu_usage_seconds_total", "container_memory_working_set_bytes", "up"
CONTAINERS = ("main", "side")
PODS_PER_APP = 2
TEMPLATE_HASH = "5b8c7d9f6"
"""Of the only ReplicaSet of each Deployment."""
_MOODS = 499
"""Values after which a container's use repeats itself; no part of a day has so many points."""


@dataclass(frozen=True, slots=True)
class PastPod:
    """A pod as Prometheus remembers it.

    Args:
        namespace: Of the pod.
        app: Its label, and the name of its Deployment.
        name: Of the pod.
        first: When it began, seconds since the epoch.
        last: When it ended, or the present.
        gap: Between which two instants nothing was measured; twice the same for none.
        restarts_at: When its counters began anew; 0 for never.
        is_alive: Whether the cluster still has it.
    """

    namespace: str
    app: str
    name: str
    first: int
    last: int
    gap: tuple[int, int]
    restarts_at: int
    is_alive: bool

    def instants(self) -> Iterator[int]:
        """Return when it was measured."""
        return (at for at in range(self.first, self.last + 1, SCRAPE) if not self.gap[0] <= at < self.gap[1])


def make_pods(apps: int, now: int, seed: int) -> list[PastPod]:
    """Make up the pods of some Deployments, two each.

    No two of a Deployment are first seen in the same hour. Their histories would weigh the same to the last bit but for
    rounding, and with all of the one below all of the other, the median would go by the order of adding up: upstream
    takes pods in an order that changes from run to run.
    """
    dice = random.Random(seed)
    pods = []
    for number in range(apps):
        app, namespace = f"app-{number:02}", f"shop-{number % 4}"
        hours = dice.sample(range(1, 8 * DAY // HOUR), PODS_PER_APP)
        for index in range(PODS_PER_APP):
            is_older = index == 0 and dice.random() < 0.7
            first = now - (9 * DAY if is_older else hours[index] * HOUR - dice.randrange(1, HOUR // SCRAPE) * SCRAPE)
            is_alive = dice.random() < 0.6
            last = now if is_alive else now - dice.randrange(0, (now - first) // SCRAPE) * SCRAPE
            middle = first + (last - first) // 2 // SCRAPE * SCRAPE
            hole = (middle, middle + dice.randrange(1, 20) * HOUR) if dice.random() < 0.3 else (0, 0)
            restart = middle + 2 * DAY if dice.random() < 0.3 else 0
            pods.append(
                PastPod(namespace, app, f"{app}-{TEMPLATE_HASH}-abcd{index}", first, last, hole, restart, is_alive)
            )
    return pods


class Use(Protocol):
    """What containers have used, point by point of their pods' time."""

    def cpu_seconds(self, pod: PastPod, container: str) -> Iterable[float]:
        """Return the CPU time of each step between two points, the step before the first point first."""

    def memory_bytes(self, pod: PastPod, container: str) -> Iterable[int]:
        """Return the memory at each point; nothing where none was measured."""


@dataclass(frozen=True, slots=True)
class MadeUpUse:
    """Use by chance, around what is usual for a container.

    Args:
        seed: From which it is made up.
    """

    seed: int

    def cpu_seconds(self, pod: PastPod, container: str) -> Iterable[float]:
        """Return CPU time."""
        dice = random.Random(f"{self.seed} {pod.name} {container} cpu")
        usual = dice.lognormvariate(-2, 1)
        return cycle([SCRAPE * usual * dice.lognormvariate(0, 0.5) for _ in range(_MOODS)])

    def memory_bytes(self, pod: PastPod, container: str) -> Iterable[int]:
        """Return memory."""
        dice = random.Random(f"{self.seed} {pod.name} {container} memory")
        usual = dice.lognormvariate(19, 1)
        return cycle([int(usual * dice.lognormvariate(0, 0.2)) for _ in range(_MOODS)])


def write_past(pods: Sequence[PastPod], file: Path, use: Use) -> None:
    """Write the past of pods as OpenMetrics text, metric by metric."""
    with file.open("w") as out:
        out.write(f"# TYPE {CPU.removesuffix('_total')} counter\n")
        for pod in pods:
            for container in CONTAINERS:
                out.writelines(_counter(pod, container, use.cpu_seconds(pod, container)))
        out.write(f"# TYPE {MEMORY} gauge\n")
        for pod in pods:
            for container in CONTAINERS:
                out.writelines(_gauge(pod, container, use.memory_bytes(pod, container)))
        out.write(f"# TYPE {LABELS} gauge\n")
        for pod in pods:
            out.writelines(_labels(pod))
        out.write("# EOF\n")


def _series(metric: str, pod: PastPod, container: str) -> str:
    group = f"/kubepods/burstable/pod-{pod.name}/{container}"
    place = f'namespace="{pod.namespace}",pod="{pod.name}",container="{container}",id="{group}"'
    return f'{metric}{{job="kubernetes-cadvisor",{place}}}'


def _counter(pod: PastPod, container: str, used: Iterable[float]) -> Iterator[str]:
    series, total = _series(CPU, pod, container), 0.0
    for at, seconds in zip(pod.instants(), used, strict=False):
        total = 0.0 if at == pod.restarts_at else total + seconds
        yield f"{series} {total:.6f} {at}\n"


def _gauge(pod: PastPod, container: str, held: Iterable[int]) -> Iterator[str]:
    series = _series(MEMORY, pod, container)
    return (f"{series} {amount} {at}\n" for at, amount in zip(pod.instants(), held, strict=False))


def _labels(pod: PastPod) -> Iterator[str]:
    """Return the series with a pod's labels; a pod that was measured in two parts was labelled anew in between."""
    place = f'job="kubernetes-pods",kubernetes_namespace="{pod.namespace}",kubernetes_pod_name="{pod.name}"'
    for at in pod.instants():
        version = "new" if at >= pod.gap[1] else "old"
        yield f'{LABELS}{{{place},pod_label_app="{pod.app}",pod_label_version="{version}"}} 1 {at}\n'
