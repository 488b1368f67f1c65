"""What is created, changed, removed and left alone."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evenkeel.crd.schema import Json, Schema
from evenkeel.shadow.plan import Change, Verb, merge_patch, plan, removal
from evenkeel.shadow.twins import Autoscaler
from evenkeel.simulator.api.merging import merge_patch as applied
from tests.evenkeel.shadow.objects import MARK, original, target, twin_of

WHOLE = "vpa-post-processor.kubernetes.io/main_integerCPU"
WEB = original()
CAPPED = original(resourcePolicy={"containerPolicies": [{"containerName": "*", "maxAllowed": {"cpu": "1"}}]})
OF_USER = Autoscaler("shop", "web", "uid-u", "3", {}, {}, target())
RIVAL = replace(OF_USER, name="by-hand")


@pytest.mark.parametrize(
    ("spec_id", "originals", "own", "verbs"),
    [
        ("beyond:B-35", [], [], []),
        ("beyond:B-35", [WEB], [], [Verb.CREATE]),
        ("beyond:B-35", [WEB], [twin_of(WEB)], []),
        ("beyond:B-35", [], [twin_of(WEB)], [Verb.DELETE]),
        ("beyond:B-35", [CAPPED], [twin_of(WEB)], [Verb.PATCH]),
        ("beyond:B-35", [WEB], [twin_of(CAPPED)], [Verb.PATCH]),
        ("beyond:B-35", [WEB], [twin_of(WEB, updatePolicy={"updateMode": "Recreate"})], [Verb.PATCH]),
        ("beyond:B-35", [WEB], [OF_USER], [Verb.LEAVE]),
        ("beyond:B-35", [], [OF_USER], []),
        ("beyond:B-35", [WEB], [RIVAL], [Verb.LEAVE]),
        ("beyond:B-35", [WEB], [RIVAL, twin_of(WEB)], [Verb.DELETE]),
        ("beyond:B-35", [WEB], [replace(RIVAL, namespace="other")], [Verb.CREATE]),
        ("beyond:B-35", [WEB], [replace(twin_of(WEB), labels=MARK | {"more": "1"})], []),
        ("beyond:B-35", [original(labels={"team": "a"})], [twin_of(WEB)], [Verb.PATCH]),
        ("beyond:B-35", [original(annotations={WHOLE: "true"})], [twin_of(WEB)], [Verb.PATCH]),
        ("beyond:B-35", [WEB], [twin_of(original(annotations={WHOLE: "true"}))], [Verb.PATCH]),
        ("beyond:B-35", [WEB], [replace(twin_of(WEB), annotations={"note": "mine"})], []),
    ],
)
def test_only_twins_are_changed(
    spec_id: str, originals: list[Autoscaler], own: list[Autoscaler], verbs: list[Verb]
) -> None:
    assert [change.verb for change in plan(originals, own)] == verbs, spec_id


def test_a_new_twin_has_labels_annotations_and_spec_and_no_more() -> None:
    (change,) = plan([original(labels={"team": "a"}, annotations={WHOLE: "true", "b": "c"})], [])
    labels: Schema = {"team": "a", **MARK}
    metadata: Schema = {"labels": labels, "annotations": {WHOLE: "true"}}
    assert change.body == {"metadata": metadata, "spec": target() | {"updatePolicy": {"updateMode": "Off"}}}
    assert str(change.ref) == "VerticalPodAutoscaler shop/web", "beyond:B-35"


def test_a_patch_says_only_what_differs_and_of_which_object() -> None:
    before = twin_of(original(annotations={WHOLE: "true"}, recommenders=[{"name": "slow"}]))
    (change,) = plan([CAPPED], [before])
    assert change.body == {
        "metadata": {"annotations": {WHOLE: None}},
        "spec": {"recommenders": None, "resourcePolicy": CAPPED.spec["resourcePolicy"]},
    }
    assert (change.uid, change.resource_version) == ("uid-web", "9"), "beyond:B-35"


@pytest.mark.parametrize(
    ("spec_id", "own", "words"),
    [
        ("beyond:B-35", OF_USER, "without the label evenkeel.dev/shadow=true"),
        ("beyond:B-35", RIVAL, "VerticalPodAutoscaler shop/by-hand of our own group is for the same workload"),
    ],
)
def test_what_gets_no_twin_is_told_why(spec_id: str, own: Autoscaler, words: str) -> None:
    (change,) = plan([WEB], [own])
    assert words in change.reason, spec_id


def test_changes_come_by_namespace_and_name() -> None:
    names = [change.ref.name for change in plan([original("c"), original("a")], [twin_of(original("b"))])]
    assert names == ["a", "b", "c"], "beyond:B-35"


def test_removal_takes_every_twin_and_nothing_else() -> None:
    (change,) = removal([twin_of(WEB), RIVAL, replace(RIVAL, labels={"evenkeel.dev/shadow": "no"})])
    assert change == Change(Verb.DELETE, WEB.ref, "shadow mode ends", {}, "uid-web", "9"), "beyond:B-35"


_names = st.sampled_from("abc")
_values: st.SearchStrategy[Json] = st.recursive(
    st.sampled_from([0, 1, "x", True]),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(_names, inner, max_size=3),
    max_leaves=6,
)
_objects: st.SearchStrategy[Schema] = st.dictionaries(_names, _values, max_size=3)


@given(_objects, _objects)
def test_a_merge_patch_leads_from_one_object_to_the_other(old: Schema, new: Schema) -> None:
    """Spec: beyond:B-35."""
    patch = merge_patch(old, new)
    assert applied(old, patch) == new
    assert bool(patch) == (old != new)


_specs = st.fixed_dictionaries({}, optional={"recommenders": st.just([{"name": "slow"}]), "updatePolicy": st.just({})})
_originals = st.builds(
    lambda name, aim, spec: original(name, aim=aim, **spec), st.sampled_from("abcd"), st.sampled_from(["", "x"]), _specs
)
_others = st.builds(lambda name, aim: replace(OF_USER, name=name, spec=target(aim)), _names, st.sampled_from("axy"))


@given(st.lists(_originals, unique_by=lambda each: each.name), st.lists(_originals | _others))
def test_after_its_changes_nothing_is_left_to_do(originals: list[Autoscaler], seeds: list[Autoscaler]) -> None:
    """Spec: beyond:B-35: a plan carried out leaves twins that need no change, and the objects of others untouched."""
    own = {seed.name: seed if seed.uid == "uid-u" else twin_of(seed) for seed in seeds}
    others = {name: each for name, each in own.items() if not each.is_twin}
    for change in plan(originals, own.values()):
        name = change.ref.name
        if change.verb is Verb.DELETE:
            assert own.pop(name).is_twin
        elif change.verb is not Verb.LEAVE:
            assert change.verb is Verb.CREATE or own[name].is_twin
            own[name] = twin_of(next(each for each in originals if each.name == name))
    assert {change.verb for change in plan(originals, own.values())} <= {Verb.LEAVE}
    assert {name: each for name, each in own.items() if not each.is_twin} == others
