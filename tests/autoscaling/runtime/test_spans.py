"""Spans as they reach a receiver: a real local HTTP server that decodes them."""

from __future__ import annotations

import gzip
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread

import pytest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from autoscaling.errors import ConfigurationError
from autoscaling.runtime.spans import FinishedSpan, open_spans
from tests.builders import T0
from tests.updater.situations import SECOND

pytestmark = pytest.mark.anyio


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@contextmanager
def receiver() -> Iterator[tuple[str, list[ExportTraceServiceRequest]]]:
    """An endpoint, and what it has received."""
    received: list[ExportTraceServiceRequest] = []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            plain = gzip.decompress(body) if self.headers["Content-Encoding"] == "gzip" else body
            received.append(ExportTraceServiceRequest.FromString(plain))
            self.send_response(200)
            self.end_headers()

        def log_message(self, *_: object) -> None:
            """Say nothing of single requests."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}", received
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


async def test_spans_reach_the_endpoint_with_all_that_was_given(monkeypatch: pytest.MonkeyPatch) -> None:
    """Spec: product:10."""
    with receiver() as (address, received):
        monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", address)
        spans = open_spans("evenkeel-updater", {"OTEL_EXPORTER_OTLP_ENDPOINT": address})
        assert spans is not None
        facts = {"evenkeel.outcome": "failed", "evenkeel.old": ["1", "2"]}
        spans.add(FinishedSpan("resize", T0, T0 + SECOND, facts, is_error=True))
        await spans.close()
    (request,) = received
    (resource,) = request.resource_spans
    names = {each.key: each.value.string_value for each in resource.resource.attributes}
    assert names["service.name"] == "evenkeel-updater"
    ((span,),) = (scope.spans for scope in resource.scope_spans)
    assert (span.name, span.end_time_unix_nano - span.start_time_unix_nano) == ("resize", 10**9)
    assert span.start_time_unix_nano == int(T0.timestamp()) * 10**9
    assert span.status.code == span.status.STATUS_CODE_ERROR
    got = {each.key: each.value for each in span.attributes}
    assert got["evenkeel.outcome"].string_value == "failed"
    assert [value.string_value for value in got["evenkeel.old"].array_value.values] == ["1", "2"]


@pytest.mark.parametrize(
    ("row", "environment"),
    [
        ("product:10 nothing is set", {}),
        ("product:10 an empty endpoint", {"OTEL_EXPORTER_OTLP_ENDPOINT": ""}),
        ("product:10 switched off", {"OTEL_EXPORTER_OTLP_ENDPOINT": "http://c", "OTEL_SDK_DISABLED": "TRUE"}),
    ],
)
def test_spans_are_off_unless_an_endpoint_is_set(row: str, environment: dict[str, str]) -> None:
    assert open_spans("evenkeel-updater", environment) is None, row


@pytest.mark.parametrize("name", ["OTEL_EXPORTER_OTLP_TRACES_PROTOCOL", "OTEL_EXPORTER_OTLP_PROTOCOL"])
def test_another_protocol_is_refused_by_name(name: str) -> None:
    with pytest.raises(ConfigurationError, match=f"{name} is 'grpc'.*4318"):
        open_spans("evenkeel-updater", {"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT": "http://c", name: "grpc"})
