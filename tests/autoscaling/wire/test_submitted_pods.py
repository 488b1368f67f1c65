"""Pods on their way in: what they ask for as a whole, from their JSON."""

from __future__ import annotations

import json

import pytest

from autoscaling.errors import InvalidObjectError
from autoscaling.placement import Placement
from autoscaling.wire.pods import decode_pod, decode_submitted_pod
from tests.builders import amounts

BOTH = {"requests": {"cpu": "1"}, "limits": {"memory": "1Gi"}}


def raw(**spec: object) -> bytes:
    return json.dumps({"metadata": {"name": "p"}, "spec": {"containers": [{"name": "c"}], **spec}}).encode()


CASES: list[tuple[str, bytes, Placement | None]] = [
    ("beyond:B-17", raw(), None),
    ("beyond:B-17", raw(resources=None, overhead=None), None),
    ("beyond:B-17", raw(resources={"requests": {}}, overhead={}), None),
    ("beyond:B-17", raw(resources=BOTH),
     Placement(has_pod_resources=True, requests=amounts("1"), limits=amounts("-/1Gi"))),
    ("beyond:B-17", raw(overhead={"cpu": "1"}), Placement(overhead=amounts("1"))),
]  # fmt: skip


@pytest.mark.parametrize(("row", "given", "expected"), CASES)
def test_what_a_pod_asks_for_as_a_whole(row: str, given: bytes, expected: Placement | None) -> None:
    pod = decode_submitted_pod(given)
    assert pod.placement == expected, row
    assert pod.containers == decode_pod(given).containers, row


def test_pods_of_one_workload_share_it() -> None:
    """Spec: performance A-2: a patch is remembered by it."""
    one, other = (decode_submitted_pod(raw(resources=BOTH)) for _ in range(2))
    assert one.placement is other.placement


@pytest.mark.parametrize("spec", [{"resources": {"requests": {"cpu": "x"}}}, {"overhead": {"cpu": []}}])
def test_what_cannot_be_read_says_whose_it_is(spec: dict[str, object]) -> None:
    with pytest.raises(InvalidObjectError, match="p"):
        decode_submitted_pod(raw(**spec))
