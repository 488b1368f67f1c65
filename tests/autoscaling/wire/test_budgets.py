"""PodDisruptionBudget objects as JSON."""

from __future__ import annotations

import json

import pytest

from autoscaling.errors import InvalidObjectError
from autoscaling.wire.budgets import decode_budget

Json = dict[str, object]


def raw(spec: Json, status: Json | None = None) -> bytes:
    metadata = {"namespace": "shop", "name": "web", "resourceVersion": "5", "generation": 3}
    status = {"observedGeneration": 3} if status is None else status
    return json.dumps({"apiVersion": "policy/v1", "metadata": metadata, "spec": spec, "status": status}).encode()


def expression(operator: str, *values: str) -> Json:
    return {"selector": {"matchExpressions": [{"key": "app", "operator": operator, "values": list(values)}]}}


@pytest.mark.parametrize(
    ("row", "spec", "labels", "matches"),
    [
        ("beyond:B-43 no selector", {}, {}, False),
        ("beyond:B-43 no selector", {"selector": None}, {"app": "web"}, False),
        ("beyond:B-43 empty selector", {"selector": {}}, {}, True),
        ("beyond:B-43 empty selector", {"selector": {"matchLabels": {}}}, {"app": "web"}, True),
        ("beyond:B-43 label", {"selector": {"matchLabels": {"app": "web"}}}, {"app": "web"}, True),
        ("beyond:B-43 label", {"selector": {"matchLabels": {"app": "web"}}}, {"app": "db"}, False),
        ("beyond:B-43 expression", expression("NotIn", "web"), {}, True),
        ("beyond:B-43 expression", expression("Exists"), {}, False),
    ],
)
def test_whose_pods_it_protects(row: str, spec: Json, labels: dict[str, str], matches: bool) -> None:
    assert decode_budget(raw(spec)).selector.matches(labels) is matches, row


def test_what_it_can_spare() -> None:
    """Spec: beyond:B-43."""
    status: Json = {"disruptionsAllowed": 2, "currentHealthy": 5, "desiredHealthy": 3, "observedGeneration": 3}
    read = decode_budget(raw({"unhealthyPodEvictionPolicy": "AlwaysAllow"}, status))
    assert str(read.ref) == "PodDisruptionBudget shop/web"
    assert (read.disruptions_allowed, read.current_healthy, read.desired_healthy) == (2, 5, 3)
    assert (read.spares_unhealthy, read.is_observed, read.resource_version) == (True, True, "5")


@pytest.mark.parametrize(
    ("row", "status", "is_observed"),
    [
        ("beyond:B-43", {"observedGeneration": 2}, False),
        ("beyond:B-43", {"observedGeneration": 3}, True),
        ("beyond:B-43", {}, False),
    ],
)
def test_a_status_about_an_older_spec_is_told(row: str, status: Json, is_observed: bool) -> None:
    assert decode_budget(raw({}, status)).is_observed is is_observed, row


@pytest.mark.parametrize("policy", [None, "IfHealthyBudget", "SomethingNew"])
def test_other_policies_spare_no_unhealthy_pod(policy: str | None) -> None:
    assert not decode_budget(raw({"unhealthyPodEvictionPolicy": policy})).spares_unhealthy, "beyond:B-43"


def test_an_unknown_operator_names_the_budget() -> None:
    with pytest.raises(InvalidObjectError, match=r"PodDisruptionBudget shop/web: field .*operator"):
        decode_budget(raw(expression("Like", "web*")))
