"""Static pods: manifests on a node, each shown in the API server by a mirror pod (spec: in-place-resize R40)."""

from __future__ import annotations

import zlib
from collections.abc import Callable
from dataclasses import dataclass, field

from evenkeel.simulator.api.builtin import PODS
from evenkeel.simulator.api.containers import qos_class
from evenkeel.simulator.api.fields import JsonObject, child, copy_of, encode, ensure, text
from evenkeel.simulator.api.objects import ObjectStore
from evenkeel.simulator.kubelet.podview import MIRROR

_SOURCE = "kubernetes.io/config.source"
_PRIORITY = 2_000_001_000


@dataclass(slots=True)
class Manifests:
    """The folder of static pods of one node.

    Args:
        store: Where the mirror pods are.
        node: The node's name.
        node_uid: Gives the uid of its object.
        files: The manifests, by file name; changes show at the next look.
    """

    store: ObjectStore
    node: str
    node_uid: Callable[[], str]
    files: dict[str, JsonObject] = field(default_factory=dict)
    _shown: dict[tuple[str, str], str] = field(default_factory=dict)

    def look(self) -> None:
        """Bring the mirror pods up to date: a changed manifest is another pod, and so is one whose mirror has gone."""
        wanted: dict[tuple[str, str], JsonObject] = {}
        for file in sorted(self.files):
            mirror = self._mirror(self.files[file])
            wanted[text(mirror, "metadata", "namespace"), text(mirror, "metadata", "name")] = mirror
        for key in [key for key in self._shown if key not in wanted]:
            self._remove(key)
        for key, mirror in wanted.items():
            mark = text(mirror, "metadata", "annotations", MIRROR)
            stored = self.store.versions.read(PODS, key)
            if stored is not None and self._shown.get(key) == mark:
                continue
            if stored is not None:
                self._remove(key)
            self.store.create(mirror)
            self._shown[key] = mark

    def _mirror(self, manifest: JsonObject) -> JsonObject:
        """Return the mirror pod of a manifest."""
        pod = copy_of(manifest)
        metadata, spec = ensure(pod, "metadata"), ensure(pod, "spec")
        metadata["name"] = f"{text(manifest, 'metadata', 'name')}-{self.node}"
        metadata["namespace"] = text(manifest, "metadata", "namespace") or "default"
        mark = f"{zlib.crc32(encode(manifest)):08x}"
        metadata["annotations"] = {**child(manifest, "metadata", "annotations"), MIRROR: mark, _SOURCE: "file"}
        owner = {"apiVersion": "v1", "kind": "Node", "name": self.node, "uid": self.node_uid(), "controller": True}
        metadata["ownerReferences"] = [owner]
        spec["nodeName"] = self.node
        spec["priority"] = _PRIORITY
        spec.setdefault("tolerations", [{"operator": "Exists", "effect": "NoExecute"}])
        pod["status"] = {"phase": "Pending", "qosClass": qos_class(pod)}
        return {"apiVersion": "v1", "kind": "Pod", **pod}

    def _remove(self, key: tuple[str, str]) -> None:
        """Remove a mirror pod, and with it the pod."""
        self._shown.pop(key, None)
        self.store.versions.remove(PODS, key)
