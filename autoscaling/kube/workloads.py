"""Objects of the seven well-known controller kinds: JSON to ``Workload``."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType

import msgspec

from autoscaling.errors import InvalidQuantityError
from autoscaling.kube import paths
from autoscaling.kube.decoders import Decoder
from autoscaling.kube.paths import Resource
from autoscaling.kube.table import Key
from autoscaling.matching import NOTHING, Selector, of_label_selector, of_labels
from autoscaling.placement import Placement
from autoscaling.pod import Owner
from autoscaling.wire.placements import decode_placement
from autoscaling.wire.pod_parts import ABSENT, template_of
from autoscaling.wire.unreadable import UNREADABLE_OBJECT
from autoscaling.workload import NO_TEMPLATE, Template, Workload

WELL_KNOWN: Mapping[str, Resource] = MappingProxyType(
    {
        resource.kind: resource
        for resource in (
            paths.DAEMON_SETS,
            paths.DEPLOYMENTS,
            paths.REPLICA_SETS,
            paths.STATEFUL_SETS,
            paths.REPLICATION_CONTROLLERS,
            paths.JOBS,
            paths.CRON_JOBS,
        )
    }
)
"""Where each well-known kind lives; a target is told by its kind alone (spec: recommender:11.1)."""


class _Wire(msgspec.Struct, rename="camel", frozen=True):
    """Base of all structures: camelCase names, unknown fields ignored."""


class OwnerReference(_Wire, frozen=True):
    """One entry of ``metadata.ownerReferences``."""

    kind: str = ""
    name: str = ""
    api_version: str = ""
    uid: str = ""
    controller: bool | None = None


class ObjectMeta(_Wire, frozen=True):
    """What names an object, and what owns it."""

    namespace: str = ""
    name: str = ""
    uid: str = ""
    resource_version: str = ""
    owner_references: list[OwnerReference] | None = None

    @property
    def owners(self) -> tuple[Owner, ...]:
        """The owner references."""
        return tuple(Owner(o.api_version, o.kind, o.name, o.controller, o.uid) for o in self.owner_references or ())


class _Expression(_Wire, frozen=True):
    key: str
    operator: str
    values: list[str] | None = None


class _LabelSelector(_Wire, frozen=True):
    match_labels: dict[str, str] | None = None
    match_expressions: list[_Expression] | None = None


class _Container(_Wire, frozen=True):
    name: str
    resources: msgspec.Raw = ABSENT


class _TemplateSpec(_Wire, frozen=True):
    containers: list[_Container] | None = None
    init_containers: list[_Container] | None = None


class _Template(_Wire, frozen=True):
    spec: _TemplateSpec = _TemplateSpec()

    @property
    def read(self) -> Template:
        """What its containers ask for, one value for all workloads that ask for the same.

        An amount that cannot be read is no reason to do without the workload; its template is not known then.
        """
        containers = (*(self.spec.containers or ()), *(self.spec.init_containers or ()))
        try:
            return template_of(tuple((each.name, bytes(each.resources)) for each in containers))
        except InvalidQuantityError:
            return NO_TEMPLATE


_NO_TEMPLATE = _Template()


class _Spec(_Wire, frozen=True):
    selector: _LabelSelector | None = None
    replicas: int | None = None
    template: _Template = _NO_TEMPLATE


class _Status(_Wire, frozen=True):
    desired_number_scheduled: int = 0


class _Selecting(_Wire, frozen=True):
    """Deployment, ReplicaSet, StatefulSet, DaemonSet, Job."""

    metadata: ObjectMeta = ObjectMeta()
    spec: _Spec = _Spec()
    status: _Status = _Status()


class _MapSpec(_Wire, frozen=True):
    selector: dict[str, str] | None = None
    replicas: int | None = None
    template: _Template | None = None


class _ReplicationController(_Wire, frozen=True):
    metadata: ObjectMeta = ObjectMeta()
    spec: _MapSpec = _MapSpec()


class _LabelledMeta(_Wire, frozen=True):
    labels: dict[str, str] | None = None


class _PodTemplate(_Wire, frozen=True):
    metadata: _LabelledMeta = _LabelledMeta()


class _JobSpec(_Wire, frozen=True):
    template: _PodTemplate = _PodTemplate()


class _JobTemplate(_Wire, frozen=True):
    spec: _JobSpec = _JobSpec()


class _CronSpec(_Wire, frozen=True):
    job_template: _JobTemplate = _JobTemplate()


class _CronJob(_Wire, frozen=True):
    metadata: ObjectMeta = ObjectMeta()
    spec: _CronSpec = _CronSpec()


class _PlacingSpec(_Wire, frozen=True):
    template: msgspec.Raw = ABSENT


class _Placing(_Wire, frozen=True):
    """Deployment, DaemonSet, StatefulSet, with its pod template as it stands there."""

    spec: _PlacingSpec = _PlacingSpec()


_PLACED_KINDS = frozenset({paths.DEPLOYMENTS.kind, paths.DAEMON_SETS.kind, paths.STATEFUL_SETS.kind})
_PLACING = msgspec.json.Decoder(_Placing)
_SELECTING = msgspec.json.Decoder(_Selecting)
_REPLICATION_CONTROLLER = msgspec.json.Decoder(_ReplicationController)
_CRON_JOB = msgspec.json.Decoder(_CronJob)


def workload_decoder(kind: str) -> Decoder[Workload]:
    """The decoder for a store of one well-known kind.

    It raises ``msgspec.MsgspecError`` or ``InvalidSelectorError`` for an object that cannot be read.

    Raises:
        KeyError: The kind is none of the seven.

    Spec: recommender:11.1, updater R-4.
    """
    resource = WELL_KNOWN[kind]
    read = _READERS.get(kind, _read_selecting)

    def decode(body: bytes) -> tuple[Key, str, Workload]:
        metadata, selector, replicas, desired_scheduled, template = read(body)
        workload = Workload(
            kind=kind,
            namespace=metadata.namespace,
            name=metadata.name,
            selector=selector,
            # Objects in a list do not say what they are.
            api_version=resource.api_version,
            uid=metadata.uid,
            owners=metadata.owners,
            replicas=replicas,
            desired_scheduled=desired_scheduled,
            template=template,
            placement=_placement(body) if kind in _PLACED_KINDS else None,
        )
        return (metadata.namespace, metadata.name), metadata.resource_version, workload

    return decode


_Parts = tuple[ObjectMeta, Selector, int | None, int, Template]


def _read_selecting(body: bytes) -> _Parts:
    read = _SELECTING.decode(body)
    spec, scheduled = read.spec, read.status.desired_number_scheduled
    return read.metadata, _selector(spec.selector), spec.replicas, scheduled, spec.template.read


def _placement(body: bytes) -> Placement | None:
    """Read where the pods of a template may run; where that cannot be read the workload counts all the same."""
    template = _PLACING.decode(body).spec.template
    try:
        return decode_placement(bytes(template))
    except UNREADABLE_OBJECT:
        return None


def _read_replication_controller(body: bytes) -> _Parts:
    read = _REPLICATION_CONTROLLER.decode(body)
    template = (read.spec.template or _NO_TEMPLATE).read
    return read.metadata, _selector_of_map(read.spec.selector), read.spec.replicas, 0, template


def _read_cron_job(body: bytes) -> _Parts:
    read = _CRON_JOB.decode(body)
    labels = read.spec.job_template.spec.template.metadata.labels
    return read.metadata, _selector_of_map(labels), None, 0, NO_TEMPLATE


_READERS: Mapping[str, Callable[[bytes], _Parts]] = MappingProxyType(
    {"ReplicationController": _read_replication_controller, "CronJob": _read_cron_job}
)


def _selector(given: _LabelSelector | None) -> Selector:
    """A missing selector selects nothing, an empty one everything."""
    if given is None:
        return NOTHING
    expressions = ((e.key, e.operator, tuple(e.values or ())) for e in given.match_expressions or ())
    return of_label_selector(given.match_labels or {}, expressions)


def _selector_of_map(labels: Mapping[str, str] | None) -> Selector:
    """A map has no form for "everything": the API leaves an empty one out."""
    return of_labels(labels) if labels else NOTHING
