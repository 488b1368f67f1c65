"""From one certificate to the next without a failed handshake, also where whoever makes them leaves no overlap.

Certificates that are made here come in steps that overlap (see ``admission.certificate_plan``). Those that somebody
else provides may change together with their authority, all at once and in each replica at another time. So the new
authority is published beside the old one first, the new certificate is shown once callers had time to learn of it, and
the old authority stays published for as long as some replica may still show what it signed.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta

from admission.certificate_plan import PUBLICATION
from admission.shell.certificates import CertificateInUse
from admission.shell.issuing import CertificateSet, certificates_in, is_own_authority, pem_of, vouch
from admission.shell.registration import Registration

OVERLAP = timedelta(hours=1)
"""Time that an authority stays published once nothing that is provided needs it."""


class Handover:
    """Decides when certificates are shown, and what is published along with their authorities.

    Args:
        in_use: Puts certificates into force.
        registration: What callers go by; None where nobody here can tell, and then nothing is waited for.
        clock: Tells the time.
    """

    def __init__(
        self, in_use: CertificateInUse, registration: Registration | None, clock: Callable[[], datetime]
    ) -> None:
        self._in_use = in_use
        self._registration = registration
        self._clock = clock
        self._believed: tuple[bytes, datetime] | None = None
        self._left_over: dict[bytes, datetime] = {}

    async def take(self, certificates: CertificateSet) -> bool:
        """Show certificates, or leave that for a later look at them.

        Returns:
            Whether they can be shown at all; where not, their authorities are not to be published either.

        Raises:
            ApiError: It could not be read whom callers trust.
        """
        if not self._in_use.accepts(certificates):
            return False
        if await self._is_time(certificates):
            self._in_use.use(certificates)
        return True

    async def _is_time(self, certificates: CertificateSet) -> bool:
        """Say whether callers believe certificates, as far as anybody can tell."""
        shown, now = self._in_use.certificates, self._clock()
        if shown is None or shown.serving == certificates.serving or self._registration is None:
            return True
        if vouch(shown.authorities, certificates.serving) or not vouch(certificates.authorities, certificates.serving):
            return True
        if any(leaf.not_valid_after_utc <= now for leaf in certificates_in(shown.serving)[:1]):
            return True
        if not vouch((await self._registration.read()).authorities, certificates.serving):
            self._believed = None
            return False
        if self._believed is None or self._believed[0] != certificates.serving:
            self._believed = (certificates.serving, now)
        return now - self._believed[1] >= PUBLICATION

    def bundle(self, certificates: CertificateSet, registered: bytes) -> bytes:
        """Return the authorities to publish: those that are provided, then any others that are still needed.

        Args:
            certificates: What is provided.
            registered: PEM text of the authorities that are published now.

        Returns:
            PEM text; that of ``certificates`` to the byte where no other authority is needed.
        """
        wanted = [pem_of(authority) for authority in certificates_in(certificates.authorities)]
        if not wanted:
            return certificates.authorities
        shown = self._in_use.certificates
        kept = self._still_needed(registered, wanted) if not is_own_authority(certificates.authorities) else []
        if shown is not None and shown.serving != certificates.serving:
            kept = [*(pem_of(authority) for authority in certificates_in(shown.authorities)), *kept]
        more = [pem for pem in dict.fromkeys(kept) if pem not in wanted]
        return certificates.authorities.rstrip(b"\n") + b"\n" + b"".join(more) if more else certificates.authorities

    def _still_needed(self, registered: bytes, wanted: list[bytes]) -> list[bytes]:
        """Return the published authorities that were wanted until a while ago and are still valid."""
        now = self._clock()
        valid = [pem_of(one) for one in certificates_in(registered) if one.not_valid_after_utc > now]
        left_over = [pem for pem in valid if pem not in wanted]
        self._left_over = {pem: self._left_over.get(pem, now) for pem in left_over}
        return [pem for pem, since in self._left_over.items() if now - since < OVERLAP]
