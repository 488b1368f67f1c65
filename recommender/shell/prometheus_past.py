"""Use of a time that has passed, asked of Prometheus as history is, with the same care."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime

from autoscaling.kube.pacing import SYSTEM_PACING, Pacing
from recommender.config import RecommenderConfig
from recommender.history.errors import HistoryError
from recommender.history.past import PastPiece
from recommender.history.pieces import Piece, Span
from recommender.history.queries import quoted
from recommender.history.series import FlawRecord
from recommender.shell.history_source import CLUSTER_LABEL, Fetched, HistorySource, Surroundings
from recommender.shell.prometheus_client import PrometheusClient, ServerSettings
from recommender.shell.prometheus_history import HistorySettings
from recommender.shell.prometheus_setup import credentials, history_request
from recommender.shell.questions import Questions
from recommender.shell.worker_thread import WorkerThread


@dataclass(frozen=True, slots=True)
class PrometheusPast:
    """Reads use of the past from Prometheus.

    Args:
        source: What is asked.
        questions: How it is asked.
        client: Whom.
        thread: Where.
        cluster: The only cluster; empty where Prometheus has those of one.
    """

    source: HistorySource
    questions: Questions
    client: PrometheusClient
    thread: WorkerThread
    cluster: str
    _runner: asyncio.Runner = field(default_factory=asyncio.Runner)

    @classmethod
    def of(
        cls, config: RecommenderConfig, now: datetime, cluster: str, pacing: Pacing = SYSTEM_PACING
    ) -> PrometheusPast:
        """Return what reads the past up to some time as the flags have it; nothing is asked by that.

        Args:
            config: The flags.
            now: Up to when.
            cluster: The only cluster; empty where Prometheus has those of one.
            pacing: The clock for pauses.
        """
        server = ServerSettings(
            config.prometheus_address, credentials(config), config.prometheus_insecure, config.prometheus_query_timeout
        )
        client, thread = PrometheusClient(server, lambda *_: None), WorkerThread("prometheus")
        settings = HistorySettings(history_request(config), config.switches())
        source = HistorySource(settings.request, settings.behaviour, client, Surroundings((), frozenset(), now))
        if cluster:
            source.further = (f"{CLUSTER_LABEL}={quoted(cluster)}",)
        return cls(source, Questions(thread, pacing, settings.patience), client, thread, cluster)

    @property
    def flaws(self) -> FlawRecord:
        """What was wrong with series so far."""
        return self.source.flaws

    def queries(self) -> tuple[str, str]:
        """Return what is asked for CPU and memory, but for the namespaces."""
        request, further = self.source.request, self.source.further
        return request.cpu_query(*further), request.memory_query(*further)

    def span(self) -> Span:
        """Return all instants."""
        return self.source.span()

    def sizes(self) -> Mapping[str, int]:
        """Return each namespace, and about how many series of a resource it has.

        Raises:
            HistoryError: There is no answer, or there are several clusters and none was named.
        """
        return self._runner.run(self._sizes())

    async def _sizes(self) -> Mapping[str, int]:
        if not self.cluster:
            clusters = await self.questions.ask(self._clusters)
            if len(clusters) > 1:
                raise HistoryError(
                    f"Prometheus has series of the clusters {', '.join(clusters)}", remedy="name one with --cluster"
                )
        return await self.questions.ask(self.source.sizes)

    def _clusters(self) -> tuple[str, ...]:
        return self.client.label_values(CLUSTER_LABEL, self.source.request.memory_query(), self.source.span())

    def fetch(self, piece: Piece) -> Iterator[PastPiece]:
        """Yield a piece, or the parts of one that is too much at once, the oldest first.

        Raises:
            HistoryError: There is no answer, or it cannot be used.
        """
        parts = self.questions.in_parts(lambda part: (part, self.source.piece(part)), piece)

        async def following() -> tuple[Piece, Fetched] | None:
            return await anext(parts, None)

        while (found := self._runner.run(following())) is not None:
            part, fetched = found
            yield PastPiece(part, fetched.keys, fetched.points)

    def close(self) -> None:
        """Close the connections."""
        self._runner.close()
        self.thread.shutdown(wait=False)
        self.client.close()
