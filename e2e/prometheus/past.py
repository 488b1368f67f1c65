"""Eight days in the past of a cluster: who used how much when, and what went wrong meanwhile."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import cycle
from pathlib import Path

DAY = 86_400
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
    """Make up the pods of some Deployments, two each."""
    dice = random.Random(seed)
    pods = []
    for number in range(apps):
        app, namespace = f"app-{number:02}", f"shop-{number % 4}"
        for index in range(PODS_PER_APP):
            first = now - 9 * DAY if dice.random() < 0.7 else now - dice.randrange(1, 8 * DAY // SCRAPE) * SCRAPE
            is_alive = dice.random() < 0.6
            last = now if is_alive else now - dice.randrange(0, (now - first) // SCRAPE) * SCRAPE
            middle = first + (last - first) // 2 // SCRAPE * SCRAPE
            hole = (middle, middle + dice.randrange(1, 20) * 3600) if dice.random() < 0.3 else (0, 0)
            restart = middle + 2 * DAY if dice.random() < 0.3 else 0
            pods.append(
                PastPod(namespace, app, f"{app}-{TEMPLATE_HASH}-abcd{index}", first, last, hole, restart, is_alive)
            )
    return pods


def write_past(pods: list[PastPod], file: Path, seed: int) -> None:
    """Write the past of pods as OpenMetrics text, metric by metric."""
    with file.open("w") as out:
        out.write(f"# TYPE {CPU.removesuffix('_total')} counter\n")
        for pod in pods:
            for container in CONTAINERS:
                out.writelines(_counter(pod, container, random.Random(f"{seed} {pod.name} {container} cpu")))
        out.write(f"# TYPE {MEMORY} gauge\n")
        for pod in pods:
            for container in CONTAINERS:
                out.writelines(_gauge(pod, container, random.Random(f"{seed} {pod.name} {container} memory")))
        out.write(f"# TYPE {LABELS} gauge\n")
        for pod in pods:
            out.writelines(_labels(pod))
        out.write("# EOF\n")


def _series(metric: str, pod: PastPod, container: str) -> str:
    group = f"/kubepods/burstable/pod-{pod.name}/{container}"
    place = f'namespace="{pod.namespace}",pod="{pod.name}",container="{container}",id="{group}"'
    return f'{metric}{{job="kubernetes-cadvisor",{place}}}'


def _counter(pod: PastPod, container: str, dice: random.Random) -> Iterator[str]:
    series, total, usual = _series(CPU, pod, container), 0.0, dice.lognormvariate(-2, 1)
    moods = cycle([SCRAPE * usual * dice.lognormvariate(0, 0.5) for _ in range(_MOODS)])
    for at, used in zip(pod.instants(), moods, strict=False):
        total = 0.0 if at == pod.restarts_at else total + used
        yield f"{series} {total:.6f} {at}\n"


def _gauge(pod: PastPod, container: str, dice: random.Random) -> Iterator[str]:
    series, usual = _series(MEMORY, pod, container), dice.lognormvariate(19, 1)
    moods = cycle([int(usual * dice.lognormvariate(0, 0.2)) for _ in range(_MOODS)])
    for at, held in zip(pod.instants(), moods, strict=False):
        yield f"{series} {held} {at}\n"


def _labels(pod: PastPod) -> Iterator[str]:
    """Return the series with a pod's labels; a pod that was measured in two parts was labelled anew in between."""
    place = f'job="kubernetes-pods",kubernetes_namespace="{pod.namespace}",kubernetes_pod_name="{pod.name}"'
    for at in pod.instants():
        version = "new" if at >= pod.gap[1] else "old"
        yield f'{LABELS}{{{place},pod_label_app="{pod.app}",pod_label_version="{version}"}} 1 {at}\n'
