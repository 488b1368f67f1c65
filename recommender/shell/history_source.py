"""What there is of history, asked of Prometheus in one thread, and what of it counts."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Final

from autoscaling.behaviour import Behaviour
from autoscaling.pod import Pod
from autoscaling.runtime.go_literals import format_prometheus_duration, parse_prometheus_duration
from recommender.history.errors import HistoryError
from recommender.history.labels import FoundLabels, LastLabels, PodKey, home_cluster
from recommender.history.pieces import Piece, Span
from recommender.history.points import Points, Screened, screen, without_inits
from recommender.history.queries import HistoryRequest, LabelQuery, matches_any, quoted
from recommender.history.series import Answer, ContainerKey, Flaw, FlawRecord, Owned, Series, Shape, by_container
from recommender.instants import instant
from recommender.shell.prometheus_client import PrometheusClient

CLUSTER_LABEL: Final = "cluster"
"""Label by which series of several clusters in one Prometheus are told apart."""

LOOK_BACK: Final = timedelta(minutes=5)
"""How far Prometheus looks back for a series that has no point at the very instant."""

_SIZING_POINTS: Final = 32


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What is known of the cluster besides its history.

    Args:
        pods: All living pods.
        asked_labels: Names of the labels that selectors ask for.
        now: The time, up to which history goes.
    """

    pods: tuple[Pod, ...]
    asked_labels: frozenset[str]
    now: datetime

    def living(self) -> frozenset[PodKey]:
        """Return namespace and name of all living pods."""
        return frozenset((pod.namespace, pod.name) for pod in self.pods)

    def label_names(self) -> Iterable[str]:
        """Return the names of labels that are in use."""
        return self.asked_labels.union(*(pod.labels for pod in self.pods))

    def inits(self) -> dict[PodKey, frozenset[str]]:
        """Return the init containers of the living pods that have any."""
        return {
            (pod.namespace, pod.name): frozenset(container.name for container in pod.init_containers)
            for pod in self.pods
            if pod.init_containers
        }


@dataclass(frozen=True, slots=True)
class Fetched:
    """A piece of history, ready to be taken in.

    Args:
        keys: Containers, by their numbers in the points.
        points: What counts.
    """

    keys: dict[ContainerKey, int]
    points: Screened


@dataclass(slots=True)
class HistorySource:
    """Asks for history; blocks, and belongs to one thread.

    Args:
        request: What is asked for.
        behaviour: Where to do otherwise than upstream.
        client: Asks Prometheus.
        surroundings: What is known of the cluster.

    Attributes:
        flaws: What was wrong with series.
        further: What series must match besides upstream's conditions.
        cluster: Label and value of this cluster's series, where Prometheus has those of several.
    """

    request: HistoryRequest
    behaviour: Behaviour
    client: PrometheusClient
    surroundings: Surroundings
    flaws: FlawRecord = field(default_factory=FlawRecord)
    further: tuple[str, ...] = ()
    cluster: tuple[str, str] | None = None
    _inits: dict[PodKey, frozenset[str]] = field(init=False)

    def __post_init__(self) -> None:
        self._inits = self.surroundings.inits()

    @property
    def _counted(self) -> FlawRecord | None:
        """Where bad series are counted; None where one of them makes everything useless."""
        return self.flaws if self.behaviour.history_screened else None

    def span(self) -> Span:
        """Return all instants of the history.

        Raises:
            HistoryError: They would lie infinitely close to each other.
        """
        if self.request.resolution <= timedelta(0):
            raise HistoryError(
                f"--history-resolution={self.request.resolution_text}: there must be time between two points",
                remedy="set it to a duration such as 1h",
            )
        return Span.before(instant(self.surroundings.now), self.request.length, self.request.resolution)

    def find_cluster(self) -> None:
        """Find out whether Prometheus has series of several clusters, and which ones are ours.

        Raises:
            HistoryError: There is no answer, or none of several clusters is this one.
        """
        if not self.behaviour.history_screened:
            return
        span, query = self.span(), self.request.pods_query(CLUSTER_LABEL)
        known = self.client.label_values(CLUSTER_LABEL, self.request.memory_query(), span)
        if not known:
            return
        series = self.client.series_at(query, span.last).of_shape(Shape.VECTOR, query)
        clusters = {*known, *(each.labels.get(CLUSTER_LABEL, "") for each in series)}
        if len(clusters) <= 1:
            return
        home = home_cluster(series, CLUSTER_LABEL, self.request, self.surroundings.living())
        if home is None:
            raise HistoryError(
                f"Prometheus has series of the clusters {', '.join(sorted(clusters))}, and none of this cluster's pods",
                remedy="name a job of this cluster alone with --prometheus-cadvisor-job-name",
            )
        for each in series:
            if each.labels.get(CLUSTER_LABEL, "") != home:
                self.flaws.note(Flaw.FOREIGN_CLUSTER, each)
        self.cluster = CLUSTER_LABEL, home
        self.further = (f"{CLUSTER_LABEL}={quoted(home)}",)

    def sizes(self) -> dict[str, int]:
        """Return each namespace that history is about, and about how many series of a resource it has.

        Raises:
            HistoryError: There is no answer.
        """
        span, label = self.span(), self.request.namespace_label
        sizes = dict.fromkeys(self.client.label_values(label, self.request.memory_query(*self.further), span), 1)
        query = self.request.sizes_query(*self.further)
        step = max(1, span.count // _SIZING_POINTS)
        looked_at = Span(
            span.start + (span.count - 1) % step * span.step, span.step * step, (span.count - 1) // step + 1
        )
        for each in self.client.series_over(query, looked_at).of_shape(Shape.MATRIX, query):
            namespace = each.labels.get(label, "")
            # Series without the label are asked for as well, so that they are noticed.
            sizes[namespace] = max(1, int(each.values.max(initial=1)))
        return sizes

    def piece(self, piece: Piece) -> Fetched:
        """Fetch a piece.

        Raises:
            HistoryError: There is no answer, or it cannot be used.
        """
        further = self.further
        if piece.namespaces:
            further = (*further, matches_any(self.request.namespace_label, piece.namespaces))
        keys: dict[ContainerKey, int] = {}
        # What is wrong with the labels of CPU is noticed before memory is asked for.
        cpu = self._owned(self._series(self.request.cpu_query(*further), piece.span), keys)
        memory = self._owned(self._series(self.request.memory_query(*further), piece.span), keys)
        return self._counted_of(cpu, memory, piece.span)

    def fetched(self, cpu: Sequence[Series], memory: Sequence[Series], span: Span) -> Fetched:
        """Return what of some series counts.

        Args:
            cpu: Series of CPU in cores.
            memory: Series of memory in bytes.
            span: The instants that both have points at.

        Raises:
            HistoryError: They cannot be used.
        """
        keys: dict[ContainerKey, int] = {}
        return self._counted_of(self._owned(cpu, keys), self._owned(memory, keys), span)

    def _series(self, query: str, span: Span) -> tuple[Series, ...]:
        return self.client.series_over(query, span).of_shape(Shape.MATRIX, query)

    def _owned(self, series: Sequence[Series], keys: dict[ContainerKey, int]) -> Owned:
        return by_container(series, self.request, keys, self._counted)

    def _counted_of(self, cpu: Owned, memory: Owned, span: Span) -> Fetched:
        """Return what of a piece counts; all of it where nothing is screened."""
        if not self.behaviour.history_screened:
            return Fetched(cpu.keys, Screened(Points.of(cpu).in_order(), Points.of(memory).in_order()))
        used, held = (without_inits(owned, self._inits, self.flaws) for owned in (cpu, memory))
        return Fetched(cpu.keys, screen(used, held, span, self.flaws))

    def labels_as_asked(self, last: LastLabels) -> None:
        """Take in the answer to the query for labels as the flag has it.

        Raises:
            HistoryError: There is no answer, or it cannot be used.
        """
        query = self.request.labels_query
        answer = self.client.series_at(query, instant(self.surroundings.now))
        is_enough = self.behaviour.history_labels_found and answer.shape is Shape.VECTOR
        last.take(answer.series if is_enough else answer.of_shape(Shape.MATRIX, query), self._counted)

    def label_piece(self, query: LabelQuery) -> Piece:
        """Return the whole time over which labels are asked for, cut so that no series falls between two instants."""
        length = max(parse_prometheus_duration(query.length), LOOK_BACK)
        return Piece((), Span.before(instant(self.surroundings.now), length - LOOK_BACK, LOOK_BACK))

    def find_labels(self, query: LabelQuery, found: FoundLabels, piece: Piece) -> None:
        """Take in all labels of a part of the time.

        Raises:
            HistoryError: There is no answer, or it cannot be used.
        """
        asked = query.within(format_prometheus_duration(piece.span.count * LOOK_BACK))
        found.take(self._ours(self.client.series_at(asked, piece.span.last), Shape.VECTOR, asked), self._counted)

    def compare_labels(self, query: LabelQuery, pods: tuple[PodKey, ...], last: LastLabels, piece: Piece) -> None:
        """Take in when labels were there in a part of the time, of some pods or of all.

        Raises:
            HistoryError: There is no answer, or it cannot be used.
        """
        asked = query.expression
        if pods:
            namespaces, names = (tuple(sorted(set(each))) for each in zip(*pods, strict=True))
            asked = query.among(
                matches_any(self.request.pod_namespace_label, namespaces),
                matches_any(self.request.pod_name_label, names),
            )
        last.take(self._ours(self.client.series_over(asked, piece.span), Shape.MATRIX, asked), self._counted)

    def _ours(self, answer: Answer, shape: Shape, query: str) -> Iterator[Series]:
        """Return the series of an answer that are about this cluster."""
        for each in answer.of_shape(shape, query):
            if self.cluster is None or each.labels.get(self.cluster[0], "") == self.cluster[1]:
                yield each
