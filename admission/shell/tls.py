"""The TLS side of the webhook: one listener whose certificate can change while connections live on."""

from __future__ import annotations

import ssl
import tempfile
from dataclasses import dataclass
from pathlib import Path

from autoscaling.errors import ConfigurationError

_TLS_1_2_SUITES = {
    "TLS_ECDHE_ECDSA_WITH_AES_128_CBC_SHA": "ECDHE-ECDSA-AES128-SHA",
    "TLS_ECDHE_ECDSA_WITH_AES_256_CBC_SHA": "ECDHE-ECDSA-AES256-SHA",
    "TLS_ECDHE_RSA_WITH_AES_128_CBC_SHA": "ECDHE-RSA-AES128-SHA",
    "TLS_ECDHE_RSA_WITH_AES_256_CBC_SHA": "ECDHE-RSA-AES256-SHA",
    "TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256": "ECDHE-ECDSA-AES128-GCM-SHA256",
    "TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384": "ECDHE-ECDSA-AES256-GCM-SHA384",
    "TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256": "ECDHE-RSA-AES128-GCM-SHA256",
    "TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384": "ECDHE-RSA-AES256-GCM-SHA384",
    "TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256": "ECDHE-ECDSA-CHACHA20-POLY1305",
    "TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256": "ECDHE-RSA-CHACHA20-POLY1305",
}
"""Suites that upstream's TLS library calls secure, by their IANA name and by OpenSSL's."""

_TLS_1_3_SUITES = {"TLS_AES_128_GCM_SHA256", "TLS_AES_256_GCM_SHA384", "TLS_CHACHA20_POLY1305_SHA256"}
"""Suites of TLS 1.3, which no flag can restrict."""

_VERSIONS = {"": ssl.TLSVersion.TLSv1_2, "tls1_2": ssl.TLSVersion.TLSv1_2, "tls1_3": ssl.TLSVersion.TLSv1_3}


@dataclass(frozen=True, slots=True)
class TlsRules:
    """Which handshakes are accepted.

    Args:
        minimum: Lowest version.
        ciphers: OpenSSL's names of the suites for TLS 1.2, separated by colons; empty for the usual ones.
    """

    minimum: ssl.TLSVersion
    ciphers: str


def tls_rules(min_version: str, ciphers: str) -> TlsRules:
    """Read ``--min-tls-version`` and ``--tls-ciphers``.

    Unknown and insecure suites are left out, and none left means the usual ones (spec: admission:2). Where those left
    are of TLS 1.3 only, no handshake of TLS 1.2 has one to agree on.

    Raises:
        ConfigurationError: The version is unknown.
    """
    if min_version not in _VERSIONS:
        raise ConfigurationError(f"--min-tls-version={min_version}: write tls1_2 or tls1_3")
    named = {name.strip() for name in ciphers.replace(":", ",").split(",")}
    suites = [name for iana, name in _TLS_1_2_SUITES.items() if iana in named]
    only_newest = not suites and named & _TLS_1_3_SUITES
    return TlsRules(ssl.TLSVersion.TLSv1_3 if only_newest else _VERSIONS[min_version], ":".join(suites))


class ServingContext:
    """The TLS context of a listener; each handshake uses the certificate that is in force at that moment.

    Args:
        rules: Which handshakes are accepted.
    """

    def __init__(self, rules: TlsRules) -> None:
        self._rules = rules
        self._current: ssl.SSLContext | None = None
        self.listening = self._new_context()
        self.listening.sni_callback = self._choose

    @property
    def has_certificate(self) -> bool:
        """Whether a handshake can succeed."""
        return self._current is not None

    def use(self, certificate_pem: bytes, key_pem: bytes) -> None:
        """Show this certificate from the next handshake on; connections that stand are not touched.

        Raises:
            ConfigurationError: Certificate and key cannot be used together; the old ones stay in force.
        """
        self._current = self._with_pair(certificate_pem, key_pem)

    def check(self, certificate_pem: bytes, key_pem: bytes) -> None:
        """See whether ``use`` would take a certificate.

        Raises:
            ConfigurationError: Certificate and key cannot be used together.
        """
        self._with_pair(certificate_pem, key_pem)

    def _with_pair(self, certificate_pem: bytes, key_pem: bytes) -> ssl.SSLContext:
        """Return a context that shows a certificate; raises as ``use`` does."""
        context = self._new_context()
        # OpenSSL loads keys from files only; this one lives for a moment, readable by this user alone.
        with tempfile.TemporaryDirectory() as folder:
            pair = Path(folder, "pair.pem")
            pair.touch(mode=0o600)
            pair.write_bytes(key_pem + b"\n" + certificate_pem)
            try:
                context.load_cert_chain(pair)
            except (ssl.SSLError, OSError) as error:
                raise ConfigurationError(
                    f"certificate and key of the webhook cannot be used: {error}; both must be PEM and belong together"
                ) from error
        return context

    def _new_context(self) -> ssl.SSLContext:
        """Return a context that obeys the rules."""
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.minimum_version = self._rules.minimum
        context.set_alpn_protocols(["http/1.1"])
        if self._rules.ciphers:
            context.set_ciphers(self._rules.ciphers)
        return context

    def _choose(
        self, connection: ssl.SSLSocket | ssl.SSLObject, _name: str | None, _context: ssl.SSLContext
    ) -> int | None:
        """Give a beginning handshake the certificate in force."""
        if self._current is None:
            return ssl.ALERT_DESCRIPTION_INTERNAL_ERROR
        connection.context = self._current
        return None
