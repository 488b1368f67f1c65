"""Upstream's own programs and the objects that it ships for installing them, of the release that is pinned."""

from __future__ import annotations

import json
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

import yaml

from e2e.cluster import binaries
from e2e.cluster.errors import ClusterError
from evenkeel.simulator.api.fields import JsonObject, as_object

MODULE = "k8s.io/autoscaler/vertical-pod-autoscaler"
NAMESPACE = "kube-system"
_DEFINITIONS = "vpa-v1-crd-gen.yaml"
_ROLES = "vpa-rbac.yaml"
_SERVICE = "admission-controller-service.yaml"


@dataclass(frozen=True, slots=True)
class Upstream:
    """What upstream published.

    Args:
        programs: Folder with its programs, built.
        manifests: Folder with the objects of its installation.
    """

    programs: Path
    manifests: Path

    def definitions(self) -> tuple[JsonObject, ...]:
        """Return the definitions of its kinds."""
        return self._documents(_DEFINITIONS)

    def installation(self) -> tuple[JsonObject, ...]:
        """Return all objects but the processes: definitions, service accounts, roles, the webhook's Service."""
        return (*self.definitions(), *self._documents(_ROLES), *self._documents(_SERVICE))

    def _documents(self, name: str) -> tuple[JsonObject, ...]:
        return tuple(as_object(one) for one in yaml.safe_load_all((self.manifests / name).read_text()) if one)


def find_upstream() -> Upstream:
    """Return what upstream published, built where that has not been done yet.

    Raises:
        ClusterError: Go is missing, or something cannot be downloaded or built.
    """
    programs = binaries.build("vpa")
    go = shutil.which("go")
    if go is None:
        raise ClusterError(
            "go", "not found on PATH", remedy="install Go 1.26 or newer; upstream's objects come with it"
        )
    done = subprocess.run(
        [go, "mod", "download", "-json", MODULE],
        cwd=binaries.MODULES["vpa"].source,
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode != 0:
        raise ClusterError(
            MODULE,
            f"cannot be downloaded: {done.stderr.strip()}",
            remedy="check that the Go module proxy can be reached",
        )
    return Upstream(programs, Path(json.loads(done.stdout)["Dir"]) / "deploy")
