"""Pods from templates, digests, equality of templates."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from evenkeel.simulator.api.fields import JsonObject, child, ensure, labels_of, rows, value_at
from evenkeel.simulator.controllers.templates import digest, env_of, pod_of, same_template, with_hash
from tests.evenkeel.simulator.controllers.ground import template

REFERENCE: JsonObject = {"kind": "ReplicaSet", "name": "web", "uid": "u", "controller": True}


def test_a_pod_is_its_template_with_an_owner() -> None:
    model = template()
    child(model, "metadata").update({"annotations": {"a": "1"}, "finalizers": ["x/y"], "name": "not used"})
    pod = pod_of(model, REFERENCE, "team", {"generateName": "web-", "labels": {"more": "yes"}})
    assert pod["metadata"] == {
        "namespace": "team",
        "labels": {"app": "web", "more": "yes"},
        "annotations": {"a": "1"},
        "generateName": "web-",
        "finalizers": ["x/y"],
        "ownerReferences": [REFERENCE],
    }
    ensure(pod, "spec")["changed"] = True
    assert "changed" not in child(model, "spec")


def test_templates_are_the_same_but_for_the_digest() -> None:
    model = template()
    name = digest(model)
    hashed = with_hash(model, name)
    assert labels_of(hashed) == {"app": "web", "pod-template-hash": name}
    assert same_template(model, hashed)
    assert labels_of(model) == {"app": "web"}
    assert not same_template(model, template(cpu="200m"))
    bare: JsonObject = {"spec": {"x": 1}}
    assert same_template(bare, with_hash(bare, "h"))


@given(st.dictionaries(st.text(max_size=3), st.integers()), st.integers(0, 3))
def test_a_digest_depends_on_content_and_collisions_alone(value: dict[str, int], collisions: int) -> None:
    backwards = dict(reversed(list(value.items())))
    assert digest(value, collisions) == digest(backwards, collisions)
    assert digest(value, collisions) != digest(value, collisions + 1)
    assert digest(value).isalnum()
    assert len(digest(value)) == 10


def test_an_environment_variable_is_added_where_it_is_absent() -> None:
    pod = template()
    other = {"name": "b", "env": [{"name": "X", "value": "own"}]}
    rows(pod, "spec", "containers")
    containers = child(pod, "spec")["containers"]
    assert isinstance(containers, list)
    containers.append(other)
    env_of(pod, "X", {"fieldRef": {}})
    first, second = rows(pod, "spec", "containers")
    assert value_at(first, "env") == [{"name": "X", "valueFrom": {"fieldRef": {}}}]
    assert value_at(second, "env") == [{"name": "X", "value": "own"}]
