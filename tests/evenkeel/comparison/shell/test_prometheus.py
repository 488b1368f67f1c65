"""Use from a Prometheus of this machine that answers as it is told."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import timedelta
from http.server import BaseHTTPRequestHandler, HTTPServer
from urllib.parse import parse_qs, urlsplit

import pytest

from autoscaling.resources import CPU, MEMORY
from evenkeel.comparison.shell.prometheus import PrometheusError, PrometheusSource, ask_prometheus
from evenkeel.comparison.use import ObservedUse, UseSample
from recommender.instants import SECOND, instant
from tests.builders import T0

KEY = ("default", "web", "main")
POD = ("default", "web-0")
AT = instant(T0) // SECOND
WINDOW = (T0 - timedelta(days=1), T0)
Json = dict[str, object]


@dataclass
class Prometheus:
    """Answers queries by the metric in them, and remembers what it was asked."""

    answers: dict[str, list[Json]]
    asked: list[dict[str, list[str]]] = field(default_factory=list)
    tokens: list[str] = field(default_factory=list)


@contextmanager
def serving(prometheus: Prometheus) -> Iterator[str]:
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            query = parse_qs(urlsplit(self.path).query)
            prometheus.asked.append(query)
            prometheus.tokens.append(self.headers.get("Authorization", ""))
            found = [series for metric, series in prometheus.answers.items() if metric in query["query"][0]]
            body: Json = {"status": "success", "data": {"resultType": "matrix", "result": found[0]}} if found else {}
            self.send_response(200 if found else 400)
            self.end_headers()
            self.wfile.write(json.dumps(body).encode())

        def log_message(self, *_: object) -> None:
            pass

    server = HTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def series(*values: tuple[float, str], pod: str = "web-0", **labels: str) -> Json:
    metric = {"namespace": "default", "pod": pod, "container": "main"} | labels
    return {"metric": metric, "values": [[at, value] for at, value in values]}


def asked(use: ObservedUse, resource: str) -> list[UseSample]:
    return [*use.by_pod(KEY, resource).get("web-0", ())]


def test_points_become_samples_and_what_is_no_amount_is_left_out() -> None:
    cpu = series((AT, "0.1204"), (AT + 300.5, "NaN"), (AT + 600.25, "0.2"), (AT + 900, "+Inf"), (AT + 1200, "-1"))
    answers = {
        "container_cpu_usage_seconds_total": [cpu, series((AT, "9"), pod="stranger")],
        "container_memory_working_set_bytes": [series((AT, "1073741824"))],
    }
    prometheus = Prometheus(answers)
    use = ObservedUse({POD: (("default", "web"),)})
    with serving(prometheus) as address:
        ask_prometheus(PrometheusSource(f"{address}/", "secret"), "default", use, WINDOW)
    assert asked(use, CPU) == [
        UseSample(AT * SECOND, 121),
        UseSample(AT * SECOND + 600_250_000_000, 200),
    ], "beyond:B-35"
    assert asked(use, MEMORY) == [UseSample(AT * SECOND, 2**30)]
    assert prometheus.tokens == ["Bearer secret"] * 2
    (query,) = prometheus.asked[0]["query"]
    assert query == (
        'max by (namespace, pod, container) (rate(container_cpu_usage_seconds_total{pod=~".+", container!="POD", '
        'container!="", namespace="default"}[300s]))'
    )
    assert (prometheus.asked[0]["step"], float(prometheus.asked[0]["end"][0])) == (["288s"], AT)


def test_labels_may_be_called_otherwise() -> None:
    answers = {"cpu_usage": [series((AT, "1"), pod_name="web-0", name="main")], "memory": []}
    prometheus = Prometheus(answers)
    use = ObservedUse({POD: (("default", "web"),)})
    with serving(prometheus) as address:
        source = PrometheusSource(address, pod_label="pod_name", container_label="name")
        ask_prometheus(source, "", use, (T0 - timedelta(hours=1), T0))
    assert asked(use, CPU) == [UseSample(AT * SECOND, 1000)], "beyond:B-35"
    (query,) = prometheus.asked[1]["query"]
    assert query == (
        "max by (namespace, pod_name, name) (max_over_time(container_memory_working_set_bytes"
        '{pod_name=~".+", name!="POD", name!=""}[60s]))'
    )
    assert prometheus.tokens == ["", ""]


@pytest.mark.parametrize(
    ("spec_id", "answers"),
    [("beyond:B-35", {}), ("beyond:B-35", {"cpu_usage": [{"metric": {}}]}), ("beyond:B-35", {"cpu_usage": [{}]})],
)
def test_an_answer_that_is_none_is_said_with_the_way_out(spec_id: str, answers: dict[str, list[Json]]) -> None:
    with serving(Prometheus(answers)) as address, pytest.raises(PrometheusError) as raised:
        ask_prometheus(PrometheusSource(address), "", ObservedUse({}), WINDOW)
    assert str(raised.value).startswith(address), spec_id
    assert "check --prometheus" in str(raised.value)


def test_an_address_that_is_none_is_said_with_the_way_out() -> None:
    with pytest.raises(PrometheusError, match="check --prometheus"):
        ask_prometheus(PrometheusSource("nowhere"), "", ObservedUse({}), WINDOW)
