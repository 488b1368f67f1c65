"""The three programs as processes of their own, told wrong things or put before a cluster that is not ready."""

from __future__ import annotations

import asyncio
import json
import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from http.client import HTTPConnection
from pathlib import Path
from typing import TextIO

import pytest

from evenkeel.simulator.api.calls import User
from evenkeel.simulator.api.server import ApiServer
from evenkeel.simulator.api.serving import serve_in_thread
from evenkeel.simulator.processes.program import Handle, Invocation
from tests.embedded import api_server
from tests.forking import start_forked

pytestmark = pytest.mark.lengthy

PROGRAMS = ("evenkeel-recommender", "evenkeel-updater", "evenkeel-admission-controller")
MODULES = dict(zip(PROGRAMS, ("recommender", "updater", "admission"), strict=True))
_SECONDS = 40.0
# What all programs do by the same code is looked at in one or two of them. Each is started once as it is installed, by
# an interpreter of its own; that takes a second, so otherwise they are forked.


@dataclass(frozen=True, slots=True)
class Answer:
    """What came of a program that ended by itself."""

    status: int
    said: str


@dataclass(frozen=True, slots=True)
class Running:
    """A program and what it says."""

    handle: Handle
    output: TextIO


def run_installed(name: str, *flags: str) -> Answer:
    """Run the command that is installed, in a fresh interpreter."""
    words = [str(Path(sys.executable).parent / name), *flags]
    done = subprocess.run(words, capture_output=True, text=True, check=False, timeout=_SECONDS)
    return Answer(done.returncode, done.stderr)


@contextmanager
def forked(name: str, folder: Path, *flags: str) -> Iterator[Running]:
    """A program whose output comes through a named pipe."""
    pipe = folder / "output"
    os.mkfifo(pipe)
    words = (sys.executable, "-P", "-m", MODULES[name], *flags)
    handle = start_forked(Invocation(name, words), pipe)
    try:
        with pipe.open() as output:
            yield Running(handle, output)
    finally:
        handle.kill()
        handle.wait(_SECONDS)
        pipe.unlink()


def run(name: str, folder: Path, *flags: str) -> Answer:
    """Run a program until it ends."""
    with forked(name, folder, *flags) as process:
        said = process.output.read()
        return Answer(process.handle.wait(_SECONDS), said)


@contextmanager
def running(name: str, folder: Path, *flags: str) -> Iterator[Running]:
    """A program that is ended by the signal a node sends."""
    with forked(name, folder, "--address=127.0.0.1:0", *flags) as process:
        try:
            yield process
        finally:
            process.handle.terminate()
            process.handle.wait(_SECONDS)


def line_with(process: Running, text: str) -> dict[str, object]:
    """Read log lines until one holds a text."""
    deadline = time.monotonic() + _SECONDS
    seen: list[str] = []
    for line in process.output:
        seen.append(line)
        if text in line:
            found: dict[str, object] = json.loads(line)
            return found
        assert time.monotonic() < deadline, "".join(seen)
    raise AssertionError("".join(seen))


@pytest.mark.parametrize("name", PROGRAMS[:1])
def test_an_unknown_flag_names_the_nearest_one(name: str, tmp_path: Path) -> None:
    answer = run(name, tmp_path, "--kubeconfigs=x")
    assert answer.status == 2
    assert "--kubeconfig" in answer.said


@pytest.mark.parametrize("name", PROGRAMS[1:2])
def test_contradictory_flags_are_both_named(name: str, tmp_path: Path) -> None:
    answer = run(name, tmp_path, "--vpa-object-namespace=a", "--ignored-vpa-object-namespaces=b")
    assert answer.status == 1
    assert "--vpa-object-namespace" in answer.said
    assert "--ignored-vpa-object-namespaces" in answer.said


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_kubeconfig_that_is_not_there_is_named(name: str, tmp_path: Path) -> None:
    answer = run_installed(name, "--address=127.0.0.1:0", f"--kubeconfig={tmp_path / 'nothing'}")
    assert answer.status == 1
    assert str(tmp_path / "nothing") in answer.said
    assert "Traceback" not in answer.said


@pytest.mark.parametrize("name", PROGRAMS)
def test_an_api_server_that_does_not_answer_is_named(name: str, tmp_path: Path) -> None:
    with serve_in_thread(ApiServer()) as endpoint:
        kubeconfig = endpoint.write_kubeconfig(tmp_path / "kubeconfig")
        url = endpoint.url
    answer = run(name, tmp_path, "--address=127.0.0.1:0", f"--kubeconfig={kubeconfig}")
    assert answer.status == 1
    assert url in answer.said
    assert "Traceback" not in answer.said


@pytest.mark.parametrize("name", PROGRAMS[1:])
def test_an_address_in_use_is_named(name: str, tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        address = f"127.0.0.1:{taken.getsockname()[1]}"
        answer = run(name, tmp_path, f"--address={address}", f"--kubeconfig={tmp_path / 'nothing'}")
    assert answer.status == 1
    assert address in answer.said


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_missing_definition_is_named_with_the_way_out(name: str, tmp_path: Path) -> None:
    with serve_in_thread(ApiServer()) as endpoint:
        kubeconfig = endpoint.write_kubeconfig(tmp_path / "kubeconfig")
        port = () if name != PROGRAMS[2] else ("--port=0", "--register-webhook=false")
        with running(name, tmp_path, f"--kubeconfig={kubeconfig}", *port) as process:
            line = line_with(process, "verticalpodautoscalers.autoscaling.evenkeel.dev")
    assert "manifests/crd" in str(line["error"])


@pytest.mark.parametrize(("name", "flags", "status"), [(PROGRAMS[0], ("--profiling",), 200), (PROGRAMS[1], (), 404)])
def test_profiles_are_served_where_they_are_asked_for(
    name: str, flags: tuple[str, ...], status: int, tmp_path: Path
) -> None:
    with serve_in_thread(api_server()) as endpoint:
        kubeconfig = endpoint.write_kubeconfig(tmp_path / "kubeconfig")
        with running(name, tmp_path, f"--kubeconfig={kubeconfig}", *flags) as process:
            connection = HTTPConnection("127.0.0.1", int(str(line_with(process, "telemetry listens")["port"])))
            line_with(process, "caches filled")
            connection.request("GET", "/debug/pprof/profile?seconds=0.1")
            answer = connection.getresponse()
            assert (answer.status, b"asyncio" in answer.read()) == (status, status == 200), "updater:M-2"
            connection.close()


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
        with running(name, tmp_path, f"--kubeconfig={kubeconfig}", *port) as process:
            line = line_with(process, f"on resource {right}")
    assert "manifests/rbac" in str(line["error"])


@pytest.mark.parametrize("name", PROGRAMS[:2])
def test_a_signal_ends_a_process_in_order_and_gives_its_lease_back(name: str, tmp_path: Path) -> None:
    server = api_server()
    server.create_namespaces("evenkeel-system")
    with serve_in_thread(server) as endpoint:
        kubeconfig = endpoint.write_kubeconfig(tmp_path / "kubeconfig")
        with running(name, tmp_path, f"--kubeconfig={kubeconfig}", "--leader-elect") as process:
            line_with(process, "caches filled")
            lease = server.store.read("coordination.k8s.io/v1", "Lease", name, "evenkeel-system")
            assert lease["spec"]["holderIdentity"]  # type: ignore[index]
        assert process.handle.poll() == 0
        lease = server.store.read("coordination.k8s.io/v1", "Lease", name, "evenkeel-system")
        assert not lease["spec"].get("holderIdentity")  # type: ignore[attr-defined]


def test_the_first_round_of_the_recommender_waits_for_no_interval(tmp_path: Path) -> None:
    """Spec: performance:R-6."""
    server = api_server()
    with serve_in_thread(server) as endpoint:
        kubeconfig = endpoint.write_kubeconfig(tmp_path / "kubeconfig")
        with running(PROGRAMS[0], tmp_path, f"--kubeconfig={kubeconfig}", "--recommender-interval=1h"):
            asked = server.requests.until(lambda log: bool(log.calls("list", path="metrics.k8s.io")), _SECONDS)
            asyncio.run(asked)
