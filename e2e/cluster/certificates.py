"""Keys and certificates of one cluster: its authority, the API server, each client, front proxy, service accounts."""

from __future__ import annotations

import base64
import ipaddress
import json
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.asymmetric.ec import EllipticCurvePrivateKey
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

_LIFETIME = timedelta(days=7)
_CLOCK_SKEW = timedelta(minutes=5)


@dataclass(frozen=True, slots=True)
class KeyPair:
    """A certificate with its private key, both as PEM."""

    certificate: bytes
    key: bytes

    def write(self, folder: Path, name: str) -> None:
        """Write ``name.crt`` and ``name.key``; only the owner may read the key."""
        folder.mkdir(parents=True, exist_ok=True)
        (folder / f"{name}.crt").write_bytes(self.certificate)
        write_secret(folder / f"{name}.key", self.key)


@dataclass(frozen=True, slots=True)
class Subject:
    """Who a certificate is for.

    Args:
        name: Common name; the user name of a client.
        groups: Organizations; the groups of a client.
        hosts: DNS names and IP addresses of a server.
    """

    name: str
    groups: tuple[str, ...] = ()
    hosts: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Authority:
    """A certificate authority of this cluster.

    Args:
        key: Its private key.
        certificate: Its own certificate, for the others to trust.
    """

    key: EllipticCurvePrivateKey
    certificate: x509.Certificate

    @classmethod
    def create(cls, name: str) -> Authority:
        """Make a new authority."""
        key = ec.generate_private_key(ec.SECP256R1())
        distinguished = _distinguished(Subject(name))
        basic = x509.BasicConstraints(ca=True, path_length=0)
        builder = _builder(distinguished, distinguished, key).add_extension(basic, critical=True)
        return cls(key, builder.sign(key, hashes.SHA256()))

    @classmethod
    def load(cls, folder: Path, name: str) -> Authority:
        """Read an authority written by ``pair.write``."""
        key = serialization.load_pem_private_key((folder / f"{name}.key").read_bytes(), password=None)
        assert isinstance(key, EllipticCurvePrivateKey)
        return cls(key, x509.load_pem_x509_certificate((folder / f"{name}.crt").read_bytes()))

    @property
    def pair(self) -> KeyPair:
        """The authority's certificate and key as PEM."""
        return KeyPair(_pem(self.certificate), _key_pem(self.key))

    def issue(self, subject: Subject) -> KeyPair:
        """Issue a certificate for a server (if the subject has hosts) and a client."""
        key = ec.generate_private_key(ec.SECP256R1())
        usages = [ExtendedKeyUsageOID.CLIENT_AUTH]
        builder = _builder(_distinguished(subject), self.certificate.subject, key)
        if subject.hosts:
            usages.append(ExtendedKeyUsageOID.SERVER_AUTH)
            names = x509.SubjectAlternativeName([_general_name(host) for host in subject.hosts])
            builder = builder.add_extension(names, critical=False)
        builder = builder.add_extension(x509.ExtendedKeyUsage(usages), critical=False)
        return KeyPair(_pem(builder.sign(self.key, hashes.SHA256())), _key_pem(key))


def service_account_key() -> bytes:
    """Make the key that signs service-account tokens, as PEM."""
    # Kubernetes reads a signing key in this older notation only.
    return ec.generate_private_key(ec.SECP256R1()).private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.TraditionalOpenSSL, serialization.NoEncryption()
    )


def write_secret(file: Path, content: bytes) -> None:
    """Write a file that only its owner may read."""
    file.touch(mode=0o600)
    file.chmod(0o600)
    file.write_bytes(content)


def write_kubeconfig(file: Path, server: str, authority: bytes, user: dict[str, str]) -> None:
    """Write a kubeconfig with everything inside.

    Args:
        file: Where.
        server: URL of the API server.
        authority: Certificate to trust, as PEM.
        user: The user's fields: ``token``, or ``client-certificate-data`` and ``client-key-data``.
    """
    document = {
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": "e2e",
        "clusters": [{"name": "e2e", "cluster": {"server": server, "certificate-authority-data": encoded(authority)}}],
        "users": [{"name": "e2e", "user": user}],
        "contexts": [{"name": "e2e", "context": {"cluster": "e2e", "user": "e2e", "namespace": "default"}}],
    }
    file.parent.mkdir(parents=True, exist_ok=True)
    write_secret(file, json.dumps(document, indent=1).encode())


def client_user(pair: KeyPair) -> dict[str, str]:
    """Return the kubeconfig user that shows a client certificate."""
    return {"client-certificate-data": encoded(pair.certificate), "client-key-data": encoded(pair.key)}


def encoded(content: bytes) -> str:
    """Encode as base64 text."""
    return base64.b64encode(content).decode()


def _builder(subject: x509.Name, issuer: x509.Name, key: EllipticCurvePrivateKey) -> x509.CertificateBuilder:
    now = datetime.now(UTC)
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - _CLOCK_SKEW)
        .not_valid_after(now + _LIFETIME)
    )


def _distinguished(subject: Subject) -> x509.Name:
    groups = [x509.NameAttribute(NameOID.ORGANIZATION_NAME, group) for group in subject.groups]
    return x509.Name([*groups, x509.NameAttribute(NameOID.COMMON_NAME, subject.name)])


def _general_name(host: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ipaddress.ip_address(host))
    except ValueError:
        return x509.DNSName(host)


def _pem(certificate: x509.Certificate) -> bytes:
    return certificate.public_bytes(serialization.Encoding.PEM)


def _key_pem(key: EllipticCurvePrivateKey) -> bytes:
    return key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
