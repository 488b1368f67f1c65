from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from autoscaling.matching import EVERYTHING, NOTHING, Selector, parse_selector
from recommender.aggregation import SharingKey
from recommender.label_sets import LabelSet, Matching, TrackedVpa
from tests.recommender.scene import vpa

SELECTORS = [
    "app=a",
    "app=b",
    "app in (a,b)",
    "app in (a,a)",
    "app notin (a)",
    "app!=a",
    "app",
    "!tier",
    "app=a,tier=web",
    "app in (a,c),tier in (web,db)",
    "tier=db",
    "",
]
LABELS = [
    {},
    {"app": "a"},
    {"app": "b"},
    {"app": "c"},
    {"app": "a", "tier": "web"},
    {"app": "a", "tier": "db"},
    {"tier": "db", "extra": "x"},
]


def key(labels: dict[str, str]) -> SharingKey:
    return SharingKey(",".join(f"{k}={labels[k]}" for k in sorted(labels)), labels)


def tracked(selector: Selector, name: str = "v", namespace: str = "default") -> TrackedVpa:
    return TrackedVpa(replace(vpa(name), namespace=namespace), selector)


def links(matching: Matching) -> set[tuple[str, str]]:
    """Return which VPA selects which labels, as seen from the label sets."""
    return {(each.vpa.name, label_set.key.text) for label_set in matching for each in label_set.vpas}


actions = st.lists(
    st.one_of(
        st.tuples(st.just("vpa"), st.integers(0, len(SELECTORS) - 1)),
        st.tuples(st.just("labels"), st.integers(0, len(LABELS) - 1)),
        st.tuples(st.just("pod"), st.integers(0, len(LABELS) - 1)),
        st.tuples(st.just("drop pod"), st.integers(0, len(LABELS) - 1)),
        st.tuples(st.just("drop vpa"), st.integers(0, len(SELECTORS) - 1)),
        st.tuples(st.just("drop labels"), st.integers(0, len(LABELS) - 1)),
    ),
    max_size=30,
)


@settings(deadline=None)
@given(actions)
def test_the_index_finds_what_comparing_everything_finds(steps: list[tuple[str, int]]) -> None:
    """Spec: recommender:3.2."""
    matching = Matching()
    vpas: dict[int, TrackedVpa] = {}
    sets: dict[int, LabelSet] = {}
    for step, place in steps:
        if step == "vpa" and place not in vpas:
            vpas[place] = tracked(parse_selector(SELECTORS[place]), f"v{place}")
            matching.add_vpa(vpas[place])
        elif step == "labels":
            sets[place] = matching.find("default", key(LABELS[place]))
        elif step in {"pod", "drop pod"} and place in sets:
            sets[place].count(1 if step == "pod" else -min(1, sets[place].pods))
        elif step == "drop vpa" and place in vpas:
            matching.remove_vpa(vpas.pop(place))
        elif step == "drop labels" and place in sets and not sets[place].pods:
            matching.drop_if_unused(sets.pop(place))
    expected = {
        (each.vpa.name, label_set.key.text)
        for each in vpas.values()
        for label_set in sets.values()
        if each.selector.matches(label_set.key.labels)
    }
    assert links(matching) == expected
    seen = {(each.vpa.name, label_set.key.text) for each in vpas.values() for label_set in each.label_sets}
    assert seen == expected
    counts = {each.vpa.name: sum(label_set.pods for label_set in each.label_sets) for each in vpas.values()}
    assert {each.vpa.name: each.pod_count for each in vpas.values()} == counts
    assert len(matching) == len(sets)
    for labels in LABELS:
        selected = any(each.selector.matches(labels) for each in vpas.values())
        assert matching.is_selected("default", key(labels)) is selected


@pytest.mark.parametrize("selector", [EVERYTHING, parse_selector("app=a"), parse_selector("app")])
def test_other_namespaces_are_not_selected(selector: Selector) -> None:
    matching = Matching()
    matching.add_vpa(tracked(selector, namespace="other"))
    assert not matching.find("default", key({"app": "a"})).vpas
    assert matching.find("other", key({"app": "a"})).vpas


def test_the_selector_of_nothing_selects_nothing() -> None:
    matching = Matching()
    matching.find("default", key({}))
    nothing = tracked(NOTHING)
    matching.add_vpa(nothing)
    matching.find("default", key({"app": "a"}))
    assert links(matching) == set()
    matching.remove_vpa(nothing)
    assert not nothing.label_sets


def test_one_key_is_one_label_set() -> None:
    matching = Matching()
    first = matching.find("default", key({"app": "a"}))
    assert matching.find("default", key({"app": "a"})) is first
    assert matching.find("other", key({"app": "a"})) is not first


def test_a_label_set_is_kept_while_it_has_pods_or_aggregates() -> None:
    matching = Matching()
    label_set = matching.find("default", key({"app": "a"}))
    label_set.count(1)
    matching.drop_if_unused(label_set)
    label_set.count(-1)
    label_set.aggregates["main"] = 0
    matching.drop_if_unused(label_set)
    assert len(matching) == 1
    label_set.aggregates.clear()
    matching.drop_if_unused(label_set)
    matching.drop_if_unused(label_set)
    assert len(matching) == 0


def test_pods_are_counted_over_all_label_sets() -> None:
    matching = Matching()
    everything, one_app = tracked(EVERYTHING, "v"), tracked(parse_selector("app=a"), "w")
    matching.add_vpa(everything)
    matching.add_vpa(one_app)
    for labels, pods in (({"app": "a"}, 2), ({"app": "b"}, 3), ({"app": "a", "tier": "web"}, 5)):
        matching.find("default", key(labels)).count(pods)
    assert (everything.pod_count, one_app.pod_count) == (10, 7)
    assert everything.key == ("default", "v")


def test_vpas_that_select_the_same_pods_know_that_they_are_not_alone() -> None:
    matching = Matching()
    alone, first, second = (tracked(parse_selector(f"app={app}"), app) for app in ("a", "b", "b"))
    for each in (alone, first, second):
        matching.add_vpa(each)
    matching.find("default", key({"app": "a"}))
    assert not alone.is_shared
    matching.find("default", key({"app": "b"}))
    assert (alone.is_shared, first.is_shared, second.is_shared) == (False, True, True)
    matching.remove_vpa(second)
    assert first.is_shared
