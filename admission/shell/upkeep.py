"""What one replica at a time does for all of them: renew the certificates and keep the webhook registered."""

from __future__ import annotations

from collections.abc import Callable

import structlog

from admission.shell.certificates import CertificateInUse, CertificateSource
from admission.shell.handover import Handover
from admission.shell.issuing import CertificateSet
from admission.shell.registration import Registration
from autoscaling.errors import EvenkeelError
from autoscaling.kube.lease import LeaderElection, LeadershipLostError
from autoscaling.kube.pacing import Pacing

ROUND_SECONDS = 30.0
FIRST_LOOKS_SECONDS = 1.0
NEXT_LOOKS_SECONDS = 20.0
"""How often a replica looks for other certificates, before and after it has its first ones."""

log = structlog.get_logger()


class Upkeep:
    """Rounds of the replica that holds the certificate Lease.

    Args:
        source: Where certificates come from.
        in_use: Puts them into force here.
        registration: None where somebody else registers the webhook.
        pacing: Clock and pauses.
        overlaps: Whether one authority overlaps with the next also where others provide both (see ``handover``).
    """

    def __init__(
        self,
        source: CertificateSource,
        in_use: CertificateInUse,
        registration: Registration | None,
        pacing: Pacing,
        *,
        overlaps: bool = False,
    ) -> None:
        self._source = source
        self._in_use = in_use
        self._registration = registration
        self._handover = Handover(in_use, registration, pacing.now) if overlaps else None
        self._pacing = pacing
        self._leads = False

    async def run(self, candidate: Callable[[], LeaderElection]) -> None:
        """Stand for election for ever; a lost leadership costs no request, so the process goes on serving."""
        while True:
            try:
                await candidate().lead(self._lead)
            except LeadershipLostError as error:
                log.warning("certificate Lease lost", error=str(error))

    async def _lead(self) -> None:
        """Do rounds for ever."""
        if self._registration is not None:
            await self._registration.report_others()
        self._leads = True
        try:
            while True:
                await self.round()
                await self._pacing.sleep(ROUND_SECONDS)
        finally:
            self._leads = False

    async def round(self) -> None:
        """Do what is due; what fails is tried again in the next round."""
        try:
            published = None
            if self._registration is not None:
                published = (await self._registration.read()).authorities
            certificates = await self._source.maintain(published)
            if certificates is None or not await self._take(certificates):
                return
            if self._registration is not None:
                await self._registration.ensure(self._bundle(certificates, published or b""))
        except EvenkeelError as error:
            log.error("upkeep of the webhook failed", error=str(error))  # noqa: TRY400 - the message says it all

    async def follow(self) -> None:
        """Put into force what the leader or others provide, for ever; the leader's own rounds do it for itself."""
        while True:
            if not self._leads:
                await self._look()
            await self._pacing.sleep(NEXT_LOOKS_SECONDS if self._in_use.is_there else FIRST_LOOKS_SECONDS)

    async def _look(self) -> None:
        """Put into force what is there."""
        try:
            certificates = await self._source.load()
            if certificates is not None:
                await self._take(certificates)
        except EvenkeelError as error:
            self._in_use.stay(error)

    async def _take(self, certificates: CertificateSet) -> bool:
        """Put certificates into force, at once or when it is time; says whether they can be used."""
        return self._in_use.use(certificates) if self._handover is None else await self._handover.take(certificates)

    def _bundle(self, certificates: CertificateSet, registered: bytes) -> bytes:
        """Return the authorities to publish."""
        wanted = certificates.authorities
        return wanted if self._handover is None else self._handover.bundle(certificates, registered)
