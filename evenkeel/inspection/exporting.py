"""Recommendations in the form that manifests in a repository take: strategic-merge patches, Kustomize, Helm values.

The amounts are those that the webhook would give a new pod of the workload's template.

Spec: beyond:B-38.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from string import Formatter
from typing import Final

import yaml

from admission.pod_patch import new_resources
from admission.review import SubmittedPod
from autoscaling.acceptable_targets import acceptable_targets, limits_for_capping
from autoscaling.behaviour import Behaviour
from autoscaling.errors import ConfigurationError
from autoscaling.limitrange import NamespaceLimits
from autoscaling.objectref import ObjectRef
from autoscaling.ownership import api_group
from autoscaling.resources import ContainerResources, ResourceList, in_order
from autoscaling.sidecars import with_sidecars
from autoscaling.vpa import TargetRef, UpdateMode, UpdatePolicy, Vpa
from evenkeel.inspection.documents import Json, Table
from evenkeel.inspection.limit_defaults import as_admitted

DEFAULT_HELM_KEY: Final = "{name}.{container}.resources"
_PLACEHOLDERS: Final = frozenset({"namespace", "kind", "name", "container"})
_CRON_JOB: Final = "CronJob"


@dataclass(frozen=True, slots=True)
class ExportedContainer:
    """One container with what it should ask for.

    Args:
        is_sidecar: Whether it is listed under ``initContainers``.
        before: What the template asks for.
        requests: What to set; empty for nothing.
        limits: Likewise.
    """

    name: str
    is_sidecar: bool
    before: ContainerResources
    requests: ResourceList
    limits: ResourceList


@dataclass(frozen=True, slots=True)
class ExportedWorkload:
    """One workload with what its containers should ask for.

    Args:
        vpa: Whose recommendation it is.
        namespace: Of both.
        target: The workload.
        containers: Those of which something is set.
    """

    vpa: ObjectRef
    namespace: str
    target: TargetRef
    containers: tuple[ExportedContainer, ...]


def exported(
    vpa: Vpa, template: SubmittedPod, limits: NamespaceLimits, behaviour: Behaviour
) -> ExportedWorkload | None:
    """Return what a workload should ask for.

    Args:
        vpa: With its recommendation.
        template: A new pod of the workload.
        limits: LimitRanges of the namespace.
        behaviour: How the webhook decides.

    Returns:
        None where there is nothing to set.

    Raises:
        InvalidObjectError: The pod cannot be fitted to the LimitRanges.
    """
    target = vpa.target_ref
    if target is None:
        return None
    # In mode Off the webhook sets nothing; whoever exports wants to do by hand what it leaves alone.
    vpa = replace(vpa, update_policy=replace(vpa.update_policy or UpdatePolicy(), mode=UpdateMode.INITIAL))
    pod, before = as_admitted(template, limits).pod, template.pod
    if behaviour.native_sidecars and pod.init_containers:
        pod, before = with_sidecars(pod), with_sidecars(before)
    capping = limits_for_capping(pod, limits) if behaviour.only_what_is_accepted else limits
    targets = new_resources(pod, vpa, capping, spares_others=behaviour.limit_range_and_quota)
    if behaviour.only_what_is_accepted:
        targets = acceptable_targets(pod, targets, limits)
    containers = tuple(
        ExportedContainer(each.name, each.is_sidecar, each.resources, wanted.requests, wanted.limits)
        for each, wanted in zip(before.containers, targets, strict=True)
        if wanted.requests or wanted.limits
    )
    return ExportedWorkload(vpa.ref, vpa.namespace, target, containers) if containers else None


def patch_of(workload: ExportedWorkload) -> Json:
    """Return a strategic-merge patch of a workload."""
    listed = {
        kind: [_container(each) for each in workload.containers if each.is_sidecar is is_sidecar]
        for kind, is_sidecar in (("containers", False), ("initContainers", True))
    }
    pod_spec: dict[str, Json] = {kind: list[Json](those) for kind, those in listed.items() if those}
    spec: dict[str, Json] = {"template": {"spec": pod_spec}}
    if workload.target.kind == _CRON_JOB:
        spec = {"jobTemplate": {"spec": spec}}
    return {
        "apiVersion": workload.target.api_version,
        "kind": workload.target.kind,
        "metadata": {"name": workload.target.name, "namespace": workload.namespace},
        "spec": spec,
    }


def kustomization(workloads: Iterable[ExportedWorkload], *, in_files: bool = False) -> Json:
    """Return a Kustomize component with a patch for each workload, which an overlay lists under ``components``.

    The manifests that it patches often have no namespace yet, so patches ask for one only where there are several.

    Args:
        workloads: What is exported.
        in_files: Whether the patches are files beside it, by their names, and not part of it.
    """
    listed = list(workloads)
    asks_for_namespace = len({each.namespace for each in listed}) > 1
    patches = list[Json]()
    for each in listed:
        patch: dict[str, Json] = {"target": _selected(each, asks_for_namespace=asks_for_namespace)}
        if in_files:
            patch["path"] = file_name(each)
        else:
            patch["patch"] = yaml.safe_dump(patch_of(each), sort_keys=False)
        patches.append(patch)
    return {"apiVersion": "kustomize.config.k8s.io/v1alpha1", "kind": "Component", "patches": patches}


def _selected(workload: ExportedWorkload, *, asks_for_namespace: bool) -> Json:
    """Return which object of the manifests a patch is for."""
    group, _, version = workload.target.api_version.rpartition("/")
    selected: dict[str, Json] = {"group": group} if group else {}
    selected |= {"version": version, "kind": workload.target.kind, "name": workload.target.name}
    return selected | {"namespace": workload.namespace} if asks_for_namespace else selected


def helm_values(workloads: Iterable[ExportedWorkload], key: str = DEFAULT_HELM_KEY) -> Json:
    """Return values for a chart.

    Args:
        workloads: What is exported.
        key: Where the resources of a container stand, its parts divided by dots, with placeholders.

    Raises:
        ConfigurationError: The key has other placeholders, or two containers share a place.
    """
    values: dict[str, Json] = {}
    places: dict[tuple[str, ...], str] = {}
    for workload in workloads:
        for container in workload.containers:
            place = _place(key, workload, container.name)
            title = f"container {container.name} of {workload.target.kind} {workload.namespace}/{workload.target.name}"
            for taken, other in places.items():
                shorter = min(len(taken), len(place))
                if taken[:shorter] == place[:shorter]:
                    raise ConfigurationError(
                        f"--helm-key {key}: {title} would stand at {'.'.join(place)}, where {other} stands; use more "
                        f"of {', '.join(f'{{{name}}}' for name in sorted(_PLACEHOLDERS))}"
                    )
            places[place] = title
            _put(values, place, _resources(container))
    return values


def _place(key: str, workload: ExportedWorkload, container: str) -> tuple[str, ...]:
    """Return where the resources of a container stand; a placeholder's value is one part, dots and all."""
    known = {
        "namespace": workload.namespace,
        "kind": workload.target.kind.lower(),
        "name": workload.target.name,
        "container": container,
    }
    try:
        used = {name for _, name, _, _ in Formatter().parse(key) if name is not None}
    except ValueError as error:
        raise ConfigurationError(f"--helm-key {key}: {error}; write for example {DEFAULT_HELM_KEY}") from error
    if not used <= _PLACEHOLDERS or not all(key.split(".")):
        raise ConfigurationError(
            f"--helm-key {key}: its parts are divided by dots, and may use {{namespace}}, {{kind}}, {{name}} and "
            f"{{container}}; write for example {DEFAULT_HELM_KEY}"
        )
    return tuple(part.format(**known) for part in key.split("."))


def _put(values: dict[str, Json], place: Sequence[str], value: Json) -> None:
    """Put a value into nested objects."""
    *parents, last = place
    for name in parents:
        inner = values.setdefault(name, {})
        assert isinstance(inner, dict)
        values = inner
    values[last] = value


def _container(container: ExportedContainer) -> Json:
    return {"name": container.name, "resources": _resources(container)}


def _resources(container: ExportedContainer) -> Json:
    """Return what a container should ask for, as manifests have it."""
    both = {"requests": container.requests, "limits": container.limits}
    return {kind: {name: str(amount) for name, amount in in_order(those)} for kind, those in both.items() if those}


def export_table(workloads: Iterable[ExportedWorkload]) -> Table:
    """Return a row for each amount, with what the template has."""
    rows = tuple(
        (each.namespace, f"{each.target.kind}/{each.target.name}", *row) for each in workloads for row in _rows(each)
    )
    return Table("", ("NAMESPACE", "WORKLOAD", "CONTAINER", "AMOUNT", "NOW", "RECOMMENDED"), rows)


def _rows(workload: ExportedWorkload) -> Iterator[tuple[str, ...]]:
    """Yield the rows of one workload."""
    for each in workload.containers:
        for kind, old, new in (
            ("request", each.before.requests, each.requests),
            ("limit", each.before.limits, each.limits),
        ):
            for name, amount in in_order(new):
                before = (old or {}).get(name)
                yield each.name, f"{name} {kind}", "-" if before is None else str(before), str(amount)


def file_name(workload: ExportedWorkload) -> str:
    """Return what the file of a workload's patch is called; group and kind keep workloads of one name apart."""
    group = api_group(workload.target.api_version)
    parts = [workload.namespace, *([group] if group else []), workload.target.kind.lower(), workload.target.name]
    return "_".join(parts) + ".yaml"
