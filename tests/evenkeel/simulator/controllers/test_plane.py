"""The whole control plane: what it comes to in the end, and that it comes to the same each time."""

from __future__ import annotations

import asyncio
import base64
import json
from datetime import timedelta

import pytest
from aiohttp import web
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from evenkeel.simulator.api.fields import JsonObject, child, ensure, labels_of, number, rows, text, value_at
from evenkeel.simulator.api.server import ApiServer
from evenkeel.simulator.clock import EPOCH, WallClock
from evenkeel.simulator.controllers.plane import CONTROLLERS, ControlPlane
from tests.evenkeel.simulator.api.hooks import Hook, Reply, hook, register, webhook
from tests.evenkeel.simulator.api.wire import cluster
from tests.evenkeel.simulator.controllers.ground import MINUTE, SECOND, Ground, budget, template, workload

pytestmark = pytest.mark.anyio
PODS_ONLY: JsonObject = {"apiGroups": [""], "apiVersions": ["v1"], "resources": ["pods"], "operations": ["CREATE"]}


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


Step = tuple[str, str, int]
STEPS = st.lists(
    st.tuples(
        st.sampled_from(["create", "scale", "update", "delete", "recreate", "lose a pod", "evict all", "wait"]),
        st.sampled_from(["web", "db", "api"]),
        st.integers(0, 5),
    ),
    max_size=12,
)


def act(ground: Ground, step: Step) -> None:
    """Do one thing to one Deployment, if it is there."""
    verb, name, amount = step
    present = ground.find("Deployment", name) is not None
    if verb == "create" and not present:
        ground.create(workload("Deployment", name, replicas=amount))
    elif verb == "scale" and present:
        ground.merge("Deployment", name, spec={"replicas": amount})
    elif verb in {"update", "recreate"} and present:
        strategy = {"type": "Recreate", "rollingUpdate": None} if verb == "recreate" else {}
        changed = template(name, cpu=f"{100 + amount}m")
        ground.merge("Deployment", name, spec={"template": changed, "strategy": strategy})
    elif verb == "delete" and present:
        ground.delete("Deployment", name)
    elif verb in {"lose a pod", "evict all"}:
        for pod in ground.pods(name)[: 1 if verb == "lose a pod" else None]:
            ground.delete("Pod", text(pod, "metadata", "name"))
    ground.run(timedelta(milliseconds=300 * amount))


@given(STEPS)
@settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_every_deployment_has_its_replicas_in_the_end_and_nothing_else_is_left(steps: list[Step]) -> None:
    """Law: given room and time, each has its replicas running from its template; of deleted ones nothing is left."""
    ground = Ground(3)
    for step in steps:
        act(ground, step)
    ground.run(10 * MINUTE)
    uids = set()
    for deployment in ground.objects("Deployment"):
        name, wanted = text(deployment, "metadata", "name"), number(deployment, "spec", "replicas")
        pods = ground.pods(name)
        assert [text(pod, "status", "phase") for pod in pods] == ["Running"] * wanted
        asked = rows(deployment, "spec", "template", "spec", "containers")[0]["resources"]
        assert all(rows(pod, "spec", "containers")[0]["resources"] == asked for pod in pods)
        assert number(deployment, "status", "availableReplicas") == wanted
        assert number(deployment, "status", "observedGeneration") == number(deployment, "metadata", "generation")
        uids.add(value_at(deployment, "metadata", "uid"))
    sets = ground.objects("ReplicaSet")
    assert {rows(each, "metadata", "ownerReferences")[0]["uid"] for each in sets} <= uids
    assert len(ground.pods()) == sum(number(each, "spec", "replicas") for each in ground.objects("Deployment"))


def busy(ground: Ground) -> None:
    """Let a bit of everything happen."""
    ground.create(workload("Deployment", replicas=4))
    ground.create(workload("StatefulSet", "db", replicas=3))
    ground.create(workload("DaemonSet", "agent"))
    ground.create(workload("Job", "batch", completions=3, parallelism=2, ttlSecondsAfterFinished=60))
    ground.create(budget(minAvailable="50%"))
    ground.run()
    ground.merge("Deployment", "web", spec={"template": template(cpu="200m")})
    ground.run(SECOND)
    for pod in ground.pods("batch"):
        ground.finish(text(pod, "metadata", "name"))
    ground.merge("Node", "n2", spec={"unschedulable": True})
    ground.run(SECOND)
    ground.delete("Pod", "db-1")
    ground.run(MINUTE)
    ground.delete("StatefulSet", "db")
    ground.run(2 * MINUTE)


def test_two_runs_with_one_seed_have_the_same_history() -> None:
    histories = []
    for seed in (1, 1, 2):
        ground = Ground(3, seed=seed)
        busy(ground)
        histories.append(ground.history)
    assert histories[0] == histories[1]
    assert histories[0] != histories[2]
    assert {verb for _, _, _, verb in histories[0]} == {"create", "update", "delete"}
    assert len(histories[0]) > 150


def test_nothing_happens_in_a_settled_cluster_but_what_time_brings() -> None:
    ground = Ground(2)
    busy(ground)
    ground.run(timedelta(hours=2))
    before = len(ground.history)
    ground.run(timedelta(hours=3))
    assert ground.history[before:] == []


def test_controllers_have_names_of_their_own() -> None:
    assert len({controller.component for controller in CONTROLLERS}) == len(CONTROLLERS)


def test_a_stopped_plane_does_nothing_more() -> None:
    ground = Ground()
    ground.plane.stop()
    ground.create(workload("Deployment", replicas=1))
    ground.run()
    assert ground.objects("ReplicaSet") == []


def raising(cpu: str) -> Reply:
    """Answer as a vertical pod autoscaler's webhook does: other requests than the template's."""

    def reply(_: JsonObject) -> JsonObject:
        patch = [{"op": "add", "path": "/spec/containers/0/resources/requests/cpu", "value": cpu}]
        return {
            "allowed": True,
            "patchType": "JSONPatch",
            "patch": base64.b64encode(json.dumps(patch).encode()).decode(),
        }

    return reply


async def test_a_webhook_is_asked_about_the_pods_of_controllers() -> None:
    ground = Ground(2)
    async with cluster(ground.server) as wire, hook(raising("300m")) as server:
        await register(wire, webhook(server, rules=[PODS_ONLY]))
        ground.create(workload("Deployment", replicas=3))
        await ground.plane.advance(EPOCH + 10 * SECOND)
        assert len(server.asked) == 3
        asked = server.asked[0]
        assert value_at(asked, "userInfo", "username") == "system:serviceaccount:kube-system:replicaset-controller"
        assert text(asked, "object", "metadata", "generateName").startswith("web-")
        cpu = [child(rows(pod, "spec", "containers")[0], "resources", "requests")["cpu"] for pod in ground.pods()]
        assert (cpu, ground.phases()) == (["300m"] * 3, ["Running"] * 3)


async def slow_scene(delays: list[int], names: list[str]) -> tuple[list[object], list[JsonObject]]:
    """Two Deployments at once behind a webhook that takes its time, differently for each question."""
    ground = Ground(2)
    left = iter(delays)

    async def take_time(request: web.Request) -> web.StreamResponse:
        review = await request.json()
        for _ in range(next(left, 0)):
            await asyncio.sleep(0)
        response = {"uid": review["request"]["uid"], "allowed": True}
        return web.json_response({"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "response": response})

    async with cluster(ground.server) as wire, hook(raw=take_time) as server:
        await register(wire, webhook(server, rules=[PODS_ONLY], timeoutSeconds=30))
        before = len(ground.history)
        for name in names:
            ground.create(workload("Deployment", name, replicas=3))
        await ground.plane.advance(EPOCH + 20 * SECOND)
        return [*ground.history[before:]], _seen(server)


def _seen(server: Hook) -> list[JsonObject]:
    """What the webhook was asked, without what names the endpoint."""
    return [child(asked, "object", "metadata") for asked in server.asked]


async def test_how_fast_a_webhook_answers_changes_nothing() -> None:
    quick = await slow_scene([], ["web", "db"])
    slow = await slow_scene([50, 0, 300, 7, 0, 90], ["web", "db"])
    assert quick == slow
    assert len(quick[1]) == 6


async def test_a_webhook_that_refuses_holds_up_its_pods_only() -> None:
    def refuse_web(request: JsonObject) -> JsonObject:
        return {"allowed": labels_of(child(request, "object")).get("app") != "web"}

    ground = Ground(2)
    async with cluster(ground.server) as wire, hook(refuse_web) as server:
        await register(wire, webhook(server, rules=[PODS_ONLY]))
        for name in ("web", "db"):
            ground.create(workload("Deployment", name, replicas=2))
        await ground.plane.advance(EPOCH + 10 * SECOND)
        assert (ground.pods("web"), ground.phases("db")) == ([], ["Running"] * 2)
        assert "FailedCreate" in ground.reasons("ReplicaSet")
        ground.server.store.delete("admissionregistration.k8s.io/v1", "MutatingWebhookConfiguration", "hooks")
        await ground.plane.advance(ground.clock.now() + 20 * MINUTE)
        assert ground.phases("web") == ["Running"] * 2


@pytest.mark.parametrize("kind", ["Deployment", "ReplicaSet", "StatefulSet", "DaemonSet", "Job"])
async def test_an_owner_that_goes_while_its_pod_is_reviewed_leaves_nothing(kind: str) -> None:
    ground = Ground(1)

    def remove_owner(_: JsonObject) -> JsonObject:
        if ground.find(kind, "web") is not None:
            ground.delete(kind, "web")
        return {"allowed": True}

    async with cluster(ground.server) as wire, hook(remove_owner) as server:
        rule = PODS_ONLY | {"resources": ["pods", "replicasets"], "apiGroups": ["", "apps"]}
        await register(wire, webhook(server, rules=[rule]))
        ground.create(workload(kind, template=template(restartPolicy="Never")))
        await ground.plane.advance(EPOCH + MINUTE)
        assert ground.find(kind, "web") is None
        assert (ground.pods(), ground.objects("ReplicaSet"), ground.objects("ControllerRevision")) == ([], [], [])


async def test_a_clock_that_moves_by_itself_cannot_be_moved() -> None:
    plane = ControlPlane(ApiServer(WallClock()))
    with pytest.raises(TypeError, match="moves by itself"):
        await plane.advance(EPOCH)


async def test_objects_made_over_http_are_kept_like_seeded_ones() -> None:
    ground = Ground()
    async with cluster(ground.server) as wire:
        body = workload("Deployment", replicas=2)
        del ensure(body, "metadata")["namespace"]
        assert (await wire.post("/apis/apps/v1/namespaces/default/deployments", body)).code == 201
        ground.run()
        assert ground.phases() == ["Running"] * 2
        path = "/apis/apps/v1/namespaces/default/deployments/web"
        assert (await wire.patch(f"{path}/scale", {"spec": {"replicas": 3}})).code == 200
        ground.run()
        assert ground.phases() == ["Running"] * 3
        assert (await wire.call("DELETE", path)).code == 200
        ground.run()
        assert ground.pods() == []
