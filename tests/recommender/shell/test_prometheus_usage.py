"""Usage round by round from Prometheus, and from the metrics API while Prometheus does not tell it."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing
from dataclasses import dataclass, field, replace
from datetime import timedelta

import numpy as np
import pytest
from prometheus_client import CollectorRegistry

from autoscaling.kube.retry import ONE_TRY
from autoscaling.pod import Pod
from recommender.cluster_model import ClusterModel
from recommender.history.queries import HistoryRequest
from recommender.instants import instant
from recommender.shell.prometheus_client import PrometheusClient, ServerSettings
from recommender.shell.prometheus_usage import PrometheusUsage
from recommender.shell.questions import Questions
from recommender.shell.usage_standing import UsageMetrics, UsageStanding
from recommender.shell.worker_thread import WorkerThread
from recommender.usage_table import UsageMatcher, UsageTable
from tests.autoscaling.kube.clocks import InstantPacing
from tests.builders import T0, container, pod
from tests.embedded import HeldDriver
from tests.recommender.history.builders import MINUTE, T0_NS, of
from tests.recommender.shell.prometheus_server import PrometheusServer, prometheus_server

pytestmark = pytest.mark.anyio


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture
def server() -> Iterator[PrometheusServer]:
    with prometheus_server() as serving:
        yield serving


def minutes(*values: float, first: int = 1) -> dict[int, float]:
    """Return a point at the end of each minute from T0 on."""
    return {T0_NS + (first + number) * MINUTE: value for number, value in enumerate(values)}


def grown(*cores: float, first: int = 1) -> dict[int, float]:
    """Return a counter that grows by so many cores in each minute, from the beginning of the first one on."""
    totals = np.cumsum([0.0, *(60 * value for value in cores)]).tolist()
    return minutes(*totals, first=first - 1)


@dataclass
class MetricsApi:
    """What the metrics API tells in a round."""

    answers: list[UsageTable | None] = field(default_factory=list)
    asked: int = 0

    async def fetch(self, model: ClusterModel) -> UsageTable | None:
        self.asked += 1
        return self.answers.pop(0) if self.answers else None


def told(seconds: int, millicores: int, memory: int) -> UsageTable:
    at = np.array([T0_NS + seconds * 10**9])
    return UsageTable(["default"], ["web-0"], [1], at, ["main"], np.array([millicores]), np.array([memory]))


class Rounds:
    """A model and its source of usage, round by round."""

    def __init__(self, server: PrometheusServer, *pods: Pod) -> None:
        self.model, self.pods = ClusterModel(), pods or (pod(container("main"), name="web-0"),)
        for each in self.pods:
            self.model.observe_pod(each, T0)
        self.matcher, self.driver, self.backup = UsageMatcher(self.model), HeldDriver(), MetricsApi()
        self.registry = CollectorRegistry()
        self.standing = UsageStanding(UsageMetrics.register(self.registry))
        self.thread = WorkerThread("prometheus")
        self.client = PrometheusClient(ServerSettings(server.url, timeout=timedelta(seconds=20)), lambda *_: None)
        self.source = PrometheusUsage(
            HistoryRequest(),
            timedelta(minutes=1),
            Questions(self.thread, InstantPacing(), ONE_TRY),
            self.client,
            self.backup,
            self.standing,
            self.driver,
            lambda: self.pods,
        )

    def close(self) -> None:
        self.thread.shutdown()
        self.client.close()

    async def run(self, minute: float) -> tuple[list[int], list[int]]:
        """Run a round, and return the CPU and memory samples that were taken in."""
        self.driver.time = T0 + timedelta(minutes=minute)
        usage = await self.source.fetch(self.model)
        if usage is None:
            return [], []
        columns = self.matcher.match(usage).columns
        taken = self.model.take_usage(columns, self.driver.time)
        return columns.cpu[taken.cpu].tolist(), columns.memory[taken.memory].tolist()

    def fallbacks(self, reason: str) -> float | None:
        return self.registry.get_sample_value("evenkeel_recommender_usage_fallbacks_total", {"reason": reason})


RoundsMaker = Callable[..., Rounds]


@pytest.fixture
def rounds_of(server: PrometheusServer) -> Iterator[RoundsMaker]:
    """Rounds of a model of some pods, which end with the test."""
    with ExitStack() as stack:
        yield lambda *pods: stack.enter_context(closing(Rounds(server, *pods)))


async def test_each_round_counts_what_is_new(server: PrometheusServer, rounds_of: RoundsMaker) -> None:
    server.use(of(), grown(0.1, 0.2, 0.3), minutes(5e6, 6e6, 7e6))
    rounds = rounds_of()
    assert [await rounds.run(number) for number in (1, 2, 3)] == [
        ([100], [5_000_000]),
        ([200], [6_000_000]),
        ([300], [7_000_000]),
    ], "beyond:B-44"
    assert rounds.backup.asked == 0
    assert rounds.standing.conditions() == ()


async def test_a_peak_between_two_rounds_counts(server: PrometheusServer, rounds_of: RoundsMaker) -> None:
    peak = {T0_NS + 20 * 10**9: 9e8, T0_NS + MINUTE: 5e6}
    server.use(of(), grown(0.1), peak)
    assert await rounds_of().run(1) == ([100], [900_000_000]), "beyond:B-44"


async def test_missed_rounds_are_made_up_for(server: PrometheusServer, rounds_of: RoundsMaker) -> None:
    server.use(of(), grown(*([0.1] * 5)), minutes(*([5e6] * 5)))
    rounds = rounds_of()
    await rounds.run(1)
    assert await rounds.run(5) == ([100] * 4, [5_000_000] * 4), "beyond:B-44"


async def test_a_restart_leaves_no_gap(server: PrometheusServer, rounds_of: RoundsMaker) -> None:
    server.use(of(), grown(*([0.1] * 9)), minutes(*([5e6] * 9)))
    rounds = rounds_of()
    row = rounds.model.aggregates.create(instant(T0))
    rounds.model.aggregates.add_cpu(*(np.array([value], dtype=np.int64) for value in (row, 100, T0_NS + 2 * MINUTE)))
    assert await rounds.run(9) == ([100] * 7, [5_000_000] * 7), "beyond:B-44"


async def test_pods_that_came_and_went_count(server: PrometheusServer, rounds_of: RoundsMaker) -> None:
    server.use(of(pod="brief"), grown(0.4), minutes(8e6))
    place = {"job": "kubernetes-pods", "kubernetes_namespace": "default", "kubernetes_pod_name": "brief"}
    server.add("up", {**place, "pod_label_app": "a"}, minutes(1.0))
    rounds = rounds_of()
    assert await rounds.run(1) == ([400], [8_000_000]), "beyond:B-44"
    assert rounds.model.pods["default", "brief"].label_set.key.labels == {"app": "a"}


async def test_a_new_container_of_a_living_pod_is_taken_as_it_is(
    server: PrometheusServer, rounds_of: RoundsMaker
) -> None:
    server.use(of(container="late"), grown(0.4), minutes(8e6))
    rounds = rounds_of()
    rounds.pods = (replace(rounds.pods[0], containers=(container("main"), container("late", "10m/64Mi"))),)
    assert await rounds.run(1) == ([400], [8_000_000])
    row = rounds.model.row_of("default", "web-0", "late")
    assert rounds.model.containers.memory_request[row] == 64 << 20


async def test_while_prometheus_fails_the_metrics_api_counts_and_nothing_counts_twice(
    server: PrometheusServer, rounds_of: RoundsMaker
) -> None:
    server.use(of(), grown(*([0.1] * 6)), minutes(*([5e6] * 6)))
    rounds = rounds_of()
    await rounds.run(1)
    body = json.dumps({"status": "error", "errorType": "unavailable", "error": "no"}).encode()
    server.faults.append(lambda _: (503, body))
    rounds.backup.answers = [told(100, 700, 70_000_000), None, told(220, 800, 80_000_000)]
    assert await rounds.run(2) == ([700], [70_000_000]), "beyond:B-44"
    (condition,) = rounds.standing.conditions()
    assert (condition.type, condition.reason) == ("UsageFallback", "PrometheusFailed")
    assert await rounds.run(3) == ([], []), "neither answers"
    assert await rounds.run(4) == ([800], [80_000_000])
    server.faults.clear()
    assert await rounds.run(6) == ([100] * 2, [5_000_000] * 2), "only the time after the last round"
    assert rounds.standing.conditions() == ()
    assert (rounds.fallbacks("PrometheusFailed"), rounds.fallbacks("PrometheusLags")) == (3, 0)


async def test_a_gap_that_neither_has_told_is_filled_later(server: PrometheusServer, rounds_of: RoundsMaker) -> None:
    server.use(of(), grown(*([0.1] * 3)), minutes(*([5e6] * 3)))
    rounds = rounds_of()
    await rounds.run(1)
    server.faults.append(lambda _: (500, b""))
    assert await rounds.run(2) == ([], [])
    server.faults.clear()
    assert await rounds.run(3) == ([100] * 2, [5_000_000] * 2), "beyond:B-44"


async def test_while_prometheus_lags_the_metrics_api_counts(server: PrometheusServer, rounds_of: RoundsMaker) -> None:
    server.use(of(), grown(0.1), minutes(5e6))
    rounds = rounds_of()
    await rounds.run(1)
    rounds.backup.answers = [told(299, 700, 70_000_000), told(599, 900, 90_000_000)]
    assert await rounds.run(5) == ([700], [70_000_000]), "beyond:B-44"
    assert [each.reason for each in rounds.standing.conditions()] == ["PrometheusLags"]
    assert await rounds.run(10) == ([900], [90_000_000]), "nothing within reach at all"
    assert rounds.registry.get_sample_value("evenkeel_recommender_usage_fallback") == 1


async def test_series_of_another_cluster_do_not_count(server: PrometheusServer, rounds_of: RoundsMaker) -> None:
    server.use(of(pod="elsewhere", cluster="theirs"), grown(5.0), minutes(9e9))
    server.use(of(cluster="ours"), grown(0.1), minutes(5e6))
    rounds = rounds_of()
    assert await rounds.run(1) == ([100], [5_000_000])
    asked = len(server.queries("/values"))
    await rounds.run(2)
    assert len(server.queries("/values")) == asked, "which cluster is ours is found out once"


async def test_two_looks_at_once_count_once(server: PrometheusServer, rounds_of: RoundsMaker) -> None:
    server.use(of(), grown(0.1), minutes(5e6))
    rounds = rounds_of()
    await rounds.run(1)
    assert await rounds.run(1) == ([], [])
