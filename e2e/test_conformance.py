"""The resize scenarios on a real kubelet: the same code that the embedded cluster is tested by."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from e2e.api_socket import ApiSocket, api_socket
from e2e.cluster.cluster import Cluster, start_with_retry
from e2e.cluster.layout import DEFAULT_ROOT, run_release
from e2e.cluster.nodes import NodeSpec
from e2e.conformance_bench import ABILITIES, RealBench
from e2e.sharing import PATIENT, scenario_cluster
from tests.conformance import rows_api, rows_basic, rows_life, rows_waiting
from tests.conformance.bench import Variant
from tests.conformance.lab import Lab
from tests.conformance.registry import ROWS

_MODULES = (rows_api, rows_basic, rows_life, rows_waiting)
_LEAST_ROWS = 55
_SETTINGS: dict[Variant, dict[str, object]] = {
    Variant.USUAL: {},
    Variant.STATIC_CPU: {"cpuManagerPolicy": "static", "reservedSystemCPUs": "0"},
}
SHOWN = [
    row.identity
    for row in sorted(ROWS.values(), key=lambda row: (row.variant.value, row.identity))
    if row.variant in _SETTINGS and row.needs <= ABILITIES
]
"""One kind of node after the other, so that each is started once."""


@dataclass(frozen=True, slots=True)
class Ground:
    """A cluster for scenarios.

    Args:
        cluster: It runs.
        api: Requests to it.
        manifests: The folder of its node's static pods.
    """

    cluster: Cluster
    api: ApiSocket
    manifests: Path


@dataclass(slots=True)
class Grounds:
    """The cluster of the scenario before, in place of which another one is started where a scenario needs that."""

    kind: tuple[str, Variant] | None = None
    ground: Ground | None = None
    stack: ExitStack = field(default_factory=ExitStack)

    def of(self, name: str, variant: Variant) -> Ground:
        """Return the cluster of a name whose node is as a scenario needs it."""
        if self.ground is None or self.kind != (name, variant):
            self.stack.close()
            self.kind, self.ground = (name, variant), self.stack.enter_context(started(name, variant))
        return self.ground


@contextmanager
def started(name: str, variant: Variant) -> Iterator[Ground]:
    """A cluster of one node for the time of a ``with`` block, beside the one that the other tests use."""
    root = Path(f"{DEFAULT_ROOT}-{name}")
    manifests = root / "static-pods"
    manifests.mkdir(parents=True, exist_ok=True)
    settings: dict[str, object] = {
        "evictionHard": {"memory.available": "100Mi"},
        "syncFrequency": "1m",
        "nodeStatusUpdateFrequency": "10s",
        "nodeStatusReportFrequency": "5m",
        "staticPodPath": str(manifests),
    }
    cluster = Cluster(root, run_release())
    try:
        start_with_retry(cluster, (NodeSpec(1, {}, settings | _SETTINGS[variant]),))
        manifests.mkdir(exist_ok=True)
        with api_socket(cluster, name) as api:
            yield Ground(cluster, api, manifests)
    finally:
        cluster.down()
        shutil.rmtree(root, ignore_errors=True)


@pytest.fixture(scope="module")
def grounds() -> Iterator[Grounds]:
    kept = Grounds()
    with kept.stack:
        yield kept


def test_enough_scenarios_are_shown() -> None:
    assert len(_MODULES) == 4
    assert len(SHOWN) >= _LEAST_ROWS
    assert set(SHOWN) > PATIENT


@pytest.mark.parametrize("identity", SHOWN)
def test_scenario(identity: str, grounds: Grounds) -> None:
    row = ROWS[identity]
    ground = grounds.of(scenario_cluster(identity), row.variant)
    bench = RealBench(ground.cluster, ground.api, ground.manifests, identity.replace(":", "-").lower())
    with bench.running():
        row.play(Lab(bench))
