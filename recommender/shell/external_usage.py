"""Fetching usage from the external metrics API (spec: recommender:8.2)."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass

import structlog

from autoscaling.behaviour import Behaviour
from autoscaling.errors import ApiError, ApiRefusedError, InvalidObjectError
from autoscaling.kube.client import KubeClient
from autoscaling.kube.paths import external_metric
from autoscaling.kube.refusals import FORBIDDEN, is_missing
from autoscaling.objectref import ObjectRef
from recommender.cluster_model import ClusterModel
from recommender.external_usage import ExternalAnswer, ExternalMetrics, PodQuestion, Questions, questions_of, usage_of
from recommender.shell.metrics import RecommenderMetrics
from recommender.shell.usage import CLIENT_NAME
from recommender.usage_table import UsageTable
from recommender.wire.external_metrics import decode_external

CONCURRENT_REQUESTS = 10
"""Requests under way at the same time; how many there are in a second is up to the client's limits."""

log = structlog.get_logger()


@dataclass(frozen=True, slots=True)
class _Request:
    """One metric for one pod."""

    question: PodQuestion
    resource: str
    metric: str


class ExternalMetricsSource:
    """Usage of the pods that VPAs select, from the external metrics API.

    Args:
        client: Calls to the API server.
        external: Which metrics to ask for.
        namespace: The only one to ask about; empty for all.
        behaviour: Where to decide otherwise than upstream.
        metrics: Count the fetches.
    """

    def __init__(
        self,
        client: KubeClient,
        external: ExternalMetrics,
        namespace: str,
        behaviour: Behaviour,
        metrics: RecommenderMetrics,
    ) -> None:
        self._client = client
        self._external = external
        self._namespace = namespace
        self._behaviour = behaviour
        self._responses = metrics.metric_server_responses
        if not external.named:
            log.warning(
                "no external metric named, so no usage is fetched",
                remedy="set --external-metrics-cpu-metric, --external-metrics-memory-metric or both",
            )

    async def fetch(self, model: ClusterModel) -> UsageTable | None:
        """Ask for every pod and metric; one failure makes the whole fetch fail, which is logged with the way out."""
        questions = questions_of(model, self._namespace)
        if not self._may_go_on(questions):
            self._responses.labels("true", CLIENT_NAME).inc()
            return None
        requests = [_Request(q, *pair) for pair in self._external.named for q in questions.askable]
        try:
            answers = await self._answers(requests)
        except (ApiError, InvalidObjectError) as error:
            self._responses.labels("true", CLIENT_NAME).inc()
            log.warning("usage not fetched", error=str(error), remedy=_remedy(error))
            return None
        self._responses.labels("false", CLIENT_NAME).inc()
        count = len(questions.askable)
        by_resource = {
            resource: answers[place * count : (place + 1) * count]
            for place, (resource, _) in enumerate(self._external.named)
        }
        usage = usage_of(
            questions.askable, by_resource, gaps_are_zero=not self._behaviour.no_usage_without_external_metric
        )
        for pod in usage.undated:
            log.warning("object left out", object=str(pod), error="its external metrics carry no timestamp")
        return usage.table

    def _may_go_on(self, questions: Questions) -> bool:
        """Say whether the pods that cannot be asked for leave anything to ask for."""
        if not questions.unaskable:
            return True
        is_harmless = self._behaviour.unaskable_pods_left_out
        log.warning(
            "pods cannot be asked for" if is_harmless else "usage not fetched",
            objects=[str(pod) for pod in questions.unaskable],
            error="a name of more than 63 characters is no value of a label",
            remedy="give their controllers shorter names",
        )
        return is_harmless

    async def _answers(self, requests: Sequence[_Request]) -> list[ExternalAnswer]:
        """Return the answer to each request; the first failure ends the others.

        Raises:
            ApiError: A request was refused or not answered.
            InvalidObjectError: An answer cannot be read.
        """
        waiting = iter(enumerate(requests))
        found: dict[int, ExternalAnswer] = {}

        async def work() -> None:
            for place, request in waiting:
                found[place] = await self._ask(request)

        workers = [asyncio.create_task(work()) for _ in range(min(CONCURRENT_REQUESTS, len(requests)))]
        try:
            await asyncio.gather(*workers)
        finally:
            for worker in workers:
                worker.cancel()
            await asyncio.gather(*workers, return_exceptions=True)
        return [found[place] for place in range(len(requests))]

    async def _ask(self, request: _Request) -> ExternalAnswer:
        collection, question = external_metric(request.metric), request.question
        raw = await self._client.get(collection.path(question.namespace), {"labelSelector": question.selector})
        ref = ObjectRef(collection.kind, question.namespace, f"{request.metric} ({question.selector})")
        return decode_external(raw, ref, request.resource, self._external.container_label)


def _remedy(error: ApiError | InvalidObjectError) -> str:
    """Return the way out of a failure; one that names its own needs none."""
    if is_missing(error):
        return "install an adapter that serves this metric in external.metrics.k8s.io, or correct its name in the flag"
    if isinstance(error, ApiRefusedError) and error.code == FORBIDDEN:
        return "let the recommender list external metrics: kubectl apply -k manifests/external-metrics"
    return ""
