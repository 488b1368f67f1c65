"""The two JSON patches of an in-place update, as values: resources first, annotations after."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum

from autoscaling.pod import Container, Pod
from autoscaling.resources import ResourceList, in_order
from autoscaling.startup_boost import BOOST_ANNOTATION_PREFIX
from autoscaling.target_resources import ContainerTarget

UPDATED_ANNOTATION = "vpaInPlaceUpdated"
_UPDATED = "true"
_ANNOTATION = "/metadata/annotations/"

PatchValue = str | int | Mapping[str, str] | None
"""What an operation carries: a text, a number, an empty object, or nothing."""


class PatchVerb(Enum):
    """Operations of RFC 6902 that are used."""

    ADD = "add"
    REMOVE = "remove"
    TEST = "test"


@dataclass(frozen=True, slots=True)
class PatchOperation:
    """One operation of a JSON patch; ``path`` is a JSON pointer."""

    verb: PatchVerb
    path: str
    value: PatchValue = None

    def as_json(self) -> Mapping[str, PatchValue]:
        """Return the operation as it is sent; a removal carries ``"value": null`` (updater X-5)."""
        return {"op": self.verb.value, "path": self.path, "value": self.value}


Patch = tuple[PatchOperation, ...]


@dataclass(frozen=True, slots=True)
class PodPatches:
    """What an in-place update sends, in this order.

    Args:
        resize: To the pod's resize subresource (updater X-3).
        annotations: To the pod itself, after the resize was accepted; its failure does not count (updater X-5). Where
            nothing is to be written there is nothing in it, or a test alone.
    """

    resize: Patch
    annotations: Patch


def resize_patch(pod: Pod, targets: Iterable[ContainerTarget | None]) -> Patch:
    """Return the operations that set new requests and limits (updater X-3).

    Args:
        targets: What each of ``pod.containers`` gets, in order; None for one that is left out altogether.

    Returns:
        Operations in container order; empty where nothing is set and no container lacks its resources.
    """
    operations: list[PatchOperation] = []
    for index, (container, target) in enumerate(zip(pod.containers, targets, strict=True)):
        if target is None:
            continue
        path = f"{pod.path_of(index)}/resources"
        current = container.resources
        if current.requests is None and current.limits is None:
            operations.append(PatchOperation(PatchVerb.ADD, path, {}))
        operations += _amounts(f"{path}/requests", current.requests, target.requests)
        operations += _amounts(f"{path}/limits", current.limits, target.limits)
    return tuple(operations)


def annotation_patch(pod: Pod, expired_boosts: Iterable[str] = ()) -> Patch:
    """Return the operations that mark a pod as updated (updater X-5).

    Args:
        expired_boosts: Containers whose boost annotation is removed.
    """
    operations = [PatchOperation(PatchVerb.ADD, "/metadata/annotations", {})] if pod.annotations is None else []
    operations.append(PatchOperation(PatchVerb.ADD, f"/metadata/annotations/{UPDATED_ANNOTATION}", _UPDATED))
    for container in expired_boosts:
        key = pointer_token(f"{BOOST_ANNOTATION_PREFIX}{container}")
        operations.append(PatchOperation(PatchVerb.REMOVE, f"/metadata/annotations/{key}"))
    return tuple(operations)


def in_place_patches(
    pod: Pod,
    resize: Patch,
    *,
    is_guarded: bool = False,
    marks_once: bool = False,
    expired_boosts: Iterable[str] = (),
) -> PodPatches:
    """Return both patches of an in-place update.

    Args:
        resize: What ``resize_patch`` made.
        is_guarded: Whether the patches fail on another pod of the same name, and where container indices would mean
            other containers (beyond:B-31). The resize then also fails once anybody has changed the pod's spec, so that
            one that comes late, of a leader that leads no more, undoes nothing.
        marks_once: Whether a pod is left as it is that is marked as updated already and keeps all other annotations.
        expired_boosts: Containers whose boost annotation is removed.
    """
    boosts = tuple(expired_boosts)
    is_marked = marks_once and not boosts and pod.annotation(UPDATED_ANNOTATION) == _UPDATED
    annotations = () if is_marked else annotation_patch(pod, boosts)
    if not is_guarded:
        return PodPatches(resize, annotations)
    uid = PatchOperation(PatchVerb.TEST, "/metadata/uid", pod.uid)
    # The resourceVersion would do as well, but that also rises with each status the kubelet writes.
    unchanged = [PatchOperation(PatchVerb.TEST, "/metadata/generation", pod.generation)] if pod.generation else []
    names = [
        PatchOperation(PatchVerb.TEST, f"{pod.path_of(index)}/name", container.name)
        for index, container in enumerate(pod.containers)
    ]
    return PodPatches((uid, *unchanged, *names, *resize), (uid, *annotations))


def is_carried_out(resize: Patch, document: object) -> bool:
    """Say whether a pod's object has everything that a patch sets and asks of the pod's and containers' names.

    Args:
        resize: What ``in_place_patches`` made; the generation it was made for does not matter any more.
        document: The object as decoded JSON.
    """
    told = [o for o in resize if o.path != "/metadata/generation" and isinstance(o.value, str)]
    return bool(told) and all(_value_at(document, operation.path) == operation.value for operation in told)


def writes_anything(patch: Patch) -> bool:
    """Say whether a patch does more than test."""
    return any(operation.verb is not PatchVerb.TEST for operation in patch)


def annotations_set(patch: Patch) -> dict[str, str] | None:
    """Return the texts by key that a patch of annotations sets; None where it removes any."""
    if any(operation.verb is PatchVerb.REMOVE for operation in patch):
        return None
    return {
        _key_of(operation.path.removeprefix(_ANNOTATION)): operation.value
        for operation in patch
        if operation.verb is PatchVerb.ADD and isinstance(operation.value, str)
    }


def is_already_requested(pod: Pod, targets: Iterable[ContainerTarget | None]) -> bool:
    """Say whether the pod's spec asks for exactly what would be set (beyond:B-31, updater K-11)."""
    pairs = zip(pod.containers, targets, strict=True)
    return all(target is None or _asks_for(container, target) for container, target in pairs)


def pointer_token(text: str) -> str:
    """Return one step of a JSON pointer, escaped (upstream-1.8.1 section 3, on admission 7.2)."""
    return text.replace("~", "~0").replace("/", "~1")


def _value_at(document: object, path: str) -> object:
    """Return what a JSON pointer leads to, None where it leads to nothing."""
    for token in path.removeprefix("/").split("/"):
        if isinstance(document, Mapping):
            document = document.get(_key_of(token))
        elif isinstance(document, Sequence) and not isinstance(document, str) and int(token) < len(document):
            document = document[int(token)]
        else:
            return None
    return document


def _key_of(token: str) -> str:
    """Return what one step of a JSON pointer stands for."""
    return token.replace("~1", "/").replace("~0", "~")


def _amounts(path: str, current: ResourceList | None, wanted: ResourceList) -> list[PatchOperation]:
    """Return the operations that fill one map, making it first where the spec has none."""
    operations = [PatchOperation(PatchVerb.ADD, path, {})] if current is None and wanted else []
    for name, quantity in in_order(wanted):
        operations.append(PatchOperation(PatchVerb.ADD, f"{path}/{pointer_token(name)}", str(quantity)))
    return operations


def _asks_for(container: Container, target: ContainerTarget) -> bool:
    """Say whether a container's spec has all of these amounts."""
    requests, limits = container.resources.requests or {}, container.resources.limits or {}
    return all(requests.get(name) == quantity for name, quantity in target.requests.items()) and all(
        limits.get(name) == quantity for name, quantity in target.limits.items()
    )
