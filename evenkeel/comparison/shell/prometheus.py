"""Use from Prometheus over a window that has passed."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final, cast

import requests
from prometheus_api_client import PrometheusConnect
from prometheus_api_client.exceptions import PrometheusApiClientException
from urllib3.util import Retry

from autoscaling.errors import EvenkeelError
from autoscaling.resources import CPU, MEMORY
from evenkeel.comparison.use import ObservedUse, UseSample
from recommender.history.pieces import MILLISECOND
from recommender.history.queries import HistoryRequest

_MOST_POINTS: Final = 300
_SHORTEST_STEP: Final = timedelta(minutes=1)
_RATE_WINDOW: Final = timedelta(minutes=5)
_TIMEOUT_SECONDS: Final = 60.0
_ONCE: Final = Retry(0)


class PrometheusError(EvenkeelError):
    """Prometheus did not answer as it should."""


@dataclass(frozen=True, slots=True)
class PrometheusSource:
    """Where use is asked for.

    Args:
        address: Base address.
        token: Bearer token; empty for none.
        pod_label: Label of container metrics that holds the pod's name.
        container_label: Likewise the container's name.
    """

    address: str
    token: str = ""
    pod_label: str = "pod"
    container_label: str = "container"

    def queries(self, namespace: str, step: timedelta) -> Iterator[tuple[str, str]]:
        """Yield resources with the queries for their use, one series for each container.

        Two agents that scrape the same container count once, and a rate covers at least five minutes.

        Args:
            namespace: The only one; empty for all.
            step: Time between two points.
        """
        request = HistoryRequest(
            job="", namespace=namespace, pod_label=self.pod_label, container_label=self.container_label
        )
        by = f"max by (namespace, {self.pod_label}, {self.container_label})"
        seconds = round(max(step, _RATE_WINDOW).total_seconds())
        yield CPU, f"{by} (rate({request.cpu_metric}{{{request.matchers()}}}[{seconds}s]))"
        yield MEMORY, f"{by} (max_over_time({request.memory_query()}[{round(step.total_seconds())}s]))"


def ask_prometheus(
    source: PrometheusSource, namespace: str, use: ObservedUse, window: tuple[datetime, datetime]
) -> None:
    """Gather use; blocks until it is there.

    Args:
        source: Where it is asked for.
        namespace: The only one; empty for all.
        use: Takes the samples.
        window: Begin and end.

    Raises:
        PrometheusError: There is no answer.
    """
    begin, end = window
    step = max(_SHORTEST_STEP, (end - begin) / _MOST_POINTS)
    headers = {"Authorization": f"Bearer {source.token}"} if source.token else None
    try:
        address = source.address.rstrip("/")
        with PrometheusConnect(address, headers=headers, retry=_ONCE, timeout=_TIMEOUT_SECONDS) as library:
            for resource, query in source.queries(namespace, step):
                answer = library.custom_query_range(query, begin, end, f"{round(step.total_seconds())}s")
                _take(source, resource, cast("Iterable[object]", answer), use)
    except (requests.RequestException, PrometheusApiClientException, TypeError, ValueError, LookupError) as error:
        raise PrometheusError(
            f"{source.address}: {error}; check --prometheus, and that what it names is a Prometheus server that can be "
            "reached from here"
        ) from error


def _take(source: PrometheusSource, resource: str, answer: Iterable[object], use: ObservedUse) -> None:
    """Take in the series of an answer; points that are no amounts are left out."""
    per_unit = 1000.0 if resource == CPU else 1.0
    for series in answer:
        assert isinstance(series, dict)
        labels = series["metric"]
        pod = (labels.get("namespace", ""), labels.get(source.pod_label, ""))
        for at, text in series["values"]:
            value = float(text) * per_unit
            if math.isfinite(value) and value >= 0:
                sample = UseSample(round(at * 1000.0) * MILLISECOND, math.ceil(value))
                use.note(pod, labels.get(source.container_label, ""), resource, sample)
