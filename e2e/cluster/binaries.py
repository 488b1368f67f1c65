"""Programs built from Go modules: Kubernetes and what stands beside it, upstream's VPA, helm and a Collector.

Each folder under ``modules/`` pins one set of versions by its go.mod and go.sum. What was built from it is kept outside
the work tree, under the user's cache folder, by a hash of these two files and of the Go files beside them, if there are
any; so a change of a version or of a program of our own builds afresh, and a second run builds nothing.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from e2e.cluster.errors import ClusterError
from e2e.cluster.releases import DEFAULT, RELEASES, Release, Runtime
from e2e.cluster.runtimes import DEBIAN_FOLDER, RuntimePrograms

_MODULES_FOLDER = Path(__file__).parent / "modules"
_CONTAINERD_VERSION = "v2.4.2"


@dataclass(frozen=True, slots=True)
class GoModule:
    """One pinned set of Go programs.

    Args:
        name: What it is called in messages and in the cache.
        source: The folder with go.mod and go.sum.
        programs: File name of each program to the import path it is built from.
        variables: Go string variables set by the linker.
    """

    name: str
    source: Path
    programs: Mapping[str, str]
    variables: Mapping[str, str] = field(default_factory=dict)

    def digest(self) -> str:
        """Short hash of everything that decides what the programs are."""
        content = hashlib.sha256()
        for file in (self.source / "go.mod", self.source / "go.sum", *sorted(self.source.glob("*.go"))):
            content.update(file.read_bytes())
        return content.hexdigest()[:16]


def _kubernetes(release: Release) -> GoModule:
    """The control plane and the kubelet of a release; without being told, they report v0.0.0 as their version."""
    major, minor, _ = release.version.removeprefix("v").split(".")
    names = ("kube-apiserver", "kube-controller-manager", "kube-scheduler", "kubelet")
    package = "k8s.io/component-base/version"
    return GoModule(
        release.module,
        _MODULES_FOLDER / release.module,
        {name: f"k8s.io/kubernetes/cmd/{name}" for name in names},
        {f"{package}.gitVersion": release.version, f"{package}.gitMajor": major, f"{package}.gitMinor": minor},
    )


def _helm_variables(version: str) -> dict[str, str]:
    """The release of Kubernetes that ``helm template`` takes itself to render for."""
    major, minor, _ = version.removeprefix("v").split(".")
    package = "helm.sh/helm/v3/pkg/chartutil"
    return {f"{package}.k8sVersionMajor": major, f"{package}.k8sVersionMinor": minor}


_CONTAINERD = "github.com/containerd/containerd/v2"
_VPA = "k8s.io/autoscaler/vertical-pod-autoscaler/pkg"
MODULES: Mapping[str, GoModule] = {
    module.name: module
    for module in (
        *map(_kubernetes, RELEASES.values()),
        GoModule(
            "containerd",
            _MODULES_FOLDER / "containerd",
            {name: f"{_CONTAINERD}/cmd/{name}" for name in ("containerd", "containerd-shim-runc-v2", "ctr")},
            {f"{_CONTAINERD}/version.Version": _CONTAINERD_VERSION},
        ),
        GoModule(
            "metrics-server",
            _MODULES_FOLDER / "metrics-server",
            {"metrics-server": "sigs.k8s.io/metrics-server/cmd/metrics-server"},
        ),
        GoModule(
            "vpa",
            _MODULES_FOLDER / "vpa",
            {f"vpa-{name}": f"{_VPA}/{name}" for name in ("recommender", "updater", "admission-controller")},
        ),
        GoModule(
            "helm",
            _MODULES_FOLDER / "helm",
            {"helm": "helm.sh/helm/v3/cmd/helm"},
            _helm_variables(DEFAULT.version),
        ),
        GoModule(
            "kube-state-metrics",
            _MODULES_FOLDER / "kube-state-metrics",
            {"kube-state-metrics": "k8s.io/kube-state-metrics/v2"},
        ),
        GoModule("collector", _MODULES_FOLDER / "collector", {"collector": "."}),
        GoModule("dashboard", _MODULES_FOLDER / "dashboard", {"dashboard": "."}),
        GoModule("kind", _MODULES_FOLDER / "kind", {"kind-configuration": "."}),
    )
}


def modules_for(release: Release) -> tuple[str, ...]:
    """Name the modules that tests on a release use: its own, and those that belong to no release."""
    others = {name for other in RELEASES.values() for name in other.modules} - set(release.modules)
    return tuple(name for name in MODULES if name not in others)


def cache_folder() -> Path:
    """Where built programs are kept: ``$XDG_CACHE_HOME/evenkeel-e2e``, else ``~/.cache/evenkeel-e2e``."""
    base = os.environ.get("XDG_CACHE_HOME")
    return (Path(base) if base else Path.home() / ".cache") / "evenkeel-e2e"


def build(name: str) -> Path:
    """Build one of ``MODULES``; see ``build_module``."""
    return build_module(MODULES[name])


def runtime_programs(runtime: Runtime) -> RuntimePrograms:
    """Return the programs of a containerd, built if need be.

    Raises:
        ClusterError: As ``build_module``.
    """
    return RuntimePrograms(build(runtime.module) if runtime.module else DEBIAN_FOLDER)


def build_module(module: GoModule) -> Path:
    """Build a module's programs unless they are in the cache.

    Args:
        module: The programs and their versions.

    Returns:
        The folder with the programs.

    Raises:
        ClusterError: Go is missing or a build fails.
    """
    folder = cache_folder() / f"{module.name}-{module.digest()}"
    if _is_complete(module, folder):
        return folder
    folder.parent.mkdir(parents=True, exist_ok=True)
    with _sole_builder(folder):
        if not _is_complete(module, folder):
            _build_into(module, folder)
    return folder


def _is_complete(module: GoModule, folder: Path) -> bool:
    return all((folder / program).is_file() for program in module.programs)


@contextmanager
def _sole_builder(folder: Path) -> Iterator[None]:
    """Hold the module's lock file; the kernel drops the lock when its holder dies."""
    with folder.with_name(f"{folder.name}.lock").open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            print(f"build: waiting for another process that builds {folder.name}", flush=True)
            fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _build_into(module: GoModule, folder: Path) -> None:
    go = _go_command()
    for leftover in folder.parent.glob(f"{folder.name}.part-*"):
        shutil.rmtree(leftover)
    partial = Path(tempfile.mkdtemp(prefix=f"{folder.name}.part-", dir=folder.parent))
    for program, package in module.programs.items():
        started = time.monotonic()
        print(f"build: {program} from {package}", flush=True)
        _run_go([go, "build", "-trimpath", *_linker_flags(module), "-o", str(partial / program), package], module)
        print(f"build: {program} took {time.monotonic() - started:.0f} s", flush=True)
    if folder.exists():
        shutil.rmtree(folder)
    partial.chmod(0o755)
    partial.rename(folder)


def _linker_flags(module: GoModule) -> list[str]:
    settings = ["-s", "-w", *(f"-X={name}={value}" for name, value in module.variables.items())]
    return [f"-ldflags={' '.join(settings)}"]


def _go_command() -> str:
    go = shutil.which("go")
    if go is None:
        raise ClusterError(
            "go", "not found on PATH", remedy="install Go 1.26 or newer; the real cluster is built from source"
        )
    return go


def _run_go(command: Sequence[str], module: GoModule) -> None:
    environment = {**os.environ, "CGO_ENABLED": "0"}
    done = subprocess.run(command, cwd=module.source, env=environment, stderr=subprocess.PIPE, text=True, check=False)
    if done.returncode != 0:
        tail = "\n".join(done.stderr.splitlines()[-20:])
        raise ClusterError(
            f"module {module.name}",
            f"{' '.join(command[:2])} ended with status {done.returncode}:\n{tail}",
            remedy="check that the Go module proxy can be reached and that go.mod and go.sum are unchanged",
        )
