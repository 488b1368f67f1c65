"""Writing the statuses of VPAs (spec: recommender:5)."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from datetime import timedelta
from types import MappingProxyType

import structlog

from autoscaling.errors import ApiError
from autoscaling.kube.calls import PatchType
from autoscaling.kube.client import KubeClient
from autoscaling.kube.paths import Resource
from autoscaling.vpa import Vpa
from recommender.due_statuses import DueStatuses
from recommender.status import VpaStatus
from recommender.wire.status_patches import (
    Latest,
    StatusFrame,
    due_patches,
    status_frame,
    status_patch,
    with_latest,
)

_Patch = tuple[Vpa, str, bytes]
"""A VPA as observed, the path of its status, and what is written there."""

log = structlog.get_logger()


class StatusWriter:
    """Writes statuses, several at a time; a failure is logged and tried again in the next round.

    Args:
        client: Calls to the API server.
        resource: Where the VPAs are.
        workers: How many at a time.
        latest: Tells what others write, so that it is kept; it follows every change.
    """

    def __init__(
        self,
        client: KubeClient,
        resource: Resource,
        workers: int,
        latest: Latest = MappingProxyType({}),
    ) -> None:
        self._client = client
        self._resource = resource
        self._workers = workers
        self._latest = latest

    def frame(self, vpa: Vpa) -> StatusFrame:
        """Return what stands around the recommendation in patches of a VPA's status."""
        return status_frame(self._path(vpa), vpa)

    def _path(self, vpa: Vpa) -> str:
        return self._resource.path(vpa.namespace, vpa.name, "status")

    async def write(
        self, statuses: Iterable[tuple[Vpa, VpaStatus]], budget: timedelta | None = None
    ) -> tuple[Vpa, ...]:
        """Write statuses.

        Args:
            statuses: With the VPAs as observed, in the order in which they are written.
            budget: Time after which no further write is begun; None for none. As many as there are workers are always
                written.

        Returns:
            The VPAs whose statuses were accepted.
        """
        patches = ((vpa, self._path(vpa), status_patch(self._with_latest(status, vpa))) for vpa, status in statuses)
        return await self._write(patches, budget)

    def _with_latest(self, status: VpaStatus, vpa: Vpa) -> VpaStatus:
        return replace(status, conditions=with_latest(status.conditions, vpa, self._latest))

    async def write_due(
        self, due: DueStatuses, frames: Sequence[StatusFrame], budget: timedelta | None = None
    ) -> tuple[Vpa, ...]:
        """Write the statuses of a round, as ``write`` does.

        Args:
            due: What to write.
            frames: Of each VPA of the round.
            budget: Time for it.
        """
        return await self._write(due_patches(due, frames, self._latest), budget)

    async def _write(self, patches: Iterable[_Patch], budget: timedelta | None) -> tuple[Vpa, ...]:
        accepted: list[Vpa] = []
        # Asked for once: of ten thousand lines that nobody reads the texts would take a tenth of the time.
        is_told = log.is_enabled_for(logging.DEBUG)
        send, waiting = self._client.patch, iter(patches)
        if budget is not None:
            waiting = self._in_time(waiting, self._client.pacing.monotonic() + budget.total_seconds())

        async def worker() -> None:
            for vpa, path, body in waiting:
                try:
                    await send(path, body, PatchType.JSON)
                except ApiError as error:
                    log.warning("status not written", object=str(vpa.ref), error=str(error))
                    continue
                accepted.append(vpa)
                if is_told:
                    log.debug("status written", object=str(vpa.ref))

        await asyncio.gather(*(worker() for _ in range(self._workers)))
        return tuple(accepted)

    def _in_time(self, patches: Iterable[_Patch], deadline: float) -> Iterator[_Patch]:
        """Yield patches until the time is used up, but one for each worker in any case."""
        for place, patch in enumerate(patches):
            if place >= self._workers and self._client.pacing.monotonic() >= deadline:
                return
            yield patch
