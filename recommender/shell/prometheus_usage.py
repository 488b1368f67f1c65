"""Usage of now from Prometheus, with the metrics API behind it (spec: beyond:B-44)."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import timedelta
from functools import partial
from typing import Final

import structlog

from autoscaling.behaviour import Behaviour
from autoscaling.pod import Pod
from autoscaling.runtime.process import Driver
from recommender.cluster_model import ClusterModel
from recommender.history.errors import HistoryError
from recommender.history.intake import HistoryIntake
from recommender.history.labels import LastLabels, PodKey, real_names, with_real_names
from recommender.history.live import NOTHING_USED, Tiles, counted_until, peaks, rates, tiles, usage_table
from recommender.history.pieces import Piece, Span
from recommender.history.queries import HistoryRequest, label_query
from recommender.history.series import ContainerKey, Shape
from recommender.instants import SECOND, instant, nanoseconds
from recommender.shell.history_source import LOOK_BACK, Fetched, HistorySource, Surroundings
from recommender.shell.prometheus_client import PrometheusClient
from recommender.shell.questions import Questions
from recommender.shell.usage import UsageSource
from recommender.shell.usage_standing import Shortfall, UsageStanding
from recommender.usage_table import UsageTable

_WINDOWS_AT_ONCE: Final = 50_000
"""Windows of all containers that are asked for at once; in each are as many points as it was measured times."""
_LAG_ALLOWED: Final = timedelta(minutes=3)
_INTERVALS_ALLOWED: Final = 3
_LABELS_WITHIN: Final = timedelta(hours=1)

log = structlog.get_logger()


class LaggingError(Exception):
    """Prometheus answers, but with what is long past."""


@dataclass(slots=True)
class PrometheusUsage:
    """Asks Prometheus in every round for what is new; where that fails or is old, the metrics API counts.

    Args:
        request: Metrics and labels.
        interval: Time between two rounds.
        questions: Runs what blocks.
        client: Asks Prometheus.
        backup: Asks the metrics API.
        standing: Told which of the two it was.
        driver: The clock.
        living: Returns all pods as they are now.

    Attributes:
        until: Up to when usage has been counted, nanoseconds since the epoch; None before the first round.
        ours: What tells our series from those of other clusters; None before that is known.
    """

    request: HistoryRequest
    interval: timedelta
    questions: Questions
    client: PrometheusClient
    backup: UsageSource
    standing: UsageStanding
    driver: Driver
    living: Callable[[], tuple[Pod, ...]]
    until: int | None = None
    ours: tuple[tuple[str, ...], tuple[str, str] | None] | None = None

    async def fetch(self, model: ClusterModel) -> UsageTable | None:
        """Return what is new since the last round, also of pods that came and went meanwhile.

        What either source has told is counted and not asked for again; while neither answers, the gap is left to be
        filled.
        """
        now = instant(self.driver.now())
        if self.until is None:
            self.until = counted_until(model, now, self.request.length)
        try:
            usage = await self._new(model, tiles(self.until, now, self.interval))
        except (HistoryError, LaggingError) as error:
            is_lagging = isinstance(error, LaggingError)
            self.standing.note(Shortfall.LAGGING if is_lagging else Shortfall.FAILED)
            log.warning("usage from the metrics API", error=str(error))
            usage = await self.backup.fetch(model)
        else:
            self.standing.note(None)
        if usage is not None:
            self.until = now
        return usage

    async def _new(self, model: ClusterModel, due: Tiles | None) -> UsageTable | None:
        """Ask for everything since the last round.

        Raises:
            HistoryError: There is no answer.
            LaggingError: What was measured last is long past.
        """
        usage = NOTHING_USED
        if due is None:
            return usage
        surroundings = Surroundings(self.living(), frozenset(), self.driver.now())
        source = HistorySource(self.request, Behaviour(), self.client, surroundings)
        await self.questions.ask(lambda: self._check(source, due.span.last))
        most = max(1, _WINDOWS_AT_ONCE // max(1, len(model.containers.rows)))
        for part in due.parts(most):
            async for span, fetched in self.questions.in_parts(partial(self._fetch, source), Piece((), part.span)):
                await self._make_known(model, fetched.keys, source)
                usage = usage.followed_by(usage_table(fetched.keys, fetched.points, span))
        return usage

    def _check(self, source: HistorySource, now: int) -> None:
        """Find out which series are ours, and when they were measured last."""
        if self.ours is None:
            source.find_cluster()
            self.ours = source.further, source.cluster
        source.further, source.cluster = self.ours
        query = self.request.freshness_query(*source.further)
        series = self.client.series_at(query, now).of_shape(Shape.VECTOR, query)
        seconds = max((float(each.values[-1]) for each in series), default=0.0)
        allowed = max(_LAG_ALLOWED, _INTERVALS_ALLOWED * self.interval)
        if now - seconds * SECOND > nanoseconds(allowed):
            when = f"{now / SECOND - seconds:.0f}s ago" if seconds else "long ago"
            raise LaggingError(f"{query}: measured {when}, which is more than {allowed.total_seconds():.0f}s")

    def _fetch(self, source: HistorySource, piece: Piece) -> tuple[Span, Fetched]:
        """Fetch all that was measured in a part of the time, and tell from it what was used in each window."""
        due = Tiles(piece.span)
        answers = [
            self.client.series_at(query, piece.span.last).of_shape(Shape.MATRIX, query)
            for query in self.request.raw_queries(due.reach, *source.further)
        ]
        cpu, memory = [rates(each, due) for each in answers[0]], [peaks(each, due) for each in answers[1]]
        return piece.span, source.fetched(cpu, memory, piece.span)

    async def _make_known(self, model: ClusterModel, keys: Iterable[ContainerKey], source: HistorySource) -> None:
        """Make containers known to the model that it has not seen, those of pods that came and went included."""
        unknown = [key for key in keys if model.row_of(*key) is None]
        living = {(pod.namespace, pod.name): pod for pod in source.surroundings.pods}
        gone = tuple(sorted({key[:2] for key in unknown} - living.keys()))
        labels: dict[PodKey, dict[str, str]] = {}
        query = label_query(self.request.labels_query, self.request.length_text)
        if gone and query.is_selector:
            last = LastLabels(self.request)
            ended = instant(source.surroundings.now)
            whole = Piece((), Span.before(ended, _LABELS_WITHIN, LOOK_BACK))
            async for _ in self.questions.in_parts(partial(source.compare_labels, query, gone, last), whole):
                pass
            names = real_names(source.surroundings.label_names())
            labels = {pod: with_real_names(found, names) for pod, found in last.labels.items()}
        intake = HistoryIntake(model, labels, living, source.surroundings.now, heeds_memory_saver=True)
        intake.make_known(unknown)
