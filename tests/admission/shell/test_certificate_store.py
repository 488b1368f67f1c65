"""Certificates in a Secret and in files."""

from __future__ import annotations

import base64
from pathlib import Path

import pytest

from admission.shell.certificate_store import (
    MADE_BY,
    MADE_BY_ANNOTATION,
    CertificateFiles,
    CertificateSecret,
    Standing,
    StoredCertificates,
)
from admission.shell.issuing import NO_SET, CertificateSet
from autoscaling.errors import ApiError, ApiUnreachableError, ConfigurationError, InvalidObjectError
from autoscaling.kube.client import KubeClient
from evenkeel.simulator.api.server import ApiServer
from evenkeel.simulator.faults import DropConnection, Fault, Refuse

pytestmark = pytest.mark.anyio

SET = CertificateSet(b"authorities", b"authority key", b"serving", b"serving key")
NAMESPACE, NAME = "kube-system", "evenkeel-tls-certs"


@pytest.fixture
def secret(client: KubeClient) -> CertificateSecret:
    return CertificateSecret(client, NAMESPACE, NAME)


def put(cluster: ApiServer, data: dict[str, str] | None, annotations: dict[str, str] | None = None) -> None:
    metadata = {"name": NAME, "namespace": NAMESPACE, "annotations": annotations or {}}
    body: dict[str, object] = {"apiVersion": "v1", "kind": "Secret", "metadata": metadata}
    cluster.store.create(body | ({} if data is None else {"data": data}))


def encoded(text: bytes) -> str:
    return base64.b64encode(text).decode()


async def test_an_absent_secret_is_created(cluster: ApiServer, secret: CertificateSecret) -> None:
    assert await secret.read() == StoredCertificates(Standing.ABSENT, NO_SET, "")
    assert await secret.write(SET, "")
    stored = await secret.read()
    assert (stored.standing, stored.certificates) == (Standing.OURS, SET)
    body = cluster.store.read("v1", "Secret", NAME, NAMESPACE)
    assert body["type"] == "Opaque"
    assert body["data"] == {
        "caCert.pem": encoded(b"authorities"),
        "caKey.pem": encoded(b"authority key"),
        "serverCert.pem": encoded(b"serving"),
        "serverKey.pem": encoded(b"serving key"),
    }


@pytest.mark.parametrize("data", [None, {}, {"caCert.pem": ""}])
async def test_an_empty_secret_is_ours_to_fill(
    cluster: ApiServer, secret: CertificateSecret, data: dict[str, str] | None
) -> None:
    put(cluster, data)
    stored = await secret.read()
    assert (stored.standing, stored.certificates) == (Standing.OURS, NO_SET)
    assert await secret.write(SET, stored.resource_version)
    assert (await secret.read()).certificates == SET


async def test_a_secret_that_somebody_else_filled_is_foreign(cluster: ApiServer, secret: CertificateSecret) -> None:
    put(cluster, {"caCert.pem": encoded(b"theirs"), "serverCert.pem": encoded(b"shown"), "other": "eA=="})
    stored = await secret.read()
    assert stored.standing is Standing.FOREIGN
    assert stored.certificates == CertificateSet(b"theirs", b"", b"shown", b"")


THEIR_PAIR = {"tls.crt": encoded(b"shown"), "tls.key": encoded(b"key")}


@pytest.mark.parametrize(
    ("row", "data", "standing", "certificates"),
    [
        ("cert-manager", THEIR_PAIR | {"ca.crt": encoded(b"theirs")}, Standing.FOREIGN,
         CertificateSet(b"theirs", b"", b"shown", b"key")),
        ("a public authority", THEIR_PAIR, Standing.FOREIGN, CertificateSet(b"", b"", b"shown", b"key")),
        ("beside ours", THEIR_PAIR | {"serverCert.pem": encoded(b"ours"), "caKey.pem": encoded(b"ours")},
         Standing.FOREIGN, CertificateSet(b"", b"", b"shown", b"key")),
        ("not issued yet", {"tls.key": encoded(b"key")}, Standing.OURS, NO_SET),
        ("empty", {"tls.crt": "", "tls.key": ""}, Standing.OURS, NO_SET),
    ],
)  # fmt: skip
async def test_a_secret_of_type_tls_is_taken_as_it_is(
    cluster: ApiServer, secret: CertificateSecret, row: str, data: dict[str, str], standing: Standing,
    certificates: CertificateSet,
) -> None:  # fmt: skip
    put(cluster, data, {MADE_BY_ANNOTATION: MADE_BY} if row == "beside ours" else None)
    stored = await secret.read()
    assert (stored.standing, stored.certificates) == (standing, certificates), row


async def test_of_two_writers_one_wins(secret: CertificateSecret) -> None:
    assert await secret.write(SET, "")
    assert not await secret.write(NO_SET, "")
    before = await secret.read()
    assert await secret.write(CertificateSet(b"new"), before.resource_version)
    assert not await secret.write(SET, before.resource_version)
    assert (await secret.read()).certificates == CertificateSet(b"new")


async def test_a_secret_that_is_no_base64_says_what_to_do(cluster: ApiServer, secret: CertificateSecret) -> None:
    put(cluster, {"caCert.pem": "***"}, {MADE_BY_ANNOTATION: "evenkeel-admission-controller"})
    with pytest.raises(InvalidObjectError, match=r"Secret kube-system/evenkeel-tls-certs.*delete it"):
        await secret.read()


async def test_a_missing_permission_says_what_to_do(cluster: ApiServer, secret: CertificateSecret) -> None:
    cluster.faults.add(Fault(Refuse(403), path="/secrets", count=None))
    with pytest.raises(ApiError, match=r"allow get and patch on Secret kube-system/.*--tls-cert-file"):
        await secret.read()
    with pytest.raises(ApiError, match="create it empty"):
        await secret.write(SET, "")


async def test_other_failures_are_passed_on(cluster: ApiServer, secret: CertificateSecret) -> None:
    cluster.faults.add(Fault(Refuse(422), verb="create"))
    with pytest.raises(ApiError) as refused:
        await secret.write(SET, "")
    assert "allow" not in str(refused.value)
    cluster.faults.add(Fault(DropConnection(), verb="get", count=None))
    with pytest.raises(ApiUnreachableError):
        await secret.read()


def files(folder: Path) -> CertificateFiles:
    return CertificateFiles(folder / "caCert.pem", folder / "serverCert.pem", folder / "serverKey.pem")


async def test_files_are_read(tmp_path: Path) -> None:
    """Spec: admission:2."""
    assert not files(tmp_path).has_pair()
    (tmp_path / "serverCert.pem").write_bytes(b"serving")
    assert not files(tmp_path).has_pair()
    (tmp_path / "serverKey.pem").write_bytes(b"key")
    assert files(tmp_path).has_pair()
    assert await files(tmp_path).read() == CertificateSet(b"", b"", b"serving", b"key")
    (tmp_path / "caCert.pem").write_bytes(b"authorities")
    assert (await files(tmp_path).read()).authorities == b"authorities"


async def test_a_pair_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match=r"--tls-cert-file=.*serverCert\.pem"):
        await files(tmp_path).read()
