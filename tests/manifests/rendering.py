"""The manifests as kubectl's own Kustomize renders them."""

from __future__ import annotations

import subprocess
import sys
from functools import cache
from pathlib import Path

import yaml

from evenkeel.crd.schema import Json, Schema
from tests.manifests.structural import as_list, as_object, at

MANIFESTS = Path(__file__).parents[2] / "manifests"
OWN = "."
DROP_IN = "overlays/drop-in"
INSTALLATIONS = (OWN, DROP_IN)


@cache
def rendered_text(folder: str) -> str:
    """What ``kubectl kustomize`` prints for a folder below ``manifests/``."""
    kubectl = Path(sys.executable).with_name("kubectl")
    command = [str(kubectl), "kustomize", str(MANIFESTS / folder)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    return done.stdout


@cache
def rendered(folder: str) -> tuple[Schema, ...]:
    """The objects of a folder."""
    return tuple(as_object(document) for document in yaml.safe_load_all(rendered_text(folder)))


def reference(item: Schema) -> tuple[str, str, str]:
    """Kind, namespace and name of an object."""
    metadata = as_object(item["metadata"])
    return str(item["kind"]), str(metadata.get("namespace", "")), str(metadata["name"])


def of_kind(folder: str, kind: str) -> dict[str, Schema]:
    """The objects of one kind by name."""
    return {reference(item)[2]: item for item in rendered(folder) if item["kind"] == kind}


def container(deployment: Schema) -> Schema:
    """The only container of a Deployment."""
    containers = as_list(at(deployment, "spec", "template", "spec", "containers"))
    assert len(containers) == 1
    return as_object(containers[0])


def texts(value: Json) -> list[str]:
    """A list of strings."""
    return [str(entry) for entry in as_list(value)]


def as_one_line(value: Json) -> Json:
    """A document with a space for each run of white space: Kustomize folds long expressions anew, nobody else cares."""
    if isinstance(value, dict):
        return {name: as_one_line(item) for name, item in value.items()}
    if isinstance(value, list):
        return [as_one_line(item) for item in value]
    return " ".join(value.split()) if isinstance(value, str) else value
