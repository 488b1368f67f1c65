"""What clusters of different releases of Kubernetes are made of, with no cluster."""

from __future__ import annotations

import json
import re
import tomllib
from pathlib import Path

import pytest

from e2e.cluster.audit import read
from e2e.cluster.binaries import MODULES, modules_for, runtime_programs
from e2e.cluster.errors import ClusterError
from e2e.cluster.images import PAUSE_IMAGE
from e2e.cluster.layout import Layout, NodeLayout, run_release
from e2e.cluster.nodes import NodeSpec, kubelet_command
from e2e.cluster.releases import CHOICE_VARIABLE, DEFAULT, NEWEST, RELEASES, Release, release_named
from e2e.cluster.runtimes import RuntimePrograms, configuration, configuration_file
from e2e.cluster.starting import Programs

EACH = [pytest.param(release, id=release.name) for release in RELEASES.values()]
PLACES = ("root", "state")


@pytest.fixture
def node(tmp_path: Path) -> NodeLayout:
    """A node of a cluster whose folder is not there."""
    return Layout(tmp_path).node("node1")


@pytest.mark.parametrize(
    ("name", "expected"), [("", DEFAULT), ("1.35", DEFAULT), ("1.37", NEWEST)], ids=["none", "1.35", "1.37"]
)
def test_a_release_goes_by_its_minor_version(monkeypatch: pytest.MonkeyPatch, name: str, expected: Release) -> None:
    monkeypatch.setenv(CHOICE_VARIABLE, name)
    assert run_release() is release_named(name) is expected


@pytest.mark.parametrize("name", ["1.36", "1.37.2", "v1.37", "newest"])
def test_a_release_that_is_not_there_is_named_with_those_that_are(name: str) -> None:
    with pytest.raises(ClusterError, match=rf"Kubernetes {re.escape(name)}: cannot be built here; choose 1.35 or 1.37"):
        release_named(name)


@pytest.mark.parametrize("release", EACH)
def test_a_module_pins_one_version_of_all_parts_of_kubernetes(release: Release) -> None:
    module = MODULES[release.module]
    pinned = (module.source / "go.mod").read_text()
    assert f"k8s.io/kubernetes {release.version}" in pinned
    parts = re.findall(r"^\t(k8s\.io/\S+) => (\S+) (\S+)$", pinned, re.MULTILINE)
    assert {(left == right, version) for left, right, version in parts} == {(True, f"v0{release.version[2:]}")}
    assert len(parts) >= 31
    assert release.version in module.variables.values()
    assert (module.source / "go.sum").stat().st_size > 0


def test_the_newest_release_has_a_containerd_of_its_own() -> None:
    assert DEFAULT.modules == ("kubernetes",)
    assert NEWEST.modules == ("kubernetes-1.37", "containerd")
    module = MODULES["containerd"]
    assert "github.com/containerd/containerd/v2 v2.4.2" in (module.source / "go.mod").read_text()
    assert set(module.programs) == {"containerd", "containerd-shim-runc-v2", "ctr"}
    assert set(module.variables.values()) == {"v2.4.2"}


@pytest.mark.parametrize("release", EACH)
def test_tests_on_a_release_use_no_module_of_another(release: Release) -> None:
    used = set(modules_for(release))
    others = {name for other in RELEASES.values() if other is not release for name in other.modules}
    assert used >= {*release.modules, "metrics-server", "vpa"}
    assert used.isdisjoint(others)
    assert used | others == set(MODULES)


@pytest.mark.parametrize("release", EACH)
def test_a_containerd_keeps_to_its_node(release: Release, node: NodeLayout) -> None:
    read_back = tomllib.loads(configuration(release.runtime, node))
    assert read_back["version"] == release.runtime.configuration.value
    assert {Path(read_back[place]).parent for place in PLACES} == {node.folder}
    assert read_back["grpc"] == {"address": str(node.containerd_socket)}
    text = configuration(release.runtime, node)
    assert text.count(PAUSE_IMAGE) == 1
    assert text.count('snapshotter = "native"') == (1 if release is DEFAULT else 2)
    for setting in ("restrict_oom_score_adj = true", "netns_mounts_under_state_dir = true", "SystemdCgroup = false"):
        assert text.count(setting) == 1, setting
    assert str(node.cni_folder) in text
    assert f'Root = "{node.folder / "runc"}"' in text


def test_plugins_are_called_as_each_containerd_calls_them(node: NodeLayout) -> None:
    old, new = (tomllib.loads(configuration(r.runtime, node))["plugins"] for r in (DEFAULT, NEWEST))
    assert old["io.containerd.grpc.v1.cri"]["cni"]["bin_dir"] == "/usr/lib/cni"
    assert new["io.containerd.cri.v1.runtime"]["cni"]["bin_dirs"] == ["/usr/lib/cni"]
    assert new["io.containerd.nri.v1.nri"] == {"disable": True}
    assert new["io.containerd.cri.v1.images"]["pinned_images"] == {"sandbox": PAUSE_IMAGE}


def test_a_built_containerd_is_started_with_its_own_shim_first(node: NodeLayout) -> None:
    built = RuntimePrograms(Path("/built"))
    component = Programs(NEWEST, Path("/k"), built, Path("/m")).containerd(node)
    assert component.name == "containerd-node1"
    assert component.argv == ("/built/containerd", "--config", str(configuration_file(node)))
    assert component.environment["PATH"].startswith("/built:")
    assert built.client == Path("/built/ctr")
    assert runtime_programs(DEFAULT.runtime).client == Path("/usr/bin/ctr")


@pytest.mark.parametrize(("release", "flags"), [(DEFAULT, 1), (NEWEST, 0)], ids=["1.35", "1.37"])
def test_a_kubelet_gets_the_flags_of_its_release(tmp_path: Path, release: Release, flags: int) -> None:
    layout = Layout(tmp_path)
    command = kubelet_command(Path("/k"), layout, NodeSpec(1, flags=("--more",)), release)
    assert command.count(f"--containerd={layout.node('node1').containerd_socket}") == flags
    assert command[-1] == "--more"
    assert not [part for part in command if "{" in part]


@pytest.mark.parametrize(
    ("row", "code", "subresource", "message", "expected"),
    [
        (
            "updater:D-48",
            403,
            "resize",
            'pods "p" is forbidden: node didn\'t have enough allocatable resources: cpu, requested: 2, allocatable: 1',
            True,
        ),
        ("updater:D-48", 200, "resize", "", False),
        ("beyond:B-21", 403, "resize", 'User "u" cannot patch resource "pods/resize"', False),
        ("beyond:B-21", 403, "eviction", "node didn't have enough allocatable resources", False),
    ],
)
def test_a_refusal_for_want_of_room_is_none_for_want_of_a_right(
    tmp_path: Path, row: str, code: int, subresource: str, message: str, *, expected: bool
) -> None:
    document = {
        "requestReceivedTimestamp": "2026-01-02T03:04:05.000006Z",
        "objectRef": {"resource": "pods", "subresource": subresource},
        "responseStatus": {"code": code, "message": message},
    }
    (tmp_path / "audit.jsonl").write_text(json.dumps(document) + "\n")
    (entry,) = read(tmp_path / "audit.jsonl")
    assert (entry.message, entry.is_beyond_node) == (message, expected), row
