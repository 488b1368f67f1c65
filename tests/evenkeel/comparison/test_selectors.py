"""Selectors found by the labels of pods."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from autoscaling.matching import EVERYTHING, NOTHING, Selector, of_labels, parse_selector
from evenkeel.comparison.selectors import Named, SelectorIndex

SELECTORS: list[Named] = [
    ("shop", "web", of_labels({"app": "web", "part": "shop"})),
    ("shop", "db", of_labels({"app": "db", "part": "shop"})),
    ("shop", "all", EVERYTHING),
    ("shop", "none", NOTHING),
    ("shop", "either", parse_selector("app in (web,db),!canary")),
    ("other", "web", of_labels({"app": "web"})),
]


@pytest.mark.parametrize(
    ("spec_id", "namespace", "labels", "names"),
    [
        ("beyond:B-35", "shop", {"app": "web", "part": "shop"}, ["all", "either", "web"]),
        ("beyond:B-35", "shop", {"app": "web"}, ["all", "either"]),
        ("beyond:B-35", "shop", {"app": "db", "part": "shop", "canary": "1"}, ["all", "db"]),
        ("beyond:B-35", "shop", {}, ["all"]),
        ("beyond:B-35", "other", {"app": "web"}, ["web"]),
        ("beyond:B-35", "nowhere", {"app": "web"}, []),
    ],
)
def test_who_selects_a_pod(spec_id: str, namespace: str, labels: dict[str, str], names: list[str]) -> None:
    assert SelectorIndex.of(SELECTORS).selecting(namespace, labels) == names, spec_id


def test_a_selector_is_filed_under_what_the_fewest_others_ask_for() -> None:
    filed = SelectorIndex.of(SELECTORS).filed
    assert {name for name, _ in filed["shop", "app", "web"]} == {"web"}, "performance:R-9"
    assert ("shop", "part", "shop") not in filed


_maps = st.dictionaries(st.sampled_from("abc"), st.sampled_from("xy"), max_size=3)
_selectors = _maps.map(of_labels) | st.sampled_from([NOTHING, parse_selector("a in (x,y)"), parse_selector("!b")])


@given(st.lists(_selectors, max_size=6), _maps)
def test_the_index_finds_what_comparing_with_each_would(selectors: list[Selector], labels: dict[str, str]) -> None:
    """Spec: beyond:B-35."""
    named: list[Named] = [("n", f"s{number}", each) for number, each in enumerate(selectors)]
    expected = sorted(name for _, name, each in named if each.matches(labels))
    assert SelectorIndex.of(named).selecting("n", labels) == expected
