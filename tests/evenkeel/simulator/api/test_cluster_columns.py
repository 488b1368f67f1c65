"""What tables say about everything else, as a real server of version 1.35.4 says it."""

from __future__ import annotations

from datetime import timedelta

import pytest

from evenkeel.simulator.api.cluster_columns import (
    BINDING_COLUMNS,
    BUDGET_COLUMNS,
    EVENT_COLUMNS,
    NAMESPACE_COLUMNS,
    NODE_COLUMNS,
    OTHER_COLUMNS,
    QUOTA_COLUMNS,
    SERVICE_COLUMNS,
)
from evenkeel.simulator.api.fields import JsonObject
from evenkeel.simulator.api.kinds import GroupResource
from evenkeel.simulator.api.tables import Column, Shown
from evenkeel.simulator.clock import EPOCH

NOW = EPOCH + timedelta(days=1)
META: JsonObject = {"name": "x", "creationTimestamp": "2026-01-01T00:00:00Z"}


def cells(columns: tuple[Column, ...], body: JsonObject) -> list[object]:
    return [column.cell(Shown({"metadata": META, **body}, NOW)) for column in columns]


@pytest.mark.parametrize(
    ("body", "status", "roles"),
    [
        ({"status": {"conditions": [{"type": "Ready", "status": "True"}]}}, "Ready", "<none>"),
        ({"status": {"conditions": [{"type": "Ready", "status": "Unknown"}]}}, "NotReady", "<none>"),
        ({"status": {"conditions": [{"type": "Ready", "status": "False"}]}}, "NotReady", "<none>"),
        ({"spec": {"unschedulable": True}}, "Unknown,SchedulingDisabled", "<none>"),
        (
            {"metadata": {**META, "labels": {"node-role.kubernetes.io/worker": "", "kubernetes.io/role": "db"}}},
            "Unknown",
            "db,worker",
        ),
    ],
)
def test_nodes(body: JsonObject, status: str, roles: str) -> None:
    found = cells(NODE_COLUMNS, body)
    assert found[:5] == ["x", status, roles, "24h", ""]
    assert found[5:] == ["<none>", "<none>", "<unknown>", "<unknown>", "<unknown>"]


def test_a_node_with_everything() -> None:
    info = {"kubeletVersion": "v1", "osImage": "os", "kernelVersion": "6", "containerRuntimeVersion": "c://1"}
    addresses = [{"type": "InternalIP", "address": "10.0.0.1"}, {"type": "ExternalIP", "address": "1.2.3.4"}]
    found = cells(NODE_COLUMNS, {"status": {"nodeInfo": info, "addresses": addresses}})
    assert found[4:] == ["v1", "10.0.0.1", "1.2.3.4", "os", "6", "c://1"]


def test_namespaces() -> None:
    assert cells(NAMESPACE_COLUMNS, {"status": {"phase": "Active"}}) == ["x", "Active", "24h"]


def test_events() -> None:
    body: JsonObject = {
        "involvedObject": {"kind": "Pod", "name": "b", "fieldPath": "spec.containers{app}"},
        "reason": "R",
        "message": " m ",
        "type": "Normal",
        "count": 3,
        "firstTimestamp": "2026-01-01T00:00:00Z",
        "lastTimestamp": "2026-01-01T23:00:00Z",
        "source": {"component": "k", "host": "h"},
    }
    first = ["60m", "Normal", "R", "pod/b", "spec.containers{app}", "k, h", "m", "24h", 3, "x"]
    assert cells(EVENT_COLUMNS, body) == first
    modern: JsonObject = {
        "involvedObject": {"kind": "Pod", "name": "b"},
        "eventTime": "2026-01-01T12:00:00.000000Z",
        "series": {"count": 7, "lastObservedTime": "2026-01-01T23:59:00.000000Z"},
        "reportingComponent": "updater",
        "reportingInstance": "u-1",
    }
    assert cells(EVENT_COLUMNS, modern) == ["60s", "", "", "pod/b", "", "updater, u-1", "", "12h", 7, "x"]
    assert cells(EVENT_COLUMNS, {})[0] == "<unknown>"


@pytest.mark.parametrize(
    ("spec", "shown"),
    [
        ({}, ["ClusterIP", "<none>", "<none>", "<none>", "24h", "<none>"]),
        (
            {
                "type": "NodePort",
                "clusterIP": "10.0.0.1",
                "externalIPs": ["1.2.3.4", "1.2.3.5"],
                "ports": [{"port": 80}, {"port": 53, "protocol": "UDP", "nodePort": 30053}],
                "selector": {"b": "2", "a": "1"},
            },
            ["NodePort", "10.0.0.1", "1.2.3.4,1.2.3.5", "80/TCP,53:30053/UDP", "24h", "a=1,b=2"],
        ),
    ],
)
def test_services(spec: JsonObject, shown: list[str]) -> None:
    assert cells(SERVICE_COLUMNS, {"spec": spec}) == ["x", *shown]


def test_quotas() -> None:
    status: JsonObject = {"hard": {"pods": "2", "limits.cpu": "1", "requests.cpu": "1"}, "used": {"pods": "1"}}
    assert cells(QUOTA_COLUMNS, {"status": status}) == ["x", "pods: 1/2, requests.cpu: 0/1", "limits.cpu: 0/1", "24h"]


def test_budgets() -> None:
    spec: JsonObject = {"minAvailable": 1}
    assert cells(BUDGET_COLUMNS, {"spec": spec, "status": {"disruptionsAllowed": 2}}) == ["x", "1", "N/A", 2, "24h"]
    assert cells(BUDGET_COLUMNS, {"spec": {"maxUnavailable": "50%"}})[1:4] == ["N/A", "50%", 0]


def test_bindings() -> None:
    subjects = [
        {"kind": "ServiceAccount", "name": "a", "namespace": "team"},
        {"kind": "User", "name": "u"},
        {"kind": "User", "name": "v"},
        {"kind": "Group", "name": "g"},
    ]
    body: JsonObject = {"roleRef": {"kind": "ClusterRole", "name": "view"}, "subjects": subjects}
    assert cells(BINDING_COLUMNS, body) == ["x", "ClusterRole/view", "24h", "u, v", "g", "team/a"]


def endpoints(count: int) -> JsonObject:
    addresses = [{"ip": f"10.0.0.{number}"} for number in range(1, count + 1)]
    return {"subsets": [{"addresses": addresses, "ports": [{"port": 80}]}]} if count else {}


@pytest.mark.parametrize(
    ("group", "plural", "body", "shown"),
    [
        ("", "endpoints", endpoints(0), ["<none>", "24h"]),
        ("", "endpoints", endpoints(3), ["10.0.0.1:80,10.0.0.2:80,10.0.0.3:80", "24h"]),
        ("", "endpoints", endpoints(5), ["10.0.0.1:80,10.0.0.2:80,10.0.0.3:80 + 2 more...", "24h"]),
        ("", "serviceaccounts", {}, ["24h"]),
        ("", "configmaps", {"data": {"a": "1", "b": "2"}}, [2, "24h"]),
        ("", "configmaps", {}, [0, "24h"]),
        ("", "secrets", {"type": "Opaque", "data": {"a": "MQ=="}}, ["Opaque", 1, "24h"]),
        ("coordination.k8s.io", "leases", {"spec": {"holderIdentity": "me"}}, ["me", "24h"]),
        ("scheduling.k8s.io", "priorityclasses", {"value": 5}, [5, False, "24h", "PreemptLowerPriority"]),
        (
            "scheduling.k8s.io",
            "priorityclasses",
            {"value": 5, "globalDefault": True, "preemptionPolicy": "Never"},
            [5, True, "24h", "Never"],
        ),
        ("networking.k8s.io", "networkpolicies", {"spec": {"podSelector": {}}}, ["<none>", "24h"]),
        (
            "networking.k8s.io",
            "networkpolicies",
            {"spec": {"podSelector": {"matchLabels": {"a": "b"}}}},
            ["a=b", "24h"],
        ),
        ("admissionregistration.k8s.io", "mutatingwebhookconfigurations", {"webhooks": [{}, {}]}, [2, "24h"]),
        (
            "admissionregistration.k8s.io",
            "validatingadmissionpolicies",
            {"spec": {"validations": [{}]}},
            [1, "<unset>", "24h"],
        ),
        (
            "admissionregistration.k8s.io",
            "validatingadmissionpolicybindings",
            {"spec": {"policyName": "p"}},
            ["p", "<unset>", "24h"],
        ),
    ],
)
def test_others(group: str, plural: str, body: JsonObject, shown: list[object]) -> None:
    assert cells(OTHER_COLUMNS[GroupResource(group, plural)], body) == ["x", *shown]
