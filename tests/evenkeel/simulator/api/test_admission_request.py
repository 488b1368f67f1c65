"""A write as webhooks and policies see it."""

from __future__ import annotations

from evenkeel.simulator.api.admission_request import Operation, Review, request_of
from evenkeel.simulator.api.builtin import builtin_kinds
from evenkeel.simulator.api.calls import Call, Request, Target, User
from evenkeel.simulator.api.fields import JsonObject

PODS = next(kind for kind in builtin_kinds() if kind.kind == "Pod")
NODES = next(kind for kind in builtin_kinds() if kind.kind == "Node")


def call(target: Target, query: dict[str, str] | None = None) -> Call:
    return Call(Request("PATCH", "/", query or {}, {}), target, "patch", User("joe", ("devs",), "u-1"))


def test_a_request_names_everything() -> None:
    target = Target(PODS, "team", "a", "resize")
    request = request_of(Review(call(target, {"dryRun": "All"}), Operation.UPDATE, {}, {}), "id")
    assert request == {
        "uid": "id",
        "kind": {"group": "", "version": "v1", "kind": "Pod"},
        "resource": {"group": "", "version": "v1", "resource": "pods"},
        "requestKind": {"group": "", "version": "v1", "kind": "Pod"},
        "requestResource": {"group": "", "version": "v1", "resource": "pods"},
        "subResource": "resize",
        "requestSubResource": "resize",
        "name": "a",
        "namespace": "team",
        "operation": "UPDATE",
        "userInfo": {"username": "joe", "uid": "u-1", "groups": ["devs"]},
        "dryRun": True,
        "options": {"kind": "UpdateOptions", "apiVersion": "meta.k8s.io/v1"},
    }


def test_what_there_is_not_is_left_out() -> None:
    obj: JsonObject = {"metadata": {"name": "n1"}}
    request = request_of(Review(call(Target(NODES)), Operation.CREATE, obj, None), "id")
    assert (request["name"], "namespace" in request, "subResource" in request) == ("n1", False, False)
    nameless = request_of(Review(call(Target(NODES)), Operation.CREATE, None, None), "id")
    assert "name" not in nameless


def test_a_changed_object_leaves_the_rest() -> None:
    review = Review(call(Target(PODS)), Operation.CREATE, {"a": 1}, {"b": 1})
    changed = review.with_object({"c": 1})
    assert (changed.object, changed.old, changed.operation) == ({"c": 1}, {"b": 1}, Operation.CREATE)
