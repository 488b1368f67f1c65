"""How caches become a snapshot."""

from __future__ import annotations

from autoscaling.limitrange import LimitRange, LimitType
from tests.builders import limit_range, printed
from tests.updater.situations import DEPLOYMENT, replica_set
from updater.snapshot import Snapshot


def test_limit_ranges_are_merged_by_namespace() -> None:
    found = Snapshot.of(
        (),
        (),
        (),
        {},
        (
            LimitRange("a", "one", (limit_range(LimitType.POD, maximum="2/4Gi"),)),
            LimitRange("a", "two", (limit_range(LimitType.POD, maximum="3/2Gi"),)),
            LimitRange("b", "one", (limit_range(LimitType.CONTAINER, default="1/1Gi"),)),
        ),
    )
    assert set(found.limits) == {"a", "b"}
    assert found.limits["a"].pod is not None
    assert printed(found.limits["a"].pod.maximum or {}) == {"cpu": "2", "memory": "2Gi"}
    assert found.limits["b"].pod is None


def test_workloads_are_known_by_name() -> None:
    found = Snapshot.of((), (), (DEPLOYMENT, replica_set(2)), {}, ())
    assert {str(ref): w.replicas for ref, w in found.workloads.items()} == {
        "Deployment default/d": 1,
        "ReplicaSet default/rs": 2,
    }
    assert found.controllers.owners["default", "ReplicaSet", "rs"][0].name == "d"
