"""Which pods are given up first."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evenkeel.simulator.api.fields import JsonObject
from evenkeel.simulator.api.store import Stored
from evenkeel.simulator.clock import rfc3339
from evenkeel.simulator.controllers.deletion_order import deletion_order

NOW = datetime(2026, 1, 1, 12, tzinfo=UTC)
COST = "controller.kubernetes.io/pod-deletion-cost"


def pod(
    name: str, *, node: str = "n1", phase: str = "Running", ready: int | None = 64, age: int = 64, cost: str = "",
    restarts: tuple[int, int] = (0, 0), uid: str = "",
) -> Stored:  # fmt: skip
    """A pod that has been ready, and has existed, for so many seconds."""
    status: JsonObject = {
        "phase": phase,
        "containerStatuses": [{"restartCount": restarts[0]}],
        "initContainerStatuses": [{"restartCount": restarts[1]}],
    }
    if ready is not None:
        since = rfc3339(NOW - timedelta(seconds=ready))
        status["conditions"] = [{"type": "Ready", "status": "True", "lastTransitionTime": since}]
    metadata: JsonObject = {"name": name, "namespace": "d", "uid": uid or name}
    metadata["creationTimestamp"] = rfc3339(NOW - timedelta(seconds=age))
    if cost:
        metadata["annotations"] = {COST: cost}
    return Stored({"metadata": metadata, "spec": {"nodeName": node} if node else {}, "status": status}, 1)


@pytest.mark.parametrize(
    ("row", "first", "second"),
    [
        ("without a node", pod("b", node="", cost="9"), pod("a", phase="Pending", ready=None)),
        ("pending before unknown", pod("b", phase="Pending"), pod("a", phase="Unknown")),
        ("unknown before running", pod("b", phase="Unknown", cost="9"), pod("a", ready=None)),
        ("not ready", pod("b", ready=None, cost="9"), pod("a")),
        ("lower cost", pod("b", cost="-5"), pod("a")),
        ("cost that cannot be read is none", pod("b", cost="x", ready=1), pod("a", cost="0")),
        ("more of them on the node", pod("b", node="crowded"), pod("a", ready=1)),
        ("ready for a shorter time", pod("b", ready=10, restarts=(0, 0)), pod("a", ready=1000, restarts=(9, 9))),
        ("ready for about as long: uid", pod("b", ready=60, uid="1"), pod("a", ready=40, uid="2")),
        ("more restarts", pod("b", restarts=(2, 0)), pod("a", restarts=(1, 9))),
        ("more restarts of init containers", pod("b", restarts=(1, 9)), pod("a", restarts=(1, 2))),
        ("younger", pod("b", age=10), pod("a", age=1000)),
        ("about as old: uid", pod("b", age=60, uid="1"), pod("a", age=40, uid="2")),
        ("just created", pod("b", age=0), pod("a", age=64)),
        ("otherwise by place", pod("a"), pod("b")),
    ],
)
def test_the_first_goes_first(row: str, first: Stored, second: Stored) -> None:
    related = [first, second, pod("x", node="crowded"), pod("y", node="crowded", phase="Failed")]
    pods = sorted([first, second], key=lambda stored: stored.key)
    assert deletion_order(pods, related, NOW) == [first, second], row


def test_a_ready_pod_without_a_time_is_as_good_as_any() -> None:
    timeless = pod("b")
    conditions: list[JsonObject] = [{"type": "Ready", "status": "True"}]
    status = timeless.body["status"]
    assert isinstance(status, dict)
    status["conditions"] = conditions
    assert deletion_order([pod("a"), timeless], [], NOW)[0] is timeless


@given(st.lists(st.tuples(st.integers(0, 300), st.integers(0, 300), st.integers(0, 2)), max_size=6))
def test_every_pod_is_in_the_order_once(numbers: list[tuple[int, int, int]]) -> None:
    pods = [pod(f"p{i}", ready=r, age=a, restarts=(n, 0)) for i, (r, a, n) in enumerate(numbers)]
    assert sorted(p.key for p in deletion_order(pods, pods, NOW)) == [p.key for p in pods]
