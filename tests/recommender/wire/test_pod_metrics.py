"""Pod metrics as JSON."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from autoscaling.errors import InvalidObjectError
from autoscaling.quantity import Format, Quantity
from recommender.instants import instant
from recommender.wire.pod_metrics import UsagePage, decode_usage
from tests.builders import T0

Json = dict[str, object]
METRICS: Json = {
    "metadata": {"name": "p", "namespace": "ns", "labels": {"app": "a"}},
    "timestamp": "2026-01-01T00:00:00Z",
    "window": "10s",
    "containers": [
        {"name": "c", "usage": {"cpu": "123456n", "memory": "1500m"}},
        {"name": "bare", "usage": {}},
        {"name": "null", "usage": None},
        {"name": "plain", "usage": {"cpu": 2, "memory": 33554432}},
    ],
}


def page_of(*items: Json, **metadata: str) -> UsagePage:
    return decode_usage(json.dumps({"kind": "PodMetricsList", "metadata": metadata, "items": items}).encode())


def with_usage(*usage: tuple[str, str]) -> Json:
    containers = [{"name": f"c{i}", "usage": {"cpu": cpu, "memory": memory}} for i, (cpu, memory) in enumerate(usage)]
    return {**METRICS, "containers": containers}


def test_amounts_are_rounded_up_and_missing_ones_are_zero() -> None:
    table = page_of(METRICS).table
    assert (table.namespaces, table.pods, table.sizes) == (["ns"], ["p"], [4])
    assert table.instants.tolist() == [instant(T0)]
    assert table.containers == ["c", "bare", "null", "plain"]
    assert table.millicores.tolist() == [1, 0, 0, 2000], "recommender:8.1"
    assert table.memory_bytes.tolist() == [2, 0, 0, 33554432], "recommender:8.1"


def test_rows_of_several_pods_stand_one_after_the_other() -> None:
    second = {**with_usage(("5m", "1Mi")), "metadata": {"name": "q", "namespace": "ns"}}
    empty = {**METRICS, "metadata": {"name": "r", "namespace": "ns"}, "containers": None}
    table = page_of(with_usage(("1500000n", "7Ki"), ("0", "0")), empty, second).table
    assert (table.pods, table.sizes) == (["p", "r", "q"], [2, 0, 1])
    assert table.millicores.tolist() == [2, 0, 5]
    assert table.memory_bytes.tolist() == [7168, 0, 1048576]


def test_an_empty_list_has_no_rows() -> None:
    assert len(decode_usage(b'{"items":null}').table) == len(page_of().table) == 0


def test_the_token_of_a_list_in_parts_is_kept() -> None:
    assert page_of(METRICS, **{"continue": "abc"}).continue_token == "abc"
    assert page_of(METRICS).continue_token == ""


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"containers": [{"name": "c", "usage": {"cpu": "1x"}}]}, "PodMetrics ns/p: quantity '1x'"),
        ({"containers": [{"name": "c", "usage": {"cpu": "n"}}]}, "PodMetrics ns/p: quantity 'n'"),
        ({"containers": [{"name": "c", "usage": {"cpu": "1n2n"}}]}, "PodMetrics ns/p: quantity '1n2n'"),
        ({"containers": [{"name": "c", "usage": {"cpu": ""}}]}, "PodMetrics ns/p: quantity ''"),
        ({"containers": [{"name": "c", "usage": {"memory": "1K2Ki"}}]}, "PodMetrics ns/p: quantity '1K2Ki'"),
        ({"containers": [{"name": "c", "usage": {"memory": "1_0Ki"}}]}, "PodMetrics ns/p: quantity '1_0Ki'"),
        ({"timestamp": None}, "PodMetrics ns/p: .*timestamp"),
        ({"timestamp": "yesterday"}, "PodMetrics ns/p: .*RFC3339"),
        ({"timestamp": "2026-01-01T00:00:00"}, "PodMetrics ns/p: .*time zone"),
        ({"containers": [{}]}, "PodMetrics ns/p: .*name"),
        ({"metadata": 1}, "unreadable"),
    ],
)
def test_bad_metrics_are_named_with_what_is_wrong_and_the_others_are_read(change: Json, message: str) -> None:
    page = page_of(with_usage(("3m", "1Ki")), {**METRICS, **change}, with_usage(("4m", "2Ki")))
    assert page.table.millicores.tolist() == [3, 4]
    (error,) = page.unreadable
    with pytest.raises(InvalidObjectError, match=message):
        raise error


def test_a_long_list_is_read_in_order_and_loses_only_what_is_bad() -> None:
    """Spec: performance R-5."""
    pods = [{**with_usage((f"{n}m", f"{n}Ki")), "metadata": {"name": f"p{n}", "namespace": "ns"}} for n in range(4500)]
    pods[2100] |= {"timestamp": "yesterday"}
    page = page_of(*pods)
    kept = [n for n in range(4500) if n != 2100]
    assert page.table.pods == [f"p{n}" for n in kept]
    assert page.table.millicores.tolist() == kept
    assert page.table.memory_bytes.tolist() == [n * 1024 for n in kept]
    assert len(page.table.instants) == len(page.table.sizes) == len(page.table.containers) == 4499
    assert [str(error.ref) for error in page.unreadable] == ["PodMetrics ns/p2100"]


def test_what_is_no_list_is_refused() -> None:
    with pytest.raises(InvalidObjectError, match="PodMetricsList"):
        decode_usage(b"<html>")


@given(
    st.lists(
        st.tuples(st.integers(0, 10**15), st.integers(0, 2**50), st.sampled_from([*Format]), st.booleans()), max_size=6
    )
)
def test_amounts_are_those_of_the_quantities(entries: list[tuple[int, int, Format, bool]]) -> None:
    # Whatever the mixture of notations is, each amount reads as its quantity by itself does.
    cpu = [Quantity(nano, form) if odd else Quantity(nano) for nano, _, form, odd in entries]
    memory = [Quantity.of_units(size, form if odd else Format.BINARY_SI) for _, size, form, odd in entries]
    table = page_of(with_usage(*((str(c), str(m)) for c, m in zip(cpu, memory, strict=True)))).table
    assert table.millicores.tolist() == [c.milli_value() for c in cpu]
    assert table.memory_bytes.tolist() == [m.value() for m in memory]


@pytest.mark.parametrize("cpu", ["99999999999999999999n", "-5000001n", "+7m", "1e-1", "0.25"])
def test_unusual_quantities_are_read_as_well(cpu: str) -> None:
    table = page_of(with_usage((cpu, "1Ki"), ("1000001n", "1e3"))).table
    assert table.millicores.tolist() == [Quantity.parse(cpu).milli_value(), 2]
    assert table.memory_bytes.tolist() == [1024, 1000]


def test_amounts_beyond_64_bits_are_held_within() -> None:
    assert page_of(with_usage(("1e30", "1e30"))).table.millicores.tolist() == [2**63 - 1]
