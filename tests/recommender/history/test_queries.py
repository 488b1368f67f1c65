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
    ("text", "expression", "length", "is_selector"),
    [
        ('up{job="kubernetes-pods"}', 'up{job="kubernetes-pods"}', "8d", True),
        ("  up ", "up", "8d", True),
        ("up[3d]", "up", "3d", True),
        ('up{job="a"} [ 12h ]', 'up{job="a"}', "12h", True),
        ('{__name__="up"}[1d]', '{__name__="up"}', "1d", True),
        ('up{job=~"a[0-9]+"}', 'up{job=~"a[0-9]+"}', "8d", True),
        ("up{job='a}[1d]'}", "up{job='a}[1d]'}", "8d", True),
        ('label_replace(up, "a", "b[1d]", "c", "d")', 'label_replace(up, "a", "b[1d]", "c", "d")', "8d", False),
        ("last_over_time(up[8d])", "last_over_time(up[8d])", "", False),
        ("up[8d] offset 1h", "up[8d] offset 1h", "", False),
        ("up[8d:1h]", "up[8d:1h]", "", False),
    ],
)
def test_a_query_for_labels_gets_the_range_that_it_lacks(
    text: str, expression: str, length: str, is_selector: bool
) -> None:
    assert label_query(text, "8d") == LabelQuery(expression, length, is_selector), "beyond:B-7"


def test_all_series_of_some_time_are_asked_for_at_once() -> None:
    query = label_query('up{job="kubernetes-pods"}', "8d")
    assert query.within("8d") == 'last_over_time(up{job="kubernetes-pods"}[8d])', "beyond:B-7"


@pytest.mark.parametrize(
    ("selector", "expected"),
    [
        ("up", 'up{x="1", y="2"}'),
        ("up{}", 'up{x="1", y="2"}'),
        ('up{a="b"}', 'up{a="b", x="1", y="2"}'),
        ('up{a="b", }', 'up{a="b", x="1", y="2"}'),
        ('{a="}"}', '{a="}", x="1", y="2"}'),
    ],
)
def test_a_selector_takes_further_conditions(selector: str, expected: str) -> None:
    assert label_query(selector, "8d").among('x="1"', 'y="2"') == expected


def test_values_are_quoted() -> None:
    assert matches_any("ns", ["a"]) == 'ns="a"'
    assert matches_any("ns", ["a-b", "c.d"]) == r'ns=~"a\\-b|c\\.d"'
    assert matches_any("ns", [""]) == 'ns=""'
    assert quoted('a"b\\c\nd') == r'"a\"b\\c\nd"'
