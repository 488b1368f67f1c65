"""Writing to a simulated cluster as its administrator."""

from __future__ import annotations

import pytest

from evenkeel.simulator.administrator import Administrator
from evenkeel.simulator.api.fields import JsonObject
from evenkeel.simulator.api.status import StatusError
from evenkeel.simulator.faults import Fault, Refuse
from tests.embedded import api_server, vpa_object

pytestmark = pytest.mark.anyio


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


def config_map(**data: str | None) -> JsonObject:
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "c", "namespace": "default"}, "data": data}


async def test_apply_creates_then_merges() -> None:
    server = api_server()
    administrator = Administrator(server)
    await administrator.apply(config_map(a="1"))
    await administrator.apply(config_map(b="2"))
    assert server.store.read("v1", "ConfigMap", "c", "default")["data"] == {"a": "1", "b": "2"}
    await administrator.apply(config_map(a=None))
    assert server.store.read("v1", "ConfigMap", "c", "default")["data"] == {"b": "2"}


async def test_custom_objects_are_merged_as_well_and_checked_by_their_schema() -> None:
    server = api_server()
    administrator = Administrator(server)
    await administrator.apply(vpa_object())
    change: JsonObject = {**vpa_object(), "spec": {"updatePolicy": {"minReplicas": 3}}}
    await administrator.apply(change)
    found = server.store.read("autoscaling.evenkeel.dev/v1", "VerticalPodAutoscaler", "web", "default")
    assert found["spec"]["updatePolicy"] == {"updateMode": "InPlaceOrRecreate", "minReplicas": 3}  # type: ignore[index]
    with pytest.raises(StatusError):
        await administrator.apply({**vpa_object(), "spec": {"updatePolicy": {"minReplicas": 0}}})


async def test_a_status_comes_with_the_object_or_later() -> None:
    server = api_server()
    administrator = Administrator(server)
    await administrator.create(vpa_object(status={"conditions": [{"type": "A", "status": "True"}]}))
    administrator.write_status({**vpa_object(), "status": {"observedGeneration": 7}})
    found = server.store.read("autoscaling.evenkeel.dev/v1", "VerticalPodAutoscaler", "web", "default")
    assert found["status"] == {"conditions": [{"type": "A", "status": "True"}], "observedGeneration": 7}


async def test_creating_twice_and_deleting_what_is_not_there_is_refused() -> None:
    administrator = Administrator(api_server())
    await administrator.create(config_map())
    with pytest.raises(StatusError) as twice:
        await administrator.create(config_map())
    assert twice.value.reason == "AlreadyExists"
    await administrator.delete("v1", "ConfigMap", "c", "default")
    with pytest.raises(StatusError) as missing:
        await administrator.delete("v1", "ConfigMap", "c", "default")
    assert missing.value.reason == "NotFound"


async def test_cluster_wide_objects_need_no_namespace() -> None:
    server = api_server()
    administrator = Administrator(server)
    await administrator.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "team"}})
    await administrator.create({**config_map(), "metadata": {"name": "c", "namespace": "team"}})
    await administrator.delete("v1", "ConfigMap", "c", "team")
    await administrator.apply(
        {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "team", "labels": {"a": "b"}}}
    )
    assert server.store.read("v1", "Namespace", "team")["metadata"]["labels"]["a"] == "b"  # type: ignore[index]


async def test_it_knows_which_kinds_are_served() -> None:
    administrator = Administrator(api_server())
    assert administrator.serves(vpa_object())
    assert not administrator.serves({"apiVersion": "example.com/v1", "kind": "Thing"})


async def test_its_writes_are_no_requests_and_no_fault_strikes_them() -> None:
    server = api_server()
    server.faults.add(Fault(Refuse(500), count=None))
    await Administrator(server).apply(config_map())
    assert server.requests.calls() == []
