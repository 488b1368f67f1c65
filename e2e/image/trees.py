"""The image's three file trees, each a layer: Debian's Python, the locked wheels, Evenkeel itself.

``python3 -m e2e.image.trees FOLDER`` makes them without a virtual environment, as the Dockerfile's first stage does.
"""

from __future__ import annotations

import configparser
import importlib.util
import json
import os
import shutil
import sys
import tempfile
from collections.abc import Collection, Mapping
from pathlib import Path

from e2e.cluster.errors import ClusterError
from e2e.image import lock
from e2e.image.base import make_base
from e2e.image.interpreter import PROGRAM, SITE, Interpreter

BASE, DEPENDENCIES, APPLICATION = LAYERS = ("base", "dependencies", "application")
COMMANDS = ("evenkeel-recommender", "evenkeel-updater", "evenkeel-admission-controller")

_REPOSITORY = Path(__file__).parents[2]
_BUILD_BACKEND = "hatchling"
_LAUNCHER = """#!/{program} -P
import sys

from {module} import {function}

sys.exit({function}())
"""
# Neither types for checkers nor the libraries' own tests are ever imported. The records of what pip installed hold
# where it did so, and digests of its launchers, which hold that as well.
_UNUSED = ("**/*.pyi", "**/tests", "bin", "*.dist-info/direct_url.json", "*.dist-info/RECORD")


def make_trees(folder: Path) -> None:
    """Make the three trees below a folder, which is emptied first.

    Raises:
        ClusterError: A program is missing or fails.
    """
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    with tempfile.TemporaryDirectory(prefix="evenkeel-image-") as name:
        scratch = Path(name)
        make_base(folder / BASE, scratch)
        wheels = _Wheels(Interpreter(folder / BASE), scratch)
        wheels.install_dependencies(folder / DEPENDENCIES / SITE)
        wheels.install_application(folder / APPLICATION / SITE)
    _write_launchers(folder / APPLICATION)
    for layer in LAYERS:
        _compile(Interpreter(folder / BASE), folder / layer)


class _Wheels:
    """Installs wheels by pip under the image's own interpreter.

    Args:
        interpreter: That interpreter.
        scratch: A folder for what is thrown away.
    """

    def __init__(self, interpreter: Interpreter, scratch: Path) -> None:
        self._interpreter = interpreter
        self._scratch = scratch
        self._lock = (_REPOSITORY / "requirements.lock").read_text()
        self._constraints = scratch / "constraints.txt"
        self._constraints.write_text(lock.pins(self._lock))

    def install_dependencies(self, folder: Path) -> None:
        """Install what Evenkeel needs at run time, each file checked against its hash in the lock."""
        self._install_locked(lock.direct_requirements((_REPOSITORY / "pyproject.toml").read_text()), folder)

    def install_application(self, folder: Path) -> None:
        """Build Evenkeel's wheel with the locked build backend, and install it."""
        backend = self._scratch / "backend"
        self._install_locked([_BUILD_BACKEND], backend)
        source = self._scratch / "source"
        _copy_source(source)
        environment = _environment() | {"PYTHONPATH": str(backend)}
        build = "import os, sys; os.chdir(sys.argv.pop(1)); from hatchling.cli import hatchling; sys.exit(hatchling())"
        arguments = ["-B", "-c", build, str(source), "build", "--target", "wheel", "--directory", str(self._scratch)]
        self._interpreter.run(arguments, environment)
        (wheel,) = self._scratch.glob("evenkeel-*.whl")
        self._pip("--no-index", "--no-deps", "--target", str(folder), str(wheel))
        _remove_unused(folder)

    def _install_locked(self, requirements: Collection[str], folder: Path) -> None:
        """Install requirements and what they need at the locked versions."""
        report = self._scratch / "report.json"
        self._pip("--dry-run", "--report", str(report), "--constraint", str(self._constraints), *requirements)
        names = [entry["metadata"]["name"] for entry in json.loads(report.read_text())["install"]]
        locked = self._scratch / "locked.txt"
        locked.write_text(lock.of_names(self._lock, names))
        self._pip("--require-hashes", "--no-deps", "--target", str(folder), "--requirement", str(locked))
        _remove_unused(folder)

    def _pip(self, *arguments: str) -> None:
        """Run the machine's pip under the image's interpreter, with the machine's own settings of pip."""
        specification = importlib.util.find_spec("pip")
        if specification is None or specification.origin is None:
            raise ClusterError("pip", "not installed", remedy="on Debian: apt-get install python3-pip")
        program = str(Path(specification.origin).parent)
        settings = ["--quiet", "--only-binary=:all:", "--ignore-installed", "--no-compile", "--root-user-action=ignore"]
        self._interpreter.run(["-B", "-s", program, "install", *settings, *arguments], _environment())


def _environment() -> dict[str, str]:
    """Return the machine's variables but Python's, with fixed times and an order of sets that is always the same."""
    inherited = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    return inherited | {"SOURCE_DATE_EPOCH": "0", "PYTHONHASHSEED": "0"}


def _copy_source(folder: Path) -> None:
    """Copy what the wheel is built from, without what earlier runs left in it."""
    packages = ("autoscaling", "recommender", "updater", "admission", "evenkeel")
    for name in packages:
        shutil.copytree(_REPOSITORY / name, folder / name, ignore=shutil.ignore_patterns("__pycache__"))
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(_REPOSITORY / name, folder / name)


def _remove_unused(folder: Path) -> None:
    for pattern in _UNUSED:
        for path in sorted(folder.glob(pattern)):
            if path.is_dir():
                shutil.rmtree(path)
            else:
                path.unlink(missing_ok=True)


def _write_launchers(folder: Path) -> None:
    """Write the three commands; pip's own would name the interpreter where it was while the image was built."""
    points = configparser.ConfigParser()
    (declared,) = (folder / SITE).glob("evenkeel-*.dist-info/entry_points.txt")
    points.read_string(declared.read_text())
    programs = folder / "usr" / "local" / "bin"
    programs.mkdir(parents=True)
    for name, text in launchers(points["console_scripts"]).items():
        (programs / name).write_text(text)
        (programs / name).chmod(0o755)


def launchers(scripts: Mapping[str, str]) -> dict[str, str]:
    """Return each command's program text by name.

    Args:
        scripts: ``module:function`` by name of the console script.
    """
    split = {name: scripts[name].split(":") for name in COMMANDS}
    return {
        name: _LAUNCHER.format(program=PROGRAM, module=module, function=function)
        for name, (module, function) in split.items()
    }


def _compile(interpreter: Interpreter, folder: Path) -> None:
    """Compile all modules, since the root file system cannot be written to later.

    The result does not depend on the files' times, and tracebacks name the files as they are in the image. What the
    compiler itself imports must not be compiled by that (-B): it would have the path and times of this build in it.
    """
    settings = ["-q", "-f", "-j1", "--invalidation-mode=unchecked-hash", "-s", str(folder), "-p", "/"]
    interpreter.run(["-B", "-m", "compileall", *settings, str(folder)], _environment())


if __name__ == "__main__":
    make_trees(Path(sys.argv[1]))
