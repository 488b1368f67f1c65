"""Defaults of the specs of workloads, which clients and controllers rely on."""

from __future__ import annotations

from evenkeel.simulator.api.fields import JsonObject, as_object, copy_of, text

_HISTORY: JsonObject = {"revisionHistoryLimit": 10}
_DEFAULTS: dict[str, JsonObject] = {
    "deployments": {
        "replicas": 1,
        "strategy": {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": "25%", "maxUnavailable": "25%"}},
        "progressDeadlineSeconds": 600,
        **_HISTORY,
    },
    "replicasets": {"replicas": 1},
    "replicationcontrollers": {"replicas": 1},
    "statefulsets": {
        "replicas": 1,
        "podManagementPolicy": "OrderedReady",
        "updateStrategy": {"type": "RollingUpdate", "rollingUpdate": {"partition": 0}},
        "persistentVolumeClaimRetentionPolicy": {"whenDeleted": "Retain", "whenScaled": "Retain"},
        **_HISTORY,
    },
    "daemonsets": {
        "updateStrategy": {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 0, "maxUnavailable": 1}},
        **_HISTORY,
    },
    "jobs": {
        "parallelism": 1,
        "backoffLimit": 6,
        "completionMode": "NonIndexed",
        "suspend": False,
        "manualSelector": False,
        "podReplacementPolicy": "TerminatingOrFailed",
    },
    "cronjobs": {
        "concurrencyPolicy": "Allow",
        "suspend": False,
        "successfulJobsHistoryLimit": 3,
        "failedJobsHistoryLimit": 1,
    },
}
_ONLY_WITH = "RollingUpdate"


def default_workload(plural: str, spec: JsonObject) -> None:
    """Fill in what a workload's spec leaves open, in place."""
    if plural == "jobs" and spec.get("completions") is None and spec.get("parallelism") is None:
        spec["completions"] = 1
    _fill(spec, _DEFAULTS.get(plural, {}))


def _fill(spec: JsonObject, defaults: JsonObject) -> None:
    """Fill in one level of defaults; those of a rolling update apply to no other kind of update."""
    for key, value in copy_of(defaults).items():
        if key == "rollingUpdate" and text(spec, "type") != _ONLY_WITH:
            continue
        present = spec.setdefault(key, value)
        if isinstance(value, dict) and isinstance(present, dict):
            _fill(as_object(present), as_object(value))
