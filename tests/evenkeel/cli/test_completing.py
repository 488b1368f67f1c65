"""Completion as a user meets it: a real bash with the script that the command line prints."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest
import typer

from evenkeel.cli.completing import autoscalers, contexts, explained, namespaces, pods, workloads
from evenkeel.simulator.api.server import ApiServer
from evenkeel.simulator.faults import Fault, Refuse
from tests.embedded import deploy, pod_object, vpa_object

SCRIPTS = Path(sys.executable).parent

# Bash breaks the line at blanks and at "=", as readline does it before it calls the function.
BASH = r"""
eval "$(_EVENKEEL_COMPLETE=source_bash evenkeel)"
read -r -a COMP_WORDS <<< "${LINE//=/ = }"
[[ $LINE == *" " ]] && COMP_WORDS+=("")
COMP_CWORD=$((${#COMP_WORDS[@]} - 1))
_evenkeel_completion evenkeel
printf '%s\n' "${COMPREPLY[@]}"
"""


def bash(line: str, kubeconfig: str = "/dev/null") -> tuple[list[str], str]:
    """Return what bash offers after a line, and what appears at the terminal beside it."""
    environment = {**os.environ, "PATH": f"{SCRIPTS}:{os.environ['PATH']}", "KUBECONFIG": kubeconfig, "LINE": line}
    command = ["bash", "--norc", "-c", BASH]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=60, env=environment)
    return done.stdout.split(), done.stderr


@pytest.fixture
def kubeconfig(server: ApiServer, cluster: str) -> str:
    """A cluster with two namespaces, a workload and its VPA."""
    server.store.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "shop"}})
    deploy(server, "web")
    server.store.create(vpa_object("web"))
    server.store.create(vpa_object("worker"))
    return cluster.partition("=")[2]


LINES = [
    ("product:1 a command", "evenkeel veri", ["verify-resize"]),
    ("product:1 an option", "evenkeel list --all", ["--all-namespaces"]),
    ("product:1 a kind", "evenkeel explain v", ["vpa"]),
    ("product:1 the form of the output", "evenkeel list -o ", ["table", "json", "yaml"]),
    ("product:1 the same with =", "evenkeel list --output=y", ["yaml"]),
    ("product:1 a command of a command", "evenkeel shadow r", ["remove"]),
    ("product:1 a scenario", "evenkeel demo deferred-t", ["deferred-then-evicted"]),
    ("product:1 nothing of that name", "evenkeel demo no-such", []),
]


@pytest.mark.parametrize(("row", "line", "offered"), LINES, ids=[row[0] for row in LINES])
def test_words_of_the_command_line(row: str, line: str, offered: list[str]) -> None:
    assert bash(line) == (offered, "")


NAMES = [
    ("product:1 VPAs", "evenkeel explain vpa w", ["web", "worker"]),
    ("product:1 namespaces", "evenkeel list -n s", ["shop"]),
    ("product:1 with =", "evenkeel list --namespace=sh", ["shop"]),
    ("product:1 in another namespace", "evenkeel export --namespace=shop ", []),
]


@pytest.mark.parametrize(("row", "line", "offered"), NAMES, ids=[row[0] for row in NAMES])
def test_names_of_the_cluster(kubeconfig: str, row: str, line: str, offered: list[str]) -> None:
    assert bash(line, kubeconfig) == (offered, "")


def test_a_cluster_that_does_not_answer_is_not_waited_for_long(tmp_path: Path) -> None:
    """A connection is taken and never answered, which is the slowest way to be gone."""
    asked: list[float] = []

    def take() -> None:
        connection, _ = silent.accept()
        asked.append(time.monotonic())
        connection.recv(2**16)
        connection.recv(1)
        connection.close()

    with socket.create_server(("127.0.0.1", 0)) as silent:
        taking = threading.Thread(target=take, daemon=True)
        taking.start()
        config = tmp_path / "config"
        config.write_text(kubeconfig_text(f"http://127.0.0.1:{silent.getsockname()[1]}"))
        assert bash("evenkeel list -n ", str(config)) == ([], "")
        taking.join()
    assert time.monotonic() - asked[0] < 15.0


def kubeconfig_text(address: str) -> str:
    return f"""
current-context: here
contexts: [{{name: here, context: {{cluster: c, user: u}}}}, {{name: there, context: {{cluster: c, user: u}}}}]
clusters: [{{name: c, cluster: {{server: '{address}'}}}}]
users: [{{name: u, user: {{token: t}}}}]
"""


def typed(**given: object) -> typer.Context:
    """What was typed before the word that is completed."""
    context = typer.Context(typer.main.get_command(typer.Typer(callback=lambda: None)))
    context.params.update(given)
    return context


Offer = Callable[[typer.Context, str], list[str]]

OFFERS: list[tuple[str, Offer, dict[str, object], str, list[str]]] = [
    ("product:1 namespaces", namespaces, {}, "sh", ["shop"]),
    ("product:1 pods", pods, {}, "", ["web-0"]),
    ("product:1 VPAs", autoscalers, {}, "wo", ["worker"]),
    ("product:1 VPAs of all namespaces", autoscalers, {"everywhere": True}, "", ["web", "worker"]),
    ("product:2 VPAs of upstream's group", autoscalers, {"api_group": "autoscaling.k8s.io"}, "", []),
    ("beyond:B-34 a VPA to explain", explained, {"kind": "vpa"}, "we", ["web"]),
    ("beyond:B-34 a pod to explain", explained, {"kind": "pod"}, "we", ["web-0"]),
    ("product:1 workloads", workloads, {}, "", ["deployment/web", "pod/web-0"]),
    ("product:1 workloads of a kind", workloads, {}, "pod/", ["pod/web-0"]),
    ("product:1 no such kind", workloads, {}, "node/", []),
    ("product:1 options that exclude each other", pods, {"everywhere": True, "namespace": "shop"}, "", []),
]


@pytest.mark.parametrize(("row", "offer", "given", "begun", "offered"), OFFERS, ids=[row[0] for row in OFFERS])
def test_what_is_offered(
    kubeconfig: str, row: str, offer: Offer, given: dict[str, object], begun: str, offered: list[str]
) -> None:
    assert offer(typed(kubeconfig=kubeconfig, **given), begun) == offered


def test_kinds_that_may_not_be_listed_are_left_out(server: ApiServer, kubeconfig: str) -> None:
    server.store.create(pod_object("alone", ""))
    server.faults.add(Fault(Refuse(403), path="/deployments$", count=None))
    assert workloads(typed(kubeconfig=kubeconfig), "") == ["pod/alone", "pod/web-0"]


def test_contexts_come_from_the_kubeconfig(tmp_path: Path) -> None:
    config = tmp_path / "config"
    config.write_text(kubeconfig_text("http://127.0.0.1:1"))
    assert contexts(typed(kubeconfig=str(config)), "") == ["here", "there"]
    assert contexts(typed(kubeconfig=str(config)), "t") == ["there"]
    config.write_text("contexts: 3")
    assert contexts(typed(kubeconfig=str(config)), "") == []
    assert contexts(typed(kubeconfig=str(tmp_path / "none")), "") == []
