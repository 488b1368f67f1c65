"""Pod, VPA and LimitRanges to the patch operations of a new pod, in order (spec: admission:7)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final

from admission.boosting import NO_BOOSTS, Boosts
from admission.patch_operation import PatchOperation, pointer_segment
from autoscaling.capping import process
from autoscaling.limitrange import NamespaceLimits
from autoscaling.pod import Pod
from autoscaling.resources import ResourceList, in_order
from autoscaling.startup_boost import BOOST_ANNOTATION_PREFIX
from autoscaling.target_resources import NOTHING, ContainerTarget, container_targets
from autoscaling.vpa import UpdateMode, Vpa

UPDATES_ANNOTATION = "vpaUpdates"
OBSERVED_CONTAINERS_ANNOTATION = "vpaObservedContainers"

LARGEST_ANNOTATIONS: Final = 256 * 1024
"""Most bytes that keys and values of a pod's annotations may have together."""

_PLENTY: Final = 128 * 1024
"""More than a patch ever sets."""

_ANNOTATIONS: Final = "/metadata/annotations/"

NO_OTHERS: Final[Mapping[str, str]] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class PodToPatch:
    """A pod on its way in.

    Args:
        pod: The pod as far as it counts here.
        resources_present: For each of ``pod.containers``, whether it has a ``resources`` object that must stay because
            it may hold more than requests and limits; None where that does not matter and an object without both is
            replaced, as upstream does (spec: admission:7.2 a).
    """

    pod: Pod
    resources_present: tuple[bool, ...] | None = None


def new_resources(
    pod: Pod, vpa: Vpa, limits: NamespaceLimits, *, spares_others: bool = False
) -> tuple[ContainerTarget, ...]:
    """Return what each container of a new pod is to get, in order (spec: admission:7.1).

    Without a recommendation policies count for nothing, and in mode Off nothing is set at all.

    Args:
        spares_others: See ``capping.process``.

    Raises:
        InvalidObjectError: The pod cannot be fitted to its namespace's LimitRanges.
    """
    # A pod that cannot be fitted is refused in mode Off as well, so this comes before the mode is looked at.
    processed = None if vpa.recommendation is None else process(pod, vpa, limits, spares_others=spares_others)
    if vpa.update_mode is UpdateMode.OFF:
        return tuple(NOTHING for _ in pod.containers)
    return container_targets(pod, vpa, processed, limits)


def pod_patch(
    given: PodToPatch,
    vpa_name: str,
    targets: tuple[ContainerTarget, ...],
    boosts: Boosts = NO_BOOSTS,
    others: Mapping[str, str] = NO_OTHERS,
) -> tuple[PatchOperation, ...]:
    """Return the operations that give a pod its new resources and the annotations that say so.

    Args:
        vpa_name: Name of the VPA, for the annotation.
        targets: What each of the pod's containers is to get.
        boosts: What a start-up boost adds to that.
        others: Other annotations to set, by key; those with an empty value are not set.

    Spec: admission:7.2, admission:7.3; resources always go in the order cpu, memory, others by name.
    """
    pod = given.pod
    operations = [PatchOperation("/metadata/annotations", {})] if pod.annotations is None else []
    parts: list[str] = []
    for index, target in enumerate(targets):
        if index in boosts.originals:
            name = pod.containers[index].name
            operations.append(_annotation(f"{BOOST_ANNOTATION_PREFIX}{name}", boosts.originals[index]))
        if index in boosts.skipped:
            continue
        changes, notes = _container_patch(given, index, target)
        operations += changes
        if changes or target.held_back:
            parts.append(f"{_place(pod, index)}: {', '.join(notes)}")
    if parts:
        operations.append(_annotation(UPDATES_ANNOTATION, f"Pod resources updated by {vpa_name}: {'; '.join(parts)}"))
    operations += [_annotation(key, value) for key, value in others.items() if value]
    observed = ", ".join(container.name for container in pod.containers)
    operations.append(_annotation(OBSERVED_CONTAINERS_ANNOTATION, observed))
    return tuple(operations)


def leaves_room(annotations: Mapping[str, str], patch: Iterable[PatchOperation]) -> bool:
    """Say whether a pod's annotations, with those that a patch sets, are no more than the API server takes."""
    room = LARGEST_ANNOTATIONS - sum(map(_size, annotations.items()))
    if room > _PLENTY:
        return True
    start = len(_ANNOTATIONS)
    set_here = {op.path[start:]: str(op.value) for op in patch if op.path.startswith(_ANNOTATIONS)}
    replaced = sum(_size(pair) for pair in annotations.items() if pointer_segment(pair[0]) in set_here)
    return sum(map(_size, set_here.items())) - replaced <= room


def _size(pair: tuple[str, str]) -> int:
    """Return what an annotation takes up, in bytes."""
    return len(pair[0].encode()) + len(pair[1].encode())


def _place(pod: Pod, index: int) -> str:
    """Name one of a pod's containers by its place in the spec."""
    position = pod.containers[index].init_position
    return f"container {index}" if position is None else f"init container {position}"


def _annotation(key: str, value: str) -> PatchOperation:
    """Set one annotation."""
    return PatchOperation(f"{_ANNOTATIONS}{pointer_segment(key)}", value)


def _container_patch(
    given: PodToPatch, index: int, target: ContainerTarget
) -> tuple[list[PatchOperation], tuple[str, ...]]:
    """Return one container's operations and the notes that go with them."""
    current = given.pod.actual_resources(given.pod.containers[index])
    path = f"{given.pod.path_of(index)}/resources"
    requests, request_notes = _amounts(f"{path}/requests", "request", current.requests, target.requests)
    limits, limit_notes = _amounts(f"{path}/limits", "limit", current.limits, target.limits)
    changes = requests + limits
    if current.requests is None and current.limits is None and _needs_object(given, index, changes):
        changes.insert(0, PatchOperation(path, {}))
    return changes, target.notes + target.held_back + request_notes + limit_notes


def _needs_object(given: PodToPatch, index: int, changes: list[PatchOperation]) -> bool:
    """Say whether a container without requests and limits gets a new ``resources`` object."""
    if given.resources_present is None:
        return True
    return bool(changes) and not given.resources_present[index]


def _amounts(
    path: str, word: str, current: ResourceList | None, wanted: ResourceList
) -> tuple[list[PatchOperation], tuple[str, ...]]:
    """Return the operations that set requests or limits, and a note for each amount."""
    named = [(name, amount) for name, amount in in_order(wanted) if name]
    operations = [PatchOperation(path, {})] if current is None and named else []
    operations += [PatchOperation(f"{path}/{pointer_segment(name)}", str(amount)) for name, amount in named]
    return operations, tuple(f"{name} {word}" for name, _ in named)
