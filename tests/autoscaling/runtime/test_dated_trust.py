"""Whether a certificate is believed at a time that is not the machine's."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from autoscaling.runtime.dated_trust import trust_as_of

pytestmark = pytest.mark.anyio

T0 = datetime(2001, 1, 1, tzinfo=UTC)
DAY = timedelta(days=1)
HOST = "127.0.0.1"
_AUTHORITY_USE = x509.KeyUsage(
    digital_signature=False,
    content_commitment=False,
    key_encipherment=False,
    data_encipherment=False,
    key_agreement=False,
    key_cert_sign=True,
    crl_sign=False,
    encipher_only=False,
    decipher_only=False,
)


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@dataclass
class Signer:
    """An authority, or a server's certificate with its key."""

    certificate: x509.Certificate
    key: ec.EllipticCurvePrivateKey

    @property
    def pem(self) -> str:
        return self.certificate.public_bytes(serialization.Encoding.PEM).decode()


def named(name: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])


def certificate(name: str, begin: datetime, end: datetime, signer: Signer | None = None) -> Signer:
    """Return a certificate; without a signer an authority that signed itself."""
    key = ec.generate_private_key(ec.SECP256R1())
    issuer = signer.key if signer else key
    # Python 3.13 and later ask for what RFC 5280 does: key identifiers, and what an authority's key may be used for.
    builder = (
        x509.CertificateBuilder()
        .subject_name(named(name))
        .issuer_name(signer.certificate.subject if signer else named(name))
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(begin)
        .not_valid_after(end)
        .add_extension(x509.BasicConstraints(ca=signer is None, path_length=None), critical=True)
        .add_extension(x509.SubjectAlternativeName([x509.DNSName("hook.example")]), critical=False)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
        .add_extension(x509.AuthorityKeyIdentifier.from_issuer_public_key(issuer.public_key()), critical=False)
    )
    if signer is None:
        builder = builder.add_extension(_AUTHORITY_USE, critical=True)
    return Signer(builder.sign(issuer, hashes.SHA256()), key)


@asynccontextmanager
async def listening(shown: Signer, tmp_path: Path) -> AsyncIterator[int]:
    """A TLS server that shows a certificate."""
    pair = tmp_path / "pair.pem"
    key = shown.key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    pair.write_bytes(key + shown.pem.encode())
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(pair)

    def hang_up(_reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.close()

    server = await asyncio.start_server(hang_up, HOST, 0, ssl=context)
    async with server:
        yield server.sockets[0].getsockname()[1]


async def shake_hands(port: int, context: ssl.SSLContext, name: str = "hook.example") -> str:
    """Return what the handshake failed of, empty when it succeeded."""
    try:
        _, writer = await asyncio.open_connection(HOST, port, ssl=context, server_hostname=name)
    except ssl.SSLCertVerificationError as error:
        return str(error)
    writer.close()
    return ""


@pytest.mark.parametrize(
    ("day", "wanted"),
    [
        (9.9, "CN=server is not valid before 2001-01-11"),
        (10, ""),
        (20, ""),
        (20.1, "CN=authority was valid until 2001-01-21"),
        (30.1, "CN=server was valid until 2001-01-31"),
    ],
)
async def test_server_and_authority_must_both_be_valid(tmp_path: Path, day: float, wanted: str) -> None:
    authority = certificate("authority", T0, T0 + 20 * DAY)
    server = certificate("server", T0 + 10 * DAY, T0 + 30 * DAY, authority)
    async with listening(server, tmp_path) as port:
        problem = await shake_hands(port, trust_as_of(lambda: T0 + day * DAY, authority.pem))
    assert wanted in problem
    assert (problem == "") == (wanted == "")


async def test_the_clock_is_read_at_each_handshake(tmp_path: Path) -> None:
    authority = certificate("authority", T0, T0 + 20 * DAY)
    times = iter([T0, T0, T0 + 40 * DAY])
    async with listening(certificate("server", T0, T0 + 30 * DAY, authority), tmp_path) as port:
        context = trust_as_of(lambda: next(times), authority.pem)
        assert await shake_hands(port, context) == ""
        assert "CN=server was valid until" in await shake_hands(port, context)


async def test_one_valid_authority_of_the_same_key_is_enough(tmp_path: Path) -> None:
    old = certificate("authority", T0, T0 + DAY)
    server = certificate("server", T0, T0 + 30 * DAY, old)
    renewed = x509.CertificateBuilder(
        old.certificate.issuer, old.certificate.subject, old.key.public_key(), 7, T0, T0 + 90 * DAY, []
    ).add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
    both = old.pem + Signer(renewed.sign(old.key, hashes.SHA256()), old.key).pem
    async with listening(server, tmp_path) as port:
        assert await shake_hands(port, trust_as_of(lambda: T0 + 10 * DAY, both)) == ""


async def test_everything_else_is_judged_as_ever(tmp_path: Path) -> None:
    authority, stranger = certificate("authority", T0, T0 + DAY), certificate("stranger", T0, T0 + DAY)
    async with listening(certificate("server", T0, T0 + DAY, authority), tmp_path) as port:
        assert "verify failed" in await shake_hands(port, trust_as_of(lambda: T0, stranger.pem))
        assert "other.example" in await shake_hands(port, trust_as_of(lambda: T0, authority.pem), "other.example")


@pytest.mark.parametrize("text", ["", "rubbish"])
def test_a_text_without_certificates_is_refused(text: str) -> None:
    with pytest.raises((ssl.SSLError, ValueError)):
        trust_as_of(lambda: T0, text)
