"""Metrics as text."""

from __future__ import annotations

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, Info
from prometheus_client.parser import text_string_to_metric_families

from autoscaling.runtime.exposition import BareCounter, exposition, new_registry


def test_each_kind_of_family_is_printed_as_upstream_prints_it() -> None:
    registry = CollectorRegistry()
    BareCounter("b_count", "Bare", ("x",), registry=registry).labels("1").inc(2)
    Counter("a_total", "Counter", registry=registry).inc()
    Gauge("c_total", "Gauge with\na line \\ break", registry=registry).set(1.5e7)
    Histogram("d_seconds", "Histogram", ("step", "zone"), buckets=(0.5, 1, 1e6), registry=registry).labels(
        'q"\\\n', "z"
    ).observe(0.75)
    Info("e", "Info", registry=registry).info({"version": "1"})
    assert exposition(registry) == (
        "# HELP a_total Counter\n# TYPE a_total counter\na_total 1\n"
        '# HELP b_count Bare\n# TYPE b_count counter\nb_count{x="1"} 2\n'
        "# HELP c_total Gauge with\\na line \\\\ break\n# TYPE c_total gauge\nc_total 1.5e+07\n"
        "# HELP d_seconds Histogram\n# TYPE d_seconds histogram\n"
        'd_seconds_bucket{step="q\\"\\\\\\n",zone="z",le="0.5"} 0\n'
        'd_seconds_bucket{step="q\\"\\\\\\n",zone="z",le="1"} 1\n'
        'd_seconds_bucket{step="q\\"\\\\\\n",zone="z",le="1e+06"} 1\n'
        'd_seconds_bucket{step="q\\"\\\\\\n",zone="z",le="+Inf"} 1\n'
        'd_seconds_count{step="q\\"\\\\\\n",zone="z"} 1\n'
        'd_seconds_sum{step="q\\"\\\\\\n",zone="z"} 0.75\n'
        '# HELP e_info Info\n# TYPE e_info gauge\ne_info{version="1"} 1\n'
    )


def test_a_family_without_samples_is_left_out() -> None:
    registry = CollectorRegistry()
    labelled = BareCounter("b_count", "Bare", ("x",), registry=registry)
    assert exposition(registry) == ""
    labelled.labels("1")
    assert exposition(registry).endswith('b_count{x="1"} 0\n')


def test_the_text_is_what_the_parser_of_prometheus_reads() -> None:
    registry = new_registry()
    Gauge("g", "Gauge", ("x",), registry=registry).labels('a"b\\c\nd').set(0.1)
    families = {family.name: family for family in text_string_to_metric_families(exposition(registry))}
    assert families["g"].samples[0].labels == {"x": 'a"b\\c\nd'}
    assert families["process_cpu_seconds"].samples[0].value > 0
    assert {"python_info", "python_gc_collections", "process_resident_memory_bytes"} <= families.keys()


def test_each_registry_is_its_own() -> None:
    first, second = new_registry(), new_registry()
    Gauge("only_here", "Gauge", registry=first)
    assert "only_here" in exposition(first)
    assert "only_here" not in exposition(second)
