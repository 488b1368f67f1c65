"""Defaults of the specs of workloads."""

from __future__ import annotations

import pytest

from evenkeel.simulator.api.fields import JsonObject, copy_of
from evenkeel.simulator.api.workload_defaults import default_workload


@pytest.mark.parametrize(
    ("row", "plural", "given", "completed"),
    [
        ("one completion", "jobs", {}, {"completions": 1, "parallelism": 1}),
        ("a work queue has no completions", "jobs", {"parallelism": 2}, {"parallelism": 2}),
        ("replicas", "deployments", {}, {"replicas": 1}),
        ("no replicas on nodes", "daemonsets", {}, {"revisionHistoryLimit": 10}),
        (
            "part of a strategy",
            "deployments",
            {"strategy": {"rollingUpdate": {"maxSurge": 2}}},
            {"strategy": {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 2, "maxUnavailable": "25%"}}},
        ),
        (
            "a strategy without updates",
            "deployments",
            {"strategy": {"type": "Recreate"}},
            {"strategy": {"type": "Recreate"}},
        ),
        ("by hand", "statefulsets", {"updateStrategy": {"type": "OnDelete"}}, {"updateStrategy": {"type": "OnDelete"}}),
        (
            "in order",
            "statefulsets",
            {},
            {
                "podManagementPolicy": "OrderedReady",
                "updateStrategy": {"type": "RollingUpdate", "rollingUpdate": {"partition": 0}},
            },
        ),
        ("something else", "services", {"x": 1}, {"x": 1}),
    ],
)
def test_defaults(row: str, plural: str, given: JsonObject, completed: JsonObject) -> None:
    spec = copy_of(given)
    default_workload(plural, spec)
    assert {key: spec.get(key) for key in completed} == completed, row
    assert ("completions" in spec) is ("completions" in completed), row
