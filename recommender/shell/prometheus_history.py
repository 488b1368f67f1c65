"""Usage of the past from Prometheus, into the model, once at the start."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Mapping
from concurrent.futures import Executor
from dataclasses import dataclass
from typing import Final, TypeVar

import structlog

from autoscaling.behaviour import Behaviour
from autoscaling.kube.pacing import Pacing
from autoscaling.kube.retry import ONE_TRY, Patience
from autoscaling.runtime.collector import collector_paused
from recommender.cluster_model import ClusterModel
from recommender.history.errors import HistoryError
from recommender.history.intake import HistoryIntake
from recommender.history.labels import PodKey, real_names, with_real_names
from recommender.history.pieces import Budget, Piece, cut
from recommender.history.queries import HistoryRequest
from recommender.shell.history_metrics import HistoryMetrics
from recommender.shell.history_source import Fetched, HistorySource, Surroundings
from recommender.shell.label_search import LabelSearch
from recommender.shell.prometheus_client import PrometheusClient
from recommender.shell.questions import Questions

T = TypeVar("T")
Labels = Mapping[PodKey, Mapping[str, str]]

_BUDGET: Final = Budget()
_PROGRESS_SECONDS: Final = 10.0
_PATIENCE: Final = Patience(attempts=6, first_seconds=1.0, ceiling_seconds=30.0, jitter=0.0, total_seconds=600.0)

log = structlog.get_logger()


@dataclass(frozen=True, slots=True)
class HistorySettings:
    """How history is loaded.

    Args:
        request: What is asked for.
        behaviour: Where to do otherwise than upstream.
        budget: How large the pieces are.
        patience: How often a query is tried.
    """

    request: HistoryRequest
    behaviour: Behaviour
    budget: Budget = _BUDGET
    patience: Patience = _PATIENCE


@dataclass(frozen=True, slots=True)
class HistoryLoader:
    """Loads history into a model.

    Args:
        settings: How.
        client: Asks Prometheus.
        thread: The one thread that the client is used in.
        pacing: The clock for pauses and for the progress line.
        metrics: Show how far it is and what was wrong with series.
    """

    settings: HistorySettings
    client: PrometheusClient
    thread: Executor
    pacing: Pacing
    metrics: HistoryMetrics

    async def load(self, model: ClusterModel, surroundings: Surroundings) -> bool:
        """Load everything; a failure is logged, and the model keeps what it has got by then.

        Returns:
            Whether all of the history was loaded.
        """
        started = self.pacing.monotonic()
        settings = self.settings
        source = HistorySource(settings.request, settings.behaviour, self.client, surroundings)
        load = self._load_pieces if settings.behaviour.history_in_pieces else self._load_whole
        try:
            samples = await load(source, model)
        except HistoryError as error:
            facts = {"error": error.problem, "remedy": error.remedy, "pods": len(model.pods)}
            log.error("history not loaded", **facts)  # noqa: TRY400 - the message says it all
            return False
        finally:
            self.metrics.show_flaws(source.flaws.counts)
        self.metrics.progress.set(1.0)
        bad = {flaw.value: count for flaw, count in source.flaws.counts.items()}
        seconds = round(self.pacing.monotonic() - started, 1)
        log.info("history loaded", pods=len(model.pods), samples=samples, seconds=seconds, bad_series=bad)
        if not samples:
            log.warning(
                "history is empty",
                query=settings.request.memory_query(),
                remedy="check the flags that name the job and the labels; kubelets since 1.16 call the labels pod and "
                "container: --container-pod-name-label=pod --container-name-label=container",
            )
        return True

    async def _load_whole(self, source: HistorySource, model: ClusterModel) -> int:
        """Ask for everything at once, as upstream does, and take nothing in before everything is there."""
        fetched = await self._questions().ask(lambda: source.piece(Piece((), source.span())))
        labels = await self._labels(source)
        intake = self._intake(source, model, labels)
        intake.take(fetched.keys, fetched.points)
        intake.add_pods()
        self.metrics.samples.set(intake.samples)
        return intake.samples

    async def _load_pieces(self, source: HistorySource, model: ClusterModel) -> int:
        """Ask piece by piece; the next one is under way while the last one is taken in."""
        await self._questions().ask(source.find_cluster)
        sizes = await self._questions().ask(source.sizes)
        labels = await self._labels(source)
        pieces = list(cut(source.span(), sizes, self.settings.budget))
        log.info("history begins", namespaces=len(sizes), series=sum(sizes.values()), pieces=len(pieces))
        intake = self._intake(source, model, labels)
        told = self.pacing.monotonic()
        async for done, fetched in _ahead(self._fetched(source, pieces)):
            with collector_paused():
                intake.take(fetched.keys, fetched.points)
            share = done / len(pieces)
            self.metrics.progress.set(share)
            self.metrics.samples.set(intake.samples)
            if self.pacing.monotonic() - told >= _PROGRESS_SECONDS:
                told = self.pacing.monotonic()
                log.info("history", percent=int(share * 100), samples=intake.samples, pods=len(model.pods))
        return intake.samples

    def _intake(self, source: HistorySource, model: ClusterModel, labels: Labels) -> HistoryIntake:
        behaviour, surroundings = self.settings.behaviour, source.surroundings
        pods = surroundings.pods if behaviour.history_labels_found else ()
        living = {(pod.namespace, pod.name): pod for pod in pods}
        heeds_memory_saver = behaviour.history_in_pieces
        return HistoryIntake(model, labels, living, surroundings.now, heeds_memory_saver=heeds_memory_saver)

    async def _fetched(self, source: HistorySource, pieces: list[Piece]) -> AsyncGenerator[tuple[int, Fetched], None]:
        """Yield how many pieces are done with each piece or, where it is too large, its parts."""
        for number, piece in enumerate(pieces):
            async for fetched in self._questions().in_parts(source.piece, piece):
                yield number + 1, fetched

    async def _labels(self, source: HistorySource) -> Labels:
        """Return the labels of pods that Prometheus tells of."""
        found = await LabelSearch(source, self._questions()).all_labels()
        if not self.settings.behaviour.history_labels_found:
            return found
        names = real_names(source.surroundings.label_names())
        return {key: with_real_names(each, names) for key, each in found.items()}

    def _questions(self) -> Questions:
        patience = self.settings.patience if self.settings.behaviour.history_in_pieces else ONE_TRY
        return Questions(self.thread, self.pacing, patience)


async def _ahead(items: AsyncGenerator[T, None]) -> AsyncIterator[T]:
    """Go through items, the next one always under way."""
    pending = asyncio.ensure_future(anext(items, None))
    try:
        while (item := await pending) is not None:
            pending = asyncio.ensure_future(anext(items, None))
            # The next one begins before the consumer gets to work, which gives nothing else a turn.
            await asyncio.sleep(0)
            yield item
    finally:
        pending.cancel()
        await asyncio.gather(pending, return_exceptions=True)
