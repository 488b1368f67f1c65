"""Label and field selectors."""

from __future__ import annotations

import pytest

from evenkeel.simulator.api.fields import JsonObject
from evenkeel.simulator.api.selectors import parse_field_selector, parse_label_selector, predicate, selector_of
from evenkeel.simulator.api.status import StatusError

LABELS = {"app": "web", "tier": "front", "example.dev/size": "7", "empty": ""}


@pytest.mark.parametrize(
    ("selector", "matches"),
    [
        ("", True),
        ("app=web", True),
        ("app==web", True),
        ("app=api", False),
        ("app!=api", True),
        ("missing!=api", True),
        ("missing=", False),
        ("empty=", True),
        ("app", True),
        ("missing", False),
        ("!missing", True),
        ("! app", False),
        ("app in (api, web)", True),
        ("app in (api)", False),
        ("app notin (api),tier=front", True),
        ("missing notin (x)", True),
        ("app=web,tier=back", False),
        ("example.dev/size>6", True),
        ("example.dev/size<7", False),
        ("app>1", False),
        ("missing<3", False),
        (" app = web , tier ", True),
    ],
)
def test_label_selectors_of_queries(selector: str, matches: bool) -> None:
    assert parse_label_selector(selector).matches(LABELS) is matches


@pytest.mark.parametrize("selector", ["=web", "app in web", "app=a b", "app in (a", ",", "!"])
def test_unreadable_label_selectors_are_bad_requests(selector: str) -> None:
    with pytest.raises(StatusError, match="label selector") as refused:
        parse_label_selector(selector)
    assert refused.value.code == 400


@pytest.mark.parametrize(
    ("selector", "matches"),
    [
        ({}, True),
        ({"matchLabels": {"app": "web"}}, True),
        ({"matchLabels": {"app": "api"}}, False),
        ({"matchExpressions": [{"key": "app", "operator": "In", "values": ["web"]}]}, True),
        ({"matchExpressions": [{"key": "app", "operator": "NotIn", "values": ["web"]}]}, False),
        ({"matchExpressions": [{"key": "app", "operator": "Exists"}]}, True),
        ({"matchExpressions": [{"key": "app", "operator": "DoesNotExist"}]}, False),
        ({"matchLabels": {"app": "web"}, "matchExpressions": [{"key": "x", "operator": "Exists"}]}, False),
    ],
)
def test_label_selectors_of_objects(selector: JsonObject, matches: bool) -> None:
    assert selector_of(selector).matches(LABELS) is matches


def test_an_unknown_operator_is_a_bad_request() -> None:
    with pytest.raises(StatusError, match="Near"):
        selector_of({"matchExpressions": [{"key": "app", "operator": "Near"}]})


POD: JsonObject = {
    "metadata": {"name": "a", "namespace": "ns", "labels": {"app": "web"}},
    "spec": {"nodeName": "n1", "hostNetwork": True},
    "status": {"phase": "Running"},
}


@pytest.mark.parametrize(
    ("selector", "matches"),
    [
        ("metadata.name=a", True),
        ("metadata.namespace==ns", True),
        ("spec.nodeName=n1,status.phase!=Failed", True),
        ("spec.nodeName!=n1", False),
        ("spec.nodeName=", False),
        ("status.podIP=", True),
        ("status.phase=Pending", False),
        ("spec.hostNetwork=true", True),
    ],
)
def test_field_selectors(selector: str, matches: bool) -> None:
    assert all(requirement.matches(POD) for requirement in parse_field_selector(selector, "pods")) is matches


def test_values_of_field_selectors_may_be_escaped() -> None:
    event: JsonObject = {"reason": "a,b=c"}
    assert parse_field_selector(r"reason=a\,b\=c", "events")[0].matches(event)


def test_events_are_selected_by_either_name_of_what_they_are_about() -> None:
    event: JsonObject = {"involvedObject": {"kind": "Pod", "name": "a"}, "source": {"component": "kubelet"}}
    wanted = parse_field_selector("involvedObject.kind=Pod,regarding.name=a,source=kubelet", "events")
    assert all(requirement.matches(event) for requirement in wanted)


@pytest.mark.parametrize("selector", ["spec.color=red", "nonsense", "status.phase=Running"])
def test_fields_that_a_kind_is_not_selected_by_are_bad_requests(selector: str) -> None:
    with pytest.raises(StatusError) as refused:
        parse_field_selector(selector, "leases")
    assert refused.value.code == 400


def test_both_selectors_must_pass() -> None:
    assert predicate("", "", "pods") is None
    passes = predicate("app=web", "spec.nodeName=n1", "pods")
    assert passes is not None
    assert passes(POD)
    assert not passes({**POD, "spec": {}})
    assert not passes({**POD, "metadata": {}})
