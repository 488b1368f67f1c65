"""Label selectors and the strongest VPA."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from autoscaling.matching import (
    EVERYTHING,
    NOTHING,
    InvalidSelectorError,
    SelectingVpa,
    controlling_vpa,
    of_label_selector,
    of_labels,
    parse_selector,
    strongest,
)
from autoscaling.ownership import ControllerKey
from tests.builders import T0, vpa


@pytest.mark.parametrize(
    ("text", "labels", "wanted"),
    [
        ("", {"app": "a"}, True),
        ("app=a", {"app": "a", "x": "y"}, True),
        ("app==a", {"app": "b"}, False),
        ("app=a,tier=web", {"app": "a"}, False),
        ("app!=a", {}, True),
        ("app!=a", {"app": "a"}, False),
        ("app in (a, b)", {"app": "b"}, True),
        ("app in (a,b)", {}, False),
        ("app notin (a,b)", {"app": "c"}, True),
        ("app notin (a,b)", {"app": "a"}, False),
        ("app notin (a)", {}, True),
        ("app", {"app": ""}, True),
        ("app", {}, False),
        ("!app", {}, True),
        ("! app", {"app": "a"}, False),
        ("app=", {"app": ""}, True),
        ("a.b/c=d,x in (y),!z", {"a.b/c": "d", "x": "y"}, True),
    ],
)
def test_text_selectors(text: str, labels: Mapping[str, str], *, wanted: bool) -> None:
    assert parse_selector(text).matches(labels) is wanted


@pytest.mark.parametrize("text", ["app=(", "in (a)b", "a=b c", "a in b", ",", "a,,b"])
def test_unreadable_text_names_the_place(text: str) -> None:
    with pytest.raises(InvalidSelectorError, match="cannot be read from"):
        parse_selector(text)


def test_expressions_of_an_object() -> None:
    selector = of_label_selector({"app": "a"}, [("tier", "In", ("web", "api")), ("old", "DoesNotExist", ())])
    assert str(selector) == "app=a,!old,tier in (api,web)"
    assert selector.matches({"app": "a", "tier": "web"})
    assert not selector.matches({"app": "a", "tier": "web", "old": ""})
    with pytest.raises(InvalidSelectorError, match="'Gt' is none of In, NotIn, Exists, DoesNotExist"):
        of_label_selector({}, [("n", "Gt", ("1",))])


def test_nothing_and_everything() -> None:
    assert not NOTHING.matches({})
    assert EVERYTHING.matches({})


@given(labels=st.dictionaries(st.sampled_from(["a", "b", "c"]), st.sampled_from(["1", "2"])))
def test_the_text_form_selects_the_same(labels: dict[str, str]) -> None:
    selector = of_labels(labels)
    assert parse_selector(str(selector)) == selector
    assert selector.matches(labels)


@pytest.mark.parametrize(
    ("row", "seconds", "names", "winner"),
    [
        ("updater:M-9", (0, 1), ("b", "a"), "b"),
        ("updater:M-9", (1, 0), ("b", "a"), "a"),
        ("updater:M-9", (0, 0), ("b", "a"), "a"),
    ],
)
def test_the_oldest_then_the_first_name_wins(
    row: str,
    seconds: tuple[int, int],
    names: tuple[str, str],
    winner: str,
) -> None:
    both = [
        replace(vpa(), name=name, created=T0 + timedelta(seconds=s)) for name, s in zip(names, seconds, strict=True)
    ]
    chosen = strongest(both)
    assert chosen is not None, row
    assert chosen.name == winner, row
    assert strongest(reversed(both)) == chosen, row


@pytest.mark.parametrize(
    ("row", "key", "labels", "matches"),
    [
        ("updater:M-9", ControllerKey("default", "Deployment", "d", "apps/v1"), {"app": "a"}, True),
        ("updater:M-9 group ignored", ControllerKey("default", "Deployment", "d", "foo/v7"), {"app": "a"}, True),
        ("updater:M-9", ControllerKey("default", "Deployment", "e", "apps/v1"), {"app": "a"}, False),
        ("updater:M-9", ControllerKey("default", "StatefulSet", "d", "apps/v1"), {"app": "a"}, False),
        ("updater:M-9", ControllerKey("other", "Deployment", "d", "apps/v1"), {"app": "a"}, False),
        ("updater:M-9", ControllerKey("default", "Deployment", "d", "apps/v1"), {"app": "b"}, False),
    ],
)
def test_which_vpa_is_for_a_pod(row: str, key: ControllerKey, labels: dict[str, str], *, matches: bool) -> None:
    candidate = SelectingVpa(vpa(), of_labels({"app": "a"}))
    assert (controlling_vpa([candidate], key, labels) is not None) is matches, row
