"""Objects go when all their owners have gone."""

from __future__ import annotations

from evenkeel.simulator.api.deletes import DeleteOptions
from evenkeel.simulator.api.fields import JsonObject, child, ensure, rows, value_at
from evenkeel.simulator.api.propagation import Propagation
from tests.evenkeel.simulator.api.wire import config_map, definition, pod, widget
from tests.evenkeel.simulator.controllers.ground import API_VERSIONS, SECOND, Ground, workload


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


def ask(ground: Ground, kind: str, name: str, propagation: Propagation | None = None) -> None:
    """Delete an object as a client does."""
    found = ground.server.registry.named(API_VERSIONS[kind], kind)
    assert found is not None
    ground.server.parts.deleter.carry_out(found, name, "default", DeleteOptions(propagation=propagation))


def blocking(obj: JsonObject, *owners: JsonObject) -> JsonObject:
    for row in rows(owned(obj, *owners), "metadata", "ownerReferences"):
        row["blockOwnerDeletion"] = True
    return obj


def test_in_the_foreground_what_is_owned_goes_first() -> None:
    ground = Ground()
    ground.create(workload("Deployment", replicas=2))
    ground.run()
    started = len(ground.history)
    ask(ground, "Deployment", "web", Propagation.FOREGROUND)
    ground.run()
    assert [ground.names(kind) for kind in ("Deployment", "ReplicaSet", "Pod")] == [[], [], []]
    news = ground.history[started:]
    assert [kind for _, kind, _, verb in news if verb == "delete" and kind != "Event"] == [
        "Pod", "Pod", "ReplicaSet", "Deployment",
    ]  # fmt: skip
    assert not [kind for _, kind, _, verb in news if verb == "create" and kind != "Event"], "nothing is made anew"


def test_in_the_foreground_an_owner_waits_only_for_what_blocks_it() -> None:
    ground = Ground()
    owner = ground.create(config_map("a"))
    held, free = blocking(config_map("held"), owner), owned(config_map("free"), owner)
    for one in (held, free):
        ensure(one, "metadata")["finalizers"] = ["example.dev/x"]
        ground.create(one)
    ground.run()
    ask(ground, "ConfigMap", "a", Propagation.FOREGROUND)
    ground.run()
    assert present(ground) == ["a", "free", "held"]
    assert all(value_at(ground.read("ConfigMap", name), "metadata", "deletionTimestamp") for name in present(ground))
    unblocked = ground.read("ConfigMap", "held")
    rows(unblocked, "metadata", "ownerReferences")[0]["blockOwnerDeletion"] = False
    ground.server.store.update(unblocked)
    ground.run()
    assert present(ground) == ["free", "held"]


def test_in_the_foreground_what_somebody_else_owns_too_is_left_to_them() -> None:
    ground = Ground()
    owner, other = ground.create(config_map("a")), ground.create(config_map("z"))
    ground.create(blocking(config_map("both"), owner, other))
    ground.run()
    ask(ground, "ConfigMap", "a", Propagation.FOREGROUND)
    ground.run()
    assert present(ground) == ["both", "z"]
    assert rows(ground.read("ConfigMap", "both"), "metadata", "ownerReferences") == [
        reference(other) | {"blockOwnerDeletion": True}
    ]


def test_in_the_foreground_it_goes_down_to_what_owns_nothing() -> None:
    ground = Ground()
    first = ground.create(config_map("first"))
    second = ground.create(blocking(config_map("second"), first))
    ground.create(blocking(config_map("third"), second))
    ground.run()
    started = len(ground.history)
    ask(ground, "ConfigMap", "first", Propagation.FOREGROUND)
    ground.run()
    gone = [name for _, kind, name, verb in ground.history[started:] if (kind, verb) == ("ConfigMap", "delete")]
    assert gone == ["third", "second", "first"]


def test_in_the_foreground_an_owner_of_nothing_goes_soon() -> None:
    ground = Ground()
    ground.create(config_map("a"))
    ask(ground, "ConfigMap", "a", Propagation.FOREGROUND)
    assert present(ground) == ["a"]
    ground.run()
    assert present(ground) == []


def test_orphans_stay_and_can_be_adopted() -> None:
    ground = Ground()
    ground.create(workload("Deployment", replicas=2))
    ground.run()
    pods = ground.names()
    ask(ground, "Deployment", "web", Propagation.ORPHAN)
    ground.run()
    assert ground.names("Deployment") == []
    assert ground.names() == pods
    assert "ownerReferences" not in child(ground.objects("ReplicaSet")[0], "metadata")
    ground.create(workload("Deployment", replicas=2))
    ground.run()
    assert ground.names() == pods
    assert len(ground.objects("ReplicaSet")) == 1


def test_the_pods_of_a_job_stay_unless_asked_for() -> None:
    ground = Ground()
    ground.create(workload("Job"))
    ground.run()
    ask(ground, "Job", "web")
    ground.run()
    assert (ground.names("Job"), len(ground.pods())) == ([], 1)
    assert "ownerReferences" not in child(ground.pods()[0], "metadata")


def test_orphans_of_others_stay_theirs() -> None:
    ground = Ground()
    owner, other = ground.create(config_map("a")), ground.create(config_map("z"))
    ground.create(owned(config_map("both"), owner, other))
    ground.run()
    ask(ground, "ConfigMap", "a", Propagation.ORPHAN)
    ground.run()
    assert rows(ground.read("ConfigMap", "both"), "metadata", "ownerReferences") == [reference(other)]
    assert present(ground) == ["both", "z"]


def test_a_policy_of_its_own_is_kept_by_what_goes_with_its_owner() -> None:
    ground = Ground()
    owner = ground.create(config_map("a"))
    middle = owned(config_map("middle"), owner)
    ensure(middle, "metadata")["finalizers"] = ["orphan"]
    ground.create(owned(config_map("last"), ground.create(middle)))
    ground.run()
    ask(ground, "ConfigMap", "a")
    ground.run()
    assert present(ground) == ["last"]


def test_other_finalizers_are_waited_for() -> None:
    ground = Ground()
    held = config_map("a")
    ensure(held, "metadata")["finalizers"] = ["example.dev/x"]
    ground.create(held)
    ask(ground, "ConfigMap", "a", Propagation.ORPHAN)
    ground.run()
    assert child(ground.read("ConfigMap", "a"), "metadata")["finalizers"] == ["example.dev/x"]
