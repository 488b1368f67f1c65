"""Layers and settings as an OCI image, put together by umoci; neither a daemon nor root is needed."""

from __future__ import annotations

import json
import shutil
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from e2e.cluster.commands import run
from e2e.image.base import USER
from e2e.image.packing import pack
from e2e.image.trees import LAYERS

TAG = "dev"
ENVIRONMENT = {"PATH": "/usr/local/bin:/usr/bin", "PYTHONDONTWRITEBYTECODE": "1", "PYTHONUNBUFFERED": "1"}
"""Modules are compiled already and the root cannot be written to; a line of a log is there as soon as it is written."""

_LONG_AGO = "1970-01-01T00:00:00Z"
_REMEDY = "apt-get install umoci"
_REPOSITORY = Path(__file__).parents[2]


@dataclass(frozen=True, slots=True)
class Settings:
    """What an image says of itself.

    Args:
        user: User and group its processes run as.
        environment: Variables of its processes.
        labels: Its annotations by name.
    """

    user: str = f"{USER}:{USER}"
    environment: Mapping[str, str] = field(default_factory=lambda: ENVIRONMENT)
    labels: Mapping[str, str] = field(default_factory=dict)


def settings() -> Settings:
    """Return the settings of Evenkeel's image, as ``pyproject.toml`` describes it."""
    project = tomllib.loads((_REPOSITORY / "pyproject.toml").read_text())["project"]
    prefix = "org.opencontainers.image"
    labels = {
        f"{prefix}.title": project["name"],
        f"{prefix}.description": project["description"],
        f"{prefix}.version": project["version"],
        f"{prefix}.licenses": project["license"],
    }
    return Settings(labels=labels)


def assemble(trees: Path, stated: Settings, layout: Path) -> str:
    """Put an image together.

    Args:
        trees: Folder of one file tree per layer.
        stated: Its settings.
        layout: Folder of the OCI layout, which is made anew; beside it an archive of it, ending in ``.tar``.

    Returns:
        The digest of the image's manifest.

    Raises:
        ClusterError: umoci is missing or fails.
    """
    shutil.rmtree(layout, ignore_errors=True)
    layout.parent.mkdir(parents=True, exist_ok=True)
    _umoci("init", "--layout", str(layout))
    image = f"{layout}:{TAG}"
    _umoci("new", "--image", image)
    for name in LAYERS:
        layer = layout.parent / f"{name}.tar"
        pack(trees / name, layer)
        _umoci("raw", "add-layer", "--image", image, *_history(name), str(layer))
        layer.unlink()
    _umoci("config", "--image", image, f"--created={_LONG_AGO}", *_history("settings"), *_options(stated))
    _umoci("gc", "--layout", str(layout))
    pack(layout, layout.with_suffix(".tar"))
    return digest(layout)


def digest(layout: Path) -> str:
    """Return the digest of the one image in a layout."""
    (manifest,) = json.loads((layout / "index.json").read_text())["manifests"]
    return str(manifest["digest"])


def _options(stated: Settings) -> Sequence[str]:
    variables = [f"--config.env={name}={value}" for name, value in stated.environment.items()]
    labels = [f"--config.label={name}={value}" for name, value in sorted(stated.labels.items())]
    return [f"--config.user={stated.user}", "--config.workingdir=/", *variables, *labels]


def _history(part: str) -> Sequence[str]:
    return ["--history.author=", f"--history.created={_LONG_AGO}", f"--history.created_by=e2e.image: {part}"]


def _umoci(*arguments: str) -> None:
    run(["umoci", *arguments], remedy=_REMEDY, timeout_seconds=300)
