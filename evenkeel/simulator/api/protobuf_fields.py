"""Which fields the messages have that Go programs write as protobuf: name, number and type, as on the wire."""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import Enum
from functools import cache
from importlib.resources import files

_FIELD = re.compile(r"(\w+)=(\d+):(\w+)([?*%^]?)")


class Shape(Enum):
    """How a field's value appears in JSON."""

    PLAIN = ""
    """A single value; zero and empty ones are left out, as Go writes every field that is no pointer."""

    POINTER = "?"
    """A single value that means something even when it is zero."""

    LIST = "*"
    """A list of values."""

    MAP = "%"
    """Values by text."""

    INLINE = "^"
    """A message whose fields stand among those of the message around it."""


@dataclass(frozen=True, slots=True)
class Field:
    """One field of one message.

    Args:
        name: Name in JSON.
        number: Number on the wire.
        type: Scalar type of protobuf, or the name of a message.
        shape: How its value appears.
    """

    name: str
    number: int
    type: str
    shape: Shape


def _roots() -> dict[tuple[str, str], str]:
    """Return the message of every whole object that is read, by apiVersion and kind."""
    groups = {
        "v1": "Binding ConfigMap Endpoints Event LimitRange Namespace Node Pod ReplicationController ResourceQuota"
        " Secret Service ServiceAccount",
        "admissionregistration.k8s.io/v1": "MutatingWebhookConfiguration ValidatingWebhookConfiguration"
        " ValidatingAdmissionPolicy ValidatingAdmissionPolicyBinding",
        "apps/v1": "ControllerRevision DaemonSet Deployment ReplicaSet StatefulSet",
        "authentication.k8s.io/v1": "SelfSubjectReview TokenRequest TokenReview",
        "authorization.k8s.io/v1": "LocalSubjectAccessReview SelfSubjectAccessReview SelfSubjectRulesReview"
        " SubjectAccessReview",
        "autoscaling/v1": "Scale",
        "autoscaling/v2": "HorizontalPodAutoscaler",
        "batch/v1": "CronJob Job",
        "coordination.k8s.io/v1": "Lease",
        "networking.k8s.io/v1": "NetworkPolicy",
        "policy/v1": "Eviction PodDisruptionBudget",
        "rbac.authorization.k8s.io/v1": "ClusterRole ClusterRoleBinding Role RoleBinding",
        "scheduling.k8s.io/v1": "PriorityClass",
    }
    found = {(version, kind): kind for version, kinds in groups.items() for kind in kinds.split()}
    return {**found, ("events.k8s.io/v1", "Event"): "NewEvent"}


ROOTS = _roots()
"""Message by apiVersion and kind of the whole objects that are read."""

OPTIONS_KIND = "DeleteOptions"
"""Read in whatever group a client names."""


def read_fields(fields: str) -> tuple[Field, ...]:
    """Return the fields that one line of a table lists."""
    return tuple(Field(name, int(number), kind, Shape(shape)) for name, number, kind, shape in _FIELD.findall(fields))


@cache
def messages() -> dict[str, tuple[Field, ...]]:
    """Return the fields of every known message by its name."""
    table = files(__package__).joinpath("kubernetes_fields.txt").read_text(encoding="utf-8")
    lines = (line.partition(" ") for line in table.splitlines() if not line.startswith("#"))
    return {name: read_fields(fields) for name, _, fields in lines}
