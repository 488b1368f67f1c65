"""Spans of real resizes, received by a real OpenTelemetry Collector."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from e2e.cluster.binaries import build
from e2e.cluster.cluster import Cluster
from e2e.cluster.documents import JsonObject, JsonValue, at, objects_at, text_at
from e2e.cluster.kube import Kube
from e2e.installation import Flags, Group, installed, recommendation
from e2e.prometheus.everything import MONITORING
from e2e.updater_lab import Workload

_ADDRESS = "127.0.0.1:4318"


@pytest.fixture
def spans(cluster: Cluster, tmp_path: Path) -> Iterator[Path]:
    """A Collector with the example's receiver and processors; yields the file that it writes spans to."""
    file, received = tmp_path / "collector.yaml", tmp_path / "spans.jsonl"
    configuration = yaml.safe_load((MONITORING / "collector.yaml").read_text())
    configuration["receivers"]["otlp"]["protocols"] = {"http": {"endpoint": _ADDRESS}}
    configuration["processors"]["batch"]["timeout"] = "200ms"
    configuration["exporters"] = {"lines": {"path": str(received)}}
    pipeline = configuration["service"]["pipelines"]["traces"]
    pipeline["exporters"] = ["lines"]
    file.write_text(yaml.safe_dump(configuration))
    process = cluster.start_process("collector", [str(build("collector") / "collector"), f"--config={file}"])
    try:
        yield received
    finally:
        cluster.stop_process(process)


def resizes(file: Path) -> list[JsonObject]:
    """The spans in a file that are of resizes."""
    lines = file.read_text().splitlines() if file.exists() else []
    return [
        span
        for line in lines
        for resource in objects_at(json.loads(line), "resourceSpans")
        for scope in objects_at(resource, "scopeSpans")
        for span in objects_at(scope, "spans")
        if text_at(span, "name") == "resize"
    ]


def facts(span: JsonObject) -> dict[str, object]:
    """The attributes of a span."""
    return {text_at(each, "key"): _plain(each["value"]) for each in objects_at(span, "attributes")}


def _plain(value: JsonValue) -> object:
    values = objects_at(value, "arrayValue", "values")
    return [text_at(each, "stringValue") for each in values] if values else text_at(value, "stringValue")


def recommend(kube: Kube, cpu: str) -> None:
    """Write a recommendation for the workload."""
    kube.patch(Group.OWN.resource, "web", recommendation("main", cpu, "32Mi"), subresource="status", style="merge")


def test_a_real_resize_is_one_span_from_the_patch_to_convergence(cluster: Cluster, kube: Kube, spans: Path) -> None:
    """Spec: product:10."""
    flags = Flags(
        updater=("--updater-interval=3s",),
        admission=("--status-lease-update-interval=2s",),
        environment={"OTEL_EXPORTER_OTLP_ENDPOINT": f"http://{_ADDRESS}", "OTEL_BSP_SCHEDULE_DELAY": "200"},
    )
    with installed(cluster, Group.OWN, flags) as running:
        kube.apply(*Workload().documents("web"))
        (pod,) = kube.wait_for_pods("app=web")
        name = text_at(pod, "metadata", "name")
        recommend(kube, "150m")
        kube.wait_for(lambda: resizes(spans), "the span of the resize", timeout_seconds=60.0)
        assert running.ended() == []
    (span,) = resizes(spans)
    assert facts(span) == {
        "k8s.namespace.name": kube.namespace,
        "k8s.pod.name": name,
        "k8s.pod.uid": text_at(pod, "metadata", "uid"),
        "evenkeel.vpa": "web",
        "evenkeel.reason": "outside_bounds",
        "evenkeel.outcome": "completed",
        "evenkeel.container": ["main"],
        "evenkeel.resource": ["cpu"],
        "evenkeel.old": ["50m"],
        "evenkeel.new": ["150m"],
    }
    took = int(str(at(span, "endTimeUnixNano"))) - int(str(at(span, "startTimeUnixNano")))
    assert 0 < took < 60 * 10**9


def test_a_resize_that_is_given_up_is_an_error(cluster: Cluster, kube: Kube, spans: Path) -> None:
    """No node can take so much, and in profile upstream such a pod is evicted (spec: product:10, updater:D-29)."""
    flags = Flags(
        updater=("--updater-interval=3s", "--profile=upstream"),
        admission=("--status-lease-update-interval=2s",),
        environment={"OTEL_EXPORTER_OTLP_ENDPOINT": f"http://{_ADDRESS}", "OTEL_BSP_SCHEDULE_DELAY": "200"},
    )
    with installed(cluster, Group.OWN, flags):
        kube.apply(*Workload().documents("web"))
        kube.wait_for_pods("app=web")
        recommend(kube, "3900m")
        kube.wait_for(lambda: resizes(spans), "the span of the resize", timeout_seconds=60.0)
    span = resizes(spans)[0]
    assert facts(span)["evenkeel.outcome"] == "failed"
    assert at(span, "status", "code") == 2
