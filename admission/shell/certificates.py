"""The webhook's certificates over time: made and renewed in a Secret, or read from files that somebody provides."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from functools import partial
from typing import Protocol

import structlog
from cryptography import x509

from admission.certificate_plan import PUBLICATION, Step, Surroundings, next_step
from admission.shell.certificate_store import CertificateFiles, CertificateSecret, Standing, StoredCertificates
from admission.shell.issuing import (
    CertificateSet,
    carry_out,
    certificates_in,
    facts_of,
    is_own_authority,
)
from admission.shell.measures import AdmissionMeasures
from admission.shell.tls import ServingContext
from autoscaling.errors import ConfigurationError, EvenkeelError

_STEPS_AT_ONCE = 4

Clock = Callable[[], datetime]

log = structlog.get_logger()


class CertificateSource(Protocol):
    """Where the certificates come from."""

    async def load(self) -> CertificateSet | None:
        """Return what is to be served now, None where there is nothing yet.

        Raises:
            EvenkeelError: It cannot be read.
        """
        ...

    async def maintain(self, published: bytes | None) -> CertificateSet | None:
        """See to it that there are certificates and that none runs out; one replica at a time does this.

        Args:
            published: PEM text of the authorities that callers trust now; None where nobody can tell.

        Raises:
            EvenkeelError: They cannot be read or stored.
        """
        ...


class OwnCertificates:
    """Certificates that are made here and shared by the replicas through a Secret.

    Args:
        secret: The Secret.
        names: Host names and addresses that the webhook is called by.
        clock: Tells the time.
        measures: Own metrics.
    """

    def __init__(
        self, secret: CertificateSecret, names: frozenset[str], clock: Clock, measures: AdmissionMeasures
    ) -> None:
        self._secret = secret
        self._names = names
        self._clock = clock
        self._measures = measures
        self._seen: tuple[x509.Certificate, datetime] | None = None

    async def load(self) -> CertificateSet | None:
        """Return what lies in the Secret."""
        return _servable((await self._secret.read()).certificates)

    async def maintain(self, published: bytes | None) -> CertificateSet | None:
        """Take every step that is due, each stored before the next; stops where another replica is quicker."""
        stored = await self._secret.read()
        for _ in range(_STEPS_AT_ONCE):
            step = self._due(stored, published)
            if step is Step.KEEP:
                break
            certificates = carry_out(step, stored.certificates, self._names, self._clock())
            if not await self._secret.write(certificates, stored.resource_version):
                log.info("certificates changed meanwhile", object=str(self._secret.ref))
                return None
            self._measures.certificate_step.labels(step.value).inc()
            log.info("certificates changed", object=str(self._secret.ref), step=step.value)
            stored = await self._secret.read()
        return _servable(stored.certificates)

    def _due(self, stored: StoredCertificates, published: bytes | None) -> Step:
        """Return what is to be done about stored certificates; nothing where they are somebody else's."""
        if stored.standing is Standing.FOREIGN:
            return Step.KEEP
        around = Surroundings(self._names, self._is_published(stored.certificates, published), self._clock())
        return next_step(facts_of(stored.certificates), around)

    def _is_published(self, certificates: CertificateSet, published: bytes | None) -> bool:
        """Say whether callers had time to learn of the newest authority; where nobody can tell, they are taken to.

        The time counts from when it was first seen published, which may be long after it was made.
        """
        if published is None:
            return True
        newest, now = certificates_in(certificates.authorities)[:1], self._clock()
        if not newest or newest[0] not in certificates_in(published):
            self._seen = None
            return False
        if self._seen is None or self._seen[0] != newest[0]:
            self._seen = (newest[0], now)
        return now - self._seen[1] >= PUBLICATION


class ProvidedCertificates:
    """Certificates in files that somebody else provides and renews.

    Args:
        files: The files.
        follows_changes: Whether they are read again (``--reload-cert``).
    """

    def __init__(self, files: CertificateFiles, *, follows_changes: bool) -> None:
        self._files = files
        self._follows_changes = follows_changes
        self._loaded: CertificateSet | None = None

    async def load(self) -> CertificateSet | None:
        """Return what is in the files; without reloading, what was in them at first."""
        if self._loaded is None or self._follows_changes:
            self._loaded = await self._files.read()
        return self._loaded

    async def maintain(self, published: bytes | None) -> CertificateSet | None:  # noqa: ARG002 - others maintain them
        """Return what is in the files; their owner maintains them."""
        return await self.load()


async def choose_source(files: CertificateFiles, own: OwnCertificates, *, follows_changes: bool) -> CertificateSource:
    """Return the files where somebody provides them, else the certificates made here.

    Files that hold what was made here, as those of a mounted Secret do, are a late copy and not asked.

    Raises:
        ConfigurationError: The files are there but cannot be read.
    """
    if not files.has_pair():
        return own
    provided = await files.read()
    return (
        own if is_own_authority(provided.authorities) else ProvidedCertificates(files, follows_changes=follows_changes)
    )


def _servable(certificates: CertificateSet) -> CertificateSet | None:
    """Return certificates that can be shown, None where there is no pair."""
    return certificates if certificates.serving and certificates.serving_key else None


class CertificateInUse:
    """Puts certificates into force, whenever they differ from those that are.

    Args:
        context: The listener's TLS context.
        measures: Own metrics.
        clock: Tells the time.
        on_first: Called once handshakes can succeed.
    """

    def __init__(
        self,
        context: ServingContext,
        measures: AdmissionMeasures,
        clock: Clock,
        on_first: Callable[[], None] = lambda: None,
    ) -> None:
        self._context = context
        self._measures = measures
        self._clock = clock
        self._on_first = on_first
        self._certificates: CertificateSet | None = None

    @property
    def certificates(self) -> CertificateSet | None:
        """What is in force, None before there is anything."""
        return self._certificates

    @property
    def authorities(self) -> bytes:
        """PEM text of the authorities that go with what is in force; empty before there is anything."""
        return self._certificates.authorities if self._certificates else b""

    @property
    def is_there(self) -> bool:
        """Whether handshakes can succeed."""
        return self._certificates is not None

    def use(self, certificates: CertificateSet) -> bool:
        """Put certificates into force.

        Returns:
            Whether they are; what cannot be used leaves in force what was, as upstream does with half-written files.
        """
        if certificates == self._certificates:
            return True
        if not self._is_taken(self._context.use, certificates):
            return False
        if self._certificates is None:
            self._on_first()
        self._certificates = certificates
        self._tell(certificates)
        return True

    def accepts(self, certificates: CertificateSet) -> bool:
        """Say whether certificates can be put into force; why they cannot is logged and counted."""
        return certificates == self._certificates or self._is_taken(self._context.check, certificates)

    def _is_taken(self, give: Callable[[bytes, bytes], None], certificates: CertificateSet) -> bool:
        """Say whether the TLS context takes certificates that it is given; why it does not is logged and counted."""
        try:
            give(certificates.serving, certificates.serving_key)
        except ConfigurationError as error:
            self._measures.certificate_problem.labels("unusable").inc()
            log.error("certificate not usable", error=str(error))  # noqa: TRY400 - the message says it all
            return False
        return True

    def stay(self, error: EvenkeelError) -> None:
        """Leave in force what is, as nothing else could be read."""
        self._measures.certificate_problem.labels("unreadable").inc()
        log.warning("certificates not looked at", error=str(error))

    def require(self, certificates: CertificateSet | None) -> None:
        """Put certificates into force that the process cannot start without.

        Raises:
            ConfigurationError: There are none, or they cannot be used.
        """
        if certificates is None or not self.use(certificates):
            raise ConfigurationError("the webhook's certificate cannot be used; see the log, and provide another pair")

    def _tell(self, certificates: CertificateSet) -> None:
        """Say what is in force now and how long."""
        for kind, pem in (("serving", certificates.serving), ("authority", certificates.authorities)):
            for certificate in certificates_in(pem)[:1]:
                end, serial = certificate.not_valid_after_utc, f"{certificate.serial_number:x}"
                self._measures.certificate_end.labels(kind).set(end.timestamp())
                self._measures.certificate_left.labels(kind).set_function(partial(self._seconds_to, end))
                log.info("certificate in use", kind=kind, serial=serial, not_after=end.isoformat())

    def _seconds_to(self, end: datetime) -> float:
        """Return how many seconds are left, below zero once it is over."""
        return (end - self._clock()).total_seconds()
