"""Twins brought up to date: both groups read, the plan carried out, once or for as long as anything changes."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable
from contextlib import AsyncExitStack
from dataclasses import dataclass
from typing import Final, cast

import msgspec

from autoscaling.errors import ApiError
from autoscaling.kube.calls import PatchType, Preconditions
from autoscaling.kube.client import KubeClient
from autoscaling.kube.paths import Selection, vertical_pod_autoscalers
from autoscaling.kube.refusals import is_conflict, is_missing
from autoscaling.kube.table import Key
from autoscaling.kube.watch import StoreCallbacks, WatchedStore
from autoscaling.objectref import ObjectRef
from autoscaling.runtime.api_group import ApiGroup
from evenkeel.crd.schema import Schema
from evenkeel.shadow.plan import Change, Verb, plan
from evenkeel.shadow.twins import Autoscaler

OWN: Final = vertical_pod_autoscalers(ApiGroup.EVENKEEL)
ORIGINALS: Final = vertical_pod_autoscalers(ApiGroup.UPSTREAM)

SYNC_SECONDS: Final = 30.0
"""How long the first lists of both groups may take."""

AGAIN_SECONDS: Final = 60.0
"""Time after which what could not be done is tried again although nothing has changed."""


_LOOKS: Final = 3
"""How often objects are looked at that change all the time."""


class _Metadata(msgspec.Struct, rename="camel"):
    name: str
    namespace: str = ""
    uid: str = ""
    resource_version: str = ""
    labels: dict[str, str] | None = None
    annotations: dict[str, str] | None = None


class _Object(msgspec.Struct):
    metadata: _Metadata
    spec: dict[str, object] | None = None


_OBJECTS = msgspec.json.Decoder(_Object)


def decode_autoscaler(body: bytes) -> Autoscaler:
    """Read an autoscaler of either group, whatever its spec says.

    Raises:
        msgspec.MsgspecError: It is no object of Kubernetes.
    """
    read = _OBJECTS.decode(body)
    metadata = read.metadata
    return Autoscaler(
        metadata.namespace,
        metadata.name,
        metadata.uid,
        metadata.resource_version,
        metadata.labels or {},
        metadata.annotations or {},
        cast("Schema", read.spec or {}),
    )


def _decoded(body: bytes) -> tuple[Key, str, Autoscaler]:
    """Read an autoscaler for a store."""
    read = decode_autoscaler(body)
    return (read.namespace, read.name), read.resource_version, read


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of one change.

    Args:
        change: The change.
        problem: Why it was not made; empty where it was.
        is_stale: Whether that is because somebody changed the object after it was looked at.
    """

    change: Change
    problem: str = ""
    is_stale: bool = False

    @property
    def is_settled(self) -> bool:
        """Whether there is a twin where there should be one, and none where not."""
        return not self.problem and self.change.verb is not Verb.LEAVE


async def carry_out(client: KubeClient, changes: Iterable[Change]) -> list[Outcome]:
    """Make changes one after the other; one that fails keeps no other from being made."""
    return [await _make(client, change) for change in changes]


async def settle(client: KubeClient, look: Callable[[], Awaitable[tuple[Change, ...]]]) -> list[Outcome]:
    """Make changes, and look anew where an object has changed in between: our recommender writes statuses of twins.

    Args:
        client: Calls to the API server.
        look: Reads the objects and plans.

    Returns:
        The last outcome for each object, by namespace and name.

    Raises:
        ApiError: The objects cannot be read.
    """
    found: dict[ObjectRef, Outcome] = {}
    for _ in range(_LOOKS):
        outcomes = await carry_out(client, await look())
        found |= {outcome.change.ref: outcome for outcome in outcomes}
        if not any(outcome.is_stale for outcome in outcomes):
            break
    return [found[ref] for ref in sorted(found)]


async def _make(client: KubeClient, change: Change) -> Outcome:
    """Make one change."""
    try:
        await _call(client, change)
    except ApiError as error:
        if change.verb is Verb.DELETE and is_missing(error):
            return Outcome(change)
        if is_conflict(error) or (change.verb is Verb.PATCH and is_missing(error)):
            problem = f"{change.ref}: has changed since it was looked at; look at it anew"
            return Outcome(change, problem, is_stale=True)
        return Outcome(change, f"{change.ref}: {change.verb.value} failed: {error}")
    return Outcome(change)


async def _call(client: KubeClient, change: Change) -> None:
    path = OWN.path(change.ref.namespace, change.ref.name)
    versions = {"uid": change.uid, "resourceVersion": change.resource_version}
    metadata = change.body.get("metadata")
    stated = metadata if isinstance(metadata, dict) else {}
    match change.verb:
        case Verb.CREATE:
            named = stated | {"name": change.ref.name, "namespace": change.ref.namespace}
            head = {"apiVersion": OWN.api_version, "kind": OWN.kind}
            body = msgspec.json.encode(head | change.body | {"metadata": named})
            await client.create(OWN.path(change.ref.namespace), body)
        case Verb.PATCH:
            # With a version a merge patch is refused where anybody wrote in between: the mark may be gone.
            body = msgspec.json.encode(change.body | {"metadata": stated | versions})
            await client.patch(path, body, PatchType.MERGE)
        case Verb.DELETE:
            await client.delete(path, Preconditions(change.uid, change.resource_version))
        case Verb.LEAVE:
            pass


async def follow(client: KubeClient, namespace: str, tell: Callable[[list[Outcome]], None]) -> None:
    """Keep twins up to date until this is cancelled.

    Args:
        client: Calls to the API server.
        namespace: The only one; empty for all.
        tell: Told of what every pass has done or could not do, where that is other than in the pass before.

    Raises:
        ApiError: One of the groups could not be listed at the start.
    """
    news = asyncio.Event()
    told: StoreCallbacks[Autoscaler] = StoreCallbacks(on_change=lambda _: news.set())
    async with AsyncExitStack() as stack:
        stores = [WatchedStore(client, Selection(each, namespace), _decoded, told) for each in (ORIGINALS, OWN)]
        for store in stores:
            store.start()
            stack.push_async_callback(store.stop)
        for store in stores:
            await store.wait_synced(SYNC_SECONDS)
        originals, own = stores
        last: list[Outcome] = []
        while True:
            news.clear()
            outcomes = await carry_out(client, _readable(plan(originals.snapshot(), own.snapshot()), originals))
            # What is stale has changed under our own hands, mostly, and the news of it are on their way.
            telling = [outcome for outcome in outcomes if not outcome.is_stale]
            if telling and telling != last:
                tell(telling)
            last = telling
            await _wait(client, news, is_settled=all(outcome.is_settled for outcome in outcomes))


def _readable(changes: Iterable[Change], originals: WatchedStore[Autoscaler]) -> Iterable[Change]:
    """Leave out twins whose originals exist but cannot be read."""
    return (change for change in changes if (change.ref.namespace, change.ref.name) not in originals.unreadable)


async def _wait(client: KubeClient, news: asyncio.Event, *, is_settled: bool) -> None:
    """Wait for a change, and no longer than a while where something is left to do."""
    if is_settled:
        await news.wait()
        return
    waiting = [asyncio.ensure_future(news.wait()), asyncio.ensure_future(client.pacing.sleep(AGAIN_SECONDS))]
    try:
        await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for task in waiting:
            task.cancel()
        await asyncio.gather(*waiting, return_exceptions=True)
