"""What controllers write takes the way of every other request."""

from __future__ import annotations

import pytest

from evenkeel.simulator.api.fields import JsonObject, child, labels_of, text, value_at
from evenkeel.simulator.api.status import StatusError
from evenkeel.simulator.controllers.actor import Actor
from tests.evenkeel.simulator.api.hooks import deny, hook, register, webhook
from tests.evenkeel.simulator.api.wire import cluster, config_map, pod
from tests.evenkeel.simulator.controllers.ground import workload

pytestmark = pytest.mark.anyio


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


async def test_a_webhook_is_asked_on_behalf_of_the_controller() -> None:
    async with cluster() as wire, hook() as server:
        await register(wire, webhook(server))
        wire.server.requests.clear()
        made = await Actor(wire.server, "some-controller").create(pod())
        assert value_at(made.body, "status", "phase") == "Pending"
        request = server.asked[0]
        assert value_at(request, "userInfo", "username") == "system:serviceaccount:kube-system:some-controller"
        assert (request["operation"], request["name"], request["namespace"]) == ("CREATE", "a", "default")
        assert wire.server.requests.calls() == []


async def test_cluster_wide_objects_have_no_namespace() -> None:
    async with cluster() as wire:
        actor = Actor(wire.server, "c")
        made = await actor.create({"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n", "namespace": "x"}})
        assert made.key == ("", "n")


async def test_a_refusal_is_raised() -> None:
    async with cluster() as wire, hook(deny) as server:
        await register(wire, webhook(server))
        with pytest.raises(StatusError, match="not today"):
            await Actor(wire.server, "c").create(pod())


async def test_a_deletion_is_graceful_and_meant_for_one_object_only() -> None:
    async with cluster() as wire:
        actor = Actor(wire.server, "c")
        kind = wire.server.registry.at("", "v1", "pods")
        assert kind is not None
        first = await actor.create(pod(node="n1"))
        assert await actor.delete(kind, first)
        going = wire.server.store.read("v1", "Pod", "a", "default")
        assert value_at(going, "metadata", "deletionGracePeriodSeconds") == 30
        wire.server.store.delete("v1", "Pod", "a", "default")
        assert not await actor.delete(kind, first)
        await actor.create(pod())
        assert not await actor.delete(kind, first)
        assert wire.server.store.find("v1", "Pod", "a", "default") is not None


async def test_a_webhook_may_refuse_a_deletion() -> None:
    rule = {"apiGroups": [""], "apiVersions": ["v1"], "resources": ["pods"], "operations": ["DELETE"]}
    async with cluster() as wire, hook(deny) as server:
        await register(wire, webhook(server, rules=[rule]), kind="Validating")
        kind = wire.server.registry.at("", "v1", "pods")
        assert kind is not None
        actor = Actor(wire.server, "c")
        made = await actor.create(pod())
        with pytest.raises(StatusError, match="not today"):
            await actor.delete(kind, made)


async def test_a_scale_is_written_through_its_subresource_and_only_over_what_was_read() -> None:
    rule = {"apiGroups": ["apps"], "apiVersions": ["v1"], "resources": ["deployments/*"], "operations": ["UPDATE"]}
    async with cluster() as wire, hook() as server:
        actor = Actor(wire.server, "c")
        made = await actor.create(workload("Deployment", replicas=1))
        kind = wire.server.registry.at("apps", "v1", "deployments")
        assert kind is not None
        await register(wire, webhook(server, rules=[rule]))
        scaled = await actor.scale(kind, made, 5)
        assert value_at(scaled.body, "spec", "replicas") == 5
        assert [text(request, "subResource") for request in server.asked] == ["scale"]
        with pytest.raises(StatusError, match="resourceVersion"):
            await actor.scale(kind, made, 6)


async def test_a_change_is_made_to_one_object_only() -> None:
    def labelled(body: JsonObject) -> JsonObject:
        return {**body, "metadata": {**child(body, "metadata"), "labels": {"a": "b"}}}

    async with cluster() as wire:
        actor = Actor(wire.server, "c")
        made = await actor.create(config_map("m"))
        kind = wire.server.store.kind_of(config_map("m"))
        assert await actor.modify(kind, made, labelled)
        assert labels_of(wire.server.store.read("v1", "ConfigMap", "m", "default")) == {"a": "b"}
        wire.server.store.delete("v1", "ConfigMap", "m", "default")
        assert not await actor.modify(kind, made, labelled)
        wire.server.store.create(config_map("m"))
        assert not await actor.modify(kind, made, labelled)
        assert labels_of(wire.server.store.read("v1", "ConfigMap", "m", "default")) == {}


async def test_a_webhook_may_refuse_a_change() -> None:
    async with cluster() as wire, hook(deny) as server:
        actor = Actor(wire.server, "c")
        made = await actor.create(config_map("m"))
        await register(wire, webhook(server))
        with pytest.raises(StatusError, match="not today"):
            await actor.modify(
                wire.server.store.kind_of(config_map("m")), made, lambda body: {**body, "data": {"a": "b"}}
            )
