"""Memory use from PodMetrics lists."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from autoscaling.errors import InvalidObjectError
from autoscaling.objectref import ObjectRef
from autoscaling.quantity import MAX_INT64, Quantity
from tests.builders import T0
from updater.surroundings import MemoryUse
from updater.wire.memory_use import decode_memory

Json = dict[str, object]
SHOP = frozenset({"shop"})


def item(name: str, *amounts: object, namespace: str = "shop", timestamp: str = "2026-01-01T00:00:00Z") -> Json:
    """Return the metrics of a pod with containers ``c0``, ``c1`` and so on; None leaves memory out."""
    usages = [{"cpu": "1n"} | ({} if amount is None else {"memory": amount}) for amount in amounts]
    containers = [{"name": f"c{number}", "usage": usage} for number, usage in enumerate(usages)]
    metadata = {"name": name, "namespace": namespace}
    return {"metadata": metadata, "timestamp": timestamp, "window": "15s", "containers": containers}


def listed(*items: object, **metadata: object) -> bytes:
    return json.dumps({"kind": "PodMetricsList", "metadata": metadata, "items": list(items)}).encode()


@pytest.mark.parametrize(
    ("row", "amount", "expected"),
    [
        ("beyond:B-22", "65536Ki", 2**26),
        ("beyond:B-22", "64Mi", 2**26),
        ("beyond:B-22", "1500", 1500),
        ("beyond:B-22", 1500, 1500),
        ("beyond:B-22 rounded up", "1500m", 2),
        ("beyond:B-22", "0", 0),
        ("beyond:B-22", "0.5Ki", 512),
        ("beyond:B-22 too large", "99999999999999999999Ki", MAX_INT64),
        ("beyond:B-22 too large", "99999999999999999999Ei", MAX_INT64),
    ],
)
def test_amounts(row: str, amount: object, expected: int) -> None:
    page = decode_memory(listed(item("a", amount)), SHOP)
    assert page.uses == {ObjectRef("Pod", "shop", "a"): {"c0": MemoryUse(T0, expected)}}, row


@given(st.integers(0, 2**53))
def test_kibibytes_are_read_as_any_quantity_is(number: int) -> None:
    (use,) = decode_memory(listed(item("a", f"{number}Ki")), SHOP).uses.values()
    assert use["c0"].bytes == Quantity.parse(f"{number}Ki").value()


def test_what_is_missing_is_not_taken_for_nothing() -> None:
    """Spec: beyond:B-22, without a known use nothing shrinks."""
    page = decode_memory(listed(item("a", None, "1Ki"), item("b") | {"containers": None}), SHOP)
    assert page.uses == {
        ObjectRef("Pod", "shop", "a"): {"c1": MemoryUse(T0, 1024)},
        ObjectRef("Pod", "shop", "b"): {},
    }


def test_pods_of_other_namespaces_are_left_out() -> None:
    page = decode_memory(listed(item("a", "1Ki"), item("a", "2Ki", namespace="other")), SHOP)
    assert set(page.uses) == {ObjectRef("Pod", "shop", "a")}


@pytest.mark.parametrize(
    ("bad", "message"),
    [
        (item("bad", "lots"), "PodMetrics shop/bad: .*lots.*metrics server"),
        (item("bad", "1Ki", timestamp="yesterday"), "PodMetrics shop/bad: "),
        (item("bad", "1Ki", timestamp="2026-01-01T00:00:00"), "PodMetrics shop/bad: .*time zone"),
        ({"containers": []}, "PodMetrics .*metadata"),
        (7, r"PodMetrics \(unreadable\): "),
    ],
)
def test_an_object_that_cannot_be_read_is_left_out(bad: object, message: str) -> None:
    """Spec: beyond:B-32."""
    page = decode_memory(listed(bad, item("a", "1Ki")), SHOP)
    assert set(page.uses) == {ObjectRef("Pod", "shop", "a")}
    (error,) = page.unreadable
    with pytest.raises(InvalidObjectError, match=message):
        raise error


def test_a_part_of_an_answer_says_how_to_go_on() -> None:
    assert decode_memory(listed(**{"continue": "t1"}), SHOP).continue_token == "t1"
    assert decode_memory(listed(), SHOP).continue_token == ""


@pytest.mark.parametrize("raw", [b"<html>", b'{"items":{}}'])
def test_something_else_is_an_error(raw: bytes) -> None:
    with pytest.raises(InvalidObjectError, match=r"PodMetricsList \(unreadable\): .*metrics server"):
        decode_memory(raw, SHOP)
