"""Trust in a server's certificate as of a given time, where the TLS library itself goes by the machine's clock."""

from __future__ import annotations

import ssl
from collections.abc import Callable
from datetime import datetime
from functools import lru_cache

from cryptography import x509
from cryptography.exceptions import InvalidSignature

_NO_CHECK_TIME = ssl.VerifyFlags(0x200000)
"""OpenSSL's X509_V_FLAG_NO_CHECK_TIME, for which Python has no name."""

_REFUSED = 1
_REMEMBERED = 8


@lru_cache(maxsize=_REMEMBERED)
def trust_as_of(now: Callable[[], datetime], authorities: str) -> ssl.SSLContext:
    """Return a client's TLS context that trusts some authorities and judges validity by a clock of its own.

    What is looked at is the server's certificate and the authority that signed it.

    Args:
        now: The clock, read at each handshake.
        authorities: PEM text.

    Raises:
        ssl.SSLError: There is no certificate in the text.
        ValueError: One in it cannot be read.
    """
    context = ssl.create_default_context(cadata=authorities)
    context.verify_flags |= _NO_CHECK_TIME
    trusted = x509.load_pem_x509_certificates(authorities.encode())

    class DatedHandshake(ssl.SSLObject):
        """A connection whose handshake ends with a look at the dates."""

        def do_handshake(self) -> None:
            """Do the handshake, and refuse a certificate that is not valid at this time."""
            super().do_handshake()
            shown = x509.load_der_x509_certificate(self.getpeercert(binary_form=True) or b"")
            signers = [authority for authority in trusted if _signed(shown, authority)]
            if problem := _problem_of(shown, now()) or _problem_of_all(signers, now()):
                raise ssl.SSLCertVerificationError(_REFUSED, f"certificate verify failed: {problem}")

    context.sslobject_class = DatedHandshake
    return context


def _signed(shown: x509.Certificate, authority: x509.Certificate) -> bool:
    """Say whether an authority signed a certificate."""
    try:
        shown.verify_directly_issued_by(authority)
    except (ValueError, TypeError, InvalidSignature):
        return False
    return True


def _problem_of(certificate: x509.Certificate, now: datetime) -> str:
    """Say why a certificate is not valid, empty when it is."""
    subject = certificate.subject.rfc4514_string()
    if now < certificate.not_valid_before_utc:
        return f"{subject} is not valid before {certificate.not_valid_before_utc}, and it is {now}"
    if now > certificate.not_valid_after_utc:
        return f"{subject} was valid until {certificate.not_valid_after_utc}, and it is {now}"
    return ""


def _problem_of_all(certificates: list[x509.Certificate], now: datetime) -> str:
    """Say why none of several certificates is valid, empty when one is or there are none."""
    problems = [_problem_of(certificate, now) for certificate in certificates]
    return problems[0] if problems and all(problems) else ""
