"""Two replicas of each process: the leader is killed, cut off, or robbed of its Lease, and another one takes over.

All replicas are processes of this machine that live by one simulated clock.
"""

from __future__ import annotations

import asyncio
import re
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import datetime, timedelta
from pathlib import Path

import pytest

from evenkeel.simulator.api.fields import JsonObject, child, ensure, rows, text
from evenkeel.simulator.api.requestlog import RecordedCall
from evenkeel.simulator.api.status import StatusError
from evenkeel.simulator.clock import rfc3339
from evenkeel.simulator.faults import Delay, Fault
from evenkeel.simulator.workloads.functions import Constant
from tests.chaos.plant import (
    ADMISSION,
    LEASE_SECONDS,
    NAMES,
    RECOMMENDER,
    UPDATER,
    Plant,
    PlantSettings,
    plant,
)
from tests.chaos.watchman import History, Watchman
from tests.chaos.workloads import CONTAINER, GROUP, Workload, deploy, load

pytestmark = [pytest.mark.anyio, pytest.mark.lengthy]

LIMIT_SECONDS = 600
"""Of real time, for a run that hangs."""
RENEW_SECONDS, RETRY_SECONDS = 10, 2
LOOK_SECONDS = RETRY_SECONDS * 2.2
"""Between two looks at the Lease of one who waits, at most."""
STEP_SECONDS = 1
ALONE = ("--use-admission-controller-status=false",)
SIX = Workload("six", Constant(load(0.2, 100)), replicas=6)
GOING = Workload("going", Constant(load(0.2, 100)), replicas=4, mode="Recreate")


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@asynccontextmanager
async def running(folder: Path, program: str, *workloads: Workload) -> AsyncIterator[Plant]:
    """Two replicas of a program over some workloads; what ends by itself stays ended.

    Where pods are evicted there is a webhook as well, without which that would not help them.
    """
    needs_webhook = GOING in workloads and program == UPDATER
    settings = PlantSettings(folder, {program: 2, ADMISSION: int(needs_webhook)}, {UPDATER: ALONE})
    async with asyncio.timeout(LIMIT_SECONDS), plant(settings) as made:
        made.revives = False
        await deploy(made, *workloads)
        await made.start(*made.names)
        if needs_webhook:
            await made.wait_for_webhook()
        yield made


def recommend(made: Plant, workload: Workload, cpu: str, memory: str = "64Mi") -> None:
    """Write a recommendation in place of a recommender."""
    amounts: JsonObject = {"cpu": cpu, "memory": memory}
    vectors = dict.fromkeys(("target", "lowerBound", "upperBound", "uncappedTarget"), amounts)
    status: JsonObject = {"recommendation": {"containerRecommendations": [{"containerName": CONTAINER, **vectors}]}}
    metadata: JsonObject = {"name": workload.name, "namespace": "default"}
    made.cluster.administrator.write_status(
        {"apiVersion": f"{GROUP}/v1", "kind": "VerticalPodAutoscaler", "metadata": metadata, "status": status}
    )


def edit_lease(made: Plant, program: str, **fields: str | int) -> None:
    """Write a Lease as somebody with kubectl would."""
    lease = made.lease(program)
    ensure(lease, "spec").update(fields)
    made.cluster.server.store.update(lease)


def disturb(made: Plant, program: str, way: str) -> None:
    """Take the lead from whoever has it."""
    now, leader = made.cluster.clock.now(), made.leader(program)
    match way:
        case "killed":
            made.kill(leader)
        case "cut off":
            made.cut_off(leader)
        case "released by an edit":
            edit_lease(made, program, holderIdentity="", leaseDurationSeconds=1)
        case "stolen by an edit":
            edit_lease(made, program, holderIdentity="somebody", renewTime=rfc3339(now))
        case _:
            old = rfc3339(now - timedelta(hours=1)).replace("Z", ".000000Z")
            edit_lease(made, program, holderIdentity="somebody", leaseDurationSeconds=1, renewTime=old)


def calls_of(made: Plant, name: str, since: datetime) -> list[RecordedCall]:
    """Return what a replica asked of the server that is no look, from a time on, and that was carried out."""
    calls = made.cluster.server.requests.calls()
    done = [c for c in calls if c.caller == name and c.at >= since and 200 <= c.status < 300]
    return [c for c in done if c.verb not in {"get", "list", "watch"}]


@pytest.mark.parametrize(
    ("row", "program", "way", "bound"),
    [
        ("updater:M-3", UPDATER, "killed", LEASE_SECONDS + LOOK_SECONDS),
        ("updater:M-3", UPDATER, "cut off", LEASE_SECONDS + LOOK_SECONDS),
        ("updater:M-3", UPDATER, "released by an edit", LOOK_SECONDS),
        ("updater:M-3", UPDATER, "stolen by an edit", LEASE_SECONDS + LOOK_SECONDS),
        ("recommender:6.1", RECOMMENDER, "killed", LEASE_SECONDS + LOOK_SECONDS),
        ("recommender:6.1", RECOMMENDER, "cut off", LEASE_SECONDS + LOOK_SECONDS),
        ("recommender:6.1", RECOMMENDER, "expired by an edit", LEASE_SECONDS + LOOK_SECONDS),
    ],
)
async def test_another_leads_within_the_lease_and_the_old_one_acts_no_more(
    tmp_path: Path, program: str, row: str, way: str, bound: float
) -> None:
    async with running(tmp_path, program, SIX) as made:
        old = await made.wait_for_leader(program)
        await made.run(70)
        at = made.cluster.clock.now()
        disturb(made, program, way)
        if way == "released by an edit":
            # Whoever looks first has it, the old one included; there is never more than one.
            await made.run(RETRY_SECONDS + STEP_SECONDS)
        new = await made.wait_for_leader(program, "" if way == "released by an edit" else old)
        handed_over = made.cluster.clock.now()
        assert (handed_over - at).total_seconds() <= bound + 2 * STEP_SECONDS, row
        await made.run(RENEW_SECONDS)
        if new != old:
            assert old not in made.running, f"{row}: {old} goes on"
            assert calls_of(made, old, handed_over) == [], row
            assert made.statuses == ([(old, 1)] if way != "killed" else []), row
        await made.run(130)
        acts = [c for c in calls_of(made, new, handed_over) if "leases" not in c.resource]
        assert acts or program == UPDATER, f"{row}: {new} leads and does nothing"
        assert made.leader(program) == new, row


@pytest.mark.parametrize(
    ("row", "workload", "at_call"), [("beyond:B-31", SIX, 1), ("beyond:B-31", SIX, 4), ("beyond:B-31", GOING, 3)]
)
async def test_a_leader_killed_in_the_middle_of_its_round_leaves_nothing_to_be_done_twice(
    tmp_path: Path, row: str, workload: Workload, at_call: int
) -> None:
    async with running(tmp_path, UPDATER, workload) as made:
        watchman = Watchman(made, {workload.name: workload})
        watchman.begin()
        old = await made.wait_for_leader(UPDATER)
        await made.run(5)
        before = uids(made)
        recommend(made, workload, "200m")
        acts = iter(range(at_call - 1))

        def kill() -> None:
            call = made.cluster.server.requests.entries[-1]
            if re.search("/(resize|eviction)$", call.path) and next(acts, None) is None and old in made.running:
                made.kill(old)

        made.cluster.server.requests.observe(kill)
        await made.run(60 * 6)
        assert made.leader(UPDATER) != old, row
        assert watchman.problems == [], row
        done = Counter(re.findall("/pods/([^/]+)/", c.path)[0] for c in changes(made))
        assert set(done.values()) == {1}, f"{row}: {done}"
        assert asked(made) == {"200m"}, row
        assert (uids(made) == before) is (workload is SIX), row


def changes(made: Plant) -> list[RecordedCall]:
    """Return the resizes and evictions that were carried out."""
    calls = made.cluster.server.requests.calls(path="/(resize|eviction)$")
    return [call for call in calls if 200 <= call.status < 300]


def uids(made: Plant) -> set[str]:
    return {text(pod, "metadata", "uid") for pod in made.cluster.server.store.list("v1", "Pod", "default")}


def asked(made: Plant) -> set[str]:
    """Return the CPU requests of all pods."""
    pods = made.cluster.server.store.list("v1", "Pod", "default")
    return {text(one, "resources", "requests", "cpu") for pod in pods for one in rows(pod, "spec", "containers")}


@pytest.mark.parametrize(
    ("row", "workload", "path", "refused"),
    [("beyond:B-31", SIX, "/resize$", {422}), ("beyond:B-31", GOING, "/eviction$", {404, 409})],
)
async def test_what_reaches_the_pods_after_the_hand_over_is_refused(
    tmp_path: Path, row: str, workload: Workload, path: str, refused: set[int]
) -> None:
    """The server takes a call of the old leader in, and carries it out long after that one is gone."""
    async with running(tmp_path, UPDATER, workload) as made:
        old = await made.wait_for_leader(UPDATER)
        await made.run(5)
        late = Delay(timedelta(minutes=6), outlives_client=True)
        made.cluster.server.faults.add(Fault(late, path=path, caller=old, count=1))
        recommend(made, workload, "200m")
        await made.run(58)
        made.kill(old)
        recommend(made, workload, "300m")
        await made.run(60 * 7)
        (call,) = made.cluster.server.requests.calls(path=path)[-1:]
        assert (call.caller, call.status in refused) == (old, True), f"{row}: {call.status}"
        assert asked(made) == {"300m"}, row


@pytest.mark.parametrize("way", ["killed", "cut off", "stolen by an edit"])
async def test_no_history_is_lost_with_a_leader(tmp_path: Path, way: str) -> None:
    """Spec: beyond:B-1, beyond:B-2."""
    async with running(tmp_path, RECOMMENDER, SIX, GOING) as made:
        made.revives = True
        history = History(made)
        history.begin()
        for _ in range(2):
            leader = await made.wait_for_leader(RECOMMENDER)
            await made.run(60 * 5)
            before = history.counts
            disturb(made, RECOMMENDER, way)
            await made.run(60 * 3)
            made.rejoin(leader)
            assert history.losses == []
            assert all(history.counts[name] > count for name, count in before.items())


async def test_a_checkpoint_that_comes_after_the_hand_over_is_refused(tmp_path: Path) -> None:
    """Spec: beyond:B-1."""
    async with running(tmp_path, RECOMMENDER, SIX) as made:
        history = History(made)
        history.begin()
        old = await made.wait_for_leader(RECOMMENDER)
        await made.run(60 * 3)
        late = Delay(timedelta(minutes=4), outlives_client=True)
        made.cluster.server.faults.add(Fault(late, verb="patch", path="checkpoints/", caller=old, count=1))
        await made.run(60)
        made.kill(old)
        await made.run(60 * 6)
        (call,) = [c for c in made.cluster.server.requests.calls("patch", "checkpoints/") if c.status == 422]
        assert call.caller == old
        assert history.losses == []


async def test_no_pod_is_kept_out_or_let_in_as_it_is_while_webhooks_are_rolled(tmp_path: Path) -> None:
    """Spec: admission:9; one replica after the other ends in order, and then one by SIGKILL."""
    settings = PlantSettings(tmp_path, {ADMISSION: 2}, {ADMISSION: ("--webhook-failure-policy-fail",)})
    async with asyncio.timeout(LIMIT_SECONDS), plant(settings) as made:
        await made.start(*made.names)
        await made.wait_for_webhook()
        await deploy(made, SIX)
        recommend(made, SIX, "200m")
        await made.run(2)
        for name in made.names:
            made.running[name].ask_to_end()
            await created_all_the_time(made, seconds=20)
        assert made.statuses == [(name, 0) for name in made.names]
        made.kill(made.names[0])
        await made.look()
        await created_all_the_time(made, seconds=30)
        lease = made.cluster.server.store.read("coordination.k8s.io/v1", "Lease", NAMES.status_lease, NAMES.namespace)
        assert text(lease, "spec", "holderIdentity")


async def created_all_the_time(made: Plant, seconds: int) -> None:
    """Create a pod in every second, each of which must come in, and with what is recommended."""
    for _ in range(seconds):
        like = child(made.cluster.server.store.list("v1", "Pod", "default")[0], "metadata")
        name = f"probe-{made.cluster.clock.now():%H%M%S}"
        metadata: JsonObject = {"name": name, "namespace": "default"}
        metadata |= {key: like[key] for key in ("labels", "ownerReferences")}
        container: JsonObject = {"name": CONTAINER, "image": "i", "resources": {"requests": {"cpu": "50m"}}}
        pod: JsonObject = {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": {"containers": [container]}}
        try:
            await made.cluster.administrator.create(pod)
        except StatusError as error:
            pytest.fail(f"{made.cluster.clock.now()}: {error}")
        (first,) = rows(made.cluster.server.store.read("v1", "Pod", name, "default"), "spec", "containers")
        assert text(first, "resources", "requests", "cpu") == "200m"
        made.cluster.server.store.delete("v1", "Pod", name, "default")
        await made.run(1)
