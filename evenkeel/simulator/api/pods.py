"""Pods on their way into the store: defaults, QoS class, what stays immutable, how long deletion takes."""

from __future__ import annotations

from evenkeel.simulator.api.containers import (
    GROUPS,
    containers_of,
    default_resources,
    qos_class,
    validate_resize_policies,
    validate_resources,
)
from evenkeel.simulator.api.fields import JsonObject, child, copy_of, ensure, number, rows, text, value_at
from evenkeel.simulator.api.resize import keep_resources, validate_resize
from evenkeel.simulator.api.status import Cause, CauseType
from evenkeel.simulator.api.strategies import Strategy

DEFAULT_GRACE_SECONDS = 30
_SPEC_DEFAULTS: JsonObject = {
    "restartPolicy": "Always",
    "dnsPolicy": "ClusterFirst",
    "terminationGracePeriodSeconds": DEFAULT_GRACE_SECONDS,
    "schedulerName": "default-scheduler",
    "serviceAccountName": "default",
    "enableServiceLinks": True,
    "priority": 0,
}
_CONTAINER_DEFAULTS: JsonObject = {
    "terminationMessagePath": "/dev/termination-log",
    "terminationMessagePolicy": "File",
    "imagePullPolicy": "IfNotPresent",
}
_FREE_FIELDS = ("activeDeadlineSeconds", "tolerations", "terminationGracePeriodSeconds", "schedulingGates")
_FINISHED = ("Succeeded", "Failed")


class PodStrategy(Strategy):
    """What pods do, on the main resource, ``status`` and ``resize``."""

    def set_defaults(self, body: JsonObject) -> list[str]:
        """Fill in the defaults that clients and the simulated kubelet read."""
        spec = ensure(body, "spec")
        for field, value in _SPEC_DEFAULTS.items():
            spec.setdefault(field, value)
        spec.setdefault("securityContext", {})
        for _, container in containers_of(body):
            for field, value in _CONTAINER_DEFAULTS.items():
                container.setdefault(field, value)
        default_resources(body)
        return []

    def prepare_create(self, body: JsonObject) -> None:
        """Begin as Pending, with the QoS class of the spec."""
        status: JsonObject = {"phase": "Pending", "qosClass": qos_class(body)}
        if rows(body, "spec", "schedulingGates"):
            message = "the pod waits for its scheduling gates to be removed"
            closed = {"type": "PodScheduled", "status": "False", "reason": "SchedulingGated", "message": message}
            status["conditions"] = [closed]
        body["status"] = status

    def prepare_update(self, body: JsonObject, old: JsonObject, subresource: str) -> None:
        """Keep resources only on a resize, status only on a status write, all but status otherwise."""
        if subresource == "resize":
            keep_resources(body, old)
            return
        super().prepare_update(body, old, subresource)
        if subresource != "status":
            return
        status = ensure(body, "status")
        for field in ("observedGeneration", "qosClass"):
            kept = value_at(old, "status", field)
            if kept and (not status.get(field) or field == "qosClass"):
                status[field] = kept

    def validate_create(self, body: JsonObject) -> list[Cause]:
        """Check containers, resources and resize policies."""
        return _validate_containers(body) + validate_resources(body) + validate_resize_policies(body)

    def validate_update(self, body: JsonObject, old: JsonObject, subresource: str) -> list[Cause]:
        """Check a resize by its rules, and anything else for leaving the spec alone."""
        if subresource == "resize":
            return validate_resources(body) + validate_resize(body, old)
        if subresource == "status" or _fixed_part(body) == _fixed_part(old):
            return []
        message = (
            "Forbidden: of a pod's spec only images, activeDeadlineSeconds, added tolerations, a negative"
            " terminationGracePeriodSeconds and removed scheduling gates can change; resources change through /resize"
        )
        return [Cause(CauseType.FORBIDDEN, "spec", message)]

    def grace_seconds(self, body: JsonObject, asked: int | None) -> int:
        """Return the grace period: none for pods that no kubelet runs, else as asked or as the spec says."""
        if not text(body, "spec", "nodeName") or text(body, "status", "phase") in _FINISHED:
            return 0
        own = number(body, "spec", "terminationGracePeriodSeconds", default=DEFAULT_GRACE_SECONDS)
        return own if asked is None else asked


def _validate_containers(body: JsonObject) -> list[Cause]:
    """Return what is wrong with the containers of a new pod, their resources aside."""
    causes: list[Cause] = []
    if not rows(body, "spec", "containers"):
        causes.append(Cause(CauseType.REQUIRED, "spec.containers", "Required value"))
    seen: set[str] = set()
    for path, container in containers_of(body):
        name = text(container, "name")
        if not name:
            causes.append(Cause(CauseType.REQUIRED, f"{path}.name", "Required value"))
        elif name in seen:
            causes.append(Cause(CauseType.DUPLICATE, f"{path}.name", f'Duplicate value: "{name}"'))
        seen.add(name)
        if not text(container, "image"):
            causes.append(Cause(CauseType.REQUIRED, f"{path}.image", "Required value"))
    return causes


def _fixed_part(body: JsonObject) -> JsonObject:
    """Return what of a pod's spec cannot change through the main resource."""
    spec = copy_of(child(body, "spec"))
    for field in _FREE_FIELDS:
        spec.pop(field, None)
    for group in GROUPS:
        for container in rows(spec, group):
            container.pop("image", None)
    return spec
