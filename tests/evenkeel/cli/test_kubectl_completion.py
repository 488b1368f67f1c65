"""What kubectl starts to complete the words after ``kubectl evenkeel``, by kubectl itself and by hand."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from evenkeel.cli.kubectl_completion import question
from evenkeel.simulator.api.server import ApiServer
from tests.embedded import vpa_object

SCRIPTS = Path(sys.executable).parent


def kubectl(*words: str, kubeconfig: str = "/dev/null") -> list[str]:
    """Return what the real kubectl offers to a shell, the last line with what the shell shall do."""
    environment = {**os.environ, "PATH": f"{SCRIPTS}:{os.environ['PATH']}", "KUBECONFIG": kubeconfig}
    command = [str(SCRIPTS / "kubectl"), "__complete", "evenkeel", *words]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=60, env=environment)
    return done.stdout.splitlines()


def test_kubectl_completes_commands() -> None:
    assert kubectl("ver") == [
        "verify-resize\tWait until a pod has what it asks for.",
        "version\tPrint the version.",
        ":4",
    ]


def test_kubectl_completes_names_of_the_cluster(server: ApiServer, cluster: str) -> None:
    server.store.create(vpa_object("web"))
    server.store.create(vpa_object("db"))
    kubeconfig = cluster.partition("=")[2]
    assert kubectl("explain", "vpa", "", kubeconfig=kubeconfig) == ["db", "web", ":4"]
    assert kubectl("explain", "vpa", "w", kubeconfig=kubeconfig) == ["web", ":4"]
    assert kubectl("list", "--namespace=def", kubeconfig=kubeconfig) == ["default", ":4"]


def test_files_are_offered_where_there_is_nothing_else() -> None:
    assert kubectl("list", "--history", "--log", "") == [":0"]


QUESTIONS = [
    ((), "evenkeel "),
    (("list", ""), "evenkeel list "),
    (("list", "-n", "sh"), "evenkeel list -n sh"),
    (("export", "two words", "a'b"), "evenkeel export 'two words' 'a'\"'\"'b'"),
]


@pytest.mark.parametrize(("words", "typed"), QUESTIONS)
def test_questions(words: tuple[str, ...], typed: str) -> None:
    assert question(words)["_TYPER_COMPLETE_ARGS"] == typed
