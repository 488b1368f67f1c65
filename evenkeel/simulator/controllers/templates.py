"""Pods from templates, and what makes two templates the same."""

from __future__ import annotations

import hashlib
import json

from evenkeel.simulator.api.fields import JsonObject, child, copy_of, ensure, rows

HASH_LABEL = "pod-template-hash"
_ALPHABET = "bcdfghjklmnpqrstvwxz2456789"
_HASH_LENGTH = 10


def pod_of(template: JsonObject, reference: JsonObject, namespace: str, metadata: JsonObject) -> JsonObject:
    """Return the pod that a template describes.

    Args:
        template: The pod template of a workload.
        reference: Owner reference of the controlling object.
        namespace: Where the pod is to live.
        metadata: Name or generateName, and labels and annotations beyond those of the template.
    """
    pod: JsonObject = {"apiVersion": "v1", "kind": "Pod", "metadata": {"namespace": namespace}}
    own = ensure(pod, "metadata")
    for field in ("labels", "annotations"):
        merged = {**child(template, "metadata", field), **child(metadata, field)}
        if merged:
            own[field] = merged
    for field in ("name", "generateName"):
        if field in metadata:
            own[field] = metadata[field]
    finalizers = child(template, "metadata").get("finalizers")
    if finalizers:
        own["finalizers"] = finalizers
    own["ownerReferences"] = [reference]
    pod["spec"] = copy_of(child(template, "spec"))
    return pod


def digest(value: object, collisions: int = 0) -> str:
    """Return a short name for a JSON value that depends on nothing else; another one after each collision."""
    canonical = json.dumps(value, sort_keys=True, separators=(",", ":"))
    number = int.from_bytes(hashlib.sha256(f"{canonical}#{collisions}".encode()).digest(), "big")
    letters: list[str] = []
    for _ in range(_HASH_LENGTH):
        number, index = divmod(number, len(_ALPHABET))
        letters.append(_ALPHABET[index])
    return "".join(letters)


def with_hash(template: JsonObject, name: str) -> JsonObject:
    """Return a template whose pods bear the name of its digest."""
    labelled = copy_of(template)
    ensure(labelled, "metadata", "labels")[HASH_LABEL] = name
    return labelled


def same_template(one: JsonObject, other: JsonObject) -> bool:
    """Say whether two templates make the same pods, the digest's label aside."""
    return _bare(one) == _bare(other)


def env_of(pod: JsonObject, name: str, source: JsonObject) -> None:
    """Give every container of a pod an environment variable, in place, where it has none of that name."""
    for group in ("containers", "initContainers"):
        for container in rows(pod, "spec", group):
            variables = rows(container, "env")
            if all(variable.get("name") != name for variable in variables):
                container["env"] = [*variables, {"name": name, "valueFrom": source}]


def _bare(template: JsonObject) -> JsonObject:
    """Return a template without the digest's label."""
    bare = copy_of(template)
    labels = child(bare, "metadata", "labels")
    labels.pop(HASH_LABEL, None)
    if not labels:
        child(bare, "metadata").pop("labels", None)
    if not child(bare, "metadata"):
        bare.pop("metadata", None)
    return bare
