"""Bodies in Kubernetes' protobuf format, written here field by field as the wire format has them."""

from __future__ import annotations

import base64
import json

import pytest

from evenkeel.simulator.api.codec import read_object
from evenkeel.simulator.api.fields import JsonObject, text
from evenkeel.simulator.api.protobuf import PROTOBUF, read_protobuf
from evenkeel.simulator.api.status import StatusError
from tests.evenkeel.simulator.api.wire import PODS, cluster, pod


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


LEASE_OF_UPSTREAM = base64.b64decode(
    "azhzAAofChZjb29yZGluYXRpb24uazhzLmlvL3YxEgVMZWFzZRJzCiYKC3ZwYS11cGRhdGVyEgAaC2t1YmUtc3lzdGVtIgAqADIAOABCABJJ"
    "Cid2bV8yMjU0MTk5MC1jOGNlLTRlZWQtYTNmMS0yNTk4YmU0ZTEwN2UQDxoMCN/8stgGENil0IABIgwI3/yy2AYQ2KXQgAEoABoAIgA=",
)
"""What upstream's updater sends to become leader."""


def varint(number: int) -> bytes:
    out = bytearray()
    while number > 0x7F:
        out.append(number & 0x7F | 0x80)
        number >>= 7
    out.append(number)
    return bytes(out)


def field(number: int, value: bytes | str | int) -> bytes:
    if isinstance(value, int):
        return varint(number << 3) + varint(value & (2**64 - 1))
    raw = value.encode() if isinstance(value, str) else value
    return varint(number << 3 | 2) + varint(len(raw)) + raw


def message(*fields: tuple[int, bytes | str | int]) -> bytes:
    return b"".join(field(number, value) for number, value in fields)


def body(api_version: str, kind: str, *fields: tuple[int, bytes | str | int]) -> bytes:
    named = message((1, api_version), (2, kind))
    return b"k8s\0" + message((1, named), (2, message(*fields)), (3, ""), (4, ""))


META = message((1, "a"), (2, ""), (3, "team"), (5, ""), (7, 0), (8, b""))
SHOWN: JsonObject = {"name": "a", "namespace": "team"}
REFERENCE = message((1, "Pod"), (2, "team"), (3, "p"))
ENTRY = message((1, "app"), (2, "x"))


@pytest.mark.parametrize(
    ("raw", "shown"),
    [
        (
            body(
                "v1",
                "Event",
                (1, META),
                (2, REFERENCE),
                (3, "Evicted"),
                (6, message((1, 1767225600))),
                (8, 3),
                (10, message((1, 1767225600), (2, 5_000))),
                (11, message((1, 2), (2, b""))),
                (14, ""),
            ),
            {
                "metadata": SHOWN,
                "involvedObject": {"kind": "Pod", "namespace": "team", "name": "p"},
                "reason": "Evicted",
                "firstTimestamp": "2026-01-01T00:00:00Z",
                "count": 3,
                "eventTime": "2026-01-01T00:00:00.000005Z",
                "series": {"count": 2},
            },
        ),
        (
            body("events.k8s.io/v1", "Event", (1, META), (4, "me"), (8, REFERENCE), (10, "a note")),
            {
                "metadata": SHOWN,
                "reportingController": "me",
                "regarding": {"kind": "Pod", "namespace": "team", "name": "p"},
                "note": "a note",
            },
        ),
        (
            body("policy/v1", "Eviction", (1, META), (2, message((1, 0), (2, message((1, "u1"))), (5, "All")))),
            {
                "metadata": SHOWN,
                "deleteOptions": {"gracePeriodSeconds": 0, "preconditions": {"uid": "u1"}, "dryRun": ["All"]},
            },
        ),
        (
            body("apps/v1", "DeleteOptions", (1, 30), (3, 0), (4, "Foreground")),
            {"gracePeriodSeconds": 30, "orphanDependents": False, "propagationPolicy": "Foreground"},
        ),
        (
            body(
                "admissionregistration.k8s.io/v1",
                "MutatingWebhookConfiguration",
                (1, META),
                (
                    2,
                    message(
                        (1, "pods.example.dev"),
                        (2, message((1, message((1, "team"), (2, "hook"), (4, 443))), (2, b"\1\2"))),
                        (3, message((1, "CREATE"), (2, message((1, ""), (2, "v1"), (3, "pods"), (4, "*"))))),
                        (5, b""),
                        (6, "None"),
                        (7, 0),
                        (8, "v1"),
                        (12, message((1, "c"), (2, "true"))),
                    ),
                ),
            ),
            {
                "metadata": SHOWN,
                "webhooks": [
                    {
                        "name": "pods.example.dev",
                        "clientConfig": {
                            "service": {"namespace": "team", "name": "hook", "port": 443},
                            "caBundle": "AQI=",
                        },
                        "rules": [
                            {
                                "operations": ["CREATE"],
                                "apiGroups": [""],
                                "apiVersions": ["v1"],
                                "resources": ["pods"],
                                "scope": "*",
                            }
                        ],
                        "namespaceSelector": {},
                        "sideEffects": "None",
                        "timeoutSeconds": 0,
                        "admissionReviewVersions": ["v1"],
                        "matchConditions": [{"name": "c", "expression": "true"}],
                    }
                ],
            },
        ),
        (
            body(
                "authorization.k8s.io/v1",
                "SubjectAccessReview",
                (1, b""),
                (
                    2,
                    message(
                        (1, message((2, "get"), (5, "pods"))),
                        (3, "jane"),
                        (5, message((1, "scopes"), (2, message((1, "a"), (1, "b"))))),
                    ),
                ),
            ),
            {
                "spec": {
                    "resourceAttributes": {"verb": "get", "resource": "pods"},
                    "user": "jane",
                    "extra": {"scopes": ["a", "b"]},
                }
            },
        ),
        (
            body(
                "v1",
                "ResourceQuota",
                (1, message((1, "a"), (3, "team"), (11, ENTRY))),
                (2, message((1, message((1, "cpu"), (2, message((1, "500m"))))))),
            ),
            {"metadata": {**SHOWN, "labels": {"app": "x"}}, "spec": {"hard": {"cpu": "500m"}}},
        ),
        (
            body("policy/v1", "PodDisruptionBudget", (1, META), (2, message((1, message((1, 1), (3, "50%")))))),
            {"metadata": SHOWN, "spec": {"minAvailable": "50%"}},
        ),
        (
            body("policy/v1", "PodDisruptionBudget", (1, META), (2, message((3, message((1, 0), (2, 2)))))),
            {"metadata": SHOWN, "spec": {"maxUnavailable": 2}},
        ),
        (
            body("apps/v1", "ControllerRevision", (1, META), (2, message((1, b'{"spec":{}}'))), (3, 7)),
            {"metadata": SHOWN, "data": {"spec": {}}, "revision": 7},
        ),
        (
            body(
                "v1",
                "ConfigMap",
                (
                    1,
                    message(
                        (1, "a"),
                        (3, "team"),
                        (17, message((1, "m"), (2, "Apply"), (7, message((1, b'{"f:data":{}}'))))),
                    ),
                ),
            ),
            {
                "metadata": {
                    **SHOWN,
                    "managedFields": [{"manager": "m", "operation": "Apply", "fieldsV1": {"f:data": {}}}],
                }
            },
        ),
    ],
)
def test_objects(raw: bytes, shown: JsonObject) -> None:
    read = read_object(PROTOBUF, raw)
    assert {key: value for key, value in read.items() if key not in {"apiVersion", "kind"}} == shown
    assert all(read[name] for name in ("apiVersion", "kind"))


def test_a_lease_of_upstream() -> None:
    moment = "2026-11-30T00:07:59.269751Z"
    assert read_protobuf(LEASE_OF_UPSTREAM) == {
        "apiVersion": "coordination.k8s.io/v1",
        "kind": "Lease",
        "metadata": {"name": "vpa-updater", "namespace": "kube-system"},
        "spec": {
            "holderIdentity": "vm_22541990-c8ce-4eed-a3f1-2598be4e107e",
            "leaseDurationSeconds": 15,
            "acquireTime": moment,
            "renewTime": moment,
            "leaseTransitions": 0,
        },
    }


@pytest.mark.parametrize(
    ("raw", "code", "words"),
    [
        (b"", 400, "begin"),
        (b"{}", 400, "begin"),
        (b"k8s\0\xff\xff", 400, "Unknown"),
        (b"k8s\0" + message((1, message((1, "v1"), (2, "ConfigMap"))), (2, b"\x0a\xff")), 400, "ConfigMap"),
        (body("v1", "Gadget"), 415, "Gadget"),
        (body("example.dev/v1", "ConfigMap"), 415, "example.dev/v1 ConfigMap"),
        (body("apps/v1", "ControllerRevision", (2, message((1, b"{")))), 400, "JSON"),
    ],
)
def test_bodies_that_cannot_be_read(raw: bytes, code: int, words: str) -> None:
    with pytest.raises(StatusError) as caught:
        read_protobuf(raw)
    assert (caught.value.code, words in caught.value.message) == (code, True), json.dumps(caught.value.message)


LEASES = "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases"


@pytest.mark.anyio
async def test_writes_in_protobuf_are_carried_out_and_answered_in_json() -> None:
    async with cluster() as wire:
        created = await wire.call(
            "POST", LEASES, LEASE_OF_UPSTREAM, PROTOBUF, {"Accept": f"{PROTOBUF},application/json"}
        )
        assert (created.code, created.body["kind"], created.headers["content-type"]) == (
            201,
            "Lease",
            "application/json",
        )
        path = f"{LEASES}/vpa-updater"
        wrong = body("coordination.k8s.io/v1", "DeleteOptions", (2, message((1, "other"))))
        refused = await wire.call("DELETE", path, wrong, PROTOBUF)
        assert (refused.code, refused.body["reason"]) == (409, "Conflict")
        right = body("v1", "DeleteOptions", (2, message((1, text(created.body, "metadata", "uid")))))
        assert (await wire.call("DELETE", path, right, PROTOBUF)).code == 200
        unknown = await wire.call("POST", LEASES, body("example.dev/v1", "Gadget"), PROTOBUF)
        assert (unknown.code, unknown.body["reason"]) == (415, "UnsupportedMediaType")


@pytest.mark.anyio
async def test_evictions_come_in_protobuf_too() -> None:
    async with cluster() as wire:
        wire.server.store.create(pod("a"))
        sent = body("policy/v1", "Eviction", (1, message((1, "a"), (3, "default"))), (2, b""))
        assert (await wire.call("POST", f"{PODS}/a/eviction", sent, PROTOBUF)).code == 201
        assert wire.server.store.find("v1", "Pod", "a", "default") is None
