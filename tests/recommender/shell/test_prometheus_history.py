"""Loading history, against a real HTTP server that answers like Prometheus."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import replace
from datetime import datetime, timedelta

import numpy as np
import pytest
from prometheus_client import CollectorRegistry
from structlog.testing import capture_logs

from autoscaling.behaviour import Behaviour, Profile
from autoscaling.kube.retry import Patience
from autoscaling.pod import Pod
from recommender.cluster_model import ClusterModel
from recommender.history.pieces import Budget
from recommender.history.queries import HistoryRequest
from recommender.shell.history_metrics import HistoryMetrics
from recommender.shell.history_source import Surroundings
from recommender.shell.prometheus_client import PrometheusClient, ServerSettings
from recommender.shell.prometheus_history import HistoryLoader, HistorySettings
from recommender.shell.worker_thread import WorkerThread
from tests.autoscaling.kube.clocks import InstantPacing
from tests.builders import T0, pod
from tests.recommender.history.builders import MEMORY, of
from tests.recommender.shell.prometheus_server import Asked, PrometheusServer, hours, prometheus_server

pytestmark = pytest.mark.anyio
NOW = T0 + timedelta(days=8)
TOO_MANY = json.dumps({"status": "error", "errorType": "execution", "error": "too many samples"}).encode()
UNAVAILABLE = json.dumps({"status": "error", "errorType": "unavailable", "error": "starting"}).encode()
Logs = list[dict[str, object]]


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture
def server() -> Iterator[PrometheusServer]:
    with prometheus_server() as serving:
        yield serving


def label(server: PrometheusServer, name: str = "web-0", **labels: str) -> None:
    """Let the query for labels find a pod for the whole time."""
    own = {f"pod_label_{key}": value for key, value in labels.items()}
    place = {"job": "kubernetes-pods", "kubernetes_namespace": "default", "kubernetes_pod_name": name}
    server.add("up", {**place, **own}, hours(193, 1.0))


class Loading:
    """One load and what came of it."""

    def __init__(self, server: PrometheusServer, profile: Profile = Profile.EVENKEEL, **behaviour: str) -> None:
        self.model = ClusterModel()
        self.pacing = InstantPacing()
        self.registry = CollectorRegistry()
        self.request = HistoryRequest()
        self.budget = Budget()
        self.pods: tuple[Pod, ...] = ()
        self.asked_labels: frozenset[str] = frozenset()
        self.now: datetime = NOW
        self.logs: Logs = []
        self._behaviour = Behaviour.of(profile).with_overrides(behaviour)
        self._client = PrometheusClient(ServerSettings(server.url, timeout=timedelta(seconds=20)), lambda *_: None)

    async def run(self) -> bool:
        patience = Patience(attempts=4, first_seconds=1.0, ceiling_seconds=30.0, jitter=0.0, total_seconds=600.0)
        settings = HistorySettings(self.request, self._behaviour, self.budget, patience)
        thread = WorkerThread("history")
        loader = HistoryLoader(settings, self._client, thread, self.pacing, HistoryMetrics.register(self.registry))
        with capture_logs() as logs:
            loaded = await loader.load(self.model, Surroundings(self.pods, self.asked_labels, self.now))
        self.logs = [dict(line) for line in logs]

        thread.shutdown()
        self._client.close()
        return loaded

    def events(self) -> list[object]:
        return [line["event"] for line in self.logs]

    def metric(self, name: str, **labels: str) -> float | None:
        return self.registry.get_sample_value(f"evenkeel_recommender_history_{name}", labels)

    def rows(self) -> dict[str, int]:
        """Return the aggregate of each namespace, which has one."""
        return {each.namespace: row for each in self.model.matching for row in each.aggregates.values()}

    def cpu_counts(self) -> dict[str, int]:
        """Return the number of CPU samples by the text of the labels."""
        return {
            each.key.text: int(self.model.aggregates.sample_count[row])
            for each in self.model.matching
            for row in each.aggregates.values()
        }


async def test_upstream_asks_three_queries_once(server: PrometheusServer) -> None:
    server.use(of(), hours(193, 0.1), hours(193, 3e8))
    label(server, app="a")
    loading = Loading(server, Profile.UPSTREAM)
    loading.request = replace(loading.request, labels_query='up{job="kubernetes-pods"}[8d]')
    assert await loading.run()
    sent = [(asked.path.rsplit("/", 1)[1], asked.query) for asked in server.asked]
    matchers = 'job="kubernetes-cadvisor", pod_name=~".+", name!="POD", name!=""'
    assert sent == [
        ("query_range", f"rate(container_cpu_usage_seconds_total{{{matchers}}}[1h])"),
        ("query_range", f"container_memory_working_set_bytes{{{matchers}}}"),
        ("query", 'up{job="kubernetes-pods"}[8d]'),
    ], "recommender:7"
    assert float(server.asked[0].form["end"]) - float(server.asked[0].form["start"]) == 691200
    assert loading.cpu_counts() == {"app=a": 193}
    assert loading.model.aggregates.memory.totals[0] > 0


async def test_upstream_gets_nothing_with_the_default_query_for_labels(server: PrometheusServer) -> None:
    server.use(of(), hours(193, 0.1), hours(193, 3e8))
    label(server, app="a")
    loading = Loading(server, Profile.UPSTREAM)
    assert not await loading.run()
    assert loading.model.pods == {}, "recommender:7"
    (line,) = loading.logs
    assert (line["event"], line["remedy"]) == ("history not loaded", "give the query a range, such as [8d]")


@pytest.mark.parametrize("failing", ["rate(", MEMORY, "up{"])
async def test_any_failure_leaves_upstream_without_history(server: PrometheusServer, failing: str) -> None:
    server.use(of(), hours(193, 0.1), hours(193, 3e8))
    server.faults.append(lambda asked: (503, UNAVAILABLE) if asked.query.startswith(failing) else None)
    loading = Loading(server, Profile.UPSTREAM)
    loading.request = replace(loading.request, labels_query="up{}[8d]")
    assert not await loading.run()
    assert loading.model.pods == {}, "recommender:7"
    assert len([query for query in server.queries() if query.startswith(failing)]) == 1, "asked only once"


async def test_one_bad_series_leaves_upstream_without_history(server: PrometheusServer) -> None:
    server.use(of(), hours(193, 0.1), hours(193, 3e8))
    server.use({"pod_name": "stray", "name": "main"}, hours(2, 0.1), hours(2, 3e8))
    loading = Loading(server, Profile.UPSTREAM)
    assert not await loading.run()
    assert "has no label namespace" in str(loading.logs[0]["error"]), "recommender:7"
    assert len(server.asked) == 1


async def test_history_loads_with_default_settings(server: PrometheusServer) -> None:
    """Spec: recommender:13.15."""
    server.use(of(), hours(193, 0.1), hours(193, 3e8))
    label(server, app="a")
    loading = Loading(server)
    assert await loading.run()
    assert 'last_over_time(up{job="kubernetes-pods"}[8d])' in server.queries(), "beyond:B-7"
    assert loading.cpu_counts() == {"app=a": 193}
    assert loading.metric("progress_ratio") == 1.0
    assert loading.metric("samples") == 386
    assert all(loading.metric("bad_series_total", reason=flaw) == 0 for flaw in ("zombie", "duplicate"))


async def test_pieces_hold_the_same_history_as_the_whole(server: PrometheusServer) -> None:
    for number in range(6):
        labels = of(f"ns{number % 3}", f"web-{number}")
        server.use(labels, hours(193, lambda hour: 0.05 + hour % 7 / 10), hours(193, lambda hour: 2e8 + hour % 5 * 1e8))
    whole, pieces = Loading(server, Profile.UPSTREAM, history_labels_found="true"), Loading(server)
    pieces.budget = Budget(points=60, series=2)
    assert await whole.run()
    server.asked.clear()
    assert await pieces.run()
    ranges = [asked for asked in server.asked if asked.query.startswith("rate(")]
    assert len(ranges) == 3 * 7
    assert {re.findall(r'namespace="(ns\d)"', asked.query)[0] for asked in ranges} == {"ns0", "ns1", "ns2"}
    spans = [float(asked.form["end"]) - float(asked.form["start"]) for asked in ranges]
    assert max(spans) == 29 * 3600, "30 points of 2 series"
    for namespace, row in whole.rows().items():
        other = pieces.rows()[namespace]
        for bank, cut in (
            (whole.model.aggregates.cpu, pieces.model.aggregates.cpu),
            (whole.model.aggregates.memory, pieces.model.aggregates.memory),
        ):
            assert bank.totals[row] > 0
            np.testing.assert_allclose(cut.weights[other], bank.weights[row], rtol=1e-12)
    assert sum(whole.cpu_counts().values()) == sum(pieces.cpu_counts().values())


async def test_a_piece_that_is_too_much_is_halved(server: PrometheusServer) -> None:
    server.use(of(), hours(193, 0.1), hours(193, 3e8))

    def refuse_long(asked: Asked) -> tuple[int, bytes] | None:
        is_long = "start" in asked.form and float(asked.form["end"]) - float(asked.form["start"]) > 50 * 3600
        return (422, TOO_MANY) if is_long and asked.query.startswith("rate(") else None

    server.faults.append(refuse_long)
    loading = Loading(server)
    assert await loading.run()
    assert loading.metric("samples") == 386, "performance:R-7"


async def test_the_query_for_labels_is_halved_as_well(server: PrometheusServer) -> None:
    server.use(of(), hours(193, 0.1), hours(193, 3e8))
    label(server, app="a")
    server.faults.append(lambda asked: (422, TOO_MANY) if "[8d]" in asked.query else None)
    loading = Loading(server)
    assert await loading.run()
    assert [query for query in server.queries() if "last_over_time" in query] == [
        'last_over_time(up{job="kubernetes-pods"}[8d])',
        'last_over_time(up{job="kubernetes-pods"}[4d])',
        'last_over_time(up{job="kubernetes-pods"}[4d])',
    ]
    assert loading.cpu_counts() == {"app=a": 193}


async def test_what_cannot_be_made_smaller_is_a_failure(server: PrometheusServer) -> None:
    server.use(of(), hours(193, 0.1), hours(193, 3e8))
    server.faults.append(lambda asked: (422, TOO_MANY) if asked.query.startswith("rate(") else None)
    loading = Loading(server)
    assert not await loading.run()
    assert loading.events()[-1] == "history not loaded"
    assert "too many samples" in str(loading.logs[-1]["error"])


async def test_a_query_is_asked_again_with_longer_and_longer_pauses(server: PrometheusServer) -> None:
    server.use(of(), hours(193, 0.1), hours(193, 3e8))
    failures = iter([UNAVAILABLE] * 3)
    server.faults.append(lambda _: (503, body) if (body := next(failures, None)) else None)
    loading = Loading(server)
    assert await loading.run()
    assert loading.pacing.slept == [1.0, 2.0, 4.0]
    again = [line for line in loading.logs if line["event"] == "history asked again"]
    assert [line["failures"] for line in again] == [1, 2, 3]


async def test_in_the_end_it_starts_with_what_it_has(server: PrometheusServer) -> None:
    server.use(of("a"), hours(193, 0.1), hours(193, 3e8))
    server.use(of("b"), hours(193, 0.1), hours(193, 3e8))
    server.faults.append(lambda asked: (503, UNAVAILABLE) if '"b"' in asked.query else None)
    loading = Loading(server)
    loading.budget = Budget(series=1)
    assert not await loading.run()
    assert list(loading.model.pods) == [("a", "web-0")], "beyond:B-7"
    last = loading.logs[-1]
    assert (last["event"], last["log_level"], last["pods"]) == ("history not loaded", "error", 1)
    assert "log of Prometheus" in str(last["remedy"])
    assert loading.pacing.slept == [1.0, 2.0, 4.0]
    assert loading.metric("progress_ratio") == 0.5


async def test_signing_in_wrongly_is_not_tried_again(server: PrometheusServer) -> None:
    server.faults.append(lambda _: (401, b""))
    loading = Loading(server)
    assert not await loading.run()
    assert loading.pacing.slept == []
    assert len(server.asked) == 1


async def test_bad_series_are_counted_by_reason(server: PrometheusServer) -> None:
    server.use(of(id="/pod1/c"), hours(193, 0.1), hours(193, 3e8))
    server.use(of(id="/pod1"), hours(193, 0.5), hours(193, 9e8))
    server.use({"pod_name": "stray", "name": "main"}, hours(2, 0.1), hours(2, 3e8))
    server.use(of(pod="ended"), hours(193, 0.0), hours(193, 0.0))
    server.use(of(pod="odd"), hours(193, float("nan")), hours(193, 3e8))
    loading = Loading(server)
    assert await loading.run()
    counted = {
        sample.labels["reason"]: sample.value
        for family in loading.registry.collect()
        for sample in family.samples
        if sample.name.endswith("bad_series_total") and sample.value
    }
    assert counted == {"parent_cgroup": 2, "missing_label": 2, "zombie": 2, "not_a_number": 1}, "beyond:B-7"
    assert set(loading.model.pods) == {("default", "web-0"), ("default", "odd")}
    assert loading.logs[-1]["bad_series"] == counted


def here(*names: str) -> tuple[Pod, ...]:
    return tuple(replace(pod(name=name), labels={"app.kubernetes.io/name": "a"}) for name in names)


async def test_series_of_other_clusters_are_left_out(server: PrometheusServer) -> None:
    server.use(of(cluster="ours"), hours(193, 0.1), hours(193, 3e8))
    server.use(of(cluster="theirs"), hours(193, 5.0), hours(193, 9e9))
    server.use(of(pod="elsewhere", cluster="theirs"), hours(193, 5.0), hours(193, 9e9))
    loading = Loading(server)
    loading.pods = here("web-0")
    server.use(of(pod="mine", cluster="ours"), hours(193, 0.1), hours(193, 3e8))
    loading.pods = here("web-0", "mine")
    assert await loading.run()
    assert set(loading.model.pods) == {("default", "web-0"), ("default", "mine")}, "beyond:B-7"
    assert loading.metric("bad_series_total", reason="foreign_cluster") == 2
    assert all('cluster="ours"' in query for query in server.queries("query_range"))


async def test_clusters_of_which_none_is_known_are_a_failure(server: PrometheusServer) -> None:
    for cluster in ("a", "b"):
        server.use(of(cluster=cluster), hours(193, 0.1), hours(193, 3e8))
    loading = Loading(server)
    loading.pods = here("somebody")
    assert not await loading.run()
    assert "clusters a, b" in str(loading.logs[-1]["error"])
    assert "--prometheus-cadvisor-job-name" in str(loading.logs[-1]["remedy"])


async def test_labels_get_back_their_names(server: PrometheusServer) -> None:
    server.use(of(pod="gone"), hours(193, 0.1), hours(193, 3e8))
    server.use(of(pod="web-0"), hours(193, 0.1), hours(193, 3e8))
    label(server, "gone", app_kubernetes_io_name="a", tier="t")
    loading = Loading(server)
    loading.pods, loading.asked_labels = here("web-0"), frozenset({"tier"})
    assert await loading.run()
    assert loading.cpu_counts() == {"app.kubernetes.io/name=a,tier=t": 193, "app.kubernetes.io/name=a": 193}
    as_upstream = Loading(server, history_labels_found="false")
    as_upstream.request = replace(as_upstream.request, labels_query="up[8d]")
    as_upstream.pods = here("web-0")
    assert await as_upstream.run()
    assert set(as_upstream.cpu_counts()) == {"app_kubernetes_io_name=a,tier=t", ""}, "recommender:7"


async def test_of_a_pod_that_was_labelled_anew_the_newer_labels_count(server: PrometheusServer) -> None:
    for name in ("web-0", "web-1"):
        server.use(of(pod=name), hours(193, 0.1), hours(193, 3e8))
    place = {"job": "kubernetes-pods", "kubernetes_namespace": "default"}
    server.add("up", {**place, "kubernetes_pod_name": "web-0", "pod_label_v": "z-old"}, hours(100, 1.0))
    server.add("up", {**place, "kubernetes_pod_name": "web-0", "pod_label_v": "new"}, hours(93, 1.0, first=100))
    server.add("up", {**place, "kubernetes_pod_name": "web-1", "pod_label_v": "same", "instance": "a"}, hours(100, 1.0))
    server.add("up", {**place, "kubernetes_pod_name": "web-1", "pod_label_v": "same", "instance": "b"}, hours(9, 1.0))
    loading = Loading(server)
    assert await loading.run()
    assert loading.cpu_counts() == {"v=new": 193, "v=same": 193}, "beyond:B-7"
    compared = [query for query in server.queries("query_range") if query.startswith("up{")]
    conditions = 'kubernetes_namespace="default", kubernetes_pod_name="web-0"'
    assert compared == [f'up{{job="kubernetes-pods", {conditions}}}']


async def test_labels_of_an_expression_are_looked_for_day_by_day(server: PrometheusServer) -> None:
    server.use(of(), hours(193, 0.1), hours(193, 3e8))
    query = "group by (kubernetes_namespace, kubernetes_pod_name, pod_label_app) (up)"
    label(server, app="a")
    loading = Loading(server)
    loading.request = replace(loading.request, labels_query=query)
    assert await loading.run()
    assert len([asked for asked in server.queries("query_range") if asked == query]) == 8
    assert loading.cpu_counts() == {"app=a": 193}, "beyond:B-7"


@pytest.mark.parametrize("query", ["up[8d] offset 0s", "last_over_time(up[8d])"])
async def test_a_query_with_a_range_of_its_own_is_sent_as_it_is(server: PrometheusServer, query: str) -> None:
    server.use(of(), hours(193, 0.1), hours(193, 3e8))
    place = {"kubernetes_namespace": "default", "kubernetes_pod_name": "web-0", "pod_label_app": "a"}
    matrix = {"metric": place, "values": [[NOW.timestamp(), "1"]]}
    vector = {"metric": place, "value": [NOW.timestamp(), "1"]}
    kind, result = ("vector", vector) if query.startswith("last") else ("matrix", matrix)
    body = json.dumps({"status": "success", "data": {"resultType": kind, "result": [result]}}).encode()
    server.faults.append(lambda asked: (200, body) if asked.query == query else None)
    loading = Loading(server)
    loading.request = replace(loading.request, labels_query=query)
    assert await loading.run()
    assert loading.cpu_counts() == {"app=a": 193}, "beyond:B-7"


async def test_progress_is_told_now_and_then(server: PrometheusServer) -> None:
    server.use(of(), hours(193, 0.1), hours(193, 3e8))
    loading = Loading(server)
    loading.budget = Budget(points=20)

    def pass_time(_: Asked) -> None:
        loading.pacing.seconds += 3.0

    server.faults.append(pass_time)
    assert await loading.run()
    told = [int(str(line["percent"])) for line in loading.logs if line["event"] == "history"]
    assert told == sorted(told)
    assert 2 <= len(told) < 10, "beyond:B-7"


async def test_an_empty_history_says_what_to_look_at(server: PrometheusServer) -> None:
    loading = Loading(server)
    assert await loading.run()
    assert loading.events() == ["history begins", "history loaded", "history is empty"]
    assert "--container-pod-name-label=pod" in str(loading.logs[-1]["remedy"])


async def test_a_namespace_that_was_there_for_a_moment_only_counts(server: PrometheusServer) -> None:
    server.use(of("brief"), hours(1, 0.1, first=100), hours(1, 3e8, first=100))
    server.use(of("long"), hours(193, 0.1), hours(193, 3e8))
    loading = Loading(server)
    assert await loading.run()
    assert {namespace for namespace, _ in loading.model.pods} == {"brief", "long"}


async def test_a_resolution_of_nothing_is_a_failure(server: PrometheusServer) -> None:
    for profile in Profile:
        loading = Loading(server, profile)
        loading.request = replace(loading.request, resolution=timedelta(0), resolution_text="0s")
        assert not await loading.run()
        assert "--history-resolution=0s" in str(loading.logs[-1]["error"])
    assert server.asked == []
