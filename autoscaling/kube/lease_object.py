"""A Lease as the API has it; what we do not know of it is kept when it is written back."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime

import msgspec

from autoscaling.errors import ApiRefusedError, ApiUnreachableError
from autoscaling.kube.client import KubeClient
from autoscaling.kube.election import LeaseState
from autoscaling.kube.paths import LEASES
from autoscaling.kube.refusals import is_missing
from autoscaling.kube.retry import Patience
from autoscaling.wire.unreadable import UNREADABLE_JSON

Json = dict[str, object]


class _Meta(msgspec.Struct, rename="camel"):
    resource_version: str = ""
    creation_timestamp: datetime | None = None
    annotations: dict[str, str] | None = None


class _Spec(msgspec.Struct, rename="camel"):
    holder_identity: str | None = None
    lease_duration_seconds: int | None = None
    acquire_time: datetime | None = None
    renew_time: datetime | None = None
    lease_transitions: int | None = None


class _Lease(msgspec.Struct):
    metadata: _Meta = msgspec.field(default_factory=_Meta)
    spec: _Spec | None = None


_WHOLE = msgspec.json.Decoder(Json)


@dataclass(frozen=True, slots=True)
class StoredLease:
    """One Lease as it was read.

    Args:
        state: What it says about its holder.
        created: When it was created; None if the server does not say.
        body: The whole object.
        annotations: Of the object.
    """

    state: LeaseState
    created: datetime | None
    body: Json
    annotations: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class LeaseFile:
    """Reads and writes one Lease.

    Args:
        client: Calls to the API server.
        namespace: Of the Lease.
        name: Of the Lease.
    """

    client: KubeClient
    namespace: str
    name: str

    @property
    def path(self) -> str:
        """Path of the Lease."""
        return LEASES.path(self.namespace, self.name)

    async def read(self, patience: Patience) -> StoredLease | None:
        """Read it; None when there is none."""
        try:
            body = await self.client.get(self.path, patience=patience)
        except ApiRefusedError as refusal:
            if is_missing(refusal):
                return None
            raise
        return self._parse(body)

    async def create(self, state: LeaseState, patience: Patience) -> StoredLease:
        """Create it."""
        body: Json = {
            "apiVersion": LEASES.api_version,
            "kind": LEASES.kind,
            "metadata": {"namespace": self.namespace, "name": self.name},
            "spec": _spec_of(state),
        }
        path = LEASES.path(self.namespace)
        return self._parse(await self.client.create(path, msgspec.json.encode(body), patience=patience))

    async def replace(self, stored: StoredLease, state: LeaseState, patience: Patience) -> StoredLease:
        """Write it back with another state; refused as a conflict when someone wrote it in between."""
        spec = stored.body.get("spec")
        body = stored.body | {"spec": (spec if isinstance(spec, dict) else {}) | _spec_of(state)}
        return self._parse(await self.client.replace(self.path, msgspec.json.encode(body), patience=patience))

    async def create_unheld(self, annotations: Mapping[str, str], patience: Patience) -> StoredLease:
        """Create it without a holder, to keep something in its annotations."""
        body: Json = {
            "apiVersion": LEASES.api_version,
            "kind": LEASES.kind,
            "metadata": {"namespace": self.namespace, "name": self.name, "annotations": dict(annotations)},
        }
        path = LEASES.path(self.namespace)
        return self._parse(await self.client.create(path, msgspec.json.encode(body), patience=patience))

    async def annotate(self, stored: StoredLease, annotations: Mapping[str, str], patience: Patience) -> StoredLease:
        """Write it back with further annotations and nothing else changed; refused as a conflict as ``replace`` is."""
        metadata = stored.body.get("metadata")
        annotated = {"annotations": {**stored.annotations, **annotations}}
        body = stored.body | {"metadata": (metadata if isinstance(metadata, dict) else {}) | annotated}
        return self._parse(await self.client.replace(self.path, msgspec.json.encode(body), patience=patience))

    def _parse(self, body: bytes) -> StoredLease:
        try:
            whole = _WHOLE.decode(body)
            lease = msgspec.convert(whole, _Lease)
        except UNREADABLE_JSON as error:
            raise ApiUnreachableError(
                f"Lease {self.namespace}/{self.name}: API server {self.client.server} answered with "
                f"something that is no Lease: {error}; check that no proxy in between rewrites answers"
            ) from error
        spec = lease.spec or _Spec()
        state = LeaseState(
            spec.holder_identity or "",
            spec.lease_duration_seconds or 0,
            spec.acquire_time,
            spec.renew_time,
            spec.lease_transitions,
        )
        return StoredLease(state, lease.metadata.creation_timestamp, whole, lease.metadata.annotations or {})


def _spec_of(state: LeaseState) -> Json:
    fields: Json = {"holderIdentity": state.holder, "leaseDurationSeconds": state.duration_seconds}
    if state.acquired is not None:
        fields["acquireTime"] = _micro_time(state.acquired)
    if state.renewed is not None:
        fields["renewTime"] = _micro_time(state.renewed)
    if state.transitions is not None:
        fields["leaseTransitions"] = state.transitions
    return fields


def _micro_time(time: datetime) -> str:
    """Spell a time as the API's MicroTime: always six digits, always Z."""
    return time.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
