"""Which cluster and which namespace a command is about."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import pytest

from autoscaling.errors import ConfigurationError
from evenkeel.cli.session import Session, near_names
from evenkeel.simulator.api.server import ApiServer
from evenkeel.simulator.api.serving import Endpoint
from evenkeel.simulator.faults import Fault, Refuse
from tests.embedded import pod_object, vpa_object
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


@dataclass(frozen=True, slots=True)
class Wrong:
    """What is wrong, and what must be said of it: the object, what is the matter with it, and the way out."""

    options: tuple[str, ...]
    said: tuple[str, ...]
    fault: Refuse | None = None


ERRORS = [
    (
        "product:1 no kubeconfig",
        Wrong(("--kubeconfig=",), ("--kubeconfig is empty", "does not look like a pod", "give --kubeconfig")),
    ),
    (
        "product:1 no such file",
        Wrong(("--kubeconfig=/none",), ("--kubeconfig /none", "cannot be read", "give a kubeconfig file")),
    ),
    (
        "product:1 wrong context",
        Wrong(
            ("--kubeconfig={gone}", "--context=prod"), ("{gone}", "no context 'prod'", "its contexts are: simulator")
        ),
    ),
    (
        "product:1 nobody there",
        Wrong(("--kubeconfig={gone}",), ("http://127.0.0.1:1", "no connection", "check that the server runs")),
    ),
    (
        "product:1 none of that name",
        Wrong(("{cluster}",), ("VerticalPodAutoscaler wbe", "not found in namespace default", "did you mean web? ")),
    ),
    (
        "product:1 not allowed",
        Wrong(
            ("{cluster}",),
            ("you may not list verticalpodautoscalers", "not yours", "ask for a role that allows it"),
            Refuse(403, "Forbidden", "not yours"),
        ),
    ),
    (
        "product:2 no definition",
        Wrong(
            ("{cluster}", "--api-group=autoscaling.k8s.io"),
            ("verticalpodautoscalers.autoscaling.k8s.io", "not served", "manifests/crd/upstream-group"),
        ),
    ),
]


@pytest.mark.parametrize(("row", "wrong"), ERRORS, ids=[row[0] for row in ERRORS])
def test_an_error_names_the_object_what_is_wrong_and_the_way_out(
    server: ApiServer, cluster: str, home: Path, row: str, wrong: Wrong
) -> None:
    places = {"gone": str(Endpoint(server, "127.0.0.1", 1).write_kubeconfig(home / "gone")), "cluster": cluster}
    for name in ("web", "other"):
        server.store.create(vpa_object(name))
    if wrong.fault is not None:
        server.faults.add(Fault(wrong.fault, path="/verticalpodautoscalers$", count=None))
    told = evenkeel("explain", "vpa", "wbe", *(option.format(**places) for option in wrong.options))
    assert told.status == 1, row
    assert told.errors.startswith("evenkeel: ")
    assert told.errors.count("\n") == 1
    for part in wrong.said:
        assert part.format(**places) in told.errors


USAGES = [
    ("no such command", ("lst",), "Did you mean 'list'?"),
    ("no such option", ("list", "--al"), "--al"),
    ("no such form", ("list", "--output=xml"), "'table', 'json', 'yaml'"),
    ("no duration", ("observe", "deployment/web", "--duration=1x"), "'1x' is not a duration; write for example 30s"),
    ("less than nothing", ("verify-resize", "web-0", "--timeout=-1s"), "is less than nothing"),
    ("an argument is missing", ("explain", "vpa"), "Missing argument"),
    ("options that exclude each other", ("list", "-A", "--namespace=x"), "exclude each other; leave one out"),
    ("an option without its other", ("list", "--log=x"), "add --history"),
    ("no such kind", ("observe", "node/x"), "the kinds are cronjob, daemonset, deployment"),
    ("no such flag", ("compare", "--our-flags=--none"), "unknown flag --none"),
    ("watch and dry run", ("shadow", "sync", "--watch", "--dry-run"), "leave one out"),
]


@pytest.mark.parametrize(("row", "words", "said"), USAGES, ids=[row[0] for row in USAGES])
def test_wrong_usage_ends_with_status_2(cluster: str, row: str, words: tuple[str, ...], said: str) -> None:
    told = evenkeel(*words, *((cluster,) if words[0] != "lst" else ()))
    assert told.status == 2, row
    assert said in told.errors


NEAR = [
    ("spelled alike", "shpo", ["shop", "ship", "db"], ["shop", "ship"]),
    ("goes on from there", "web", ["web-b", "web-a", "wet"], ["web-a", "web-b"]),
    ("three at most", "a", ["a4", "a3", "a2", "a1"], ["a1", "a2", "a3"]),
    ("nothing near", "web", ["database"], []),
]


@pytest.mark.parametrize(("row", "name", "names", "near"), NEAR, ids=[row[0] for row in NEAR])
def test_names_that_may_be_meant(row: str, name: str, names: list[str], near: list[str]) -> None:
    assert near_names(name, names) == near, row


def test_without_the_right_to_list_no_name_is_suggested(server: ApiServer, cluster: str) -> None:
    server.store.create(pod_object("web-0", "web"))
    server.faults.add(Fault(Refuse(403), path="/pods$", count=None))
    told = evenkeel("verify-resize", "web", cluster)
    assert (told.status, "did you mean" in told.errors) == (1, False)
    assert "Pod web: not found in namespace default; `kubectl get pods" in told.errors


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
