"""Events on objects: sent in the background, repeated ones counted instead of written anew.

They share the process's limit of calls and are nothing that anything waits for, so they let all other calls go first:
changes of pods and their annotations, statuses, checkpoints. Each is dated when it was taken, however late it is
written, and they are written in the order in which they were taken.
"""

from __future__ import annotations

import asyncio
from collections import deque
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime

import msgspec

from autoscaling.errors import ApiError
from autoscaling.kube.calls import PatchType
from autoscaling.kube.client import KubeClient
from autoscaling.kube.event_ledger import EventDraft, EventLedger, EventRecord
from autoscaling.kube.paths import EVENTS
from autoscaling.kube.refusals import is_missing

LONGEST_MESSAGE = 1024
"""Characters of an event's message; further ones are cut off."""

LONGEST_HOLD_SECONDS = 30.0
"""How long an event lets all other calls go first; after that it takes its turn among them."""

_QUEUE_LENGTH = 10_000
_SHORTEST_LOOK_SECONDS, _LONGEST_LOOK_SECONDS = 0.01, 0.5
"""Least and most time between two looks at whether an event may go; the end of the process may come in between."""


@dataclass(slots=True)
class EventCounters:
    """What became of the events so far, for metrics."""

    created: int = 0
    repeated: int = 0
    held_back: int = 0
    dropped: int = 0
    failed: int = 0


@dataclass(frozen=True, slots=True)
class _Taken:
    """An event that waits to be written, and when it was taken: by the wall clock, and in monotonic seconds."""

    draft: EventDraft
    at: datetime
    at_seconds: float


class EventRecorder:
    """Takes events at any time and writes them when it can; whatever goes wrong stays in its counters.

    Args:
        client: Calls to the API server; its pacing dates the events.
        component: Name of the process, as ``source.component``.
        host: Where it runs, as ``source.host``; may be empty.
        queue_length: Events that may wait; further ones are dropped. From half of them on no other call goes first.
    """

    def __init__(self, client: KubeClient, component: str, host: str = "", queue_length: int = _QUEUE_LENGTH) -> None:
        self.counters = EventCounters()
        self._client = client
        self._component = component
        self._host = host
        self._ledger = EventLedger()
        self._queue: deque[_Taken] = deque()
        self._queue_length = queue_length
        self._filled = asyncio.Event()
        self._emptied = asyncio.Event()
        self._emptied.set()
        self._is_draining = False

    @property
    def waiting(self) -> int:
        """How many events are still to be written."""
        return len(self._queue)

    def record(self, draft: EventDraft) -> None:
        """Take an event; never waits, never raises."""
        if len(self._queue) >= self._queue_length:
            self.counters.dropped += 1
            return
        pacing = self._client.pacing
        self._queue.append(_Taken(draft, pacing.now(), pacing.monotonic()))
        self._filled.set()
        self._emptied.clear()

    async def run(self) -> None:
        """Write events as they come, for ever."""
        while True:
            await self._filled.wait()
            while self._queue:
                while (pause := self._pause()) > 0:
                    await self._client.pacing.sleep(pause)
                await self._write(self._queue[0])
                self._queue.popleft()
            self._filled.clear()
            self._emptied.set()

    async def drain(self, seconds: float) -> bool:
        """Wait until every event taken so far is written, none of which lets other calls go first any more.

        Returns:
            Whether that was achieved in time.
        """
        self._is_draining = True
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._emptied.wait()
        return self._emptied.is_set()

    def _pause(self) -> float:
        """Say for how long the first event is to let other calls go first; 0.0 where it may be written."""
        if self._is_draining or len(self._queue) * 2 >= self._queue_length:
            return 0.0
        held = self._client.pacing.monotonic() - self._queue[0].at_seconds
        lull = self._client.lull()
        if lull <= 0 or held >= LONGEST_HOLD_SECONDS:
            return 0.0
        return min(max(lull, _SHORTEST_LOOK_SECONDS), _LONGEST_LOOK_SECONDS)

    async def _write(self, taken: _Taken) -> None:
        draft = taken.draft
        record = self._ledger.enter(draft, taken.at, taken.at_seconds)
        if record is None:
            self.counters.held_back += 1
            return
        try:
            if record.count > 1 and await self._repeat(record):
                self.counters.repeated += 1
            else:
                await self._create(record)
                self.counters.created += 1
        except ApiError:
            self._ledger.forget(draft)
            self.counters.failed += 1

    async def _repeat(self, record: EventRecord) -> bool:
        """Count an event that is there already; says whether it still was."""
        patch = {"count": record.count, "lastTimestamp": record.last_text}
        path = EVENTS.path(record.namespace, record.name)
        try:
            await self._client.patch(path, msgspec.json.encode(patch), PatchType.STRATEGIC_MERGE)
        except ApiError as error:
            if is_missing(error):
                return False
            raise
        return True

    async def _create(self, record: EventRecord) -> None:
        body = msgspec.json.encode(self._body(record))
        await self._client.create(EVENTS.path(record.namespace), body)

    def _body(self, record: EventRecord) -> dict[str, object]:
        involved = record.draft.involved
        subject = {
            "kind": involved.ref.kind,
            "namespace": involved.ref.namespace,
            "name": involved.ref.name,
            "uid": involved.uid,
            "apiVersion": involved.api_version,
            "resourceVersion": involved.resource_version,
            "fieldPath": involved.field_path,
        }
        source = {"component": self._component, "host": self._host}
        return {
            "apiVersion": EVENTS.api_version,
            "kind": EVENTS.kind,
            "metadata": {"name": record.name, "namespace": record.namespace},
            "involvedObject": {name: text for name, text in subject.items() if text},
            "type": record.draft.kind.value,
            "reason": record.draft.reason,
            "message": record.draft.message[:LONGEST_MESSAGE],
            "source": {name: text for name, text in source.items() if text},
            "reportingComponent": self._component,
            "reportingInstance": self._host,
            "firstTimestamp": record.first_text,
            "lastTimestamp": record.last_text,
            "count": record.count,
        }
