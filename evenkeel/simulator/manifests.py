"""The manifests that are shipped, read as they are, so that a simulated cluster shows what is wrong with them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import yaml

from autoscaling.errors import ConfigurationError
from evenkeel.simulator.api.fields import JsonObject, as_object, child, ensure, rows, text, texts

DEFAULT_FOLDER = Path(__file__).parents[2] / "manifests"
_IGNORED = {"apiVersion", "kind", "images"}
_PROGRAMS = {
    "evenkeel-recommender": "recommender",
    "evenkeel-updater": "updater",
    "evenkeel-admission-controller": "admission",
}
"""Import name of the program behind each command of the image."""


@dataclass(frozen=True, slots=True)
class ProgramManifest:
    """How one of the three processes is deployed.

    Args:
        name: Of its Deployment.
        module: Import name of the program.
        namespace: Where it runs.
        service_account: As whom it runs.
        arguments: Its arguments.
    """

    name: str
    module: str
    namespace: str
    service_account: str
    arguments: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Manifests:
    """Everything that an installation consists of.

    Args:
        objects: All objects, namespaces first.
        programs: How the processes are deployed, by import name.
    """

    objects: tuple[JsonObject, ...]
    programs: dict[str, ProgramManifest]

    def of_kind(self, kind: str) -> list[JsonObject]:
        """Return the objects of a kind."""
        return [one for one in self.objects if text(one, "kind") == kind]


def read_manifests(folder: Path = DEFAULT_FOLDER) -> Manifests:
    """Read a kustomization of plain resources and common labels, such as ``manifests/``.

    Raises:
        ConfigurationError: It is not there, or needs Kustomize itself.
    """
    objects = sorted(_objects(folder), key=lambda one: text(one, "kind") != "Namespace")
    programs = [_program(one) for one in objects if text(one, "kind") == "Deployment"]
    return Manifests(tuple(objects), {program.module: program for program in programs})


def _objects(folder: Path) -> Iterator[JsonObject]:
    """Yield the objects of a folder with a kustomization and of those below it."""
    document = next(iter(_documents(folder / "kustomization.yaml")), {})
    if unknown := sorted(set(document) - _IGNORED - {"resources", "labels"}):
        raise ConfigurationError(
            f"{folder / 'kustomization.yaml'}: {', '.join(unknown)} needs kubectl kustomize; give a folder without it"
        )
    labels = {key: value for row in rows(document, "labels") for key, value in child(row, "pairs").items()}
    for entry in texts(document, "resources"):
        path = folder / entry
        for one in _objects(path) if path.is_dir() else _documents(path):
            ensure(one, "metadata")["labels"] = {**child(one, "metadata", "labels"), **labels}
            yield one


def _documents(path: Path) -> list[JsonObject]:
    """Return the documents of a YAML file."""
    try:
        return [as_object(one) for one in yaml.load_all(path.read_text(), Loader=_LOADER) if one]
    except OSError as error:
        why = error.strerror or str(error)
        remedy = "run from a checkout of the repository, whose manifests/ folder is installed into the cluster"
        raise ConfigurationError(f"{path}: {why}; {remedy}") from error


_LOADER: type[yaml.SafeLoader] = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


def _program(deployment: JsonObject) -> ProgramManifest:
    """Return how the process of a Deployment is run."""
    name, namespace = text(deployment, "metadata", "name"), text(deployment, "metadata", "namespace")
    pod = child(deployment, "spec", "template", "spec")
    container = rows(pod, "containers")[0]
    command = texts(container, "command")
    if not command or command[0] not in _PROGRAMS:
        raise ConfigurationError(f"Deployment {namespace}/{name}: command {command} is none of {', '.join(_PROGRAMS)}")
    arguments = [word.replace("$(NAMESPACE)", namespace) for word in (*command[1:], *texts(container, "args"))]
    account = text(pod, "serviceAccountName")
    return ProgramManifest(name, _PROGRAMS[command[0]], namespace, account, tuple(arguments))
