"""Runs of one CronJob, lot by lot: each a Job with one pod, of which every second one is measured."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import Final

import msgspec

from bench.cluster import VPA_API, JsonObject, PodName, pod_object, timestamp

NAME: Final = "nightly"
_NAMESPACE: Final = "team-00"
_FIRST: Final = 29_300_000


@dataclass(frozen=True, slots=True)
class Runs:
    """Runs, as many at a time as a lot has.

    Args:
        total: Of all lots.
        lot: Of one.
    """

    total: int
    lot: int

    @property
    def lots(self) -> int:
        """Number of lots."""
        return self.total // self.lot

    def _names(self, lot: int) -> list[str]:
        return [f"{NAME}-{_FIRST + number}" for number in range(lot * self.lot, (lot + 1) * self.lot)]

    def cron_job(self, created: datetime) -> JsonObject:
        """Return the CronJob."""
        template = {"metadata": {"labels": {"app": NAME}}, "spec": {"containers": [{"name": "main"}]}}
        return {
            "apiVersion": "batch/v1",
            "kind": "CronJob",
            "metadata": _metadata(NAME, created),
            "spec": {"schedule": "* * * * *", "jobTemplate": {"spec": {"template": template}}},
        }

    def vpa(self, created: datetime) -> JsonObject:
        """Return the VPA for it."""
        return {
            "apiVersion": VPA_API,
            "kind": "VerticalPodAutoscaler",
            "metadata": _metadata(NAME, created) | {"generation": 1},
            "spec": {
                "targetRef": {"apiVersion": "batch/v1", "kind": "CronJob", "name": NAME},
                "updatePolicy": {"updateMode": "Initial"},
            },
        }

    def jobs(self, lot: int) -> Iterator[JsonObject]:
        """Yield the Jobs of a lot."""
        for name in self._names(lot):
            yield {
                "apiVersion": "batch/v1",
                "kind": "Job",
                "metadata": {
                    "namespace": _NAMESPACE,
                    "name": name,
                    "uid": name,
                    "ownerReferences": [_owner("CronJob")],
                },
                "spec": {"selector": {"matchLabels": {"batch.kubernetes.io/controller-uid": name}}},
            }

    def pods(self, lot: int, created: datetime) -> Iterator[JsonObject]:
        """Yield the pods of a lot."""
        for name in self._names(lot):
            pod = pod_object(PodName(_NAMESPACE, f"{name}-abcde", NAME), created, timestamp(created))
            labels = {"app": NAME, "job-name": name, "controller-uid": name, "batch.kubernetes.io/controller-uid": name}
            metadata = msgspec.convert(pod["metadata"], dict[str, object])
            yield pod | {"metadata": metadata | {"labels": labels, "ownerReferences": [_owner("Job", name)]}}

    def usage(self, lot: int, at: datetime) -> bytes:
        """Return the metrics API's answer while a lot runs."""
        used = [{"name": name, "usage": {"cpu": "50m", "memory": "64Mi"}} for name in ("main", "side")]
        items = [
            {
                "metadata": {"name": f"{name}-abcde", "namespace": _NAMESPACE},
                "timestamp": timestamp(at),
                "window": "15s",
                "containers": used,
            }
            for name in self._names(lot)[::2]
        ]
        head = {"kind": "PodMetricsList", "apiVersion": "metrics.k8s.io/v1beta1", "metadata": {}}
        return msgspec.json.encode(head | {"items": items})


def _metadata(name: str, created: datetime) -> JsonObject:
    return {
        "namespace": _NAMESPACE,
        "name": name,
        "uid": name,
        "resourceVersion": "1",
        "creationTimestamp": timestamp(created),
    }


def _owner(kind: str, name: str = NAME) -> JsonObject:
    return {"apiVersion": "batch/v1", "kind": kind, "name": name, "uid": name, "controller": True}
