"""What both sides have written, compared."""

from __future__ import annotations

import json

import pytest

from bench.comparison import Json, compare, status, statuses
from bench.errors import DisagreementError


def patch(value: Json) -> bytes:
    return json.dumps([{"op": "add", "path": "/status", "value": value}]).encode()


def test_statuses_are_found_by_object_and_compared_without_times() -> None:
    condition = {"type": "RecommendationProvided", "status": "True"}
    written = patch({"conditions": [{**condition, "lastTransitionTime": "2026-01-01T00:00:00Z"}]})
    path = "/apis/autoscaling.k8s.io/v1/namespaces/default/verticalpodautoscalers/web/status"
    elsewhere = "/apis/autoscaling.k8s.io/v1/namespaces/default/verticalpodautoscalercheckpoints/web-main"
    assert statuses({path: written, elsewhere: b"[]"}) == {"default/web": {"conditions": [condition]}}
    assert status(patch({})) == {"conditions": []}


@pytest.mark.parametrize(
    ("case", "theirs", "least", "said"),
    [
        ("another value", {"a": {"x": 2}}, 1, "1 of 1 differ"),
        ("another object", {"b": {"x": 1}}, 1, "1 were expected"),
        ("too few", {"a": {"x": 1}}, 2, "2 were expected"),
    ],
)
def test_sides_that_wrote_otherwise_disagree(case: str, theirs: dict[str, Json], least: int, said: str) -> None:
    with pytest.raises(DisagreementError, match=said):
        compare("status", {"a": {"x": 1}}, theirs, least)
    compare("status", theirs, theirs, 1)
    assert case
