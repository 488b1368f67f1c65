"""The liveness Lease: who writes it and who reads it."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from datetime import datetime, timedelta

import pytest

from autoscaling.errors import ApiError, ApiRefusedError, ApiUnreachableError
from autoscaling.kube.client import KubeClient
from autoscaling.kube.liveness import (
    Beat,
    HeartBeat,
    HeartBeatSettings,
    Liveness,
    LivenessSettings,
    Verdict,
    is_fresh,
    read_liveness,
)
from evenkeel.simulator.api.server import ApiServer
from evenkeel.simulator.faults import Action, DropConnection, Fault, Refuse
from tests.autoscaling.kube.clocks import T0, HeldPacing, InstantPacing
from tests.autoscaling.kube.scripted import SILENT, Answer, ScriptedServer, client_of, no

pytestmark = pytest.mark.anyio

NAME = "vpa-admission-controller"
PATH = f"/apis/coordination.k8s.io/v1/namespaces/kube-system/leases/{NAME}"
WRITER = HeartBeatSettings("kube-system", NAME, "host-1")
READER = LivenessSettings("kube-system", NAME)
MINUTE = timedelta(minutes=1)


@dataclass
class Reading:
    """The updater's side of the Lease."""

    cluster: ApiServer
    client: KubeClient
    pacing: InstantPacing

    async def read(self) -> Liveness:
        return await read_liveness(self.client, READER, self.pacing)


@pytest.fixture
def reading(cluster: ApiServer, cluster_client: KubeClient, pacing: InstantPacing) -> Reading:
    return Reading(cluster, cluster_client, pacing)


def spec_of(cluster: ApiServer) -> dict[str, object]:
    spec = cluster.store.read("coordination.k8s.io/v1", "Lease", NAME, "kube-system")["spec"]
    assert isinstance(spec, dict)
    return spec


def stored(cluster: ApiServer, created: str, renewed: str | None = None) -> None:
    metadata = {"name": NAME, "namespace": "kube-system", "creationTimestamp": created}
    spec = {"holderIdentity": "host-2", "leaseDurationSeconds": 10} | ({"renewTime": renewed} if renewed else {})
    api_version = "coordination.k8s.io/v1"
    cluster.store.create({"apiVersion": api_version, "kind": "Lease", "metadata": metadata, "spec": spec})


@pytest.mark.parametrize(
    ("spec", "created", "renewed", "fresh"),
    [
        ("updater:M-7", T0 - MINUTE, None, False),
        ("updater:M-7", T0 - MINUTE + timedelta(microseconds=1), None, True),
        ("updater:M-7", T0 - 9 * MINUTE, T0 - MINUTE, False),
        ("updater:M-7", T0 - 9 * MINUTE, T0 - MINUTE + timedelta(microseconds=1), True),
        ("updater:M-7", T0, T0 - 9 * MINUTE, True),
        ("updater:M-7", None, T0, True),
        ("updater:M-7", None, None, False),
        ("updater:M-7", T0 + MINUTE, None, True),
    ],
)
def test_freshness(spec: str, created: datetime | None, renewed: datetime | None, fresh: bool) -> None:
    """Spec: admission:9.7."""
    assert is_fresh(created, renewed, MINUTE, T0) is fresh


async def test_the_first_beat_creates_the_lease(
    cluster: ApiServer, cluster_client: KubeClient, pacing: InstantPacing
) -> None:
    """Spec: admission:9.2."""
    assert await HeartBeat(cluster_client, WRITER, pacing).beat() is Beat.CREATED
    assert spec_of(cluster) == {"holderIdentity": "host-1", "leaseDurationSeconds": 10}


async def test_later_beats_renew_it(cluster: ApiServer, cluster_client: KubeClient, pacing: InstantPacing) -> None:
    """Spec: admission:9.3."""
    stored(cluster, "2026-01-01T00:00:00Z")
    pacing.seconds = 12.5
    assert await HeartBeat(cluster_client, WRITER, pacing).beat() is Beat.RENEWED
    renewed = {"holderIdentity": "host-1", "leaseDurationSeconds": 10, "renewTime": "2026-01-01T00:00:12.500000Z"}
    assert spec_of(cluster) == renewed


@pytest.mark.parametrize(("spec", "verb"), [("admission:9.6", "update"), ("admission:9.6", "create")])
async def test_another_replica_was_quicker(
    cluster: ApiServer, cluster_client: KubeClient, pacing: InstantPacing, spec: str, verb: str
) -> None:
    if verb == "update":
        stored(cluster, "2026-01-01T00:00:00Z")
    cluster.faults.add(Fault(Refuse(409), verb=verb))
    assert await HeartBeat(cluster_client, WRITER, pacing).beat() is Beat.SHARED


async def test_passing_trouble_is_retried_three_times_in_all(
    cluster: ApiServer, cluster_client: KubeClient, pacing: InstantPacing
) -> None:
    """Spec: admission:9.5."""
    stored(cluster, "2026-01-01T00:00:00Z")
    cluster.faults.add(Fault(Refuse(500), verb="update", count=2))
    assert await HeartBeat(cluster_client, WRITER, pacing).beat() is Beat.RENEWED
    assert pacing.slept == [0.1, pytest.approx(0.3)]
    cluster.faults.add(Fault(Refuse(500), verb="update", count=3))
    with pytest.raises(ApiRefusedError):
        await HeartBeat(cluster_client, WRITER, pacing).beat()


async def test_a_beat_has_one_interval(server: ScriptedServer, client: KubeClient, pacing: InstantPacing) -> None:
    """Spec: admission:9.5."""
    server.script("GET", PATH, SILENT)
    quick = HeartBeatSettings("kube-system", NAME, "host-1", interval_seconds=0.05)
    with pytest.raises(ApiUnreachableError, match=f"Lease kube-system/{NAME}: not renewed within 0.05 s"):
        await HeartBeat(client, quick, pacing).beat()


async def test_an_interval_below_a_second_makes_a_lease_the_api_accepts(
    cluster: ApiServer, cluster_client: KubeClient, pacing: InstantPacing
) -> None:
    quick = HeartBeatSettings("kube-system", NAME, "host-1", interval_seconds=0.5)
    assert await HeartBeat(cluster_client, quick, pacing).beat() is Beat.CREATED
    assert spec_of(cluster)["leaseDurationSeconds"] == 1


async def test_the_heart_beats_on_after_a_failure(
    cluster: ApiServer, held_client: KubeClient, held: HeldPacing
) -> None:
    """Spec: admission:9.4 (first write one interval after the start)."""
    failures: list[ApiError] = []
    beating = asyncio.create_task(HeartBeat(held_client, WRITER, held, failures.append).run())
    await held.asleep()
    assert (held.slept, cluster.requests.calls("get", "leases")) == ([10.0], [])
    cluster.faults.add(Fault(Refuse(403), path="/leases"))
    await held.advance(10)
    await held.asleep()
    assert [str(failure)[:3] for failure in failures] == ["GET"]
    await held.advance(10)
    await held.asleep()
    assert spec_of(cluster)["holderIdentity"] == "host-1"
    beating.cancel()
    await asyncio.wait((beating,))


async def test_a_beat_waits_behind_no_other_call(cluster: ApiServer, held_client: KubeClient, held: HeldPacing) -> None:
    """Spec: admission:9.4, updater:M-5."""
    async with client_of(held_client.server, held, qps=0.01, burst=1) as (client, _):
        others = [asyncio.create_task(client.get("/version")) for _ in range(3)]
        await held.asleep(2)
        assert [await HeartBeat(client, WRITER, held).beat() for _ in range(2)] == [Beat.CREATED, Beat.RENEWED]
        assert len(held.slept) == 2
        for other in others:
            other.cancel()
        await asyncio.wait(others)


OLD, LIMIT = "2025-12-31T22:00:00Z", "2025-12-31T23:59:00Z"


@pytest.mark.parametrize(
    ("spec", "times", "verdict", "detail"),
    [
        ("updater:M-7", ("2025-12-31T23:59:01Z",), Verdict.VALID, ""),
        ("updater:M-7", (LIMIT,), Verdict.INVALID, "was last renewed 2025-12-31 23:59:00"),
        ("updater:M-7", (OLD, "2025-12-31T23:59:00.000001Z"), Verdict.VALID, ""),
        ("updater:M-7", (OLD, "2025-12-31T23:59:00.000000Z"), Verdict.INVALID, "look at the admission"),
    ],
)
async def test_the_updater_reads_it(
    reading: Reading, spec: str, times: tuple[str, ...], verdict: Verdict, detail: str
) -> None:
    stored(reading.cluster, *times)
    liveness = await reading.read()
    assert liveness.verdict is verdict
    assert detail in liveness.detail


async def test_a_missing_lease_is_an_error(cluster_client: KubeClient, pacing: InstantPacing) -> None:
    """Spec: updater M-7."""
    liveness = await read_liveness(cluster_client, READER, pacing)
    assert liveness.verdict is Verdict.ERROR
    assert liveness.detail.startswith(f"Lease kube-system/{NAME} does not exist; start the admission controller")


async def test_the_timeout_is_a_setting(cluster: ApiServer, cluster_client: KubeClient, pacing: InstantPacing) -> None:
    """Spec: updater M-7."""
    stored(cluster, "2025-12-31T23:58:30Z")
    short, long = (LivenessSettings("kube-system", NAME, seconds) for seconds in (90.0, 91.0))
    assert (await read_liveness(cluster_client, short, pacing)).verdict is Verdict.INVALID
    assert (await read_liveness(cluster_client, long, pacing)).verdict is Verdict.VALID


@pytest.mark.parametrize(
    ("spec", "action", "count", "verdict", "pauses"),
    [
        ("updater:M-7", Refuse(500), 2, Verdict.VALID, [0.1, 0.3]),
        ("updater:M-7", Refuse(503), 3, Verdict.ERROR, [0.1, 0.3]),
        ("updater:M-7", Refuse(429), 1, Verdict.VALID, [0.1]),
        ("updater:M-7", DropConnection(), 2, Verdict.VALID, [0.1]),
        ("updater:M-7", Refuse(403), 1, Verdict.ERROR, []),
    ],
)
async def test_reading_is_retried_a_little(
    reading: Reading, spec: str, action: Action, count: int, verdict: Verdict, pauses: list[float]
) -> None:
    stored(reading.cluster, "2026-01-01T00:00:00Z")
    reading.cluster.faults.add(Fault(action, verb="get", count=count))
    assert (await reading.read()).verdict is verdict
    assert reading.pacing.slept == [pytest.approx(pause) for pause in pauses]


@pytest.mark.parametrize("answer", [Answer(200, (b"<html>",)), Answer(200, (b'{"spec":{"renewTime":"soon"}}',))])
async def test_an_answer_that_is_no_lease(
    server: ScriptedServer, client: KubeClient, pacing: InstantPacing, answer: Answer
) -> None:
    server.script("GET", PATH, answer)
    liveness = await read_liveness(client, READER, pacing)
    assert liveness.verdict is Verdict.ERROR
    assert "answered with something that is no Lease" in liveness.detail


async def test_a_refusal_is_told_as_it_is(server: ScriptedServer, client: KubeClient, pacing: InstantPacing) -> None:
    server.script("GET", PATH, no(403, "Forbidden", "may not"))
    assert (await read_liveness(client, READER, pacing)).detail == f"GET {PATH}: 403 Forbidden: may not"
