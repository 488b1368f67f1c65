"""The Lease by which the updater knows that new pods get their resources: renewed only while that is proven."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

import structlog

from admission.shell.measures import AdmissionMeasures
from admission.shell.registration import Registration
from autoscaling.errors import ApiError
from autoscaling.kube.liveness import HeartBeat

Proof = Callable[[], Awaitable[str]]
"""Returns why pods would not be patched now, empty where they would."""

Handshake = Callable[[bytes], Awaitable[str]]
"""Tries a handshake that trusts some authorities; returns what went wrong, empty where nothing did."""

log = structlog.get_logger()


class StatusLease:
    """One beat after the other, as long as the webhook works (spec: admission:9, beyond:B-25, case:36).

    Args:
        heart_beat: Writes the Lease.
        proof: Tells whether the webhook works.
        measures: Own metrics.
    """

    def __init__(self, heart_beat: HeartBeat, proof: Proof, measures: AdmissionMeasures) -> None:
        self._heart_beat = heart_beat
        self._proof = proof
        self._measures = measures
        self._problem = ""

    async def round(self) -> None:
        """Prove that the webhook works, then renew the Lease; a Lease that nobody renews stops the updater."""
        problem = await self._proof()
        self._measures.proven.set(0 if problem else 1)
        if problem != self._problem:
            self._problem = problem
            if problem:
                log.warning("webhook not proven, status Lease not renewed", problem=problem)
            else:
                log.info("webhook proven, status Lease renewed again")
        if problem:
            return
        try:
            await self._heart_beat.beat()
        except ApiError as error:
            log.warning("status Lease not renewed", error=str(error))


class WebhookProof:
    """Whether the API server's calls reach this process and would be believed.

    Args:
        is_ready: Whether caches and certificate are there.
        registration: What callers go by; None where this process does not register.
        handshake: Calls the webhook, wherever it listens.
        authorities: PEM text of the authorities that callers trust where nobody can read what they go by.
    """

    def __init__(
        self,
        is_ready: Callable[[], bool],
        registration: Registration | None,
        handshake: Handshake,
        authorities: Callable[[], bytes],
    ) -> None:
        self._is_ready = is_ready
        self._registration = registration
        self._handshake = handshake
        self._authorities = authorities

    async def __call__(self) -> str:
        """Return why pods would not be patched now, empty where they would."""
        if not self._is_ready():
            return "caches or certificate are not there yet"
        trusted = self._authorities()
        if self._registration is not None:
            try:
                registered = await self._registration.read()
            except ApiError as error:
                return f"registration cannot be read: {error}"
            if not registered.reaches_us:
                return "the webhook is not registered, or as somebody else's"
            trusted = registered.authorities
        return await self._handshake(trusted)
