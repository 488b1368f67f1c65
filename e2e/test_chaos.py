"""Parts of a real cluster fail and come back: what the processes do goes on without a hand.

After each failure a new recommendation is written, and how long it takes until the pod has it is what is measured.
"""

from __future__ import annotations

import shlex
import time
from collections.abc import Callable, Iterator

import pytest

from e2e.cluster.cluster import Cluster
from e2e.cluster.documents import JsonObject, JsonValue, at, text_at
from e2e.cluster.errors import ClusterError
from e2e.cluster.kube import Kube
from e2e.cluster.processes import is_alive
from e2e.cluster.waiting import wait_for
from e2e.installation import NAMESPACE, Flags, Group, Installation, installed, vpa
from e2e.interruptions import fill, small_file_system, wait_until_served, without
from e2e.updater_lab import wait_for_empty_nodes
from e2e.workloads import BURN_SCRIPT, amounts, container, deployment

PAUSE_SECONDS = 8.0
"""How long a part is away: longer than a round of the updater, and than a try of a call."""
RECOVERY_SECONDS = 120.0
"""Within which all must go on; longest is the wait for a watch whose other end is gone without a word."""

FAST = Flags(
    recommender=("--recommender-interval=5s", "--pod-recommendation-min-memory-mb=100"),
    updater=("--updater-interval=5s",),
    admission=("--status-lease-update-interval=2s",),
)


@pytest.fixture(scope="module")
def installation(cluster: Cluster) -> Iterator[Installation]:
    """Evenkeel with rounds that a test can wait for."""
    with installed(cluster, Group.OWN, FAST) as running:
        yield running


@pytest.fixture
def burning(installation: Installation, kube: Kube) -> Kube:
    """A pod that burns CPU and was resized to what its VPA allows."""
    installation.revive()
    wait_for_empty_nodes(kube)
    resources = amounts("50m", "32Mi", limit_cpu="500m", limit_memory="64Mi")
    kube.apply(
        deployment("burn", container(BURN_SCRIPT, resources)), vpa(Group.OWN, "burn", policies(200), minReplicas=1)
    )
    kube.wait_for_pods("app=burn")
    wait_until_given(installation, kube, 200)
    return kube


def policies(millicores: int) -> list[JsonValue]:
    """Return the policies of a VPA that allows so much and no less, as burning depends on how busy the machine is."""
    cpu = f"{millicores}m"
    return [{"containerName": "*", "minAllowed": {"cpu": cpu}, "maxAllowed": {"cpu": cpu, "memory": "128Mi"}}]


def wait_until_given(installation: Installation, kube: Kube, millicores: int) -> list[str]:
    """Wait until the pod has so much, and name what was started anew meanwhile, as a node would have done."""
    ended: list[str] = []

    def given() -> bool:
        ended.extend(installation.revive())
        try:
            (pod,) = kube.pods("app=burn")
        except ClusterError as error:
            raise AssertionError(str(error)) from error
        seen = at(pod, "status", "containerStatuses", 0, "resources", "requests", "cpu")
        assert seen == f"{millicores}m", f"{seen}, of {at(kube.read(Group.OWN.resource, 'burn'), 'status')}"
        return True

    wait_for(given, RECOVERY_SECONDS, f"a request of {millicores}m", every_seconds=0.5)
    return ended


def allow(kube: Kube, millicores: int) -> None:
    """Let the VPA allow so much, which changes what is recommended and what the pod is to have."""
    change: JsonObject = {"spec": {"resourcePolicy": {"containerPolicies": policies(millicores)}}}
    kube.patch(Group.OWN.resource, "burn", change, style="merge")


def samples(kube: Kube) -> int:
    """Return how many samples the stored history has."""
    count = at(kube.read(Group.OWN.checkpoints, "burn-main"), "status", "totalSamplesCount")
    assert isinstance(count, int)
    return count


def api_server_away(cluster: Cluster) -> None:
    with without(cluster, "kube-apiserver"):
        time.sleep(PAUSE_SECONDS)
    wait_until_served(cluster)


def etcd_away(cluster: Cluster) -> None:
    with without(cluster, "etcd"):
        time.sleep(PAUSE_SECONDS)
    wait_until_served(cluster)


def metrics_server_away(cluster: Cluster) -> None:
    with without(cluster, "metrics-server"):
        time.sleep(2 * PAUSE_SECONDS)


def kubelet_away(cluster: Cluster) -> None:
    for node in cluster.node_names:
        cluster.restart_kubelet(node, pause_seconds=PAUSE_SECONDS / 2)


@pytest.mark.parametrize(
    ("row", "fail"),
    [
        ("resize:6", api_server_away),
        ("resize:6", etcd_away),
        ("resize:6", metrics_server_away),
        ("resize:R53", kubelet_away),
    ],
)
def test_what_fails_and_comes_back_needs_no_hand(
    installation: Installation,
    burning: Kube,
    row: str,
    fail: Callable[[Cluster], None],
    record_property: Callable[[str, object], None],
) -> None:
    uid, before = text_at(burning.pods("app=burn")[0], "metadata", "uid"), samples(burning)
    fail(installation.cluster)
    back = time.monotonic()
    allow(burning, 300)
    ended = wait_until_given(installation, burning, 300)
    resized = time.monotonic() - back

    def more() -> bool:
        assert samples(burning) > before, f"{samples(burning)} samples, {before} before"
        return True

    wait_for(more, RECOVERY_SECONDS, "history that goes on", every_seconds=0.5)
    counted = time.monotonic() - back
    told = f"resized {resized:.1f} s and sampled {counted:.1f} s after the return, {len(ended)} started anew"
    record_property("figures", f"{fail.__name__}: {told}")
    assert text_at(burning.pods("app=burn")[0], "metadata", "uid") == uid, row


@pytest.mark.parametrize("program", ["recommender", "updater", "admission-controller"])
def test_a_full_file_system_under_the_log_and_all_that_can_be_written_stops_nothing(
    installation: Installation, burning: Kube, program: str, record_property: Callable[[str, object], None]
) -> None:
    """Spec: product:9 (read-only root): what a process would write is lost, and what it does goes on."""
    cluster = installation.cluster
    folder = cluster.layout.root / "small"
    allowed = {"recommender": 300, "updater": 250, "admission-controller": 150}[program]
    with small_file_system(folder, 2), installation.without(program):
        log = folder / "log"
        words = installation.command(program)
        shell = f"exec {shlex.join(words)} >>{shlex.quote(str(log))} 2>&1"
        environment = {"NAMESPACE": NAMESPACE, "TMPDIR": str(folder), "HOME": str(folder)}
        process = cluster.start_process(f"{program}-full", ["sh", "-c", shell], environment)
        try:
            wait_for(lambda: log.exists() and log.stat().st_size > 0, 30.0, "its first words")
            wait_for(lambda: "caches filled" in log.read_text(), 60.0, "its caches, which a leader fills")
            filler = fill(folder)
            began = time.monotonic()
            allow(burning, allowed)
            if program == "admission-controller":
                time.sleep(PAUSE_SECONDS)
                burning.run("rollout", "restart", "deployment/burn")
                burning.run("rollout", "status", "deployment/burn", "--timeout=90s")
            wait_until_given(installation, burning, allowed)
            took = time.monotonic() - began
            assert is_alive(process)
            size = log.stat().st_size
            filler.unlink()
            # What was said meanwhile is lost; what is said from now on is not.
            allow(burning, 200)
            wait_until_given(installation, burning, 200)
            wait_for(lambda: program == "admission-controller" or log.stat().st_size > size, 30.0, "words again")
            record_property("figures", f"{program}: resized {took:.1f} s after its file system was full")
        finally:
            cluster.stop_process(process)
