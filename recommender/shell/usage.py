"""Usage from the resource metrics API (spec: recommender:8.1)."""

from __future__ import annotations

import structlog

from autoscaling.errors import ApiError, InvalidObjectError
from autoscaling.kube.client import KubeClient
from autoscaling.kube.paths import POD_METRICS
from autoscaling.kube.refusals import is_missing
from autoscaling.runtime.collector import collector_paused
from recommender.shell.metrics import RecommenderMetrics
from recommender.usage_table import UsageTable
from recommender.wire.pod_metrics import UsagePage, decode_usage

CLIENT_NAME = "default-metrics-client"

log = structlog.get_logger()


async def fetch_usage(client: KubeClient, namespace: str, metrics: RecommenderMetrics) -> UsageTable | None:
    """Ask the metrics API for the use of all pods; an object that cannot be read is left out and logged.

    Args:
        client: Calls to the API server.
        namespace: Only this one; empty for all.
        metrics: Count the answers.

    Returns:
        None where the metrics API does not answer, which is logged with the way out.
    """
    try:
        page = await _page(client, namespace, "")
        usage = page.table
        while page.continue_token:
            page = await _page(client, namespace, page.continue_token)
            usage = usage.followed_by(page.table)
    except (ApiError, InvalidObjectError) as error:
        metrics.metric_server_responses.labels("true", CLIENT_NAME).inc()
        is_absent = isinstance(error, ApiError) and is_missing(error)
        remedy = "install metrics-server, or look at the APIService v1beta1.metrics.k8s.io" if is_absent else ""
        log.warning("usage not fetched", error=str(error), remedy=remedy)
        return None
    metrics.metric_server_responses.labels("false", CLIENT_NAME).inc()
    return usage


async def _page(client: KubeClient, namespace: str, token: str) -> UsagePage:
    """Ask for one part; metrics-server answers everything in one."""
    raw = await client.get(POD_METRICS.path(namespace), {"continue": token} if token else {})
    with collector_paused():
        page = decode_usage(raw)
    for error in page.unreadable:
        log.warning("object left out", object=str(error.ref), error=str(error))
    return page
