"""Writing the statuses of VPAs (spec: recommender:5)."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Iterable, Iterator
from datetime import timedelta
from typing import TypeVar

import structlog

from autoscaling.errors import ApiError
from autoscaling.kube.calls import PatchType
from autoscaling.kube.client import KubeClient
from autoscaling.kube.paths import Resource
from autoscaling.kube.table import Key
from autoscaling.vpa import Vpa
from recommender.status import VpaStatus, with_others_conditions
from recommender.wire.status_patches import status_patch

T = TypeVar("T")

log = structlog.get_logger()


class StatusWriter:
    """Writes statuses, several at a time; a failure is logged and tried again in the next round.

    Args:
        client: Calls to the API server.
        resource: Where the VPAs are.
        workers: How many at a time.
        latest: Returns a VPA as it is now, by namespace and name, so that what others write is kept; None where nobody
            else writes.
    """

    def __init__(
        self,
        client: KubeClient,
        resource: Resource,
        workers: int,
        latest: Callable[[Key], Vpa | None] | None = None,
    ) -> None:
        self._client = client
        self._resource = resource
        self._workers = workers
        self._latest = latest

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
        accepted: list[Vpa] = []
        # Asked for once: of ten thousand lines that nobody reads the texts would take a tenth of the time.
        is_told = log.is_enabled_for(logging.DEBUG)
        deadline = None if budget is None else self._client.pacing.monotonic() + budget.total_seconds()

        async def write_one(entry: tuple[Vpa, VpaStatus]) -> bool:
            is_written = await self._write_one(entry, is_told=is_told)
            if is_written:
                accepted.append(entry[0])
            return is_written

        await at_most(self._workers, write_one, self._in_time(statuses, deadline))
        return tuple(accepted)

    def _in_time(
        self, statuses: Iterable[tuple[Vpa, VpaStatus]], deadline: float | None
    ) -> Iterator[tuple[Vpa, VpaStatus]]:
        """Yield statuses until the time is used up."""
        for place, entry in enumerate(statuses):
            if deadline is not None and place >= self._workers and self._client.pacing.monotonic() >= deadline:
                return
            yield entry

    async def _write_one(self, entry: tuple[Vpa, VpaStatus], *, is_told: bool) -> bool:
        """Write one status; where that is told, its log line is worth its text."""
        vpa, status = entry
        latest = self._latest((vpa.namespace, vpa.name)) if self._latest is not None else None
        if latest is not None:
            status = with_others_conditions(status, vpa, latest)
        path = self._resource.path(vpa.namespace, vpa.name, "status")
        try:
            await self._client.patch(path, status_patch(status), PatchType.JSON)
        except ApiError as error:
            log.warning("status not written", object=str(vpa.ref), error=str(error))
            return False
        if is_told:
            log.debug("status written", object=str(vpa.ref))
        return True


async def at_most(limit: int, work: Callable[[T], Awaitable[bool]], items: Iterable[T]) -> list[bool]:
    """Do work on items, so many at a time, and return the results in the order in which the work began."""
    waiting = iter(items)
    results: list[bool] = []

    async def worker() -> None:
        for item in waiting:
            results.append(await work(item))  # noqa: PERF401 the workers share one iterator, each step of it awaited

    await asyncio.gather(*(worker() for _ in range(limit)))
    return results
