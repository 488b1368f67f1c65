"""Handshakes: versions, suites, and certificates that change."""

from __future__ import annotations

import ssl
import warnings
from datetime import UTC, datetime, timedelta
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import rsa
from cryptography.x509.oid import NameOID

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


ECDHE_SHA = "ECDHE-RSA-AES128-SHA"
"""Forward secret, but with an authentication of records that is not among the usual ones any more."""
STATIC_RSA = "AES128-GCM-SHA256"
"""Without forward secrecy: whoever gets hold of the key can read what was recorded before."""
ECDHE_GCM = "ECDHE-RSA-AES256-GCM-SHA384"
NAMED_SHA = "TLS_ECDHE_RSA_WITH_AES_128_CBC_SHA"
NAMED_STATIC_RSA = "TLS_RSA_WITH_AES_128_GCM_SHA256"
NAMED_GCM = "TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384"

V1_1_ONLY = ("TLSv1.1", "TLSv1.1", "ALL")
V1_2_ONLY = ("TLSv1.2", "TLSv1.2", "DEFAULT")
V1_3_ONLY = ("TLSv1.3", "TLSv1.3", "DEFAULT")
ANY_VERSION = ("TLSv1.2", "TLSv1.3", "DEFAULT")


def only(suite: str) -> tuple[str, str, str]:
    """Describe a caller of TLS 1.2 that knows one suite."""
    return ("TLSv1.2", "TLSv1.2", suite)


Offer = tuple[str, str, str]
"""Lowest and highest version of a caller, and its suites."""

BOUNDARY: list[tuple[str, str, str, Offer, str]] = [
    ("admission:2 below the usual minimum", "", "", V1_1_ONLY, ""),
    ("admission:2 below the usual minimum", "tls1_2", "", V1_1_ONLY, ""),
    ("admission:2 at the usual minimum", "", "", V1_2_ONLY, "TLSv1.2"),
    ("admission:2 at the usual minimum", "tls1_2", "", V1_2_ONLY, "TLSv1.2"),
    ("admission:2 above the usual minimum", "tls1_2", "", ANY_VERSION, "TLSv1.3"),
    ("admission:2 below 1.3", "tls1_3", "", V1_2_ONLY, ""),
    ("admission:2 at 1.3", "tls1_3", "", V1_3_ONLY, "TLSv1.3"),
    ("admission:2 at 1.3", "tls1_3", "", ANY_VERSION, "TLSv1.3"),
    ("admission:2 usual suites", "", "", only(ECDHE_GCM), "TLSv1.2"),
    ("admission:2 usual suites", "", "", only(STATIC_RSA), ""),
    ("admission:2 named suite", "", NAMED_SHA, only(ECDHE_SHA), "TLSv1.2"),
    ("admission:2 other than the named suite", "", NAMED_SHA, only(ECDHE_GCM), ""),
    ("admission:2 one of two, comma", "", f"{NAMED_SHA},{NAMED_GCM}", only(ECDHE_GCM), "TLSv1.2"),
    ("admission:2 one of two, colon", "", f"{NAMED_SHA}:{NAMED_GCM}", only(ECDHE_GCM), "TLSv1.2"),
    ("admission:2 insecure suite dropped", "", f"{NAMED_STATIC_RSA},{NAMED_GCM}", only(STATIC_RSA), ""),
    ("admission:2 insecure suite dropped", "", f"{NAMED_STATIC_RSA},{NAMED_GCM}", only(ECDHE_GCM), "TLSv1.2"),
    ("admission:2 none left", "", f"{NAMED_STATIC_RSA},NONSENSE", only(ECDHE_GCM), "TLSv1.2"),
    ("admission:2 none left", "", f"{NAMED_STATIC_RSA},NONSENSE", only(STATIC_RSA), ""),
    ("admission:2 suites bind 1.2 only", "", NAMED_SHA, V1_3_ONLY, "TLSv1.3"),
    ("admission:2 suites of 1.3 only", "", "TLS_AES_128_GCM_SHA256", V1_2_ONLY, ""),
    ("admission:2 suites of 1.3 only", "", "TLS_AES_128_GCM_SHA256", V1_3_ONLY, "TLSv1.3"),
]


@pytest.fixture(scope="module")
def rsa_pair() -> CertificateSet:
    """Return a certificate whose key is of the kind that all of these suites work with; it is its own authority."""
    key = rsa.generate_private_key(65537, 2048)
    name, now = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, HOST)]), datetime.now(UTC)
    certificate = (
        x509.CertificateBuilder(name, name, key.public_key(), x509.random_serial_number())
        .not_valid_before(now - timedelta(hours=1))
        .not_valid_after(now + timedelta(hours=1))
        .add_extension(x509.SubjectAlternativeName([x509.DNSName(HOST)]), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
        .public_bytes(serialization.Encoding.PEM)
    )
    pem = key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    return CertificateSet(certificate, b"", certificate, pem)


def bounded(context: ssl.SSLContext, offer: Offer) -> ssl.SSLContext:
    """Restrict a context to versions and suites, also to those that Python advises against."""
    versions = {"TLSv1.1": ssl.TLSVersion.TLSv1_1, "TLSv1.2": V1_2, "TLSv1.3": V1_3}
    lowest, highest, suites = offer
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        context.minimum_version = versions[lowest]
        context.maximum_version = versions[highest]
    context.set_ciphers(f"{suites}:@SECLEVEL=0")
    return context


def caller(certificates: CertificateSet, offer: Offer) -> ssl.SSLContext:
    return bounded(ssl.create_default_context(cadata=certificates.authorities.decode()), offer)


@pytest.mark.parametrize("offer", [V1_1_ONLY, only(STATIC_RSA), only(ECDHE_SHA)])
def test_weak_callers_are_not_kept_out_by_themselves(rsa_pair: CertificateSet, offer: Offer) -> None:
    """Else nothing could be learnt from their being refused."""
    obliging = bounded(ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER), ("TLSv1.1", "TLSv1.3", "ALL"))
    with TemporaryDirectory() as folder:
        pair = Path(folder, "pair.pem")
        pair.write_bytes(rsa_pair.serving_key + rsa_pair.serving)
        obliging.load_cert_chain(pair)
    assert shake(obliging, caller(rsa_pair, offer)).version() == offer[1]


@pytest.mark.parametrize(("row", "version", "ciphers", "offer", "agreed"), BOUNDARY)
def test_both_sides_of_what_is_accepted(
    rsa_pair: CertificateSet, row: str, version: str, ciphers: str, offer: Offer, agreed: str
) -> None:
    """An empty agreement stands for a handshake that is refused by the webhook, not by the caller."""
    webhook = used(rsa_pair, tls_rules(version, ciphers))
    if agreed:
        assert shake(webhook.listening, caller(rsa_pair, offer)).version() == agreed, row
        return
    with pytest.raises(ssl.SSLError) as refused:
        shake(webhook.listening, caller(rsa_pair, offer))
    assert refused.value.reason in {"UNSUPPORTED_PROTOCOL", "NO_SHARED_CIPHER"}, row


def test_only_http_1_1_is_negotiated() -> None:
    certificates = fresh_certificates()
    modern = trusting(certificates.authorities)
    modern.set_alpn_protocols(["h2", "http/1.1"])
    assert shake(used(certificates).listening, modern).selected_alpn_protocol() == "http/1.1"
