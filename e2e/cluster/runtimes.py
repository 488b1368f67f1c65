"""A node's containerd: where its programs are, how it is started, and its configuration."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from e2e.cluster import images
from e2e.cluster.layout import NodeLayout
from e2e.cluster.releases import ConfigurationFormat, Runtime

DEBIAN_FOLDER = Path("/usr/bin")
"""Where Debian's package puts the programs."""


@dataclass(frozen=True, slots=True)
class RuntimePrograms:
    """The programs of one containerd, which must not be mixed with those of another.

    Args:
        folder: Where all of them are.
    """

    folder: Path

    @property
    def client(self) -> Path:
        """The client that imports images."""
        return self.folder / "ctr"

    def command(self, node: NodeLayout) -> tuple[str, ...]:
        """Return how a node's containerd is started."""
        return (str(self.folder / "containerd"), "--config", str(configuration_file(node)))

    def search_path(self, others: str) -> str:
        """Return the PATH of a containerd, along which it looks for its shim: its own folder before the others."""
        return f"{self.folder}:{others}"


def configuration_file(node: NodeLayout) -> Path:
    """Return where the configuration of a node's containerd is."""
    return node.folder / "containerd.toml"


def configuration(runtime: Runtime, node: NodeLayout) -> str:
    """Return the configuration of a node's containerd, in the form that it reads."""
    return _FORMATS[runtime.configuration](node)


def _places(node: NodeLayout) -> str:
    """Return what all forms begin with behind their number."""
    return f"""root = "{node.folder / "containerd-root"}"
state = "{node.containerd_state}"
[grpc]
  address = "{node.containerd_socket}"
[plugins."io.containerd.internal.v1.opt"]
  path = "{node.folder / "containerd-opt"}"
"""


def _version_2(node: NodeLayout) -> str:
    return f"""version = 2
{_places(node)}
[plugins."io.containerd.grpc.v1.cri"]
  sandbox_image = "{images.PAUSE_IMAGE}"
  restrict_oom_score_adj = true
  netns_mounts_under_state_dir = true
  [plugins."io.containerd.grpc.v1.cri".containerd]
    snapshotter = "native"
    [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc]
      runtime_type = "io.containerd.runc.v2"
      [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc.options]
        SystemdCgroup = false
        Root = "{node.folder / "runc"}"
  [plugins."io.containerd.grpc.v1.cri".cni]
    bin_dir = "/usr/lib/cni"
    conf_dir = "{node.cni_folder}"
"""


def _version_3(node: NodeLayout) -> str:
    # Extensions by NRI would listen in one place for all nodes, and images are unpacked by a service of their own.
    return f"""version = 3
{_places(node)}
[plugins."io.containerd.nri.v1.nri"]
  disable = true
[plugins."io.containerd.transfer.v1.local"]
  [[plugins."io.containerd.transfer.v1.local".unpack_config]]
    platform = "linux/{images.architecture()}"
    snapshotter = "native"
    differ = "walking"
[plugins."io.containerd.cri.v1.images"]
  snapshotter = "native"
  [plugins."io.containerd.cri.v1.images".pinned_images]
    sandbox = "{images.PAUSE_IMAGE}"
[plugins."io.containerd.cri.v1.runtime"]
  restrict_oom_score_adj = true
  netns_mounts_under_state_dir = true
  [plugins."io.containerd.cri.v1.runtime".containerd.runtimes.runc]
    runtime_type = "io.containerd.runc.v2"
    [plugins."io.containerd.cri.v1.runtime".containerd.runtimes.runc.options]
      SystemdCgroup = false
      Root = "{node.folder / "runc"}"
  [plugins."io.containerd.cri.v1.runtime".cni]
    bin_dirs = ["/usr/lib/cni"]
    conf_dir = "{node.cni_folder}"
"""


_FORMATS: Mapping[ConfigurationFormat, Callable[[NodeLayout], str]] = {
    ConfigurationFormat.VERSION_2: _version_2,
    ConfigurationFormat.VERSION_3: _version_3,
}
