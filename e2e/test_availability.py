"""Two replicas on a real API server: the leader is killed, cut off, robbed of its Lease or put to sleep."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Self

import pytest

from e2e.admission_lab import AdmissionLab
from e2e.api_socket import api_socket
from e2e.cluster.cluster import Cluster
from e2e.cluster.documents import JsonObject
from e2e.cluster.kube import Kube
from e2e.cluster.processes import ProcessRef
from e2e.cluster.waiting import wait_for
from e2e.installation import NAMESPACE, Group, Installation
from e2e.replicas import Twins, twins
from e2e.updater_lab import INTERVAL_SECONDS, Lab, Workload, updater_installed, wait_for_empty_nodes

LEASE_SECONDS, LOOK_SECONDS = 15.0, 4.4
"""Upstream's default for a silent leader, and the longest pause of one who waits."""
MACHINE_SECONDS = 5.0
"""What a busy machine adds to it."""
REPLICAS = 4
ROUNDS_SECONDS = 3 * INTERVAL_SECONDS
SECOND_PORT = 8001


@pytest.fixture(scope="module")
def installation(cluster: Cluster) -> Iterator[Installation]:
    """Evenkeel with short rounds; a webhook that does not answer keeps pods out, so that none passes unnoticed."""
    with updater_installed(cluster, admission=("--webhook-failure-policy-fail",)) as running:
        yield running


@pytest.fixture(scope="module")
def pair(installation: Installation) -> Iterator[Twins]:
    """Two updaters."""
    with twins(installation, "updater") as made:
        yield made


@pytest.fixture
def lab(installation: Installation, kube: Kube) -> Lab:
    """Two empty nodes and a namespace."""
    wait_for_empty_nodes(kube)
    return Lab(kube, installation)


def killed(pair: Twins, leader: str) -> Callable[[], None]:
    """End the leader by SIGKILL; what it left undone is nobody's but the other's."""
    pair.signal(leader, signal.SIGKILL)
    return lambda: None


def cut_off(pair: Twins, leader: str) -> Callable[[], None]:
    """Swallow all that the leader sends and is sent."""
    assert leader == pair.names[1]
    pair.cut()
    return pair.mend


def asleep(pair: Twins, leader: str) -> Callable[[], None]:
    """Let the leader sleep, and wake up when another one leads."""
    pair.signal(leader, signal.SIGSTOP)
    return lambda: pair.signal(leader, signal.SIGCONT)


def robbed(pair: Twins, leader: str) -> Callable[[], None]:
    """Write somebody else into the Lease."""
    del leader
    edit: JsonObject = {"spec": {"holderIdentity": "somebody-else"}}
    Kube(pair.cluster, NAMESPACE).patch("lease", "evenkeel-updater", edit, style="merge")
    return lambda: None


def lead_with_second(pair: Twins) -> str:
    """Let the replica behind the relay lead, and the other one wait."""
    for name in pair.names:
        if pair.cluster.logs(name) and pair.process(name) in [p for p, alive in pair.cluster.process_states() if alive]:
            continue
        _restart(pair, name)
    if pair.wait_for_leader() == pair.names[0]:
        with pair.installation.without(pair.program):
            pair.wait_for_leader(pair.names[0])
    return pair.wait_for_leader()


def _restart(pair: Twins, name: str) -> None:
    if name == pair.names[1]:
        pair.start_second()
    else:
        with pair.installation.without(pair.program):
            pass


@pytest.mark.parametrize(
    ("row", "disturb"),
    [("updater:M-3", killed), ("updater:M-3", cut_off), ("updater:M-3", robbed), ("updater:M-3", asleep)],
)
def test_another_updater_leads_within_the_lease_and_no_pod_is_resized_twice(
    pair: Twins,
    lab: Lab,
    row: str,
    disturb: Callable[[Twins, str], Callable[[], None]],
    record_property: Callable[[str, object], None],
) -> None:
    old = lead_with_second(pair)
    lab.deploy("web", Workload(replicas=REPLICAS))
    lab.recommend("web", "100m")
    wait_for_resizes(lab, 1)
    began = time.monotonic()
    mend = disturb(pair, old)
    lab.recommend("web", "150m")
    new = pair.wait_for_leader(old, timeout_seconds=LEASE_SECONDS + LOOK_SECONDS + MACHINE_SECONDS)
    took = time.monotonic() - began
    record_property("figures", f"{disturb.__name__}: another one leads after {took:.1f} s")
    mend()
    assert new != old, row
    pair.wait_for_end(old)
    wait_for_resizes(lab, 2)
    time.sleep(ROUNDS_SECONDS)
    counts = Counter(entry.name for entry in lab.calls("resize") if entry.code == 200)
    assert set(counts.values()) == {2}, f"{row}: {counts}"
    assert lab.calls("eviction") == [], row
    _restart(pair, old)


def wait_for_resizes(lab: Lab, each: int) -> None:
    """Wait until every pod of the workload was resized so many times."""

    def done() -> bool:
        counts = Counter(entry.name for entry in lab.calls("resize") if entry.code == 200)
        assert len(counts) == REPLICAS, counts
        assert min(counts.values()) >= each, counts
        return True

    wait_for(done, 60.0, f"{each} resizes of each pod")


@contextmanager
def second_webhook(installation: Installation) -> Iterator[list[ProcessRef]]:
    """A second admission controller on a port of its own, to which the webhook's Service leads as well."""
    cluster, name = installation.cluster, "evenkeel-admission-controller-second"
    words = [*installation.command("admission-controller"), f"--port={SECOND_PORT}", "--address=127.0.0.1:9944"]
    running = [cluster.start_process(name, words, {"NAMESPACE": NAMESPACE})]
    lead_to(cluster, SECOND_PORT, is_ready=True)
    try:
        yield running
    finally:
        lead_to(cluster, SECOND_PORT, is_ready=False)
        cluster.stop_process(running[0])


def lead_to(cluster: Cluster, port: int, *, is_ready: bool) -> None:
    """Say in an EndpointSlice of the webhook's Service whether a replica takes requests, as its readiness would."""
    suffix = "host" if port != SECOND_PORT else "second"
    cluster.lead_to_host_port(NAMESPACE, Group.OWN.webhook_service, port, suffix=suffix, is_ready=is_ready)


class Creating:
    """Creates pods one after another in a thread, and counts what came of them."""

    def __init__(self, lab: AdmissionLab, name: str) -> None:
        self.failed: list[str] = []
        self.unpatched = 0
        self.count = 0
        self._lab, self._name = lab, name
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._run, name="creating")

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._thread.join(60.0)

    def _run(self) -> None:
        while not self._over.is_set():
            tried = self._lab.try_pod(self._name)
            self.count += 1
            if not 200 <= tried.answer.code < 300:
                self.failed.append(f"{tried.answer.code} {tried.answer.message}")
            elif not tried.is_patched or tried.cpu == "50m":
                self.unpatched += 1


def test_no_pod_is_kept_out_or_let_in_as_it_is_while_webhooks_are_rolled(
    installation: Installation, kube: Kube, record_property: Callable[[str, object], None]
) -> None:
    """Spec: admission:9; product:5: one replica after the other ends and is started anew."""
    cluster = installation.cluster
    with api_socket(cluster, "rolling") as api, second_webhook(installation) as second:
        lab = AdmissionLab(kube, api, installation)
        lab.prepare("web", "Initial")
        lab.wait_until_patched("web")
        time.sleep(2 * INTERVAL_SECONDS)
        with Creating(lab, "web") as creating:
            for _ in range(2):
                _roll_first(installation)
                _roll_second(installation, second)
        record_property("figures", f"{creating.count} pods were created, {len(creating.failed)} failed")
    assert creating.count > 20
    assert creating.failed == []
    assert creating.unpatched == 0


def _roll_first(installation: Installation) -> None:
    """End the installation's own replica; its endpoint goes a little later than the signal comes, as with pods."""
    cluster = installation.cluster
    late = threading.Timer(0.5, lead_to, (cluster, 8000), {"is_ready": False})
    late.start()
    with installation.without("admission-controller"):
        late.join()
    _wait_until_ready(cluster, 8944)
    lead_to(cluster, 8000, is_ready=True)
    time.sleep(1.0)


def _roll_second(installation: Installation, second: list[ProcessRef]) -> None:
    cluster = installation.cluster
    os.kill(second[0].pid, signal.SIGTERM)
    time.sleep(0.5)
    lead_to(cluster, SECOND_PORT, is_ready=False)
    cluster.stop_process(second[0], patience_seconds=60.0)
    words = [*installation.command("admission-controller"), f"--port={SECOND_PORT}", "--address=127.0.0.1:9944"]
    second[0] = cluster.start_process(second[0].name, words, {"NAMESPACE": NAMESPACE})
    _wait_until_ready(cluster, 9944)
    lead_to(cluster, SECOND_PORT, is_ready=True)
    time.sleep(1.0)


def _wait_until_ready(cluster: Cluster, port: int) -> None:
    """Wait for the readiness probe of a replica."""
    command = cluster.namespace_command(["curl", "-fsS", "--max-time", "3", f"http://127.0.0.1:{port}/readyz"])
    wait_for(lambda: os.spawnvp(os.P_WAIT, command[0], command) == 0, 60.0, f"readiness on port {port}")
