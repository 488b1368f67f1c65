"""The releases of Kubernetes that a cluster can be made of, and what each of them needs besides."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Final

from e2e.cluster.errors import ClusterError

CHOICE_VARIABLE: Final = "EVENKEEL_KUBERNETES"
"""Environment variable that names the release of a test run; unset or empty means the default release."""


class ConfigurationFormat(Enum):
    """The form of a containerd's configuration file, by the number that the file begins with."""

    VERSION_2 = 2
    VERSION_3 = 3


@dataclass(frozen=True, slots=True)
class Runtime:
    """A containerd.

    Args:
        module: Name of the Go module that its programs are built from; None where Debian's packages bring them.
        configuration: The form of its configuration.
    """

    module: str | None
    configuration: ConfigurationFormat


@dataclass(frozen=True, slots=True)
class Release:
    """One minor release of Kubernetes.

    Args:
        name: What it is asked for by, such as 1.35.
        version: The version that its Go module pins, with the leading v.
        module: Name of the Go module that its programs are built from.
        runtime: The containerd of its nodes.
        kubelet_flags: Flags of its kubelet that other releases lack; ``{socket}`` stands for the containerd's socket.
        refuses_beyond_node: Whether its API server refuses a resize that asks for more than the pod's node has, which
            is left to the kubelet otherwise.
        tests: Mark expression of the tests that are run on it, unless another one is given.
    """

    name: str
    version: str
    module: str
    runtime: Runtime
    kubelet_flags: tuple[str, ...]
    refuses_beyond_node: bool
    tests: str

    @property
    def modules(self) -> tuple[str, ...]:
        """Names of all Go modules that belong to this release alone."""
        return (self.module, self.runtime.module) if self.runtime.module else (self.module,)


DEFAULT: Final = Release(
    name="1.35",
    version="v1.35.4",
    module="kubernetes",
    runtime=Runtime(None, ConfigurationFormat.VERSION_2),
    # Without it the kubelet's figures for Prometheus have no containers: it looks for them in another place.
    kubelet_flags=("--containerd={socket}",),
    refuses_beyond_node=False,
    tests="not newest",
)
"""The release that the rules of in-place resize were seen on."""

NEWEST: Final = Release(
    name="1.37",
    version="v1.37.2",
    module="kubernetes-1.37",
    # From 1.36 on a kubelet needs containerd 2.
    runtime=Runtime("containerd", ConfigurationFormat.VERSION_3),
    kubelet_flags=(),
    refuses_beyond_node=True,
    tests="smoke or newest",
)

RELEASES: Final[Mapping[str, Release]] = {release.name: release for release in (DEFAULT, NEWEST)}


def release_named(name: str) -> Release:
    """Return a release by its name; the default one for an empty name.

    Raises:
        ClusterError: There is no such release here.
    """
    if not name:
        return DEFAULT
    if name not in RELEASES:
        raise ClusterError(f"Kubernetes {name}", "cannot be built here", remedy=f"choose {' or '.join(RELEASES)}")
    return RELEASES[name]
