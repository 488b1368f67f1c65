"""The example for kind, decoded by kind's own package, strictly (spec: product:9)."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from e2e.cluster.binaries import build
from e2e.installation import MANIFESTS

CLUSTER = MANIFESTS / "examples" / "kind" / "cluster.yaml"


def decoded(path: Path) -> subprocess.CompletedProcess[str]:
    """Have kind's types read a file."""
    program = build("kind") / "kind-configuration"
    return subprocess.run([str(program), str(path)], capture_output=True, text=True, check=False, timeout=30)


def test_kind_reads_the_configuration() -> None:
    done = decoded(CLUSTER)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.split() == ["control-plane", "worker", "worker"]


@pytest.mark.parametrize(
    ("old", "new", "problem"),
    [
        ("nodes:", "node:", "field node not found"),
        ("- role: worker", "- rolle: worker", "field rolle not found"),
        ("nodes:", "featureGates: {InPlacePodVerticalScaling: perhaps}\nnodes:", "cannot unmarshal"),
        ("v1alpha4", "v1alpha3", "no Cluster of kind.x-k8s.io/v1alpha4"),
    ],
)
def test_kind_refuses_what_it_does_not_know(tmp_path: Path, old: str, new: str, problem: str) -> None:
    changed = tmp_path / "cluster.yaml"
    text = CLUSTER.read_text()
    assert old in text
    changed.write_text(text.replace(old, new))
    done = decoded(changed)
    assert done.returncode == 1
    assert problem in done.stderr
