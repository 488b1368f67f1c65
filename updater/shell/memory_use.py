"""What containers use of memory, asked for at most once in a round."""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Iterable, Mapping
from datetime import timedelta
from typing import Final

import structlog

from autoscaling.errors import ApiError, InvalidObjectError
from autoscaling.kube.client import KubeClient
from autoscaling.kube.paths import POD_METRICS
from autoscaling.kube.refusals import is_missing
from autoscaling.kube.retry import ONE_TRY
from autoscaling.objectref import ObjectRef
from autoscaling.runtime.collector import collector_paused
from autoscaling.vpa import UpdateMode, Vpa
from updater.surroundings import MemoryUse
from updater.wire.memory_use import MemoryPage, decode_memory

Uses = Mapping[ObjectRef, Mapping[str, MemoryUse]]

_IN_PLACE: Final = frozenset({UpdateMode.IN_PLACE, UpdateMode.IN_PLACE_OR_RECREATE})
_SHARE: Final = 6
"""The answer may take one such part of a round, so that most of the round is left for its changes."""

log = structlog.get_logger()


class MemoryReader:
    """Asks the metrics API; a change for the worse is logged once, and so is one for the better.

    Args:
        client: Calls to the API server.
        namespace: Only this one; empty for all.
        period: Time between two rounds.
    """

    def __init__(self, client: KubeClient, namespace: str, period: timedelta) -> None:
        self._client = client
        self._namespace = namespace
        self._seconds = period.total_seconds() / _SHARE
        self._has_failed = False
        self._unreadable: frozenset[ObjectRef] = frozenset()

    async def read(self, vpas: Iterable[Vpa]) -> Uses | None:
        """Return the use of the pods in all namespaces that have a VPA which resizes in place.

        Args:
            vpas: All of them; without one that resizes nothing is asked for.

        Returns:
            None where it cannot be told; empty where nobody needs it.

        Spec: beyond:B-22.
        """
        namespaces = frozenset(vpa.namespace for vpa in vpas if vpa.update_mode in _IN_PLACE)
        if not namespaces:
            return {}
        try:
            async with asyncio.timeout(self._seconds):
                uses = await self._all(namespaces)
        except (ApiError, InvalidObjectError) as error:
            is_absent = isinstance(error, ApiError) and is_missing(error)
            remedy = "install metrics-server, or look at the APIService v1beta1.metrics.k8s.io" if is_absent else ""
            self._failed(str(error), remedy)
            return None
        except TimeoutError:
            self._failed(f"no answer within {self._seconds:g} s", "look at the metrics server's load")
            return None
        if self._has_failed:
            log.info("memory use known again")
        self._has_failed = False
        return uses

    async def _all(self, namespaces: Collection[str]) -> Uses:
        """Ask for all parts; metrics-server answers everything in one."""
        page = await self._page("", namespaces)
        uses, unreadable = dict(page.uses), list(page.unreadable)
        while page.continue_token:
            page = await self._page(page.continue_token, namespaces)
            uses |= page.uses
            unreadable += page.unreadable
        for error in unreadable:
            if error.ref not in self._unreadable:
                log.warning("object left out", object=str(error.ref), error=str(error))
        self._unreadable = frozenset(error.ref for error in unreadable)
        return uses

    async def _page(self, token: str, namespaces: Collection[str]) -> MemoryPage:
        path = POD_METRICS.path(self._namespace)
        raw = await self._client.get(path, {"continue": token} if token else {}, ONE_TRY)
        with collector_paused():
            return decode_memory(raw, namespaces)

    def _failed(self, error: str, remedy: str) -> None:
        if not self._has_failed:
            log.warning("memory use not known", error=error, remedy=remedy)
        self._has_failed = True
