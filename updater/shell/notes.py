"""Annotations on pods whose resize was accepted, written once no resize waits for a call any more (updater X-5).

What is written is fixed when the resize is accepted. A note that a round has no time for is owed still in the next one,
whose decisions take it for written; and what a process leaves behind unwritten does no harm: how long a resize has been
waited for the API server tells as well (beyond:B-20).
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace

import msgspec
import structlog

from autoscaling.errors import ApiError, ApiRefusedError
from autoscaling.kube.calls import PatchType
from autoscaling.kube.client import KubeClient
from autoscaling.kube.paths import PODS
from autoscaling.kube.refusals import is_missing
from autoscaling.objectref import ObjectRef
from autoscaling.pod import Pod

log = structlog.get_logger()


@dataclass(frozen=True, slots=True)
class Note:
    """What is to stand on a pod.

    Args:
        pod: Its name.
        uid: Its UID; whatever has its name by then is another pod, and left alone.
        annotations: Texts by key. The pod keeps all others, those among them that it gets in the meantime.
    """

    pod: ObjectRef
    uid: str
    annotations: Mapping[str, str]


@dataclass(slots=True)
class Notes:
    """The notes that one updater owes.

    Args:
        client: Calls to the API server.
    """

    client: KubeClient
    _owed: dict[str, Note] = field(default_factory=dict)
    _is_closed: bool = False

    def owe(self, note: Note) -> None:
        """Take a note that is to be written; of two on one pod the later one counts where they differ."""
        if self._is_closed:
            return
        earlier = self._owed.pop(note.uid, None)
        if earlier is not None:
            note = replace(note, annotations={**earlier.annotations, **note.annotations})
        self._owed[note.uid] = note

    def shown_on(self, pods: tuple[Pod, ...]) -> tuple[Pod, ...]:
        """Return pods as they are once everything is written, so that nothing is decided as if it never were."""
        return tuple(self._shown_on(pod) for pod in pods) if self._owed else pods

    async def write(self, at_once: int) -> None:
        """Write what is owed, so many at a time; what is not answered, or cut off, stays owed."""
        waiting = iter(tuple(self._owed.values()))
        async with asyncio.TaskGroup() as writers:
            for _ in range(min(at_once, len(self._owed))):
                writers.create_task(self._write_all(waiting))

    def close(self) -> None:
        """Write nothing from now on: who leads next may have written newer notes."""
        if self._owed:
            log.warning("annotations left out", pods=len(self._owed))
        self._owed.clear()
        self._is_closed = True

    def _shown_on(self, pod: Pod) -> Pod:
        note = self._owed.get(pod.uid)
        return pod if note is None else replace(pod, annotations={**(pod.annotations or {}), **note.annotations})

    async def _write_all(self, waiting: Iterator[Note]) -> None:
        for note in waiting:
            # By its turn nothing may be written any more, or something else on that pod.
            if self._owed.get(note.uid) is note:
                await self._write(note)

    async def _write(self, note: Note) -> None:
        """Write a note; it is settled once it is answered, be it by a refusal."""
        body = {"metadata": {"uid": note.uid, "annotations": note.annotations}}
        path = PODS.path(note.pod.namespace, note.pod.name)
        try:
            await self.client.patch(path, msgspec.json.encode(body), PatchType.MERGE)
        except ApiError as error:
            level = log.debug if is_missing(error) else log.warning
            level("annotation not written", pod=str(note.pod), error=str(error))
            if not isinstance(error, ApiRefusedError):
                return
        if self._owed.get(note.uid) is note:
            del self._owed[note.uid]
