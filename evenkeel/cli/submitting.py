"""A pod as it would be submitted to the webhook, made of a controller's template or of a pod that lives."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

import msgspec

from admission.review import SubmittedPod
from autoscaling.kube.client import KubeClient
from autoscaling.kube.paths import CRON_JOBS, PODS
from autoscaling.kube.workloads import WELL_KNOWN
from autoscaling.objectref import ObjectRef
from autoscaling.vpa import Vpa
from autoscaling.wire.pods import decode_submitted_pod
from autoscaling.wire.review import containers_with_resources
from evenkeel.cli.session import read

_DROPPED: Final = ("uid", "resourceVersion", "generation", "deletionTimestamp", "managedFields")
"""What a pod that exists has and a new one has not."""


class _Object(msgspec.Struct, rename="camel"):
    metadata: dict[str, object] = msgspec.field(default_factory=dict)
    spec: dict[str, object] = msgspec.field(default_factory=dict)


_OBJECT: Final = msgspec.json.Decoder(_Object)


@dataclass(frozen=True, slots=True)
class Submission:
    """A pod on its way in.

    Args:
        source: What it was made of.
        pod: As the webhook reads it.
    """

    source: str
    pod: SubmittedPod


async def of_target(client: KubeClient, vpa: Vpa) -> Submission | None:
    """Return a new pod of a VPA's target, None for a target without a template to read.

    Raises:
        NotReadableError: The target is not there, or may not be read.
        ApiError: The server did not answer.
        InvalidObjectError: Its template is not as it should be.
    """
    target = vpa.target_ref
    resource = WELL_KNOWN.get(target.kind) if target else None
    if target is None or resource is None:
        return None
    found = await read(client, resource, vpa.namespace, target.name, _OBJECT.decode)
    spec = found.spec
    if resource is CRON_JOBS:
        spec = _member(_member(spec, "jobTemplate"), "spec")
    template = _member(spec, "template")
    owner = {"apiVersion": resource.api_version, "kind": resource.kind, "name": target.name, "controller": True}
    given = _member(template, "metadata")
    metadata: dict[str, object] = {
        "namespace": vpa.namespace,
        "generateName": f"{target.name}-",
        "ownerReferences": [owner],
        **{name: given[name] for name in ("labels", "annotations") if name in given},
    }
    return Submission(f"a new pod of {target.kind} {target.name}", _submitted(metadata, _member(template, "spec")))


async def of_pod(client: KubeClient, pod: ObjectRef) -> Submission:
    """Return a pod that lives as it would be submitted anew; raises what ``of_target`` does."""
    found = await read(client, PODS, pod.namespace, pod.name, _OBJECT.decode)
    metadata = {name: value for name, value in found.metadata.items() if name not in _DROPPED}
    return Submission(f"a pod like {pod.name}", _submitted(metadata, found.spec))


async def submission(client: KubeClient, vpa: Vpa | None, pod: ObjectRef | None) -> Submission | None:
    """Return a pod of the VPA's target where that has a template, else one like the pod; None where there is neither.

    Raises:
        NotReadableError: What it would be made of is not there, or may not be read.
        ApiError: The server did not answer.
        InvalidObjectError: What it would be made of is not as it should be.
    """
    made = await of_target(client, vpa) if vpa is not None else None
    return await of_pod(client, pod) if made is None and pod is not None else made


def _submitted(metadata: Mapping[str, object], spec: Mapping[str, object]) -> SubmittedPod:
    """Return a pod as the webhook reads it."""
    raw = msgspec.json.encode({"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec})
    return SubmittedPod(decode_submitted_pod(raw), *containers_with_resources(raw))


def _member(value: Mapping[str, object], name: str) -> dict[str, object]:
    """Return an object within an object, an empty one where there is none."""
    found = value.get(name)
    return found if isinstance(found, dict) else {}
