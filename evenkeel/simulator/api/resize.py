"""The ``resize`` subresource of pods: what survives of a request, and which changes are refused."""

from __future__ import annotations

from evenkeel.simulator.api.containers import GROUPS, SECTIONS, amounts, qos_class
from evenkeel.simulator.api.fields import JsonObject, as_object, child, copy_of, rows, text
from evenkeel.simulator.api.status import Cause, CauseType

_MUTABLE = ("cpu", "memory")
_KEPT = ("resources", "resizePolicy")
_ODD_FIELD = "[]"


def keep_resources(body: JsonObject, old: JsonObject) -> None:
    """Reset everything but the containers' resources and resize policies to the stored values, in place.

    When containers were added, removed, renamed or reordered nothing is reset, so that validation refuses the request
    (spec: in-place-resize 1.2).
    """
    if any(_names(body, group) != _names(old, group) for group in GROUPS):
        return
    kept = {group: [_kept_part(container) for container in rows(body, "spec", group)] for group in GROUPS}
    body.clear()
    body.update(copy_of(old))
    for group, parts in kept.items():
        for container, part in zip(rows(body, "spec", group), parts, strict=True):
            for field in _KEPT:
                container.pop(field, None)
            container.update(part)


def _kept_part(container: JsonObject) -> JsonObject:
    """Return what a resize request may say about one container."""
    return {field: container[field] for field in _KEPT if field in container}


def _names(body: JsonObject, group: str) -> list[str]:
    """Return the names of a group of containers in order."""
    return [text(container, "name") for container in rows(body, "spec", group)]


def validate_resize(body: JsonObject, old: JsonObject) -> list[Cause]:
    """Return why a resize is refused; empty when it is fine (spec: resize V2 to V12).

    Args:
        body: The pod as it would be stored.
        old: The pod as it is stored.
    """
    unsupported = _unsupported(old)
    if unsupported:
        return [Cause(CauseType.FORBIDDEN, _ODD_FIELD, f"Forbidden: {unsupported}")]
    counts = _count_changes(body, old)
    if counts:
        return counts
    return [*_names_changed(body, old), *_rules_on_pod(body, old), *_removals(body, old), *_other_changes(body, old)]


def _unsupported(old: JsonObject) -> str:
    """Return why no resize of this pod is possible at all (V2, V3, V6), empty when it is."""
    if "kubernetes.io/config.mirror" in child(old, "metadata", "annotations"):
        return "a static pod is resized through its manifest only"
    if text(old, "spec", "os", "name") == "windows":
        return "a resize of Windows pods is not possible"
    if any(child(old, "spec", "resources", section) for section in SECTIONS):
        return "a pod with resources of its own is not resized while InPlacePodLevelResourcesVerticalScaling is off"
    return ""


def _count_changes(body: JsonObject, old: JsonObject) -> list[Cause]:
    """Refuse added or removed containers (V7)."""
    message = "Forbidden: a resize can neither add nor remove containers"
    return [
        Cause(CauseType.FORBIDDEN, f"spec.{group}", message)
        for group in GROUPS
        if len(_names(body, group)) != len(_names(old, group))
    ]


def _names_changed(body: JsonObject, old: JsonObject) -> list[Cause]:
    """Refuse renamed or reordered containers (V8)."""
    message = "Forbidden: a resize can neither rename nor reorder containers"
    return [
        Cause(CauseType.FORBIDDEN, f"spec.{group}[{index}].name", message)
        for group in GROUPS
        for index, (new, before) in enumerate(zip(_names(body, group), _names(old, group), strict=True))
        if new != before
    ]


def _rules_on_pod(body: JsonObject, old: JsonObject) -> list[Cause]:
    """Refuse another QoS class (V4) and a node that does not report resources (V5)."""
    causes: list[Cause] = []
    stored, wanted = text(old, "status", "qosClass") or qos_class(old), qos_class(body)
    if stored != wanted:
        message = (
            f'Invalid value: "{stored}": the QoS class of a pod cannot change on resize; this would make it {wanted}'
        )
        causes.append(Cause(CauseType.INVALID, "spec", message))
    statuses = rows(old, "status", "containerStatuses")
    running = next((status for status in statuses if "running" in child(status, "state")), None)
    if running is not None and running.get("resources") is None:
        message = "Forbidden: the pod runs on a node that does not support resize"
        causes.append(Cause(CauseType.FORBIDDEN, "spec", message))
    return causes


def _removals(body: JsonObject, old: JsonObject) -> list[Cause]:
    """Refuse a request or limit that was there and is not any more (V9)."""
    causes: list[Cause] = []
    for group in GROUPS:
        for index, (new, before) in enumerate(_pairs(body, old, group)):
            for section in SECTIONS:
                gone = child(before, "resources", section).keys() - child(new, "resources", section).keys()
                if gone:
                    field = f"spec.{group}[{index}].resources.{section}"
                    message = f"Forbidden: a resize cannot remove {section}"
                    causes.append(Cause(CauseType.FORBIDDEN, field, message))
    return causes


def _other_changes(body: JsonObject, old: JsonObject) -> list[Cause]:
    """Refuse changes of anything but cpu and memory (V10 to V12)."""
    messages: list[str] = []
    if any(_differs_elsewhere(*pair) for pair in _pairs(body, old, "containers")):
        messages.append("a resize changes cpu and memory of containers only")
    for new, before in _pairs(body, old, "initContainers"):
        if text(before, "restartPolicy") == "Always":
            if _differs_elsewhere(new, before):
                messages.append("a resize changes cpu and memory of sidecar containers only")
        elif _comparable(new) != _comparable(before):
            messages.append("a resize cannot change init containers that are no sidecars")
    return [Cause(CauseType.FORBIDDEN, "spec", f"Forbidden: {message}") for message in dict.fromkeys(messages)]


def _pairs(body: JsonObject, old: JsonObject, group: str) -> list[tuple[JsonObject, JsonObject]]:
    """Return the containers of a group, new and stored side by side."""
    return list(zip(rows(body, "spec", group), rows(old, "spec", group), strict=True))


def _differs_elsewhere(new: JsonObject, old: JsonObject) -> bool:
    """Say whether two states of a container differ beyond cpu and memory.

    Resource claims always count as a difference, as the comparison leaves them out on the new side.
    """
    if child(old, "resources").get("claims"):
        return True
    return _comparable(new, without=_MUTABLE) != _comparable(old, without=_MUTABLE)


def _comparable(container: JsonObject, *, without: tuple[str, ...] = ()) -> JsonObject:
    """Return a container for comparison: amounts as numbers, some resources left out."""
    resources = child(container, "resources")
    result = {key: value for key, value in container.items() if key != "resources"}
    if not result.get("resizePolicy"):
        result.pop("resizePolicy", None)
    for section in SECTIONS:
        result[f"resources.{section}"] = {k: v for k, v in amounts(resources, section).items() if k not in without}
    result["resources.claims"] = as_object({"claims": resources.get("claims")})
    return result
