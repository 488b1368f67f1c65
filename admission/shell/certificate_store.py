"""Where certificates lie: in a Secret that the replicas share, or in files that somebody else provides."""

from __future__ import annotations

import asyncio
import base64
from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from pathlib import Path

import msgspec

from admission.shell.issuing import NO_SET, CertificateSet
from autoscaling.errors import ApiError, ApiRefusedError, ConfigurationError, InvalidObjectError
from autoscaling.kube.calls import PatchType
from autoscaling.kube.client import KubeClient
from autoscaling.kube.paths import SECRETS
from autoscaling.kube.refusals import FORBIDDEN, is_conflict, is_missing
from autoscaling.objectref import ObjectRef
from autoscaling.wire.unreadable import UNREADABLE_JSON

MADE_BY_ANNOTATION = "evenkeel.dev/made-by"
MADE_BY = "evenkeel-admission-controller"

_KEYS = {
    "authorities": "caCert.pem",
    "authority_key": "caKey.pem",
    "serving": "serverCert.pem",
    "serving_key": "serverKey.pem",
}
_KEYS_OF_TLS_SECRETS = {"authorities": "ca.crt", "serving": "tls.crt", "serving_key": "tls.key"}
"""As cert-manager names them."""


class Standing(Enum):
    """Who looks after stored certificates."""

    ABSENT = "nobody: there is no Secret"
    OURS = "we do"
    FOREIGN = "somebody else does"


@dataclass(frozen=True, slots=True)
class StoredCertificates:
    """Certificates as they lie in the Secret.

    Args:
        standing: Who looks after them; an empty Secret is ours to fill.
        certificates: What there is.
        resource_version: Guards a write; empty where there is no Secret.
    """

    standing: Standing
    certificates: CertificateSet
    resource_version: str


class _Metadata(msgspec.Struct, frozen=True, rename="camel"):
    resource_version: str = ""
    annotations: dict[str, str] | None = None


class _Secret(msgspec.Struct, frozen=True):
    metadata: _Metadata = _Metadata()
    data: dict[str, str] | None = None


_SECRET = msgspec.json.Decoder(_Secret)


class CertificateSecret:
    """The Secret that holds the webhook's certificates.

    Args:
        client: Calls to the API server.
        namespace: Of the Secret.
        name: Of the Secret.
    """

    def __init__(self, client: KubeClient, namespace: str, name: str) -> None:
        self.ref = ObjectRef("Secret", namespace, name)
        self._client = client
        self._path = SECRETS.path(namespace, name)

    async def read(self) -> StoredCertificates:
        """Return what lies in the Secret.

        Raises:
            ApiError: It could not be read.
            InvalidObjectError: It is no Secret with PEM texts in it.
        """
        try:
            secret = _SECRET.decode(await self._client.get(self._path))
            return _stored(secret)
        except ApiRefusedError as error:
            if is_missing(error):
                return StoredCertificates(Standing.ABSENT, NO_SET, "")
            raise self._explained(error) from error
        except (*UNREADABLE_JSON, ValueError) as error:
            raise InvalidObjectError(
                self.ref, f"cannot be read: {error}", remedy="delete it, and it is made anew"
            ) from error

    async def write(self, certificates: CertificateSet, resource_version: str) -> bool:
        """Store certificates, unless another replica was quicker.

        Args:
            certificates: What to store.
            resource_version: What the Secret was read at; empty where there was none.

        Returns:
            Whether they are stored.

        Raises:
            ApiError: The API server did not let us.
        """
        metadata: dict[str, object] = {"annotations": {MADE_BY_ANNOTATION: MADE_BY}}
        body: dict[str, object] = {"metadata": metadata, "data": _encoded(certificates)}
        try:
            if resource_version:
                metadata["resourceVersion"] = resource_version
                await self._patch(body)
            else:
                metadata["name"] = self.ref.name
                await self._create(body)
        except ApiRefusedError as error:
            if is_conflict(error):
                return False
            raise self._explained(error) from error
        return True

    async def _patch(self, body: Mapping[str, object]) -> None:
        await self._client.patch(self._path, msgspec.json.encode(body), PatchType.MERGE)

    async def _create(self, body: Mapping[str, object]) -> None:
        whole = {"apiVersion": "v1", "kind": "Secret", "type": "Opaque", **body}
        await self._client.create(SECRETS.path(self.ref.namespace), msgspec.json.encode(whole))

    def _explained(self, error: ApiRefusedError) -> ApiError:
        """Add the way out to a missing permission."""
        if error.code != FORBIDDEN:
            return error
        return ApiRefusedError(
            error.request,
            error.code,
            reason=error.reason,
            message=f"{error.message}; allow get and patch on {self.ref} and create it empty, or provide certificates "
            "with --tls-cert-file, --tls-private-key and --client-ca-file",
        )


def _stored(secret: _Secret) -> StoredCertificates:
    """Convert a Secret; a pair as cert-manager names it counts even where there are certificates of ours beside it."""
    theirs = _decoded(secret, _KEYS_OF_TLS_SECRETS)
    if theirs["serving"] and theirs["serving_key"]:
        return StoredCertificates(Standing.FOREIGN, CertificateSet(**theirs), secret.metadata.resource_version)
    values = _decoded(secret, _KEYS)
    is_ours = (secret.metadata.annotations or {}).get(MADE_BY_ANNOTATION) == MADE_BY
    standing = Standing.OURS if is_ours or not any(values.values()) else Standing.FOREIGN
    return StoredCertificates(standing, CertificateSet(**values), secret.metadata.resource_version)


def _decoded(secret: _Secret, keys: Mapping[str, str]) -> dict[str, bytes]:
    """Return the values under some keys by the names of the fields they are for; empty where there is none."""
    data = secret.data or {}
    return {field: base64.b64decode(data.get(key, ""), validate=True) for field, key in keys.items()}


def _encoded(certificates: CertificateSet) -> dict[str, str]:
    """Return certificates as the data of a Secret."""
    return {key: base64.b64encode(getattr(certificates, field)).decode() for field, key in _KEYS.items()}


@dataclass(frozen=True, slots=True)
class CertificateFiles:
    """Files with the serving pair and with the authorities to publish."""

    authorities: Path
    serving: Path
    serving_key: Path

    def has_pair(self) -> bool:
        """Say whether there is a serving pair at all."""
        return self.serving.is_file() and self.serving_key.is_file()

    async def read(self) -> CertificateSet:
        """Read the files; missing authorities are none, as upstream takes them.

        Raises:
            ConfigurationError: The serving pair cannot be read.
        """
        return await asyncio.to_thread(self._read)

    def _read(self) -> CertificateSet:
        try:
            serving, key = self.serving.read_bytes(), self.serving_key.read_bytes()
        except OSError as error:
            raise ConfigurationError(
                f"--tls-cert-file={self.serving}, --tls-private-key={self.serving_key}: {error}; "
                "name readable PEM files, or leave both out to have certificates made"
            ) from error
        try:
            authorities = self.authorities.read_bytes()
        except OSError:
            authorities = b""
        return CertificateSet(authorities, b"", serving, key)
