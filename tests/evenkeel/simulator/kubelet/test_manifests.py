"""Mirror pods of static pods."""

from __future__ import annotations

from evenkeel.simulator.api.fields import JsonObject, child, rows, text
from evenkeel.simulator.api.server import ApiServer
from evenkeel.simulator.kubelet.manifests import Manifests
from evenkeel.simulator.kubelet.podview import MIRROR
from tests.evenkeel.simulator.kubelet.pods import container


def manifest(image: str = "x") -> JsonObject:
    return {"metadata": {"name": "web"}, "spec": {"containers": [container("app") | {"image": image}]}}


def test_a_mirror_names_node_owner_and_source() -> None:
    server = ApiServer()
    folder = Manifests(server.store, "n", lambda: "uid-n")
    folder.files["web"] = manifest()
    folder.look()
    mirror = server.store.read("v1", "Pod", "web-n", "default")
    assert text(mirror, "spec", "nodeName") == "n"
    annotations = child(mirror, "metadata", "annotations")
    assert annotations["kubernetes.io/config.source"] == "file"
    assert annotations[MIRROR]
    (owner,) = rows(mirror, "metadata", "ownerReferences")
    assert (owner["kind"], owner["name"], owner["uid"]) == ("Node", "n", "uid-n")
    assert text(mirror, "status", "qosClass") == "Burstable"


def test_only_a_changed_manifest_makes_another_pod() -> None:
    server = ApiServer()
    folder = Manifests(server.store, "n", lambda: "uid-n")
    folder.files["web"] = manifest()
    uids: list[str] = []
    for image in ("x", "x", "y"):
        folder.files["web"] = manifest(image)
        folder.look()
        uids.append(text(server.store.read("v1", "Pod", "web-n", "default"), "metadata", "uid"))
    assert uids[0] == uids[1] != uids[2]
    folder.files.clear()
    folder.look()
    assert server.store.list("v1", "Pod") == []


def test_a_pod_of_that_name_from_somewhere_else_gives_way() -> None:
    server = ApiServer()
    folder = Manifests(server.store, "n", lambda: "uid-n")
    server.store.create({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "web-n", "namespace": "default"}})
    folder.files["web"] = manifest()
    folder.look()
    assert MIRROR in child(server.store.read("v1", "Pod", "web-n", "default"), "metadata", "annotations")
