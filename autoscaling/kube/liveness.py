"""The Lease by which admission shows that it lives, and the updater's look at it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from enum import Enum

from autoscaling.errors import ApiError, ApiUnreachableError
from autoscaling.kube.client import KubeClient
from autoscaling.kube.election import LeaseState
from autoscaling.kube.lease_object import LeaseFile
from autoscaling.kube.pacing import Pacing
from autoscaling.kube.refusals import is_conflict
from autoscaling.kube.retry import Patience

LIVENESS_PATIENCE = Patience(attempts=3, first_seconds=0.1, factor=3.0, jitter=0.0, attempt_seconds=10.0)
_BEAT_PATIENCE = replace(LIVENESS_PATIENCE, is_unlimited=True)


@dataclass(frozen=True, slots=True)
class HeartBeatSettings:
    """The Lease that says "admission lives".

    Args:
        namespace: Of the Lease.
        name: Of the Lease.
        holder: Written as its holder: the host name.
        interval_seconds: Time between two beats, before the first one too, and the deadline of each.

    Spec: admission section 9.
    """

    namespace: str
    name: str
    holder: str
    interval_seconds: float = 10.0


class Beat(Enum):
    """How one beat came out; each of them counts as success."""

    CREATED = "created"
    RENEWED = "renewed"
    SHARED = "shared"


class HeartBeat:
    """Renews the liveness Lease; several replicas may do so at once.

    Args:
        client: Calls to the API server.
        settings: Lease and interval.
        pacing: Clock and pauses.
        on_failure: Told of every beat that failed; the next one comes all the same.
    """

    def __init__(
        self,
        client: KubeClient,
        settings: HeartBeatSettings,
        pacing: Pacing,
        on_failure: Callable[[ApiError], None] | None = None,
    ) -> None:
        self._file = LeaseFile(client, settings.namespace, settings.name)
        self._settings = settings
        self._pacing = pacing
        self._on_failure = on_failure

    async def run(self) -> None:
        """Beat for ever, the first time after one interval."""
        while True:
            await self._pacing.sleep(self._settings.interval_seconds)
            try:
                await self.beat()
            except ApiError as error:
                if self._on_failure is not None:
                    self._on_failure(error)

    async def beat(self) -> Beat:
        """Create or renew the Lease.

        Raises:
            ApiError: Neither worked within one interval.
        """
        try:
            async with asyncio.timeout(self._settings.interval_seconds):
                return await self._write()
        except TimeoutError as error:
            raise ApiUnreachableError(
                f"Lease {self._settings.namespace}/{self._settings.name}: "
                f"not renewed within {self._settings.interval_seconds:g} s; "
                "nothing to do if it passes, else look at the API server's load"
            ) from error
        except ApiError as error:
            # Another replica was quicker: the Lease is as fresh as we wanted it.
            if is_conflict(error):
                return Beat.SHARED
            raise

    async def _write(self) -> Beat:
        stored = await self._file.read(_BEAT_PATIENCE)
        if stored is None:
            # The API refuses a duration of zero, so an interval below a second is rounded up.
            seconds = max(int(self._settings.interval_seconds), 1)
            await self._file.create(LeaseState(self._settings.holder, seconds), _BEAT_PATIENCE)
            return Beat.CREATED
        state = replace(stored.state, holder=self._settings.holder, renewed=self._pacing.now())
        await self._file.replace(stored, state, _BEAT_PATIENCE)
        return Beat.RENEWED


class Verdict(Enum):
    """Whether admission lives; anything but VALID forbids evictions, and resizes too as upstream has it."""

    VALID = "valid"
    INVALID = "invalid"
    ERROR = "error"


@dataclass(frozen=True, slots=True)
class Liveness:
    """What a look at the liveness Lease told.

    Args:
        verdict: See ``Verdict``.
        detail: Why, for the log; empty when valid.
    """

    verdict: Verdict
    detail: str = ""


@dataclass(frozen=True, slots=True)
class LivenessSettings:
    """Which Lease to look at, and how old it may be.

    Spec: updater M-7.
    """

    namespace: str
    name: str
    timeout_seconds: float = 60.0


def is_fresh(created: datetime | None, renewed: datetime | None, timeout: timedelta, now: datetime) -> bool:
    """Say whether a Lease was created or renewed less than ``timeout`` ago.

    Spec: updater M-7.
    """
    return any(time is not None and time + timeout > now for time in (created, renewed))


async def read_liveness(client: KubeClient, settings: LivenessSettings, pacing: Pacing) -> Liveness:
    """Look at the liveness Lease, with the few retries that passing trouble deserves.

    Spec: updater M-7.
    """
    title = f"Lease {settings.namespace}/{settings.name}"
    try:
        stored = await LeaseFile(client, settings.namespace, settings.name).read(LIVENESS_PATIENCE)
    except ApiError as error:
        return Liveness(Verdict.ERROR, str(error))
    if stored is None:
        return Liveness(
            Verdict.ERROR, f"{title} does not exist; start the admission controller, or switch the check off"
        )
    timeout, now = timedelta(seconds=settings.timeout_seconds), pacing.now()
    if is_fresh(stored.created, stored.state.renewed, timeout, now):
        return Liveness(Verdict.VALID)
    last = stored.state.renewed or stored.created
    return Liveness(Verdict.INVALID, f"{title} was last renewed {last}; look at the admission controller's log")
