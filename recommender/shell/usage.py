"""Where usage is fetched from, and the resource metrics API as the usual source (spec: recommender:8.1)."""

from __future__ import annotations

from typing import Protocol

import structlog

from autoscaling.errors import ApiError, InvalidObjectError
from autoscaling.kube.client import KubeClient
from autoscaling.kube.paths import POD_METRICS
from autoscaling.kube.refusals import is_missing
from autoscaling.runtime.collector import collector_paused
from recommender.cluster_model import ClusterModel
from recommender.shell.metrics import RecommenderMetrics
from recommender.usage_table import UsageTable
from recommender.wire.pod_metrics import UsagePage, decode_usage

CLIENT_NAME = "default-metrics-client"

log = structlog.get_logger()


class UsageSource(Protocol):
    """Where the use of containers is fetched from."""

    async def fetch(self, model: ClusterModel) -> UsageTable | None:
        """Return what containers use now; None where that cannot be told, which is logged with the way out.

        Args:
            model: The pods and VPAs.
        """


class ResourceMetricsSource:
    """Usage of all pods, from the resource metrics API.

    Args:
        client: Calls to the API server.
        namespace: Only this one; empty for all.
        metrics: Count the answers.
    """

    def __init__(self, client: KubeClient, namespace: str, metrics: RecommenderMetrics) -> None:
        self._client = client
        self._namespace = namespace
        self._responses = metrics.metric_server_responses
        self._left_out = metrics.left_out

    async def fetch(self, model: ClusterModel) -> UsageTable | None:  # noqa: ARG002 it answers for all pods
        """Ask for the use of all pods; an object that cannot be read is left out and logged."""
        try:
            page = await self._page("")
            usage = page.table
            while page.continue_token:
                page = await self._page(page.continue_token)
                usage = usage.followed_by(page.table)
        except (ApiError, InvalidObjectError) as error:
            self._responses.labels("true", CLIENT_NAME).inc()
            is_absent = isinstance(error, ApiError) and is_missing(error)
            remedy = "install metrics-server, or look at the APIService v1beta1.metrics.k8s.io" if is_absent else ""
            log.warning("usage not fetched", error=str(error), remedy=remedy)
            return None
        self._responses.labels("false", CLIENT_NAME).inc()
        return usage

    async def _page(self, token: str) -> UsagePage:
        """Ask for one part; metrics-server answers everything in one."""
        raw = await self._client.get(POD_METRICS.path(self._namespace), {"continue": token} if token else {})
        with collector_paused():
            page = decode_usage(raw)
        for error in page.unreadable:
            self._left_out.labels(error.ref.kind).inc()
            log.warning("object left out", object=str(error.ref), error=str(error))
        return page
