"""Making certificates, and reading what counts of them; the plan for them is ``admission.certificate_plan``."""

from __future__ import annotations

import ipaddress
from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import datetime

from cryptography import x509
from cryptography.exceptions import InvalidSignature, UnsupportedAlgorithm
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.asymmetric.types import PrivateKeyTypes
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from admission.certificate_plan import (
    AUTHORITY_LIFETIME,
    CLOCK_SKEW,
    SERVING_LIFETIME,
    AuthorityFacts,
    CertificateFacts,
    ServingFacts,
    Step,
    kept,
)

_ORGANIZATION = "Evenkeel"
_AUTHORITY_USE = x509.KeyUsage(
    digital_signature=True,
    content_commitment=False,
    key_encipherment=False,
    data_encipherment=False,
    key_agreement=False,
    key_cert_sign=True,
    crl_sign=True,
    encipher_only=False,
    decipher_only=False,
)
_SERVING_USE = x509.KeyUsage(
    digital_signature=True,
    content_commitment=False,
    key_encipherment=False,
    data_encipherment=False,
    key_agreement=False,
    key_cert_sign=False,
    crl_sign=False,
    encipher_only=False,
    decipher_only=False,
)


@dataclass(frozen=True, slots=True)
class CertificateSet:
    """Certificates and keys as PEM; empty where there is none.

    Args:
        authorities: What clients are to trust, the newest first.
        authority_key: Of the newest authority.
        serving: What clients are shown.
        serving_key: Of the serving certificate.
    """

    authorities: bytes = b""
    authority_key: bytes = b""
    serving: bytes = b""
    serving_key: bytes = b""

    def __repr__(self) -> str:
        """Show no key, wherever this is printed."""
        return f"CertificateSet({len(self.authorities)} bytes of authorities, {len(self.serving)} bytes to show)"


NO_SET = CertificateSet()


def certificates_in(pem: bytes) -> list[x509.Certificate]:
    """Return the certificates in a PEM text; none where it cannot be read."""
    try:
        return x509.load_pem_x509_certificates(pem)
    except ValueError:
        return []


def pem_of(certificate: x509.Certificate) -> bytes:
    """Return a certificate as PEM."""
    return certificate.public_bytes(serialization.Encoding.PEM)


def vouch(authorities: bytes, chain: bytes) -> bool:
    """Say whether one of some authorities is, or has signed, a certificate of a chain; both are PEM texts."""
    trusted = certificates_in(authorities)
    return any(link in trusted or any(_signed(link, one) for one in trusted) for link in certificates_in(chain))


def is_own_authority(pem: bytes) -> bool:
    """Say whether the first authority of a PEM text is one that was made here."""
    return any(
        name.value == _ORGANIZATION
        for authority in certificates_in(pem)[:1]
        for name in authority.subject.get_attributes_for_oid(NameOID.ORGANIZATION_NAME)
    )


def facts_of(given: CertificateSet) -> CertificateFacts:
    """Read what counts of certificates; what cannot be read counts as absent."""
    authorities = certificates_in(given.authorities)
    leaves = certificates_in(given.serving)
    return CertificateFacts(
        tuple(AuthorityFacts(a.not_valid_before_utc, a.not_valid_after_utc) for a in authorities),
        can_sign=bool(authorities) and _belongs(given.authority_key, authorities[0]),
        serving=_serving_facts(leaves[0], given.serving_key, authorities) if leaves else None,
    )


def carry_out(step: Step, given: CertificateSet, names: frozenset[str], now: datetime) -> CertificateSet:
    """Return the certificates after one step.

    Args:
        step: What to do.
        given: What there is.
        names: Host names and addresses for a serving certificate.
        now: The time.
    """
    match step:
        case Step.START_OVER:
            return _with_new_serving(_with_new_authority(given, now), names, now)
        case Step.ADD_AUTHORITY:
            return _with_new_authority(given, now)
        case Step.ISSUE_SERVING:
            return _with_new_serving(given, names, now)
        case Step.RETIRE_AUTHORITIES:
            authorities = certificates_in(given.authorities)
            return replace(
                given, authorities=b"".join(pem_of(authorities[place]) for place in kept(facts_of(given), now))
            )
        case Step.KEEP:
            return given


def _serving_facts(leaf: x509.Certificate, key: bytes, authorities: Iterable[x509.Certificate]) -> ServingFacts:
    """Read what counts of a serving certificate."""
    signer = next((place for place, authority in enumerate(authorities) if _signed(leaf, authority)), None)
    return ServingFacts(
        leaf.not_valid_before_utc, leaf.not_valid_after_utc, _names_of(leaf), signer, has_key=_belongs(key, leaf)
    )


def _names_of(leaf: x509.Certificate) -> frozenset[str]:
    """Return the host names and addresses that a certificate is valid for."""
    try:
        names = leaf.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    except x509.ExtensionNotFound:
        return frozenset()
    addresses = (str(address) for address in names.get_values_for_type(x509.IPAddress))
    return frozenset((*names.get_values_for_type(x509.DNSName), *addresses))


def _signed(leaf: x509.Certificate, authority: x509.Certificate) -> bool:
    """Say whether an authority signed a certificate."""
    try:
        leaf.verify_directly_issued_by(authority)
    except (ValueError, TypeError, InvalidSignature):
        return False
    return True


def _belongs(key: bytes, certificate: x509.Certificate) -> bool:
    """Say whether a private key is a certificate's."""
    try:
        private = serialization.load_pem_private_key(key, None)
    except (ValueError, TypeError, UnsupportedAlgorithm):
        return False
    return private.public_key() == certificate.public_key()


def _with_new_authority(given: CertificateSet, now: datetime) -> CertificateSet:
    """Put a new authority before those that are still valid."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = _name(f"webhook authority {now:%Y-%m-%d %H:%M:%S}")
    identifier = x509.SubjectKeyIdentifier.from_public_key(key.public_key())
    authority = (
        _builder(name, name, now)
        .public_key(key.public_key())
        .not_valid_after(now + AUTHORITY_LIFETIME)
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .add_extension(_AUTHORITY_USE, critical=True)
        .add_extension(identifier, critical=False)
        .sign(key, hashes.SHA256())
    )
    older = [pem_of(old) for old in certificates_in(given.authorities) if old.not_valid_after_utc > now]
    return replace(given, authorities=pem_of(authority) + b"".join(older), authority_key=_key_pem(key))


def _with_new_serving(given: CertificateSet, names: frozenset[str], now: datetime) -> CertificateSet:
    """Have the newest authority sign a new serving certificate, which ends no later than the authority itself."""
    authority = certificates_in(given.authorities)[0]
    signing_key = serialization.load_pem_private_key(given.authority_key, None)
    assert isinstance(signing_key, ec.EllipticCurvePrivateKey)
    key = ec.generate_private_key(ec.SECP256R1())
    signer = authority.extensions.get_extension_for_class(x509.SubjectKeyIdentifier).value
    leaf = (
        _builder(_name("admission webhook"), authority.subject, now)
        .public_key(key.public_key())
        .not_valid_after(min(now + SERVING_LIFETIME, authority.not_valid_after_utc))
        .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        .add_extension(_SERVING_USE, critical=True)
        .add_extension(x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH]), critical=False)
        .add_extension(x509.SubjectAlternativeName([_general_name(name) for name in sorted(names)]), critical=False)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
        .add_extension(x509.AuthorityKeyIdentifier.from_issuer_subject_key_identifier(signer), critical=False)
        .sign(signing_key, hashes.SHA256())
    )
    return replace(given, serving=pem_of(leaf), serving_key=_key_pem(key))


def _builder(subject: x509.Name, issuer: x509.Name, now: datetime) -> x509.CertificateBuilder:
    """Begin a certificate."""
    builder = x509.CertificateBuilder().subject_name(subject).issuer_name(issuer)
    return builder.serial_number(x509.random_serial_number()).not_valid_before(now - CLOCK_SKEW)


def _name(common_name: str) -> x509.Name:
    """Return a subject."""
    return x509.Name(
        [
            x509.NameAttribute(NameOID.ORGANIZATION_NAME, _ORGANIZATION),
            x509.NameAttribute(NameOID.COMMON_NAME, common_name),
        ]
    )


def _general_name(name: str) -> x509.GeneralName:
    """Return a host name or an address as certificates hold it."""
    try:
        return x509.IPAddress(ipaddress.ip_address(name))
    except ValueError:
        return x509.DNSName(name)


def _key_pem(key: PrivateKeyTypes) -> bytes:
    """Return a private key as PEM."""
    return key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
