"""The command line against the embedded API server, in processes of its own."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from importlib.metadata import version
from pathlib import Path

import pytest

from evenkeel.simulator.api.server import ApiServer
from evenkeel.simulator.api.serving import serve_in_thread
from tests.embedded import api_server, recommended_status, vpa_object


@pytest.fixture
def server() -> ApiServer:
    return api_server()


@pytest.fixture
def kubeconfig(server: ApiServer, tmp_path: Path) -> Iterator[Path]:
    with serve_in_thread(server) as endpoint:
        path = tmp_path / "kubeconfig"
        endpoint.write_kubeconfig(path)
        yield path


def evenkeel(*words: str) -> subprocess.CompletedProcess[str]:
    program = Path(sys.executable).parent / "evenkeel"
    return subprocess.run([str(program), *words], capture_output=True, text=True, check=False, timeout=60)


def test_version_and_help() -> None:
    assert evenkeel("version").stdout.strip() == version("evenkeel")
    help_text = evenkeel("--help")
    assert help_text.returncode == 0
    assert "list" in help_text.stdout


def test_list_shows_recommendations_and_conditions(server: ApiServer, kubeconfig: Path) -> None:
    server.store.create(vpa_object("web", status=recommended_status("400m", "100Mi")))
    unsupported = {"type": "ConfigUnsupported", "status": "True", "message": "no such target"}
    server.store.create(vpa_object("lost", status={"conditions": [unsupported]}))
    table = evenkeel("list", f"--kubeconfig={kubeconfig}")
    assert table.returncode == 0, table.stderr
    assert "\x1b" not in table.stdout, "no colours in a pipe"
    answer = evenkeel("list", f"--kubeconfig={kubeconfig}", "--output=json", "--namespace=default")
    lost, web = json.loads(answer.stdout)
    assert (lost["name"], lost["container"], lost["conditions"]) == ("lost", "-", "ConfigUnsupported: no such target")
    assert (web["container"], web["cpu"], web["memory"]) == ("main", "400m (400m to 400m)", "100Mi (100Mi to 100Mi)")
    assert (web["target"], web["mode"]) == ("Deployment/web", "InPlaceOrRecreate")


def test_list_names_what_it_cannot_read_and_shows_the_rest(server: ApiServer, kubeconfig: Path) -> None:
    server.store.create(vpa_object("web"))
    server.store.create(vpa_object("broken", updatePolicy={"updateMode": "Sometimes"}))
    answer = evenkeel("list", f"--kubeconfig={kubeconfig}", "-o", "json")
    assert answer.returncode == 1
    assert [row["name"] for row in json.loads(answer.stdout)] == ["web"]
    assert "VerticalPodAutoscaler default/broken: field spec.updatePolicy.updateMode" in answer.stderr


def test_a_cluster_that_cannot_be_reached_is_said_in_one_line(tmp_path: Path) -> None:
    answer = evenkeel("list", f"--kubeconfig={tmp_path / 'nothing'}")
    assert answer.returncode == 1
    assert answer.stderr.startswith("evenkeel: ")
    assert answer.stderr.count("\n") == 1
