"""How tests on real clusters are shared out among processes: those of one cluster follow each other in one process."""

from __future__ import annotations

from typing import Final

from xdist.scheduler import LoadScopeScheduling

PATIENT: Final = frozenset({"resize:R12", "resize:R18", "resize:R19"})
"""Scenarios that wait for minutes until the kubelet would try again: on a cluster of their own, beside the others."""


def scenario_cluster(identity: str) -> str:
    """Return the name of the cluster that a resize scenario is played on."""
    return "patience" if identity in PATIENT else "conformance"


def cluster_of(node_id: str) -> str:
    """Return the name of the cluster that a test runs on.

    Args:
        node_id: What pytest calls the test, such as ``e2e/test_crd.py::test_columns[UPSTREAM]``.
    """
    module, _, test = node_id.partition("::")
    if not module.endswith("test_conformance.py"):
        return "cluster"
    return scenario_cluster(test.partition("[")[2].removesuffix("]"))


class ByCluster(LoadScopeScheduling):
    """Gives all tests of one cluster to one process."""

    def _split_scope(self, nodeid: str) -> str:
        return cluster_of(nodeid)
