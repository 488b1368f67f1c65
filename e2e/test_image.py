"""The image on a real node: the same bytes each time, small rights, and all three commands in it."""

from __future__ import annotations

import json
import tarfile
from pathlib import Path

import pytest

from e2e.cluster.cluster import Cluster
from e2e.cluster.documents import JsonObject, at, objects_at, text_at
from e2e.cluster.errors import ClusterError
from e2e.cluster.kube import Kube
from e2e.deployment import IMAGE, REPOSITORY
from e2e.image.__main__ import build
from e2e.image.trees import COMMANDS, LAYERS

_ENFORCED = "pod-security.kubernetes.io/enforce=restricted"
_READ_ONLY = """\
import os
print(os.getuid(), os.getgid())
for path in ("/x", "/tmp/x", "/usr/local/x"):
    try:
        open(path, "w")
    except OSError as error:
        print(path, error.strerror)
"""
# The recommender's library of kernels and those of its numbers are the ones that need more than Debian's Python does.
_LIBRARIES = "import numba, ssl; print(numba.njit(lambda x: x + 1)(2), ssl.OPENSSL_VERSION.split()[0])"


@pytest.fixture(scope="module")
def layout(image_archive: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The archive unpacked."""
    folder = tmp_path_factory.mktemp("layout")
    with tarfile.open(image_archive) as archive:
        archive.extractall(folder, filter="data")
    return folder


def _blob(layout: Path, digest: str) -> Path:
    return layout / "blobs" / Path(*digest.split(":"))


def _manifest(layout: Path) -> JsonObject:
    index: JsonObject = json.loads((layout / "index.json").read_text())
    loaded: JsonObject = json.loads(_blob(layout, text_at(index, "manifests", 0, "digest")).read_text())
    return loaded


def test_the_same_sources_give_the_same_bytes(image_archive: Path, tmp_path: Path) -> None:
    """Spec: product:9."""
    assert build(tmp_path).read_bytes() == image_archive.read_bytes()


def test_it_names_its_user_and_has_nothing_that_gives_rights(layout: Path) -> None:
    manifest = _manifest(layout)
    configuration = json.loads(_blob(layout, text_at(manifest, "config", "digest")).read_text())
    assert configuration["config"]["User"] == "65532:65532"
    assert len(objects_at(manifest, "layers")) == len(LAYERS)
    names: set[str] = set()
    for number in range(len(LAYERS)):
        with tarfile.open(_blob(layout, text_at(manifest, "layers", number, "digest"))) as layer:
            for entry in layer:
                names.add(entry.name)
                assert not entry.mode & 0o6000, f"{entry.name} gives the rights of its owner"
                assert not entry.isdev(), entry.name
    assert {f"usr/local/bin/{command}" for command in COMMANDS} <= names
    assert {Path(name).name for name in names if name.startswith(("bin/", "usr/bin/"))} == {"python3.11"}, "no shell"
    assert "var/lib/dpkg/status.d/libssl3" in names, "scanners find Debian's packages"


@pytest.fixture(scope="module")
def nodes(cluster: Cluster, image_archive: Path) -> tuple[str, ...]:
    """The nodes, with the image on them."""
    cluster.import_image(image_archive, repository=REPOSITORY)
    return cluster.node_names


@pytest.fixture
def restricted(kube: Kube, nodes: tuple[str, ...]) -> Kube:
    """A namespace that takes restricted pods alone."""
    assert nodes
    kube.cluster.kubectl("label", "namespace", kube.namespace, _ENFORCED)
    return kube


def _pod(name: str, *command: str) -> JsonObject:
    """A pod that satisfies the restricted standard."""
    rights: JsonObject = {
        "allowPrivilegeEscalation": False,
        "readOnlyRootFilesystem": True,
        "capabilities": {"drop": ["ALL"]},
    }
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name},
        "spec": {
            "restartPolicy": "Never",
            "securityContext": {"runAsNonRoot": True, "seccompProfile": {"type": "RuntimeDefault"}},
            "containers": [
                {
                    "name": "main",
                    "image": IMAGE,
                    "imagePullPolicy": "Never",
                    "command": list(command),
                    "securityContext": rights,
                }
            ],
        },
    }


def _said(kube: Kube, name: str) -> str:
    """What a pod printed, once it has ended well."""

    def phase() -> bool:
        seen = kube.read("pod", name)
        assert text_at(seen, "status", "phase") == "Succeeded", f"{at(seen, 'status')}\n{_log(kube, name)}"
        return True

    kube.wait_for(phase, f"the end of {name}", timeout_seconds=300)
    return kube.run("logs", name)


def _log(kube: Kube, name: str) -> str:
    """The log of a pod, which may have none yet."""
    try:
        return kube.run("logs", name)
    except ClusterError as error:
        return error.problem


def test_restricted_pods_run_the_three_commands_and_can_write_nowhere(restricted: Kube, layout: Path) -> None:
    """Spec: product:9."""
    restricted.apply(
        *(_pod(command, command, "--help") for command in COMMANDS),
        _pod("writer", "/usr/bin/python3.11", "-c", _READ_ONLY),
        _pod("libraries", "/usr/bin/python3.11", "-c", _LIBRARIES),
    )
    for command in COMMANDS:
        assert _said(restricted, command).startswith(f"Usage of {command}:")
        status = at(restricted.read("pod", command), "status", "containerStatuses", 0)
        assert text_at(status, "imageID") == text_at(_manifest(layout), "config", "digest"), (
            "what was imported, no other"
        )
    refused = [f"{path} Read-only file system" for path in ("/x", "/tmp/x", "/usr/local/x")]
    assert _said(restricted, "writer").splitlines() == ["65532 65532", *refused]
    assert _said(restricted, "libraries").split() == ["3", "OpenSSL"]


def test_the_restricted_namespace_refuses_less_careful_pods(restricted: Kube) -> None:
    careless = _pod("careless", "true")
    spec = careless["spec"]
    assert isinstance(spec, dict)
    del spec["securityContext"]
    with pytest.raises(ClusterError, match="violates PodSecurity"):
        restricted.apply(careless)
