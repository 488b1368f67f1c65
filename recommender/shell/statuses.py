"""Writing the statuses of VPAs (spec: recommender:5)."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable
from typing import TypeVar

import structlog

from autoscaling.errors import ApiError
from autoscaling.kube.calls import PatchType
from autoscaling.kube.client import KubeClient
from autoscaling.kube.paths import Resource
from autoscaling.vpa import Vpa
from recommender.status import VpaStatus
from recommender.wire.status_patches import status_patch

T = TypeVar("T")

log = structlog.get_logger()


class StatusWriter:
    """Writes statuses, several at a time; a failure is logged and tried again in the next round.

    Args:
        client: Calls to the API server.
        resource: Where the VPAs are.
        workers: How many at a time.
    """

    def __init__(self, client: KubeClient, resource: Resource, workers: int) -> None:
        self._client = client
        self._resource = resource
        self._workers = workers

    async def write(self, statuses: Iterable[tuple[Vpa, VpaStatus]]) -> int:
        """Write statuses and return how many were accepted."""
        accepted = await at_most(self._workers, self._write_one, statuses)
        return sum(accepted)

    async def _write_one(self, entry: tuple[Vpa, VpaStatus]) -> bool:
        vpa, status = entry
        path = self._resource.path(vpa.namespace, vpa.name, "status")
        try:
            await self._client.patch(path, status_patch(status), PatchType.JSON)
        except ApiError as error:
            log.warning("status not written", object=str(vpa.ref), error=str(error))
            return False
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
