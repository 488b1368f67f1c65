"""External metric values as JSON."""

from __future__ import annotations

import json

import pytest

from autoscaling.errors import InvalidObjectError
from autoscaling.objectref import ObjectRef
from autoscaling.quantity import MAX_INT64
from autoscaling.resources import CPU, MEMORY
from recommender.external_usage import ExternalAnswer
from recommender.instants import NEVER, instant
from recommender.wire.external_metrics import decode_external
from tests.builders import T0

Json = dict[str, object]
REF = ObjectRef("ExternalMetricValueList", "default", "m")


def value(text: object, container: str | None = "main", **members: object) -> Json:
    labels = {"app": "web", "pod": "web-0"} | ({"name": container} if container is not None else {})
    return {
        "metricName": "m",
        "metricLabels": labels,
        "timestamp": "2026-01-01T00:00:00Z",
        "window": 30,
        "value": text,
    } | members


def decoded(*values: Json, resource: str = CPU, label: str = "name") -> ExternalAnswer:
    body = {"kind": "ExternalMetricValueList", "apiVersion": "external.metrics.k8s.io/v1beta1", "items": values}
    return decode_external(json.dumps(body).encode(), REF, resource, label)


@pytest.mark.parametrize(
    ("row", "text", "cpu", "memory"),
    [
        ("recommender:0", "123456n", 1, 1),
        ("recommender:0", "1500m", 1500, 2),
        ("recommender:0", "1.2Ki", 1228800, 1229),
        ("recommender:0", 2, 2000, 2),
        ("recommender:2.1", "-5", -5000, -5),
        ("recommender:0", "0", 0, 0),
        ("recommender:0", None, 0, 0),
        ("recommender:0", "8E", MAX_INT64, 8 * 10**18),
        ("recommender:0", "-9E", -MAX_INT64, -9 * 10**18),
    ],
)
def test_amounts_are_rounded_up(row: str, text: object, cpu: int, memory: int) -> None:
    for resource, amount in ((CPU, cpu), (MEMORY, memory)):
        assert decoded(value(text), resource=resource).amounts == {"main": amount}, (row, resource)


def test_values_are_split_by_the_label_that_names_the_container() -> None:
    """Spec: recommender:8.2."""
    answer = decoded(value("1"), value("2", "side"), value("3", None), value("4", metricLabels=None))
    assert answer == ExternalAnswer(instant(T0), {"main": 1000, "side": 2000})
    assert decoded(value("1"), value("2", "side"), label="pod").amounts == {"web-0": 2000}, "the last one counts"


@pytest.mark.parametrize(
    ("row", "first", "wanted"),
    [
        ("recommender:8.2", {}, instant(T0)),
        ("recommender:8.2", {"timestamp": "2026-01-01T02:00:00+02:00"}, instant(T0)),
        ("recommender:8.2", {"timestamp": None}, NEVER),
    ],
)
def test_the_first_value_says_when_even_if_it_names_no_container(row: str, first: Json, wanted: int) -> None:
    answer = decoded(value("1", None) | first, value("2", timestamp="2026-02-02T00:00:00Z"))
    assert answer.instant == wanted, row


def test_a_list_without_values_has_no_time() -> None:
    """Spec: recommender:8.2."""
    assert decoded() == decode_external(b'{"items":null}', REF, CPU, "name") == ExternalAnswer(None, {})


@pytest.mark.parametrize(
    "raw",
    [
        b"not JSON",
        b"[]",
        b'{"items":[{"metricLabels":{"name":"main"},"timestamp":"2026-01-01T00:00:00Z","value":"much"}]}',
        b'{"items":[{"metricLabels":{},"timestamp":"2026-01-01T00:00:00Z","value":"much"}]}',
        b'{"items":[{"metricLabels":{"name":"main"},"timestamp":"yesterday","value":"1"}]}',
        b'{"items":[{"metricLabels":{"name":"main"},"timestamp":"2026-01-01T00:00:00","value":"1"}]}',
        b'{"items":[{"metricLabels":{"name":7},"timestamp":"2026-01-01T00:00:00Z","value":"1"}]}',
    ],
)
def test_what_cannot_be_read_is_refused_with_the_way_out(raw: bytes) -> None:
    with pytest.raises(
        InvalidObjectError, match=r"ExternalMetricValueList default/m: .*; look at the log of the external"
    ):
        decode_external(raw, REF, CPU, "name")
