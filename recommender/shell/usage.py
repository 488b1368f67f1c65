"""Usage from the resource metrics API, as columns (spec: recommender:8.1)."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
import structlog

from autoscaling.errors import ApiError, InvalidObjectError
from autoscaling.kube.client import KubeClient
from autoscaling.kube.paths import POD_METRICS, Selection
from autoscaling.kube.refusals import is_missing
from recommender.cluster_model import ClusterModel
from recommender.instants import instant
from recommender.samples import UsageColumns
from recommender.shell.metrics import RecommenderMetrics
from recommender.wire.pod_metrics import PodUsage, decode_pod_usage

CLIENT_NAME = "default-metrics-client"

log = structlog.get_logger()


@dataclass(frozen=True, slots=True)
class Fetched:
    """One fetch, matched with the model.

    Args:
        columns: Samples of known containers.
        dropped: Samples of pods and containers that are not known, and of init containers.
    """

    columns: UsageColumns
    dropped: int


async def fetch_usage(client: KubeClient, namespace: str, metrics: RecommenderMetrics) -> list[PodUsage]:
    """Ask the metrics API for the use of all pods; an object that cannot be read is left out and logged.

    Args:
        namespace: Only this one; empty for all.

    Returns:
        Empty where the metrics API does not answer, which is logged with the way out.
    """
    usage: list[PodUsage] = []
    try:
        for raw in await client.items(Selection(POD_METRICS, namespace), bytes):
            try:
                usage.append(decode_pod_usage(raw))
            except InvalidObjectError as error:
                log.warning("object left out", object=str(error.ref), error=str(error))
    except ApiError as error:
        metrics.metric_server_responses.labels("true", CLIENT_NAME).inc()
        remedy = "install metrics-server, or look at the APIService v1beta1.metrics.k8s.io" if is_missing(error) else ""
        log.warning("usage not fetched", error=str(error), remedy=remedy)
        return []
    metrics.metric_server_responses.labels("false", CLIENT_NAME).inc()
    return usage


def as_columns(model: ClusterModel, usage: Iterable[PodUsage]) -> Fetched:
    """Match usage with the model's containers."""
    rows: list[int] = []
    instants: list[int] = []
    cpu: list[int] = []
    memory: list[int] = []
    dropped = 0
    for pod in usage:
        at = instant(pod.at)
        for container in pod.containers:
            row = model.row_of(pod.namespace, pod.pod, container.name)
            if row is None or model.is_init_container(pod.namespace, pod.pod, container.name):
                dropped += 1
                continue
            rows.append(row)
            instants.append(at)
            cpu.append(container.cpu_millicores)
            memory.append(container.memory_bytes)
    columns = [np.array(column, dtype=np.int64) for column in (rows, instants, cpu, memory)]
    return Fetched(UsageColumns(columns[0], columns[1], columns[2], columns[3]), dropped)
