"""A made-up cluster is put into an API server by requests alone, and nothing of it gets lost."""

from __future__ import annotations

from collections.abc import AsyncIterator
from datetime import UTC, datetime
from pathlib import Path

import pytest
import yaml

from e2e.parity.process.client import Client, connected
from e2e.parity.process.copies import Copy, open_copy
from e2e.parity.process.real.filling import Filling, create
from e2e.parity.process.whole.cluster import ClusterMaker
from evenkeel.simulator.api.fields import JsonObject, child, rows, text

pytestmark = [pytest.mark.anyio, pytest.mark.lengthy]

DEFINITIONS = Path(__file__).parent.parent.parent / "manifests" / "crd" / "upstream-group"
NOW = datetime(2026, 3, 4, 5, 6, tzinfo=UTC)


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture
async def copy(tmp_path: Path) -> AsyncIterator[Copy]:
    async with open_copy((), tmp_path) as opened:
        yield opened


@pytest.fixture
async def client(copy: Copy) -> AsyncIterator[Client]:
    async with connected(copy.access) as opened:
        yield opened


def definitions() -> list[JsonObject]:
    documents = [yaml.safe_load_all(file.read_text()) for file in sorted(DEFINITIONS.glob("*.yaml"))]
    return [one for some in documents for one in some if one.get("kind") == "CustomResourceDefinition"]


async def test_everything_is_there_afterwards_and_owned_by_what_is_there(copy: Copy, client: Client) -> None:
    cluster = ClusterMaker("1", NOW, 12, 1).make()
    filling = Filling(client)
    await filling.put((*definitions(), *cluster.objects))
    assert filling.refused == []
    names = {
        (one["kind"], text(one, "metadata", "namespace"), text(one, "metadata", "name")) for one in cluster.objects
    }
    stored = [one for kind in kinds_of(cluster.objects) for one in await copy.objects(*kind)]
    assert names <= {named(one) for one in stored}
    uids = {text(one, "metadata", "uid") for one in stored}
    owned = [text(owner, "uid") for one in stored for owner in rows(one, "metadata", "ownerReferences")]
    assert len(owned) > 10
    assert set(owned) - uids <= {"y"}


async def test_statuses_are_stored_too(copy: Copy, client: Client) -> None:
    cluster = ClusterMaker("1", NOW, 12, 1).make()
    await Filling(client).put((*definitions(), *cluster.objects))
    pods = {text(pod, "metadata", "name"): pod for pod in await copy.objects("v1", "Pod")}
    given = [one for one in cluster.objects if one["kind"] == "Pod"]
    for pod in given:
        stored = pods[text(pod, "metadata", "name")]
        assert text(stored, "status", "phase") == text(pod, "status", "phase")
        assert len(rows(stored, "status", "containerStatuses")) == len(rows(pod, "status", "containerStatuses"))


async def test_what_is_refused_is_told(client: Client) -> None:
    filling = Filling(client)
    odd: JsonObject = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p", "namespace": "default"}, "spec": {}}
    unknown: JsonObject = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n"}}
    await filling.put([odd, unknown])
    assert [one.partition(":")[0] for one in filling.refused] == ["Pod p", "Node"]


async def test_an_object_without_a_status_is_created_at_once(client: Client) -> None:
    reply = await create(client, {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "one"}})
    assert reply.is_success
    assert child(reply.body, "metadata")["name"] == "one"


def named(obj: JsonObject) -> tuple[str, str, str]:
    return text(obj, "kind"), text(obj, "metadata", "namespace"), text(obj, "metadata", "name")


def kinds_of(objects: tuple[JsonObject, ...]) -> set[tuple[str, str]]:
    return {(text(one, "apiVersion"), text(one, "kind")) for one in objects}
