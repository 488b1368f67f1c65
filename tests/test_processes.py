"""The three programs as processes of their own, told wrong things or put before a cluster that is not ready."""

from __future__ import annotations

import json
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from evenkeel.simulator.api.calls import User
from evenkeel.simulator.api.server import ApiServer
from evenkeel.simulator.api.serving import serve_in_thread
from evenkeel.simulator.processes.program import Invocation
from tests.embedded import api_server
from tests.forking import start_forked

PROGRAMS = ("evenkeel-recommender", "evenkeel-updater", "evenkeel-admission-controller")
_SECONDS = 40.0


def program(name: str) -> str:
    return str(Path(sys.executable).parent / name)


@dataclass(frozen=True)
class Ended:
    """A program that has ended by itself, and all that it has said."""

    returncode: int
    said: str


def run(name: str, *flags: str) -> Ended:
    """Run a program to its end, in a process that was forked from one with its modules."""
    module = f"{name.removeprefix('evenkeel-').partition('-')[0]}"
    with tempfile.TemporaryDirectory() as folder:
        log = Path(folder) / "log"
        handle = start_forked(Invocation(name, ("python", "-P", "-m", module, *flags)), log)
        try:
            return Ended(handle.wait(_SECONDS), log.read_text())
        finally:
            handle.kill()


@contextmanager
def running(name: str, *flags: str) -> Iterator[subprocess.Popen[str]]:
    """A program that is ended by the signal a node sends."""
    words = [program(name), "--address=127.0.0.1:0", *flags]
    with subprocess.Popen(words, stderr=subprocess.PIPE, text=True) as process:
        try:
            yield process
        finally:
            process.send_signal(signal.SIGTERM)
            try:
                process.wait(timeout=_SECONDS)
            finally:
                process.kill()


def line_with(process: subprocess.Popen[str], text: str) -> dict[str, object]:
    """Read log lines until one holds a text."""
    assert process.stderr is not None
    deadline = time.monotonic() + _SECONDS
    seen: list[str] = []
    for line in process.stderr:
        seen.append(line)
        if text in line:
            found: dict[str, object] = json.loads(line)
            return found
        assert time.monotonic() < deadline, "".join(seen)
    raise AssertionError("".join(seen))


@pytest.mark.parametrize("name", PROGRAMS)
def test_an_unknown_flag_names_the_nearest_one(name: str) -> None:
    answer = run(name, "--kubeconfigs=x")
    assert answer.returncode == 2
    assert "--kubeconfig" in answer.said


@pytest.mark.parametrize("name", PROGRAMS)
def test_contradictory_flags_are_both_named(name: str) -> None:
    answer = run(name, "--vpa-object-namespace=a", "--ignored-vpa-object-namespaces=b")
    assert answer.returncode == 1
    assert "--vpa-object-namespace" in answer.said
    assert "--ignored-vpa-object-namespaces" in answer.said


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_kubeconfig_that_is_not_there_is_named(name: str, tmp_path: Path) -> None:
    answer = run(name, "--address=127.0.0.1:0", f"--kubeconfig={tmp_path / 'nothing'}")
    assert answer.returncode == 1
    assert str(tmp_path / "nothing") in answer.said
    assert "Traceback" not in answer.said


@pytest.mark.parametrize("name", PROGRAMS)
def test_an_api_server_that_does_not_answer_is_named(name: str, tmp_path: Path) -> None:
    with serve_in_thread(ApiServer()) as endpoint:
        kubeconfig = endpoint.write_kubeconfig(tmp_path / "kubeconfig")
        url = endpoint.url
    answer = run(name, "--address=127.0.0.1:0", f"--kubeconfig={kubeconfig}")
    assert answer.returncode == 1
    assert url in answer.said
    assert "Traceback" not in answer.said


@pytest.mark.parametrize("name", PROGRAMS)
def test_an_address_in_use_is_named(name: str, tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        address = f"127.0.0.1:{taken.getsockname()[1]}"
        answer = run(name, f"--address={address}", f"--kubeconfig={tmp_path / 'nothing'}")
    assert answer.returncode == 1
    assert address in answer.said


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_missing_definition_is_named_with_the_way_out(name: str, tmp_path: Path) -> None:
    with serve_in_thread(ApiServer()) as endpoint:
        kubeconfig = endpoint.write_kubeconfig(tmp_path / "kubeconfig")
        port = () if name != PROGRAMS[2] else ("--port=0", "--register-webhook=false")
        with running(name, f"--kubeconfig={kubeconfig}", *port) as process:
            line = line_with(process, "verticalpodautoscalers.autoscaling.evenkeel.dev")
    assert "manifests/crd" in str(line["error"])


@pytest.mark.parametrize(
    ("name", "right"), [(PROGRAMS[0], "pods"), (PROGRAMS[1], "pods"), (PROGRAMS[2], "limitranges")]
)
def test_a_missing_right_is_named_with_the_way_out(name: str, right: str, tmp_path: Path) -> None:
    server = api_server()
    server.access.tokens["weak"] = User("system:serviceaccount:default:weak", groups=())
    server.access.rbac = True
    with serve_in_thread(server) as endpoint:
        kubeconfig = endpoint.write_kubeconfig(tmp_path / "kubeconfig", token="weak")
        port = () if name != PROGRAMS[2] else ("--port=0", "--register-webhook=false")
        with running(name, f"--kubeconfig={kubeconfig}", *port) as process:
            line = line_with(process, f"on resource {right}")
    assert "manifests/rbac" in str(line["error"])


@pytest.mark.parametrize("name", PROGRAMS[:2])
def test_a_signal_ends_a_process_in_order_and_gives_its_lease_back(name: str, tmp_path: Path) -> None:
    server = api_server()
    server.create_namespaces("evenkeel-system")
    with serve_in_thread(server) as endpoint:
        kubeconfig = endpoint.write_kubeconfig(tmp_path / "kubeconfig")
        with running(name, f"--kubeconfig={kubeconfig}", "--leader-elect") as process:
            line_with(process, "caches filled")
            lease = server.store.read("coordination.k8s.io/v1", "Lease", name, "evenkeel-system")
            assert lease["spec"]["holderIdentity"]  # type: ignore[index]
        assert process.returncode == 0
        lease = server.store.read("coordination.k8s.io/v1", "Lease", name, "evenkeel-system")
        assert not lease["spec"].get("holderIdentity")  # type: ignore[attr-defined]
