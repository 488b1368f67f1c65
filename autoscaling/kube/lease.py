"""Leader election on a Lease: one of several processes works, the others stand by."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import replace
from uuid import UUID

from autoscaling.errors import ApiError, ConfigurationError, EvenkeelError
from autoscaling.kube.client import KubeClient
from autoscaling.kube.election import (
    JITTER,
    ElectionSettings,
    Sighting,
    Step,
    is_overdue,
    next_step,
    released,
    state_after,
)
from autoscaling.kube.lease_object import LeaseFile, StoredLease
from autoscaling.kube.pacing import Pacing
from autoscaling.kube.refusals import is_conflict
from autoscaling.kube.retry import ONE_TRY, Patience

_PATIENCE = replace(ONE_TRY, is_unlimited=True)
_RELEASE_SECONDS = 5.0
_SHORTEST_TRY_SECONDS = 0.5


class LeadershipLostError(EvenkeelError):
    """This process no longer leads; it must end, so that nothing it remembers is acted on."""


def own_identity(pacing: Pacing) -> str:
    """Host name and a part thrown with the process's dice: no two processes share it, not even on one host."""
    thrown = b"".join(int(pacing.random() * 2**32).to_bytes(4, "big") for _ in range(4))
    return f"{socket.gethostname()}_{UUID(bytes=thrown, version=4)}"


class LeaderElection:
    """One candidate for one Lease.

    Args:
        client: Calls to the API server.
        settings: Lease, identity and times.
        pacing: Clock and pauses.
        on_trouble: Told of every failed call while waiting or leading.

    Raises:
        ConfigurationError: Times that cannot work together.

    Spec: updater M-3, recommender 6.1.
    """

    def __init__(
        self,
        client: KubeClient,
        settings: ElectionSettings,
        pacing: Pacing,
        on_trouble: Callable[[ApiError], None] | None = None,
    ) -> None:
        if problem := settings.problem():
            raise ConfigurationError(
                f"leader election on Lease {settings.namespace}/{settings.name}: {problem}; "
                "correct the --leader-elect flags"
            )
        self._file = LeaseFile(client, settings.namespace, settings.name)
        self._settings = settings
        self._pacing = pacing
        self._on_trouble = on_trouble
        self._stored: StoredLease | None = None
        self._must_look = True
        self._is_beaten = False
        self._sighting = Sighting(None, pacing.monotonic())
        self._renewed_seconds = 0.0
        self._is_leader = False
        self._writing = asyncio.Lock()

    @property
    def is_leader(self) -> bool:
        """Whether this process leads right now."""
        return self._is_leader

    @property
    def holder(self) -> str:
        """Who was last seen leading; empty when nobody was."""
        return self._sighting.state.holder if self._sighting.state else ""

    async def lead(self, work: Callable[[], Awaitable[None]]) -> None:
        """Wait for the Lease, work while holding it, and give it back.

        Args:
            work: What only a leader does; cancelled when the Lease is lost.

        Raises:
            LeadershipLostError: The Lease was lost while ``work`` ran.
        """
        await self.acquire()
        worker = asyncio.ensure_future(work())
        keeper = asyncio.create_task(self.hold(), name=f"renew Lease {self._settings.name}")
        try:
            await asyncio.wait({worker, keeper}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            # The work ends before the Lease is given back: two leaders must never overlap.
            await _end(worker)
            await _end(keeper)
            await self.release()
        if not keeper.cancelled():
            keeper.result()
        if not worker.cancelled():
            worker.result()

    async def acquire(self) -> None:
        """Wait until this process leads; ``hold`` must follow at once."""
        while not await self._try_step(self._settings.renew_seconds):
            await self._pacing.sleep(self._settings.retry_seconds * (1.0 + JITTER * self._pacing.random()))
        self._is_leader = True

    async def hold(self) -> None:
        """Renew the Lease until ``release``.

        Raises:
            LeadershipLostError: Renewing failed for too long, or someone else holds the Lease.
        """
        while True:
            await self._pacing.sleep(self._settings.retry_seconds)
            async with self._writing:
                # Giving the Lease back may have overtaken us: taking it again then would block the next leader.
                if not self._is_leader:
                    return
                if not await self._try_step(self._seconds_left()) and self._is_beaten:
                    # Somebody wrote the Lease: who, is not left open until the next look.
                    await self._try_step(self._seconds_left())
            if self.holder not in {"", self._settings.identity}:
                self._lose(f"{self.holder} holds it now")
            if is_overdue(self._renewed_seconds, self._settings, self._pacing.monotonic()):
                self._lose(f"it could not be renewed for {self._settings.renew_seconds:g} s")

    async def release(self) -> None:
        """Give the Lease back, if we hold it; if that fails, it runs out by itself."""
        if not self._is_leader:
            return
        self._is_leader = False
        patience = replace(_PATIENCE, attempt_seconds=_RELEASE_SECONDS)
        async with self._writing:
            with suppress(ApiError):
                stored = await self._file.read(patience)
                if stored is not None and stored.state.holder == self._settings.identity:
                    await self._file.replace(stored, released(stored.state, self._pacing.now()), patience)

    def _seconds_left(self) -> float:
        """Return how long a try to renew may take."""
        left = self._renewed_seconds + self._settings.renew_seconds - self._pacing.monotonic()
        return max(left, _SHORTEST_TRY_SECONDS)

    def _lose(self, reason: str) -> None:
        self._is_leader = False
        raise LeadershipLostError(
            f"Lease {self._settings.namespace}/{self._settings.name}: "
            f"no longer held by {self._settings.identity}: {reason}; "
            "this process ends and starts again as a candidate"
        )

    async def _try_step(self, seconds: float) -> bool:
        """Take or renew the Lease, once.

        Args:
            seconds: Deadline of each call.

        Returns:
            Whether we hold it now.
        """
        self._is_beaten = False
        patience = replace(_PATIENCE, attempt_seconds=seconds)
        try:
            return await self._step(patience)
        except ApiError as error:
            self._must_look, self._is_beaten = True, is_conflict(error)
            if self._is_beaten:
                return False
            if self._on_trouble is not None:
                self._on_trouble(error)
            return False

    async def _step(self, patience: Patience) -> bool:
        if self._must_look or not self._is_leader:
            self._see(await self._file.read(patience))
        step = next_step(self._sighting, self._settings.identity, self._pacing.monotonic())
        if step is Step.WAIT:
            return False
        started = self._pacing.monotonic()
        state = state_after(step, self._sighting.state, self._settings, self._pacing.now())
        if self._stored is None:
            self._see(await self._file.create(state, patience))
        else:
            self._see(await self._file.replace(self._stored, state, patience))
        # The server's copy is at least as young as the moment the call left.
        self._renewed_seconds = started
        return True

    def _see(self, stored: StoredLease | None) -> None:
        self._stored = stored
        self._must_look = False
        self._sighting = self._sighting.after(stored.state if stored else None, self._pacing.monotonic())


async def _end(task: asyncio.Future[None]) -> None:
    task.cancel()
    await asyncio.wait((task,))
