"""Container images without a registry: an archive built from files, imported into a node's containerd."""

from __future__ import annotations

import hashlib
import io
import json
import platform
import subprocess
import tarfile
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from e2e.cluster.commands import run
from e2e.cluster.errors import ClusterError
from e2e.cluster.layout import NodeLayout

PAUSE_IMAGE = "local.test/pause:1"
BUSYBOX_IMAGE = "local.test/busybox:1"
BUSYBOX = Path("/bin/busybox")

_ARCHITECTURES = {"x86_64": "amd64", "aarch64": "arm64"}
_PAUSE_SECONDS = "2147483647"
_PASSWD = b"root:x:0:0:root:/:/bin/sh\nnobody:x:65534:65534:nobody:/:/bin/sh\n"


@dataclass(frozen=True, slots=True)
class Image:
    """What an image archive contains.

    Args:
        name: Repository and tag.
        files: Content by path below the root folder; executable if below bin/.
        links: Targets of symbolic links by path.
        entrypoint: Program and arguments.
        environment: Variables of its processes.
    """

    name: str
    files: Mapping[str, bytes]
    links: Mapping[str, str] = field(default_factory=dict)
    entrypoint: tuple[str, ...] = ()
    environment: Mapping[str, str] = field(default_factory=lambda: {"PATH": "/bin"})


def busybox_image() -> Image:
    """A small image with a shell and the usual programs, for workloads.

    Raises:
        ClusterError: The static busybox is not installed.
    """
    applets = subprocess.run([str(BUSYBOX), "--list"], capture_output=True, text=True, check=False)
    if applets.returncode != 0:
        raise ClusterError(str(BUSYBOX), "does not run", remedy="apt-get install busybox-static")
    links = {f"bin/{name}": "busybox" for name in applets.stdout.split() if name != "busybox"}
    return Image(
        BUSYBOX_IMAGE,
        files={"bin/busybox": BUSYBOX.read_bytes(), "etc/passwd": _PASSWD, "tmp/.keep": b""},
        links=links,
        entrypoint=("/bin/sh",),
    )


def pause_image() -> Image:
    """The image of each pod's sandbox, whose only process sleeps.

    A sandbox is ended by SIGKILL, so the process need not listen to anything.
    """
    return Image(
        PAUSE_IMAGE, files={"bin/busybox": BUSYBOX.read_bytes()}, entrypoint=("/bin/busybox", "sleep", _PAUSE_SECONDS)
    )


def architecture() -> str:
    """Return what images call the architecture of this machine.

    Raises:
        ClusterError: It is unknown.
    """
    known = _ARCHITECTURES.get(platform.machine())
    if known is None:
        raise ClusterError(platform.machine(), "not a known architecture", remedy="use an x86-64 or 64-bit ARM machine")
    return known


def write_archive(image: Image, file: Path) -> None:
    """Write an image as the archive that ``docker save`` would write; the same image gives the same bytes.

    Raises:
        ClusterError: The machine's architecture is unknown.
    """
    layer = _layer(image)
    layer_digest = hashlib.sha256(layer).hexdigest()
    configuration = _json(
        {
            "architecture": architecture(),
            "os": "linux",
            "config": {
                "Entrypoint": list(image.entrypoint),
                "Env": [f"{name}={value}" for name, value in image.environment.items()],
            },
            "rootfs": {"type": "layers", "diff_ids": [f"sha256:{layer_digest}"]},
            "history": [{"created_by": "e2e.cluster"}],
        }
    )
    configuration_name = f"{hashlib.sha256(configuration).hexdigest()}.json"
    layer_name = f"{layer_digest}/layer.tar"
    manifest = _json([{"Config": configuration_name, "RepoTags": [image.name], "Layers": [layer_name]}])
    file.parent.mkdir(parents=True, exist_ok=True)
    with tarfile.open(file, "w") as archive:
        _add(archive, layer_name, layer)
        _add(archive, configuration_name, configuration)
        _add(archive, "manifest.json", manifest)


def import_archive(client: Path, node: NodeLayout, archive: Path, *, repository: str = "") -> None:
    """Import an image archive into a node's containerd.

    Args:
        client: The ctr that belongs to the node's containerd.
        node: The node.
        archive: As ``docker save`` or as an OCI layout.
        repository: What comes before the tag, for a layout, whose images have a tag alone.

    Raises:
        ClusterError: The archive is refused.
    """
    command = [str(client), "--address", str(node.containerd_socket), "--namespace", "k8s.io"]
    name = ["--base-name", repository] if repository else []
    run(
        [*command, "images", "import", "--snapshotter", "native", *name, str(archive)],
        remedy=f"check that {archive} is an image archive and that containerd of {node.name} runs",
        timeout_seconds=300,
    )


def _layer(image: Image) -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as layer:
        for folder in sorted({str(Path(path).parent) for path in (*image.files, *image.links)} - {"."}):
            entry = tarfile.TarInfo(folder)
            entry.type = tarfile.DIRTYPE
            entry.mode = 0o1777 if folder == "tmp" else 0o755
            layer.addfile(entry)
        for path, content in image.files.items():
            _add(layer, path, content, mode=0o755 if path.startswith("bin/") else 0o644)
        for path, target in image.links.items():
            entry = tarfile.TarInfo(path)
            entry.type = tarfile.SYMTYPE
            entry.linkname = target
            layer.addfile(entry)
    return buffer.getvalue()


def _add(archive: tarfile.TarFile, name: str, content: bytes, mode: int = 0o644) -> None:
    entry = tarfile.TarInfo(name)
    entry.size = len(content)
    entry.mode = mode
    archive.addfile(entry, io.BytesIO(content))


def _json(document: object) -> bytes:
    return json.dumps(document, separators=(",", ":")).encode()
