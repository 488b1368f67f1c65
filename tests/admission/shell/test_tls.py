"""Handshakes: versions, suites, and certificates that change."""

from __future__ import annotations

import ssl

import pytest

from admission.shell.issuing import CertificateSet
from admission.shell.tls import ServingContext, TlsRules, tls_rules
from autoscaling.errors import ConfigurationError
from tests.admission.shell.webhooks import HOST, fresh_certificates, trusting

V1_2, V1_3 = ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3

RULES: list[tuple[str, str, str, TlsRules]] = [
    ("admission:2", "", "", TlsRules(V1_2, "")),
    ("admission:2", "tls1_2", "", TlsRules(V1_2, "")),
    ("admission:2", "tls1_3", "", TlsRules(V1_3, "")),
    (
        "admission:2",
        "",
        "TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384,TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256",
        TlsRules(V1_2, "ECDHE-ECDSA-AES256-GCM-SHA384:ECDHE-RSA-AES128-GCM-SHA256"),
    ),
    (
        "admission:2",
        "",
        "TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256:TLS_RSA_WITH_RC4_128_SHA:NONSENSE",
        TlsRules(V1_2, "ECDHE-RSA-CHACHA20-POLY1305"),
    ),
    ("admission:2", "", "TLS_RSA_WITH_AES_128_CBC_SHA", TlsRules(V1_2, "")),
    ("admission:2", "", "TLS_AES_128_GCM_SHA256", TlsRules(V1_3, "")),
]


@pytest.mark.parametrize(("row", "version", "ciphers", "rules"), RULES)
def test_flags_to_rules(row: str, version: str, ciphers: str, rules: TlsRules) -> None:
    assert tls_rules(version, ciphers) == rules, row


def test_every_suite_is_one_that_this_machine_has() -> None:
    every = ",".join(
        f"TLS_ECDHE_{signature}_WITH_{cipher}"
        for signature in ("ECDSA", "RSA")
        for cipher in (
            "AES_128_CBC_SHA",
            "AES_256_CBC_SHA",
            "AES_128_GCM_SHA256",
            "AES_256_GCM_SHA384",
            "CHACHA20_POLY1305_SHA256",
        )
    )
    rules = tls_rules("", every)
    assert rules.ciphers.count(":") == 9
    offered = {suite["name"] for suite in ServingContext(rules).listening.get_ciphers()}
    assert set(rules.ciphers.split(":")) <= offered


def test_an_unknown_version_is_refused() -> None:
    """Spec: admission:2."""
    with pytest.raises(ConfigurationError, match="tls1_1"):
        tls_rules("tls1_1", "")


def shake(server: ssl.SSLContext, client: ssl.SSLContext, name: str | None = HOST) -> ssl.SSLObject:
    """Carry out a handshake in memory and return the client's side."""
    to_server, to_client = ssl.MemoryBIO(), ssl.MemoryBIO()
    client_side = client.wrap_bio(to_client, to_server, server_hostname=name)
    server_side = server.wrap_bio(to_server, to_client, server_side=True)
    waiting = [client_side, server_side]
    for _ in range(10):
        for side in tuple(waiting):
            try:
                side.do_handshake()
            except ssl.SSLWantReadError:
                continue
            waiting.remove(side)
    assert not waiting
    return client_side


def used(certificates: CertificateSet, rules: TlsRules | None = None) -> ServingContext:
    context = ServingContext(rules or tls_rules("", ""))
    context.use(certificates.serving, certificates.serving_key)
    return context


def test_a_handshake_shows_the_certificate_in_force() -> None:
    first, second = fresh_certificates(), fresh_certificates()
    context = used(first)
    shake(context.listening, trusting(first.authorities))
    context.use(second.serving, second.serving_key)
    shake(context.listening, trusting(second.authorities))
    with pytest.raises(ssl.SSLCertVerificationError):
        shake(context.listening, trusting(first.authorities))


def test_a_caller_that_names_no_host_is_served() -> None:
    certificates = fresh_certificates()
    anonymous = trusting(certificates.authorities)
    anonymous.check_hostname = False
    shake(used(certificates).listening, anonymous, None)


def test_without_a_certificate_no_handshake_succeeds() -> None:
    context = ServingContext(tls_rules("", ""))
    assert not context.has_certificate
    with pytest.raises(ssl.SSLError):
        shake(context.listening, trusting(fresh_certificates().authorities))


def test_a_pair_that_does_not_belong_together_leaves_the_old_one_in_force() -> None:
    """Spec: admission:2, reload failure."""
    first, second = fresh_certificates(), fresh_certificates()
    context = used(first)
    for certificate, key in ((second.serving, first.serving_key), (b"", second.serving_key), (second.serving, b"x")):
        with pytest.raises(ConfigurationError, match="belong together"):
            context.use(certificate, key)
    shake(context.listening, trusting(first.authorities))


def test_the_lowest_version_and_the_suites_are_kept_to() -> None:
    """Spec: admission:2."""
    certificates = fresh_certificates()
    old = trusting(certificates.authorities)
    old.maximum_version = V1_2
    with pytest.raises(ssl.SSLError):
        shake(used(certificates, tls_rules("tls1_3", "")).listening, old)
    suite = shake(used(certificates, tls_rules("", "TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384")).listening, old).cipher()
    assert suite is not None
    assert suite[0] == "ECDHE-ECDSA-AES256-GCM-SHA384"


def test_only_http_1_1_is_negotiated() -> None:
    certificates = fresh_certificates()
    modern = trusting(certificates.authorities)
    modern.set_alpn_protocols(["h2", "http/1.1"])
    assert shake(used(certificates).listening, modern).selected_alpn_protocol() == "http/1.1"
