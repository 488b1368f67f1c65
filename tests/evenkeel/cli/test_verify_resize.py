"""``evenkeel verify-resize`` against the embedded API server."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from evenkeel.simulator.api.server import ApiServer
from tests.embedded import Json, pod_object
from tests.evenkeel.cli.running import evenkeel

OLD: Json = {"requests": {"cpu": "100m", "memory": "100Mi"}, "limits": {"cpu": "200m", "memory": "200Mi"}}
NEW: Json = {"requests": {"cpu": "150m", "memory": "100Mi"}, "limits": {"cpu": "300m", "memory": "200Mi"}}


def pod(actual: Json, *conditions: Json) -> Json:
    """A pod that asks for the new amounts and has these."""
    body = pod_object("web-0", "web", NEW)
    status = body["status"]
    assert isinstance(status, dict)
    status["containerStatuses"][0] |= {"resources": actual, "allocatedResources": NEW["requests"]}
    status["conditions"] = [*status["conditions"], *conditions]
    status["observedGeneration"] = 1
    return body


def condition(kind: str, reason: str = "") -> Json:
    return {"type": kind, "status": "True", "reason": reason, "message": "words", "observedGeneration": 1}


ROWS = [
    ("beyond:B-45", pod(NEW), "0s", 0, "converged"),
    ("beyond:B-45 no word of it", pod(OLD), "0s", 3, "requested"),
    ("resize:3.4", pod(OLD, condition("PodResizeInProgress")), "0s", 3, "inProgress"),
    ("resize:3.2 step 8", pod(OLD, condition("PodResizePending", "Deferred")), "50ms", 4, "deferred"),
    ("resize:3.2 step 7", pod(OLD, condition("PodResizePending", "Infeasible")), "1h", 5, "infeasible"),
    ("resize:3.6", pod(OLD, condition("PodResizeInProgress", "Error")), "0s", 6, "error"),
]


@pytest.mark.parametrize(("row", "stored", "timeout", "status", "verdict"), ROWS, ids=[row[0] for row in ROWS])
def test_verdicts(  # noqa: PLR0917 - columns of a table
    server: ApiServer, cluster: str, row: str, stored: Json, timeout: str, status: int, verdict: str
) -> None:
    server.store.create(stored)
    answer = evenkeel("verify-resize", "web-0", cluster, "--timeout", timeout, "-o", "json")
    assert answer.status == status, answer.errors
    assert isinstance(answer.document, dict)
    assert answer.document["verdict"] == verdict
    assert answer.document["pod"] == "Pod default/web-0"
    assert answer.document["amounts"][0]["actual"] in {"100m", "150m"}


@pytest.mark.parametrize(
    ("row", "status", "verdict"),
    [("beyond:B-45 while waited for", 0, "converged"), ("beyond:B-45 deleted", 7, "gone")],
)
def test_waiting_ends_with_what_it_waits_for(
    server: ApiServer, cluster: str, row: str, status: int, verdict: str
) -> None:
    server.store.create(pod(OLD))

    def act() -> None:
        if server.requests.calls("watch", resource="pods"):
            stop()
            if verdict == "gone":
                server.store.delete("v1", "Pod", "web-0", "default")
            else:
                server.store.merge(pod(NEW))

    stop = server.requests.observe(act)
    answer = evenkeel("verify-resize", "web-0", cluster, "--timeout=30s", "-o", "yaml")
    assert answer.status == status, answer.errors
    assert yaml.safe_load(answer.output)["verdict"] == verdict


def test_the_table(server: ApiServer, cluster: str) -> None:
    server.store.create(pod(OLD))
    answer = evenkeel("verify-resize", "web-0", cluster, "--timeout=0s")
    lines = answer.output.splitlines()
    assert lines[0] == "Pod default/web-0: requested (generation 1, of which the node has seen 1)"
    assert "main       cpu request     150m     150m       100m" in lines
    assert "\x1b" not in answer.output
    assert all(line == line.rstrip() for line in lines)


@pytest.mark.parametrize(
    ("words", "status", "said"),
    [
        (("verify-resize", "none"), 1, "evenkeel: Pod none: not found in namespace default; `kubectl get pods -n"),
        (("verify-resize", "none", "-n", "shop"), 1, "not found in namespace shop"),
        (("verify-resize", "x", "--timeout=soon"), 2, "write for example 30s, 5m or 1h30m"),
        (("verify-resize", "x", "--timeout=-1s"), 2, "is less than nothing"),
        (("verify-resize", "x", "--context=other"), 1, "has no context 'other'; its contexts are: simulator"),
        (("verify-resize",), 2, "Missing argument"),
    ],
)
def test_what_cannot_be_told(cluster: str, words: tuple[str, ...], status: int, said: str) -> None:
    answer = evenkeel(*words, cluster)
    assert answer.status == status
    assert said in answer.errors
    assert answer.output == ""


def test_several_kubeconfigs_are_one_too_many(tmp_path: Path) -> None:
    answer = evenkeel("verify-resize", "x", f"--kubeconfig={tmp_path / 'a'}:{tmp_path / 'b'}")
    assert answer.status == 1
    assert "names several files" in answer.errors
