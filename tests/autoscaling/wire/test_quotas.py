"""ResourceQuota objects as JSON."""

from __future__ import annotations

import json

import pytest

from autoscaling.errors import InvalidObjectError
from autoscaling.quota import ScopeRequirement
from autoscaling.wire.quotas import decode_quota
from tests.builders import printed

Json = dict[str, object]


def raw(spec: Json, status: Json | None = None) -> bytes:
    metadata = {"namespace": "shop", "name": "share", "resourceVersion": "5"}
    return json.dumps({"kind": "ResourceQuota", "metadata": metadata, "spec": spec, "status": status or {}}).encode()


def test_what_is_used_comes_from_the_status() -> None:
    """Spec: case 4, the spec may ask for what is not in force yet."""
    status: Json = {
        "hard": {"requests.cpu": "10", "limits.memory": "20Gi", "pods": "50"},
        "used": {"requests.cpu": "7500m", "limits.memory": "1Gi", "pods": "3"},
    }
    read = decode_quota(raw({"hard": {"requests.cpu": "99"}}, status))
    assert str(read.ref) == "ResourceQuota shop/share"
    assert printed(read.hard) == {"requests.cpu": "10", "limits.memory": "20Gi", "pods": "50"}
    assert printed(read.used) == {"requests.cpu": "7500m", "limits.memory": "1Gi", "pods": "3"}
    assert read.resource_version == "5"


def selecting(*expressions: Json) -> Json:
    return {"scopeSelector": {"matchExpressions": list(expressions)}}


@pytest.mark.parametrize(
    ("row", "spec", "scopes"),
    [
        ("case:4", {}, ()),
        ("case:4", {"scopes": None, "scopeSelector": None}, ()),
        ("case:4", {"scopes": ["NotTerminating"]}, (ScopeRequirement("NotTerminating"),)),
        (
            "case:4",
            selecting({"scopeName": "PriorityClass", "operator": "In", "values": ["high"]}),
            (ScopeRequirement("PriorityClass", "In", ("high",)),),
        ),
        (
            "case:4",
            {"scopes": ["NotBestEffort"], **selecting({"scopeName": "PriorityClass", "operator": "Exists"})},
            (ScopeRequirement("NotBestEffort"), ScopeRequirement("PriorityClass", "Exists")),
        ),
    ],
)
def test_which_pods_it_counts(row: str, spec: Json, scopes: tuple[ScopeRequirement, ...]) -> None:
    assert decode_quota(raw(spec)).scopes == scopes, row


def test_an_amount_that_cannot_be_read_names_the_quota() -> None:
    with pytest.raises(InvalidObjectError, match=r"ResourceQuota shop/share: .*plenty"):
        decode_quota(raw({}, {"hard": {"cpu": "plenty"}}))
