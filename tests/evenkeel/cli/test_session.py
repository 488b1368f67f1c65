"""Which cluster and which namespace a command is about."""

from __future__ import annotations

from pathlib import Path

import pytest

from autoscaling.errors import ConfigurationError
from evenkeel.cli.session import Session
from evenkeel.simulator.api.server import ApiServer
from evenkeel.simulator.faults import Fault, Refuse
from tests.evenkeel.cli.running import evenkeel

CONFIG = """
current-context: here
contexts: [{name: here, context: {cluster: c, user: u, namespace: shop}}, {name: there, context: {cluster: c, user: u}}]
clusters: [{name: c, cluster: {server: 'https://c'}}]
users: [{name: u, user: {token: t}}]
"""


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home folder without a kubeconfig, and no word of one elsewhere."""
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("KUBECONFIG", raising=False)
    return tmp_path


def write(folder: Path) -> str:
    path = folder / ".kube" / "config"
    path.parent.mkdir()
    path.write_text(CONFIG)
    return str(path)


PLACES = [
    ("product:5 the context's", "", "", False, "shop"),
    ("product:5 a context without one", "there", "", False, "default"),
    ("product:5 given", "there", "other", False, "other"),
    ("product:5 all", "", "", True, ""),
]


@pytest.mark.parametrize(
    ("row", "context", "given", "is_everywhere", "namespace"), PLACES, ids=[row[0] for row in PLACES]
)
def test_namespaces(home: Path, row: str, context: str, given: str, is_everywhere: bool, namespace: str) -> None:
    path = write(home)
    session = Session.of("", context, given, is_everywhere=is_everywhere)
    assert session == Session(path, context, namespace)


def test_no_kubeconfig_anywhere(home: Path) -> None:
    assert Session.of("", "", "") == Session("", "", "default")
    with pytest.raises(ConfigurationError, match="--context names a context of a kubeconfig, and there is none"):
        Session.of("", "x", "")
    answer = evenkeel("list")
    assert answer.status == 1
    assert "does not look like a pod of a cluster" in answer.errors


REFUSALS = [
    (Refuse(403, "Forbidden", "not yours"), "you may not get pods in namespace default: not yours; ask for a role"),
    (Refuse(400, "BadRequest", "what?"), "GET /api/v1/namespaces/default/pods/x: 400 BadRequest: what?"),
]


@pytest.mark.parametrize(("answer", "said"), REFUSALS)
def test_refusals(server: ApiServer, cluster: str, answer: Refuse, said: str) -> None:
    server.faults.add(Fault(answer, path="/pods", count=None))
    told = evenkeel("verify-resize", "x", cluster)
    assert told.status == 1
    assert said in told.errors
    assert told.errors.count("\n") == 1
