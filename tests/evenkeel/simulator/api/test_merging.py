"""JSON merge patch and strategic merge patch."""

from __future__ import annotations

import pytest

from evenkeel.simulator.api.fields import JsonObject, copy_of
from evenkeel.simulator.api.merging import merge_patch, strategic_merge
from evenkeel.simulator.api.status import StatusError


@pytest.mark.parametrize(
    ("target", "patch", "result"),
    [
        ({"a": 1}, {"b": 2}, {"a": 1, "b": 2}),
        ({"a": 1}, {"a": None}, {}),
        ({"a": {"b": 1, "c": 2}}, {"a": {"b": None, "d": {"e": None}}}, {"a": {"c": 2, "d": {}}}),
        ({"a": [1, 2]}, {"a": [3]}, {"a": [3]}),
        ({"a": 1}, [3], [3]),
        ([1], {"a": 2}, {"a": 2}),
    ],
)
def test_merge_patch(target: object, patch: object, result: object) -> None:
    assert merge_patch(target, patch) == result


def containers(*names: str) -> JsonObject:
    return {"containers": [{"name": name, "image": name, "env": [{"name": "X", "value": name}]} for name in names]}


@pytest.mark.parametrize(
    ("what", "target", "patch", "result"),
    [
        (
            "items meet by name",
            {"containers": [{"name": "a", "image": "1"}, {"name": "b"}]},
            {"containers": [{"name": "a", "image": "2"}]},
            {"containers": [{"name": "a", "image": "2"}, {"name": "b"}]},
        ),
        (
            "new items are added",
            {"env": [{"name": "A"}]},
            {"env": [{"name": "B", "value": None}]},
            {"env": [{"name": "A"}, {"name": "B"}]},
        ),
        (
            "an item can be deleted",
            {"env": [{"name": "A"}, {"name": "B"}]},
            {"env": [{"name": "A", "$patch": "delete"}]},
            {"env": [{"name": "B"}]},
        ),
        (
            "deleting what is not there",
            {"env": [{"name": "B"}]},
            {"env": [{"name": "A", "$patch": "delete"}]},
            {"env": [{"name": "B"}]},
        ),
        (
            "a list can be replaced",
            {"env": [{"name": "A"}]},
            {"env": [{"name": "B"}, {"$patch": "replace"}]},
            {"env": [{"name": "B"}]},
        ),
        ("an object can be replaced", {"a": {"b": 1}}, {"a": {"c": 2, "$patch": "replace"}}, {"a": {"c": 2}}),
        ("an object can be emptied", {"a": {"b": 1}}, {"a": {"$patch": "delete"}}, {"a": {}}),
        ("null removes", {"a": {"b": 1, "c": 2}}, {"a": {"b": None}}, {"a": {"c": 2}}),
        ("lists without a key are replaced", {"args": ["x"]}, {"args": ["y"]}, {"args": ["y"]}),
        (
            "tolerations are replaced",
            {"tolerations": [{"key": "a"}]},
            {"tolerations": [{"key": "b"}]},
            {"tolerations": [{"key": "b"}]},
        ),
        (
            "conditions meet by type",
            {"conditions": [{"type": "Ready", "status": "False", "reason": "R"}]},
            {"conditions": [{"type": "Ready", "status": "True"}]},
            {"conditions": [{"type": "Ready", "status": "True", "reason": "R"}]},
        ),
        (
            "ports of containers",
            {"ports": [{"containerPort": 1, "name": "x"}]},
            {"ports": [{"containerPort": 1, "name": "y"}]},
            {"ports": [{"containerPort": 1, "name": "y"}]},
        ),
        (
            "ports of services",
            {"ports": [{"port": 1}]},
            {"ports": [{"port": 2}]},
            {"ports": [{"port": 1}, {"port": 2}]},
        ),
        ("finalizers are united", {"finalizers": ["a"]}, {"finalizers": ["a", "b"]}, {"finalizers": ["a", "b"]}),
        (
            "finalizers can be taken away",
            {"finalizers": ["a", "b"]},
            {"$deleteFromPrimitiveList/finalizers": ["a"]},
            {"finalizers": ["b"]},
        ),
        (
            "the order can be prescribed",
            {"env": [{"name": "A"}, {"name": "B"}]},
            {"$setElementOrder/env": [{"name": "C"}, {"name": "B"}, {"name": "A"}], "env": [{"name": "C"}]},
            {"env": [{"name": "C"}, {"name": "B"}, {"name": "A"}]},
        ),
        (
            "keys can be retained",
            {"s": {"a": 1, "b": 2}},
            {"s": {"$retainKeys": ["b", "c"], "c": 3}},
            {"s": {"b": 2, "c": 3}},
        ),
    ],
)
def test_strategic_merge(what: str, target: JsonObject, patch: JsonObject, result: JsonObject) -> None:
    kept = copy_of(target), copy_of(patch)
    assert strategic_merge(target, patch) == result, what
    assert (target, patch) == kept


def test_merging_reaches_lists_within_merged_items() -> None:
    merged = strategic_merge(
        containers("a", "b"), {"containers": [{"name": "b", "env": [{"name": "Y", "value": "1"}]}]}
    )
    assert merged["containers"] == [
        {"name": "a", "image": "a", "env": [{"name": "X", "value": "a"}]},
        {"name": "b", "image": "b", "env": [{"name": "X", "value": "b"}, {"name": "Y", "value": "1"}]},
    ]


@pytest.mark.parametrize("patch", [{"$patch": "blend"}, {"containers": [{"image": "x"}]}])
def test_unusable_strategic_patches_are_bad_requests(patch: JsonObject) -> None:
    with pytest.raises(StatusError) as refused:
        strategic_merge(containers("a"), patch)
    assert refused.value.code == 400
