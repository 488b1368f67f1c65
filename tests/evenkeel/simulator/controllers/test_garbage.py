"""Objects go when all their owners have gone."""

from __future__ import annotations

from evenkeel.simulator.api.fields import JsonObject, child, ensure, value_at
from tests.evenkeel.simulator.api.wire import config_map, definition, pod, widget
from tests.evenkeel.simulator.controllers.ground import SECOND, Ground


def reference(owner: JsonObject) -> JsonObject:
    metadata = child(owner, "metadata")
    return {"apiVersion": owner["apiVersion"], "kind": owner["kind"], "name": metadata["name"], "uid": metadata["uid"]}


def owned(obj: JsonObject, *owners: JsonObject) -> JsonObject:
    ensure(obj, "metadata")["ownerReferences"] = [reference(owner) for owner in owners]
    return obj


def present(ground: Ground) -> list[str]:
    return [name for name in ground.names("ConfigMap") if name != "kube-root-ca.crt"]


def test_what_it_owns_goes_with_an_object_and_so_on() -> None:
    ground = Ground()
    first = ground.create(config_map("first"))
    second = ground.create(owned(config_map("second"), first))
    ground.create(owned(config_map("third"), second))
    ground.create(config_map("other"))
    ground.run()
    assert present(ground) == ["first", "other", "second", "third"]
    ground.delete("ConfigMap", "first")
    ground.run()
    assert present(ground) == ["other"]


def test_one_owner_that_is_left_is_enough() -> None:
    ground = Ground()
    owners = [ground.create(config_map(name)) for name in ("a", "b")]
    ground.create(owned(config_map("c"), *owners))
    ground.delete("ConfigMap", "a")
    ground.run()
    assert present(ground) == ["b", "c"]
    ground.delete("ConfigMap", "b")
    ground.run()
    assert present(ground) == []


def test_an_owner_of_the_same_name_is_another_one() -> None:
    ground = Ground()
    owner = ground.create(config_map("a"))
    ground.create(owned(config_map("b"), owner))
    ground.run()
    ground.delete("ConfigMap", "a")
    ground.create(config_map("a"))
    ground.run()
    assert present(ground) == ["a"]


def test_an_owner_that_never_was_is_missing_too() -> None:
    ground = Ground()
    ground.create(owned(config_map("b"), config_map("a") | {"metadata": {"name": "a", "uid": "nobody"}}))
    ground.run()
    assert present(ground) == []


def test_a_reference_may_be_taken_away_or_given_in_time() -> None:
    ground = Ground()
    owner, other = ground.create(config_map("a")), ground.create(config_map("z"))
    freed = ground.create(owned(config_map("freed"), owner))
    moved = ground.create(owned(config_map("moved"), owner))
    ground.run()
    ground.server.store.update(owned(freed))
    ground.server.store.update(owned(moved, other))
    ground.delete("ConfigMap", "a")
    ground.run()
    assert present(ground) == ["freed", "moved", "z"]


def test_a_pod_that_is_running_goes_gracefully_and_once() -> None:
    ground = Ground()
    owner = ground.create(config_map("a"))
    ground.create(owned(pod("p", node="n1"), owner))
    ground.run()
    ground.delete("ConfigMap", "a")
    ground.run(SECOND / 2)
    assert value_at(ground.read("Pod", "p"), "metadata", "deletionGracePeriodSeconds") == 30
    ground.run()
    assert ground.pods() == []


def test_an_owner_that_is_going_still_counts() -> None:
    ground = Ground()
    ensure(going := config_map("a"), "metadata").update(
        {"finalizers": ["x/y"], "deletionTimestamp": "2026-01-01T00:00:00Z"}
    )
    owner = ground.create(going)
    ground.create(owned(config_map("b"), owner))
    ground.run()
    assert present(ground) == ["a", "b"]


def test_kinds_that_are_defined_later_take_part() -> None:
    ground = Ground()
    ground.create(definition({"type": "object"}))
    owner = ground.create(widget("w"))
    ground.create(owned(config_map("b"), owner))
    inner = ground.create(config_map("c"))
    ground.create(owned(widget("v"), inner))
    ground.run()
    assert present(ground) == ["b", "c"]
    ground.server.store.delete("example.dev/v1", "Widget", "w", "default")
    ground.delete("ConfigMap", "c")
    ground.run()
    assert present(ground) == []
    assert ground.server.store.list("example.dev/v1", "Widget") == []


def test_what_was_there_before_is_collected_too() -> None:
    ground = Ground(plane=False)
    owner = ground.create(config_map("a"))
    ground.create(owned(config_map("b"), owner))
    ground.create(owned(config_map("orphan"), config_map("x") | {"metadata": {"name": "x", "uid": "nobody"}}))
    ground.plane.start()
    ground.run()
    assert present(ground) == ["a", "b"]
