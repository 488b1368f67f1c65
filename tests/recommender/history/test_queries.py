"""What Prometheus is asked, word for word as upstream asks it, and how a query for labels gets its range."""

from __future__ import annotations

import pytest

from recommender.history.queries import HistoryRequest, LabelQuery, label_query, matches_any, quoted

CADVISOR = 'job="kubernetes-cadvisor", pod_name=~".+", name!="POD", name!=""'


@pytest.mark.parametrize(
    ("row", "request_", "cpu", "memory"),
    [
        (
            "recommender:7",
            HistoryRequest(),
            f"rate(container_cpu_usage_seconds_total{{{CADVISOR}}}[1h])",
            f"container_memory_working_set_bytes{{{CADVISOR}}}",
        ),
        (
            "recommender:7",
            HistoryRequest(job="", pod_label="pod", container_label="container", resolution_text="1h30m"),
            'rate(container_cpu_usage_seconds_total{pod=~".+", container!="POD", container!=""}[1h30m])',
            'container_memory_working_set_bytes{pod=~".+", container!="POD", container!=""}',
        ),
        (
            "recommender:7",
            HistoryRequest(cpu_metric="c", memory_metric="m", job="j", namespace="shop", namespace_label="ns"),
            'rate(c{job="j", pod_name=~".+", name!="POD", name!="", ns="shop"}[1h])',
            'm{job="j", pod_name=~".+", name!="POD", name!="", ns="shop"}',
        ),
    ],
)
def test_containers_are_asked_for_as_upstream_asks(row: str, request_: HistoryRequest, cpu: str, memory: str) -> None:
    assert (request_.cpu_query(), request_.memory_query()) == (cpu, memory), row


def test_further_conditions_come_last() -> None:
    request = HistoryRequest()
    assert request.memory_query('a="b"') == f'container_memory_working_set_bytes{{{CADVISOR}, a="b"}}'
    assert request.cpu_query('a="b"').endswith(', a="b"}[1h])')
    assert request.sizes_query() == f"count by (namespace) ({request.memory_query()})"
    assert request.pods_query("cluster") == f"group by (cluster, namespace, pod_name) ({request.memory_query()})"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('up{job="kubernetes-pods"}', LabelQuery('up{job="kubernetes-pods"}', "8d")),
        ("  up ", LabelQuery("up", "8d")),
        ("up[3d]", LabelQuery("up", "3d")),
        ('up{job="a"} [ 12h ]', LabelQuery('up{job="a"}', "12h")),
        ('{__name__="up"}[1d]', LabelQuery('{__name__="up"}', "1d")),
        ('up{job=~"a[0-9]+"}', LabelQuery('up{job=~"a[0-9]+"}', "8d")),
        ("up{job='a}[1d]'}", LabelQuery("up{job='a}[1d]'}", "8d")),
        ('label_replace(up, "a", "b", "c", "d")', LabelQuery('label_replace(up, "a", "b", "c", "d")', "8d")),
        ("last_over_time(up[8d])", LabelQuery("last_over_time(up[8d])", "")),
        ("up[8d] offset 1h", LabelQuery("up[8d] offset 1h", "")),
        ("up[8d:1h]", LabelQuery("up[8d:1h]", "")),
    ],
)
def test_a_query_for_labels_gets_the_range_that_it_lacks(text: str, expected: LabelQuery) -> None:
    assert label_query(text, "8d") == expected, "beyond:B-7"


def test_labels_are_asked_for_with_the_time_at_which_they_were_seen() -> None:
    query = label_query('up{job="kubernetes-pods"}', "8d")
    assert query.over("8d") == 'max_over_time(timestamp(up{job="kubernetes-pods"})[8d:1m])'


def test_values_are_quoted() -> None:
    assert matches_any("ns", ["a"]) == 'ns="a"'
    assert matches_any("ns", ["a-b", "c.d"]) == r'ns=~"a\\-b|c\\.d"'
    assert matches_any("ns", [""]) == 'ns=""'
    assert quoted('a"b\\c\nd') == r'"a\"b\\c\nd"'
