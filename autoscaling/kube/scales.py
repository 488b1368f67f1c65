"""The scale subresource of controllers of other than the well-known kinds."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import msgspec

from autoscaling.errors import ApiError
from autoscaling.kube.client import KubeClient
from autoscaling.kube.discovery import Discovery
from autoscaling.kube.refusals import is_missing
from autoscaling.kube.workloads import ObjectMeta
from autoscaling.ownership import ControllerKey, ScaleAnswer
from autoscaling.wire.unreadable import UNREADABLE_JSON

REFRESH_PERIOD_SECONDS = 7.0
FRESH_SECONDS = 600.0
IDLE_SECONDS = 3600.0
_UNSCALABLE_KIND = "Node"


class _ScaleSpec(msgspec.Struct):
    replicas: int = 0


class _ScaleStatus(msgspec.Struct):
    selector: str = ""


class _Scale(msgspec.Struct):
    metadata: ObjectMeta = ObjectMeta()
    spec: _ScaleSpec = msgspec.field(default_factory=_ScaleSpec)
    status: _ScaleStatus = msgspec.field(default_factory=_ScaleStatus)


_SCALE = msgspec.json.Decoder(_Scale)


class ScaleReader:
    """Reads scale subresources, whatever collection the kind lives in.

    Args:
        client: Calls to the API server.
        discovery: Maps kinds to collections.
    """

    def __init__(self, client: KubeClient, discovery: Discovery) -> None:
        self._client = client
        self._discovery = discovery

    async def read(self, key: ControllerKey) -> ScaleAnswer:
        """Ask for the scale of one controller; what goes wrong is part of the answer.

        The first collection of the kind that has such a scale decides; the last failure speaks for all of them.

        Spec: recommender:11.1, recommender:11.2.
        """
        group, slash, version = key.api_version.rpartition("/")
        if not version or "/" in group or (slash and not group):
            return ScaleAnswer(is_found=False, failure=f"apiVersion {key.api_version!r} is malformed")
        if key.kind == _UNSCALABLE_KIND:
            return ScaleAnswer(is_found=False)
        try:
            resources = await self._discovery.resources_for(group, key.kind)
        except ApiError as error:
            return ScaleAnswer(is_found=False, failure=str(error))
        answer = ScaleAnswer(
            is_found=False, failure=f"the API server knows no kind {key.kind} in API group {group or '(core)'}"
        )
        for resource in resources:
            answer = await self._ask(resource.path(key.namespace, key.name, "scale"))
            if answer.is_found:
                break
        return answer

    async def _ask(self, path: str) -> ScaleAnswer:
        try:
            scale = _SCALE.decode(await self._client.get(path))
        except ApiError as error:
            return ScaleAnswer(is_found=False, failure="" if is_missing(error) else str(error))
        except UNREADABLE_JSON as error:
            return ScaleAnswer(is_found=False, failure=f"GET {path}: the scale cannot be read: {error}")
        return ScaleAnswer(
            is_found=True, selector=scale.status.selector, replicas=scale.spec.replicas, owners=scale.metadata.owners
        )


@dataclass(slots=True)
class _Entry:
    answer: ScaleAnswer
    stale_at: float
    used_at: float


class ScaleCache(Mapping[ControllerKey, ScaleAnswer]):
    """Answers of scale subresources, good and bad, for ``ownership.Controllers``.

    Looking a key up in the mapping counts as use, refreshing it does not.

    Args:
        reader: Asks the API server.
        client: Its pacing tells the age of answers.

    Spec: recommender:11.2 (scale cache).
    """

    def __init__(self, reader: ScaleReader, client: KubeClient) -> None:
        self._reader = reader
        self._pacing = client.pacing
        self._entries: dict[ControllerKey, _Entry] = {}
        self._filled = asyncio.Event()

    def __getitem__(self, key: ControllerKey) -> ScaleAnswer:
        entry = self._entries[key]
        entry.used_at = self._pacing.monotonic()
        return entry.answer

    def __iter__(self) -> Iterator[ControllerKey]:
        return iter(self._entries)

    def __len__(self) -> int:
        return len(self._entries)

    async def look_up(self, key: ControllerKey) -> ScaleAnswer:
        """Return the answer for a key, asking only when it is not known."""
        if key not in self:
            answer = await self._reader.read(key)
            self._entries[key] = _Entry(answer, self._next_refresh(), self._pacing.monotonic())
            self._filled.set()
        return self[key]

    async def run(self) -> None:
        """Refresh old answers and drop unused ones, for ever."""
        while True:
            await self._filled.wait()
            await self._pacing.sleep(REFRESH_PERIOD_SECONDS)
            await self.refresh()

    async def refresh(self) -> None:
        """Refresh old answers and drop unused ones, once."""
        now = self._pacing.monotonic()
        self._entries = {key: entry for key, entry in self._entries.items() if now - entry.used_at < IDLE_SECONDS}
        if not self._entries:
            self._filled.clear()
        for key, entry in tuple(self._entries.items()):
            if entry.stale_at <= now:
                entry.answer = await self._reader.read(key)
                entry.stale_at = self._next_refresh()

    def _next_refresh(self) -> float:
        return self._pacing.monotonic() + FRESH_SECONDS * (1.0 + self._pacing.random())
