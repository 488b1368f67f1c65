"""Label and field selectors."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evenkeel.simulator.api.fields import JsonObject, copy_of, ensure
from evenkeel.simulator.api.selectors import parse_field_selector, parse_label_selector, predicate, selector_of
from evenkeel.simulator.api.status import StatusError
from evenkeel.simulator.api.store import Stored

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


FIELDS = {
    "pods": (
        "spec.nodeName", "spec.restartPolicy", "spec.schedulerName", "spec.serviceAccountName", "spec.hostNetwork",
        "status.phase", "status.podIP", "status.nominatedNodeName", "metadata.name", "metadata.namespace",
    ),
    "events": (
        "involvedObject.kind", "involvedObject.namespace", "involvedObject.name", "involvedObject.uid",
        "involvedObject.apiVersion", "involvedObject.resourceVersion", "involvedObject.fieldPath",
        "reason", "reportingComponent", "source", "type",
    ),
    "nodes": ("spec.unschedulable",),
    "namespaces": ("status.phase",),
    "secrets": ("type",),
    "jobs": ("status.successful",),
    "replicasets": ("status.replicas",),
    "replicationcontrollers": ("status.replicas",),
}  # fmt: skip


@pytest.mark.parametrize(("plural", "field"), [(plural, field) for plural, found in FIELDS.items() for field in found])
def test_an_object_of_which_only_the_text_is_kept_is_found_by_every_field(plural: str, field: str) -> None:
    body: JsonObject = {"metadata": {"name": "n", "namespace": "ns"}, "data": {"more": [1, 2]}}
    *way, last = ("source.component" if field == "source" else field).split(".")
    ensure(body, *way)[last] = "wanted"
    stored = Stored(body, 1)
    stored.cool()
    found, other = predicate("", f"{field}=wanted", plural), predicate("", f"{field}=other", plural)
    assert found is not None
    assert other is not None
    assert found.finds(stored)
    assert not other.finds(stored)
    assert stored.body_at_hand is None


_VALUES = st.none() | st.booleans() | st.integers(0, 3) | st.sampled_from(["", "a", "n1", "true"])
_LABELS = st.dictionaries(st.sampled_from(["app", "tier"]), _VALUES)
_METADATA = st.fixed_dictionaries({}, optional={"name": _VALUES, "labels": _LABELS | _VALUES, "extra": _LABELS})
_SECTIONS = st.dictionaries(st.sampled_from(["nodeName", "phase", "hostNetwork", "more"]), _VALUES | _LABELS) | _VALUES
_BODIES = st.fixed_dictionaries({"metadata": _METADATA}, optional={"spec": _SECTIONS, "status": _SECTIONS})


@given(
    _BODIES,
    st.sampled_from(["", "app=a", "app", "!tier", "app notin (a)", "tier=1"]),
    st.sampled_from(["", "spec.nodeName=n1", "status.phase!=a", "spec.hostNetwork=true", "metadata.name=a"]),
)
def test_the_text_of_an_object_passes_as_the_object_does(body: JsonObject, labels: str, fields: str) -> None:
    selection, stored = predicate(labels, fields, "pods"), Stored(copy_of(body), 1)
    stored.cool()
    assert selection is None or selection.finds(stored) is selection(body)
