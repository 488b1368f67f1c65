"""ResourceQuota objects as JSON, converted to the snapshot."""

from __future__ import annotations

from autoscaling.quota import Quota, ScopeRequirement
from autoscaling.wire.objects import Amounts, Wire, decoded
from autoscaling.wire.scalars import resource_list


class _Metadata(Wire):
    name: str = ""
    namespace: str = ""
    resource_version: str = ""


class _Expression(Wire):
    scope_name: str
    operator: str
    values: list[str] | None = None


class _ScopeSelector(Wire):
    match_expressions: list[_Expression] | None = None


class _Spec(Wire):
    scopes: list[str] | None = None
    scope_selector: _ScopeSelector | None = None


class _Status(Wire):
    hard: Amounts | None = None
    used: Amounts | None = None


class _Quota(Wire):
    metadata: _Metadata = _Metadata()
    spec: _Spec = _Spec()
    status: _Status = _Status()


def decode_quota(raw: bytes) -> Quota:
    """Read one quota, with its scopes from both places in the spec (case 4).

    Raises:
        InvalidObjectError: A field has a wrong type, or a quantity cannot be read.
    """
    return decoded(raw, "ResourceQuota", lambda: _snapshot(_Quota.model_validate_json(raw)))


def _snapshot(read: _Quota) -> Quota:
    """Convert the wire form to the snapshot."""
    metadata, spec, status = read.metadata, read.spec, read.status
    selected = spec.scope_selector.match_expressions or () if spec.scope_selector else ()
    scopes = tuple(ScopeRequirement(scope) for scope in spec.scopes or ())
    return Quota(
        namespace=metadata.namespace,
        name=metadata.name,
        hard=resource_list(status.hard),
        used=resource_list(status.used),
        scopes=scopes + tuple(ScopeRequirement(e.scope_name, e.operator, tuple(e.values or ())) for e in selected),
        resource_version=metadata.resource_version,
    )
