"""Putting the objects of a made-up cluster into a real API server, which lets nobody write what it makes up itself."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import groupby

from e2e.parity.process.client import MERGE_PATCH, Client, Reply, collection_of, path_of
from evenkeel.simulator.api.fields import JsonObject, child, copy_of, ensure, rows, text

_AT_ONCE = 24
_MADE_BY_SERVER = ("uid", "creationTimestamp", "generation", "deletionTimestamp", "deletionGracePeriodSeconds")
_NO_SUBRESOURCE = 404
_SERVED_SECONDS = 60.0
_NEXT_SECOND = 1.1
"""After so long a pause an object is younger than those before it, whose age is told in seconds."""

_WAVES = (
    frozenset({"CustomResourceDefinition", "Namespace"}),
    frozenset({"Deployment", "StatefulSet", "DaemonSet", "ReplicationController", "CronJob", "Flock", "Lease"}),
    frozenset({"ReplicaSet", "Job"}),
    frozenset({"Pod", "PodDisruptionBudget"}),
    frozenset({"VerticalPodAutoscaler", "VerticalPodAutoscalerCheckpoint"}),
    # Last: pods of a made-up cluster need not be such as a LimitRange lets in now.
    frozenset({"LimitRange"}),
)
"""Kinds in an order in which owners come before what they own."""


@dataclass(slots=True)
class Filling:
    """Puts objects into an API server.

    Args:
        client: To that.
        refused: What was not taken, and why.
    """

    client: Client
    refused: list[str] = field(default_factory=list)
    _uids: dict[str, str] = field(default_factory=dict)

    async def put(self, objects: Iterable[JsonObject]) -> None:
        """Put all objects in."""
        given = list(objects)
        for kinds in _WAVES:
            wave = [one for one in given if one["kind"] in kinds]
            for is_later, some in _by_age(wave):
                if is_later:
                    await asyncio.sleep(_NEXT_SECOND)
                await self._put_together(some)
            if "Namespace" in kinds:
                await self._prepare(wave)
        lost = [str(one["kind"]) for one in given if not any(one["kind"] in kinds for kinds in _WAVES)]
        self.refused += [f"{kind}: no wave has this kind" for kind in lost]

    async def _put_together(self, objects: Sequence[JsonObject]) -> None:
        gate = asyncio.Semaphore(_AT_ONCE)

        async def one(obj: JsonObject) -> None:
            async with gate:
                await self._put_one(obj)

        await asyncio.gather(*(one(obj) for obj in objects))

    async def _put_one(self, obj: JsonObject) -> None:
        reply = await create(self.client, self._as_given(obj))
        if not reply.is_success:
            self.refused.append(f"{obj['kind']} {text(obj, 'metadata', 'name')}: {reply}")
            return
        self._uids[text(obj, "metadata", "uid")] = text(reply.body, "metadata", "uid")
        if "deletionTimestamp" in child(obj, "metadata"):
            await self.client.call("DELETE", path_of(obj))

    def _as_given(self, obj: JsonObject) -> JsonObject:
        """Return an object without what the server makes up, its owners named by the uids that those really have."""
        copy = copy_of(obj)
        metadata = ensure(copy, "metadata")
        for name in _MADE_BY_SERVER:
            metadata.pop(name, None)
        for owner in rows(metadata, "ownerReferences"):
            owner["uid"] = self._uids.get(text(owner, "uid"), owner["uid"])
        return copy

    async def _prepare(self, wave: Iterable[JsonObject]) -> None:
        """Do for definitions and namespaces what controllers would, or wait until the server has."""
        for obj in wave:
            if obj["kind"] == "Namespace":
                path = f"{path_of(obj)}/serviceaccounts"
                reply = await self.client.call("POST", path, {"metadata": {"name": "default"}})
                if not reply.is_success:
                    self.refused.append(f"{path}: {reply}")
            elif obj["kind"] == "CustomResourceDefinition":
                await self._until_served(obj)

    async def _until_served(self, definition: JsonObject) -> None:
        group, plural = text(definition, "spec", "group"), text(definition, "spec", "names", "plural")
        version = text(rows(definition, "spec", "versions")[0], "name")
        await self.client.until(f"/apis/{group}/{version}/{plural}", lambda reply: reply.is_success, _SERVED_SECONDS)


def _by_age(wave: Iterable[JsonObject]) -> Iterator[tuple[bool, list[JsonObject]]]:
    """Yield the VPAs that have a rival before those rivals, which have to be younger; all else is of one age."""

    def is_rival(obj: JsonObject) -> bool:
        return obj["kind"] == "VerticalPodAutoscaler" and text(obj, "metadata", "name").endswith("-rival")

    for is_later, some in groupby(sorted(wave, key=is_rival), key=is_rival):
        yield is_later, list(some)


async def create(client: Client, obj: JsonObject) -> Reply:
    """Create an object with its status, and return what the server said, of the status where that was refused."""
    reply = await client.call("POST", collection_of(obj), obj)
    if not reply.is_success or not obj.get("status"):
        return reply
    told = await client.call("PATCH", f"{path_of(obj)}/status", {"status": obj["status"]}, MERGE_PATCH)
    # Kinds without a status subresource have taken the status with the rest.
    return reply if told.code == _NO_SUBRESOURCE else told
