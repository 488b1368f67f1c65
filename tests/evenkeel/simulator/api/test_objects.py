"""Objects written directly, without HTTP."""

from __future__ import annotations

import pytest

from evenkeel.simulator.api.fields import JsonObject, child, text, value_at
from evenkeel.simulator.api.server import ApiServer
from evenkeel.simulator.api.status import StatusError
from tests.evenkeel.simulator.api.wire import config_map, definition, pod, widget


def test_a_seeded_object_keeps_all_that_it_says() -> None:
    store = ApiServer().store
    metadata: JsonObject = {
        "name": "a",
        "namespace": "x",
        "uid": "u",
        "creationTimestamp": "2020-01-01T00:00:00Z",
        "generation": 4,
    }
    made = store.create(pod() | {"metadata": metadata, "status": {"phase": "Running"}})
    assert child(made, "metadata") == metadata | {"resourceVersion": str(store.versions.revision)}
    assert made["status"] == {"phase": "Running"}
    assert store.read("v1", "Pod", "a", "x") == made


def test_what_is_absent_is_filled_in() -> None:
    store = ApiServer().store
    made = store.create({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "a"}, "spec": {}})
    metadata = child(made, "metadata")
    assert (metadata["namespace"], metadata["generation"]) == ("default", 1)
    assert metadata["creationTimestamp"] == "2026-01-01T00:00:00Z"
    node = store.create({"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n", "namespace": "odd"}})
    assert "namespace" not in child(node, "metadata")


def test_the_same_seed_gives_the_same_uids_and_names() -> None:
    def first(seed: int) -> tuple[str, str]:
        store = ApiServer(seed=seed).store
        return text(store.create(pod()), "metadata", "uid"), store.generated_name("x-")

    assert first(1) == first(1)
    assert first(1) != first(2)


def test_what_the_caller_holds_is_a_copy() -> None:
    store = ApiServer().store
    given = config_map("a", n="1")
    made = store.create(given)
    for held in (given, made, store.read("v1", "ConfigMap", "a", "default")):
        child(held, "data")["n"] = "2"
    assert value_at(store.read("v1", "ConfigMap", "a", "default"), "data", "n") == "1"


def test_updates_replace_and_merges_merge() -> None:
    store = ApiServer().store
    made = store.create(config_map("a", x="1"))
    updated = store.update(config_map("a", y="2"))
    assert updated["data"] == {"y": "2"}
    assert text(updated, "metadata", "uid") == text(made, "metadata", "uid")
    assert store.merge(config_map("a", z="3"))["data"] == {"y": "2", "z": "3"}
    with pytest.raises(StatusError) as refused:
        store.update(made)
    assert (refused.value.code, refused.value.reason) == (409, "Conflict")


def test_generations_count_spec_changes_of_kinds_that_have_them() -> None:
    store = ApiServer().store
    store.create(pod())
    assert child(store.merge(pod() | {"spec": {}, "status": {"phase": "Running"}}), "metadata")["generation"] == 1
    assert child(store.merge(pod() | {"spec": {"nodeName": "n"}}), "metadata")["generation"] == 2
    assert "generation" not in child(store.create(config_map("a")), "metadata")


def test_lists_and_deletions() -> None:
    store = ApiServer().store
    for namespace, name in (("b", "x"), ("a", "y")):
        store.create(config_map(name, namespace))
    assert [text(o, "metadata", "name") for o in store.list("v1", "ConfigMap")] == ["y", "x"]
    assert [text(o, "metadata", "name") for o in store.list("v1", "ConfigMap", "b")] == ["x"]
    assert text(store.delete("v1", "ConfigMap", "x", "b"), "metadata", "name") == "x"
    assert store.find("v1", "ConfigMap", "x", "b") is None
    for act in (store.delete, store.read):
        with pytest.raises(StatusError, match='configmaps "x" not found'):
            act("v1", "ConfigMap", "x", "b")
    store.create(config_map("a"))
    with pytest.raises(StatusError, match='configmaps "a" already exists'):
        store.create(config_map("a"))


def test_a_kind_must_be_served() -> None:
    store = ApiServer().store
    with pytest.raises(StatusError, match="Widget"):
        store.create(widget())
    store.create(definition({"type": "object"}))
    assert text(store.create(widget()), "kind") == "Widget"
