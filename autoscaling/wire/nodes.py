"""Node objects as JSON, decoded to snapshots.

A node says every few minutes that it lives, images and all, so this is msgspec and not pydantic.
"""

from __future__ import annotations

import msgspec

from autoscaling.errors import InvalidObjectError
from autoscaling.node import Node, Taint
from autoscaling.objectref import ObjectRef
from autoscaling.wire.pod_parts import Wire
from autoscaling.wire.scalars import QuantityText, resource_list
from autoscaling.wire.unreadable import UNREADABLE_JSON, UNREADABLE_OBJECT


class _Metadata(Wire, frozen=True, gc=False):
    name: str = ""
    labels: dict[str, str] | None = None
    resource_version: str = ""


class _Taint(Wire, frozen=True, gc=False):
    key: str
    value: str = ""
    effect: str = ""


class _Spec(Wire, frozen=True, gc=False):
    taints: list[_Taint] | None = None
    unschedulable: bool = False


class _Condition(Wire, frozen=True, gc=False):
    type: str = ""
    status: str = ""


class _Status(Wire, frozen=True, gc=False):
    allocatable: dict[str, QuantityText] | None = None
    conditions: list[_Condition] | None = None


class _Node(Wire, frozen=True, gc=False):
    metadata: _Metadata = _Metadata()
    spec: _Spec = _Spec()
    status: _Status = _Status()


class _Named(Wire, frozen=True, gc=False):
    metadata: _Metadata = _Metadata()


_NODES = msgspec.json.Decoder(_Node)
_NAMES = msgspec.json.Decoder(_Named)


def decode_node(raw: bytes) -> Node:
    """Read one node.

    Raises:
        InvalidObjectError: The JSON is malformed, a field has a wrong type or a quantity cannot be read.
    """
    try:
        return _snapshot(_NODES.decode(raw))
    except UNREADABLE_OBJECT as error:
        raise InvalidObjectError(_name(raw), str(error), remedy="look at the log of its kubelet") from error


def _snapshot(node: _Node) -> Node:
    """Convert the wire form to the snapshot."""
    metadata, spec, status = node.metadata, node.spec, node.status
    return Node(
        name=metadata.name,
        allocatable=resource_list(status.allocatable),
        labels=metadata.labels or {},
        taints=tuple(Taint(taint.key, taint.value, taint.effect) for taint in spec.taints or ()),
        is_unschedulable=spec.unschedulable,
        is_ready=any(c.type == "Ready" and c.status == "True" for c in status.conditions or ()),
        resource_version=metadata.resource_version,
    )


def _name(raw: bytes) -> ObjectRef:
    """Return whose JSON this is, as far as that can be told."""
    try:
        name = _NAMES.decode(raw).metadata.name
    except UNREADABLE_JSON:
        name = "(unreadable)"
    return ObjectRef("Node", "", name)
