"""Leader election against the embedded API server."""

from __future__ import annotations

import asyncio
from dataclasses import replace

import pytest

from autoscaling.errors import ApiError, ConfigurationError
from autoscaling.kube.client import KubeClient
from autoscaling.kube.election import ElectionSettings
from autoscaling.kube.lease import LeaderElection, LeadershipLostError, own_identity
from autoscaling.kube.pacing import SystemPacing
from evenkeel.simulator.api.server import ApiServer
from evenkeel.simulator.faults import Fault, Refuse
from tests.autoscaling.kube.clocks import HeldPacing, InstantPacing
from tests.autoscaling.kube.scripted import client_of

pytestmark = pytest.mark.anyio

Json = dict[str, object]
SETTINGS = ElectionSettings("kube-system", "vpa-updater", "me_1")


def lease(cluster: ApiServer) -> Json:
    return cluster.store.read("coordination.k8s.io/v1", "Lease", "vpa-updater", "kube-system")


def part(body: object, name: str) -> Json:
    assert isinstance(body, dict)
    found: Json = body[name]
    return found


def spec(cluster: ApiServer) -> Json:
    return part(lease(cluster), "spec")


def held_by_another(cluster: ApiServer, **fields: object) -> None:
    body: dict[str, object] = {
        "apiVersion": "coordination.k8s.io/v1",
        "kind": "Lease",
        "metadata": {"name": "vpa-updater", "namespace": "kube-system", "annotations": {"keep": "me"}},
        "spec": {
            "holderIdentity": "other_2",
            "leaseDurationSeconds": 15,
            "renewTime": "2026-01-01T00:00:00.000000Z",
            "leaseTransitions": 4,
            "strategy": "OldestEmulationVersion",
        }
        | fields,
    }
    cluster.store.create(body)


class Work:
    """Work that lasts until it is told to end or cancelled."""

    def __init__(self) -> None:
        self.started = asyncio.Event()
        self.end = asyncio.Event()
        self.was_cancelled = False

    async def __call__(self) -> None:
        self.started.set()
        try:
            await self.end.wait()
        except asyncio.CancelledError:
            self.was_cancelled = True
            raise


@pytest.fixture
async def work() -> Work:
    return Work()


async def test_the_first_candidate_creates_the_lease_and_gives_it_back(
    cluster: ApiServer, held_client: KubeClient, held: HeldPacing, work: Work
) -> None:
    """Spec: updater M-3."""
    election = LeaderElection(held_client, SETTINGS, held)
    leading = asyncio.create_task(election.lead(work))
    await work.started.wait()
    assert (election.is_leader, election.holder) == (True, "me_1")
    first = spec(cluster)
    assert first == {
        "holderIdentity": "me_1",
        "leaseDurationSeconds": 15,
        "acquireTime": "2026-01-01T00:00:00.000000Z",
        "renewTime": "2026-01-01T00:00:00.000000Z",
        "leaseTransitions": 0,
    }
    await held.asleep()
    assert held.slept == [2.0]
    await held.advance(2)
    await held.asleep()
    assert spec(cluster) == first | {"renewTime": "2026-01-01T00:00:02.000000Z"}
    work.end.set()
    await leading
    assert not election.is_leader
    released = {"holderIdentity": "", "leaseDurationSeconds": 1, "leaseTransitions": 0}
    assert {name: spec(cluster)[name] for name in released} == released
    assert not work.was_cancelled


async def test_a_renewal_needs_one_call(
    cluster: ApiServer, held_client: KubeClient, held: HeldPacing, work: Work
) -> None:
    leading = asyncio.create_task(LeaderElection(held_client, SETTINGS, held).lead(work))
    await work.started.wait()
    await held.asleep()
    cluster.requests.clear()
    await held.advance(2)
    await held.asleep()
    assert [call.verb for call in cluster.requests.calls()] == ["update"]
    leading.cancel()
    await asyncio.wait((leading,))


async def test_a_renewal_waits_behind_no_other_call(
    cluster: ApiServer, held_client: KubeClient, held: HeldPacing, work: Work
) -> None:
    """Spec: updater M-3, updater M-5."""
    async with client_of(held_client.server, held, qps=0.01, burst=1) as (client, _):
        others = [asyncio.create_task(client.get("/version")) for _ in range(20)]
        await held.asleep(19)
        leading = asyncio.create_task(LeaderElection(client, SETTINGS, held).lead(work))
        await work.started.wait()
        for _ in range(2):
            await held.asleep(20)
            await held.advance(2)
        await cluster.requests.until(lambda log: len(log.calls("update", "leases")) == 2)
        work.end.set()
        await leading
        assert spec(cluster)["holderIdentity"] == ""
        for other in others:
            other.cancel()
        await asyncio.wait(others)


async def test_a_standby_waits_until_the_lease_has_been_silent(
    cluster: ApiServer, cluster_client: KubeClient, pacing: InstantPacing
) -> None:
    """Spec: updater M-3."""
    held_by_another(cluster)
    await LeaderElection(cluster_client, SETTINGS, pacing).acquire()
    # Silent for 15 s: seen at 0, 2, …, 14, and taken at 16.
    assert pacing.slept == [2.0] * 8
    calls = cluster.requests.calls("update", "leases")
    taken = calls[0].json
    assert part(taken, "spec") | {"acquireTime": "", "renewTime": ""} == {
        "holderIdentity": "me_1",
        "leaseDurationSeconds": 15,
        "acquireTime": "",
        "renewTime": "",
        "leaseTransitions": 5,
        "strategy": "OldestEmulationVersion",
    }
    assert part(taken, "metadata")["annotations"] == {"keep": "me"}


async def test_a_released_lease_is_taken_at_the_next_look(
    cluster: ApiServer, cluster_client: KubeClient, pacing: InstantPacing
) -> None:
    held_by_another(cluster, holderIdentity="")
    await LeaderElection(cluster_client, SETTINGS, pacing).acquire()
    assert (pacing.slept, spec(cluster)["leaseTransitions"]) == ([], 5)


async def test_a_waiting_candidate_spreads_its_looks(
    cluster: ApiServer, held_client: KubeClient, held: HeldPacing, work: Work
) -> None:
    held_by_another(cluster)
    held.dice = 0.5
    election = LeaderElection(held_client, SETTINGS, held)
    leading = asyncio.create_task(election.lead(work))
    await held.asleep()
    assert held.slept == [pytest.approx(2.0 * 1.6)]
    assert (election.is_leader, election.holder) == (False, "other_2")
    leading.cancel()
    await asyncio.wait((leading,))
    assert not work.started.is_set()
    assert spec(cluster)["holderIdentity"] == "other_2"


async def test_a_leader_that_cannot_renew_ends_its_work(
    cluster: ApiServer, held_client: KubeClient, held: HeldPacing, work: Work
) -> None:
    """Spec: updater M-3 (losing it terminates the process)."""
    heard: list[ApiError] = []
    leading = asyncio.create_task(LeaderElection(held_client, SETTINGS, held, heard.append).lead(work))
    await work.started.wait()
    for _ in range(4):
        await held.asleep()
        await held.advance(2)
    await held.asleep()
    cluster.faults.add(Fault(Refuse(500), path="/leases/", count=None))
    for _ in range(4):
        await held.asleep()
        await held.advance(2)
    await held.asleep()
    assert not leading.done()
    await held.advance(2)
    with pytest.raises(
        LeadershipLostError, match=r"Lease kube-system/vpa-updater: no longer held by me_1: it could not be renewed"
    ):
        await leading
    assert work.was_cancelled
    assert len(heard) == 5


async def test_a_leader_that_sees_another_holder_ends_at_once(
    cluster: ApiServer, held_client: KubeClient, held: HeldPacing, work: Work
) -> None:
    leading = asyncio.create_task(LeaderElection(held_client, SETTINGS, held).lead(work))
    await work.started.wait()
    stolen = lease(cluster)
    part(stolen, "spec")["holderIdentity"] = "other_2"
    cluster.store.update(stolen)
    # The next renewal meets a conflict, and looks at once who holds the Lease.
    await held.asleep()
    await held.advance(2)
    with pytest.raises(LeadershipLostError, match="other_2 holds it now"):
        await leading
    assert work.was_cancelled
    assert spec(cluster)["holderIdentity"] == "other_2"


async def test_a_leader_survives_someone_elses_annotation(
    cluster: ApiServer, held_client: KubeClient, held: HeldPacing, work: Work
) -> None:
    leading = asyncio.create_task(LeaderElection(held_client, SETTINGS, held).lead(work))
    await work.started.wait()
    annotated = lease(cluster)
    part(annotated, "metadata")["annotations"] = {"buckets": "full"}
    cluster.store.update(annotated)
    await held.asleep()
    await held.advance(2)
    await held.asleep()
    assert spec(cluster)["renewTime"] == "2026-01-01T00:00:02.000000Z"
    assert part(lease(cluster), "metadata")["annotations"] == {"buckets": "full"}
    leading.cancel()
    await asyncio.wait((leading,))


async def test_a_deleted_lease_is_created_again(
    cluster: ApiServer, held_client: KubeClient, held: HeldPacing, work: Work
) -> None:
    leading = asyncio.create_task(LeaderElection(held_client, SETTINGS, held).lead(work))
    await work.started.wait()
    cluster.store.delete("coordination.k8s.io/v1", "Lease", "vpa-updater", "kube-system")
    for _ in range(2):
        await held.asleep()
        await held.advance(2)
    await held.asleep()
    assert spec(cluster)["holderIdentity"] == "me_1"
    leading.cancel()
    await asyncio.wait((leading,))
    assert spec(cluster)["holderIdentity"] == ""


async def test_of_two_candidates_one_leads(
    cluster: ApiServer, cluster_client: KubeClient, pacing: InstantPacing
) -> None:
    elections = [LeaderElection(cluster_client, replace(SETTINGS, identity=name), pacing) for name in ("a", "b")]
    held_together: list[int] = []

    async def work() -> None:
        for _ in range(20):
            held_together.append(sum(election.is_leader for election in elections))
            await asyncio.sleep(0)

    await asyncio.gather(*(election.lead(work) for election in elections))
    assert held_together == [1] * 40
    assert spec(cluster)["leaseTransitions"] == 1


async def test_the_work_ends_before_the_lease_is_given_back(
    cluster: ApiServer, held_client: KubeClient, held: HeldPacing
) -> None:
    holders: list[object] = []

    async def work() -> None:
        try:
            await asyncio.Event().wait()
        finally:
            await asyncio.sleep(0)
            holders.append(spec(cluster)["holderIdentity"])

    leading = asyncio.create_task(LeaderElection(held_client, SETTINGS, held).lead(work))
    await held.asleep()
    leading.cancel()
    await asyncio.wait((leading,))
    assert (holders, spec(cluster)["holderIdentity"]) == (["me_1"], "")


async def test_an_error_in_the_work_comes_out_and_the_lease_is_given_back(
    cluster: ApiServer, cluster_client: KubeClient, pacing: InstantPacing
) -> None:
    async def work() -> None:
        raise LookupError("broken")

    with pytest.raises(LookupError, match="broken"):
        await LeaderElection(cluster_client, SETTINGS, pacing).lead(work)
    assert spec(cluster)["holderIdentity"] == ""


async def test_what_cannot_be_given_back_runs_out(
    cluster: ApiServer, held_client: KubeClient, held: HeldPacing
) -> None:
    election = LeaderElection(held_client, SETTINGS, held)
    await election.acquire()
    cluster.faults.add(Fault(Refuse(500), path="/leases/", count=None))
    await election.release()
    assert not election.is_leader
    assert spec(cluster)["holderIdentity"] == "me_1"


async def test_release_ends_the_renewals(cluster: ApiServer, held_client: KubeClient, held: HeldPacing) -> None:
    """As a process in three pieces does it: acquire, hold in the background, release at the end."""
    election = LeaderElection(held_client, SETTINGS, held)
    await election.acquire()
    holding = asyncio.create_task(election.hold())
    await held.asleep()
    await election.release()
    await election.release()
    await held.advance(2)
    await holding
    assert spec(cluster)["holderIdentity"] == ""


def test_no_two_processes_have_the_same_identity() -> None:
    """Spec: updater M-3."""
    first, second = own_identity(SystemPacing()), own_identity(SystemPacing())
    assert first != second
    assert own_identity(SystemPacing(seed=1)) == own_identity(SystemPacing(seed=1))
    host, _, unique = first.rpartition("_")
    assert second.startswith(host)
    assert len(unique) == 36


async def test_times_that_cannot_work_together(client: KubeClient, pacing: InstantPacing) -> None:
    with pytest.raises(
        ConfigurationError, match=r"Lease kube-system/vpa-updater: lease duration .*correct the --leader-elect"
    ):
        LeaderElection(client, replace(SETTINGS, lease_seconds=5.0), pacing)
