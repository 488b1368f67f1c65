"""An audit log as a record of calls."""

from __future__ import annotations

import json
from pathlib import Path

from e2e.parity.process.calls import step_of
from e2e.parity.process.real.audit import AuditLog
from evenkeel.simulator.api.fields import JsonObject

PODS = "/api/v1/namespaces/free/pods"


def entry(second: int, user: str, verb: str, uri: str, **more: object) -> JsonObject:
    return {
        "requestReceivedTimestamp": f"2026-01-01T00:00:{second:02}.500000Z",
        "user": {"username": user},
        "verb": verb,
        "requestURI": uri,
        "responseStatus": {"code": 200},
        **more,
    }


def test_calls_of_a_user_come_in_the_order_in_which_they_were_received(tmp_path: Path) -> None:
    file = tmp_path / "audit.jsonl"
    entries = [entry(2, "updater", "get", "/b"), entry(1, "updater", "list", "/a?x=1"), entry(1, "lab", "get", "/c")]
    file.write_text("".join(f"{json.dumps(one)}\n" for one in entries))
    found = AuditLog(file).calls("updater")
    assert [(call.verb, call.path, call.query, call.status) for call in found] == [
        ("list", "/a", {"x": "1"}, 200),
        ("get", "/b", {}, 200),
    ]


def test_a_line_that_is_still_written_is_read_the_next_time(tmp_path: Path) -> None:
    file = tmp_path / "audit.jsonl"
    log = AuditLog(file)
    assert log.calls("updater") == []
    whole = f"{json.dumps(entry(1, 'updater', 'get', '/a'))}\n"
    file.write_text(whole + whole[:20])
    assert len(log.calls("updater")) == 1
    file.write_text(whole + whole)
    assert len(log.calls("updater")) == 2


def test_a_resize_is_the_same_step_as_on_the_embedded_server(tmp_path: Path) -> None:
    patch = [{"op": "add", "path": "/spec/containers/0/resources/requests/cpu", "value": "2"}]
    about = {"resource": "pods", "subresource": "resize", "namespace": "free", "name": "p"}
    file = tmp_path / "audit.jsonl"
    one = entry(1, "updater", "patch", f"{PODS}/p/resize", objectRef=about, requestObject=patch)
    file.write_text(f"{json.dumps(one)}\n")
    (call,) = AuditLog(file).calls("updater")
    step = step_of(call)
    assert (step.what, step.about, step.body) == ("patch pods/resize", ("free", "p"), patch)


def test_what_is_created_is_named_by_its_object(tmp_path: Path) -> None:
    eviction = {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": "p", "creationTimestamp": None}}
    about = {"resource": "pods", "subresource": "eviction", "namespace": "free", "name": "p"}
    file = tmp_path / "audit.jsonl"
    one = entry(1, "updater", "create", f"{PODS}/p/eviction", objectRef=about, requestObject=eviction)
    file.write_text(f"{json.dumps(one)}\n")
    (call,) = AuditLog(file).calls("updater")
    step = step_of(call)
    assert (step.what, step.about) == ("create pods/eviction", ("free", "p"))
    assert step.body == {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": "p"}}
