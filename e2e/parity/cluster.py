"""Objects of a case as our cores take them: workloads, scales and what is known of controllers."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

import msgspec

from autoscaling.kube.workloads import workload_decoder
from autoscaling.ownership import ControllerKey, ScaleAnswer
from autoscaling.pod import Owner
from autoscaling.targets import KnownControllers
from autoscaling.workload import Workload
from e2e.parity.kinds import Case

SCALABLE_GROUP = "example.com"
"""API group of the kind Foo, which has a scale subresource, and of the kind Bar, which has none."""

_SCALABLE_KINDS = {"Foo": "foos", "Bar": "bars"}


class _Owner(msgspec.Struct, rename="camel"):
    kind: str = ""
    name: str = ""
    api_version: str = ""
    uid: str = ""
    controller: bool | None = None


class _Metadata(msgspec.Struct, rename="camel"):
    owner_references: list[_Owner] = []


class _Counted(msgspec.Struct):
    replicas: int = 0


class _Selecting(msgspec.Struct):
    selector: str = ""


class _Scale(msgspec.Struct):
    metadata: _Metadata = msgspec.field(default_factory=_Metadata)
    spec: _Counted = msgspec.field(default_factory=_Counted)
    status: _Selecting = msgspec.field(default_factory=_Selecting)


class Scales(Mapping[ControllerKey, ScaleAnswer]):
    """What the API server says of scales, for every controller that one may ask about.

    Args:
        scales: The scale objects there are, by path below the group's version.
    """

    def __init__(self, scales: Mapping[str, object]) -> None:
        self._scales = {path: msgspec.convert(scale, _Scale) for path, scale in scales.items()}

    def __getitem__(self, key: ControllerKey) -> ScaleAnswer:
        group, slash, version = key.api_version.rpartition("/")
        if not version or "/" in group or (slash and not group):
            return ScaleAnswer(is_found=False, failure="the API version is malformed")
        if key.kind == "Node":
            return ScaleAnswer(is_found=False)
        if group != SCALABLE_GROUP or key.kind not in _SCALABLE_KINDS:
            return ScaleAnswer(is_found=False, failure="there is no such kind")
        scale = self._scales.get(scale_path(key.namespace, key.kind, key.name))
        if scale is None:
            return ScaleAnswer(is_found=False)
        owners = tuple(
            Owner(o.api_version, o.kind, o.name, o.controller, o.uid) for o in scale.metadata.owner_references
        )
        return ScaleAnswer(is_found=True, selector=scale.status.selector, replicas=scale.spec.replicas, owners=owners)

    def __contains__(self, key: object) -> bool:
        return isinstance(key, ControllerKey)

    def __iter__(self) -> Iterator[ControllerKey]:
        return iter(())

    def __len__(self) -> int:
        return len(self._scales)


def scale_path(namespace: str, kind: str, name: str) -> str:
    """Return where the scale of an object lies, below the group's version."""
    return f"/namespaces/{namespace}/{_SCALABLE_KINDS[kind]}/{name}/scale"


def workload(given: Mapping[str, object]) -> Workload:
    """Read an object of one of the well-known kinds."""
    return workload_decoder(str(given["kind"]))(msgspec.json.encode(given))[2]


def controllers(workloads: Iterable[Workload], scales: Mapping[str, object]) -> KnownControllers:
    """Return what is known of controllers."""
    return KnownControllers.of(workloads, Scales(scales))


def named(given: Case) -> str:
    """Return namespace and name of an object."""
    metadata = given.get("metadata")
    assert isinstance(metadata, dict)
    return f"{metadata.get('namespace', '')}/{metadata.get('name', '')}"
