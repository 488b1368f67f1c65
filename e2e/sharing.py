"""How tests on real clusters are shared out among processes: those of one cluster follow each other in one process."""

from __future__ import annotations

from pathlib import PurePath
from typing import Final

from xdist.scheduler import LoadScopeScheduling

PATIENT: Final = frozenset({"resize:R12", "resize:R18", "resize:R19"})
"""Scenarios that wait for minutes until the kubelet would try again: on a cluster of their own, beside the others."""

OPERATED: Final = frozenset(
    {
        "test_access",
        "test_availability",
        "test_chaos",
        "test_chart",
        "test_deployment",
        "test_image",
        "test_observability",
        "test_rights",
        "test_spans",
    }
)
"""Modules about how Evenkeel is deployed and operated: half of the time of all, so on a second cluster."""


def scenario_cluster(identity: str) -> str:
    """Return the name of the cluster that a resize scenario is played on."""
    return "patience" if identity in PATIENT else "conformance"


def cluster_of(node_id: str) -> str:
    """Return the name of the cluster that a test runs on.

    Args:
        node_id: What pytest calls the test, such as ``e2e/test_crd.py::test_columns[UPSTREAM]``.
    """
    module, _, test = node_id.partition("::")
    name = PurePath(module).stem
    if name != "test_conformance":
        return "operation" if name in OPERATED else "cluster"
    return scenario_cluster(test.partition("[")[2].removesuffix("]"))


class ByCluster(LoadScopeScheduling):
    """Gives all tests of one cluster to one process."""

    def _split_scope(self, nodeid: str) -> str:
        return cluster_of(nodeid)
