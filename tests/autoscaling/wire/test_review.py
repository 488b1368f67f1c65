"""AdmissionReview on the wire."""

from __future__ import annotations

import base64
import json

import pytest

from autoscaling.wire.review import (
    AdmissionResponse,
    Status,
    StatusCause,
    StatusDetails,
    containers_with_resources,
    decode_review,
    decode_tree,
    encode_review,
    patch_text,
)


def test_a_request_keeps_its_objects_undecoded() -> None:
    request = decode_review(
        b'{"kind": "AdmissionReview", "request": {"uid": "u", "kind": {"group": "g", "version": "v1", "kind": "K"},'
        b' "resource": {"group": "g", "version": "v1", "resource": "ks"}, "requestKind": {"kind": "R"},'
        b' "name": "n", "namespace": "s", "operation": "UPDATE", "object": { "a":1}, "oldObject": null,'
        b' "userInfo": {"username": "x"}, "dryRun": false}}'
    ).request
    assert request is not None
    assert (request.uid, request.name, request.namespace, request.operation) == ("u", "n", "s", "UPDATE")
    assert (request.kind.kind, request.resource.resource, request.resource.version) == ("K", "ks", "v1")
    assert request.request_kind is not None
    assert request.request_kind.kind == "R"
    assert bytes(request.object) == b'{ "a":1}'
    assert bytes(request.old_object) == b"null"


def test_what_is_absent_is_empty() -> None:
    request = decode_review(b'{"request": {}}').request
    assert request is not None
    assert (request.uid, bytes(request.object), request.request_kind) == ("", b"", None)
    assert decode_review(b"{}").request is None
    assert decode_review(b'{"request": null}').request is None


@pytest.mark.parametrize(
    ("kind", "version", "is_known"),
    [
        ("AdmissionReview", "admission.k8s.io/v1", True),
        ("AdmissionReview", "admission.k8s.io/v1beta1", False),
        ("Pod", "v1", False),
        ("", "", False),
    ],
)
def test_what_a_review_says_that_it_is_tells_it_apart(kind: str, version: str, is_known: bool) -> None:
    raw = json.dumps({"kind": kind, "apiVersion": version, "request": {}}).encode()
    assert decode_review(raw).is_of_known_kind is is_known
    assert decode_review(b'{"request": {}}').is_of_known_kind is False


@pytest.mark.parametrize("raw", [b"", b"x", b"[]", b'{"request": []}', b'{"request": {"uid": 1}}'])
def test_what_is_no_review_is_an_error(raw: bytes) -> None:
    with pytest.raises(ValueError, match=r"."):
        decode_review(raw)


def test_any_json_becomes_plain_values() -> None:
    assert decode_tree(b'{"a": [1, 0.5, "x", null, true]}') == {"a": [1, 0.5, "x", None, True]}
    with pytest.raises(ValueError, match=r"."):
        decode_tree(b"")


@pytest.mark.parametrize(
    ("raw", "expected"),
    [
        (b"{}", ((), ())),
        (b'{"spec": {}}', ((), ())),
        (b'{"spec": {"containers": null, "initContainers": null}}', ((), ())),
        (b'{"spec": {"containers": [{}, {"resources": {}}, {"resources": null}]}}', ((False, True, False), ())),
        (b'{"spec": {"initContainers": [{"resources": {}}, {}], "containers": [{}]}}', ((False,), (True, False))),
    ],
)
def test_containers_with_a_resources_object_are_told(
    raw: bytes, expected: tuple[tuple[bool, ...], tuple[bool, ...]]
) -> None:
    assert containers_with_resources(raw) == expected


def test_an_answer_leaves_out_what_it_does_not_say() -> None:
    answer = json.loads(encode_review(AdmissionResponse(uid="u", allowed=True)))
    assert answer == {
        "kind": "AdmissionReview",
        "apiVersion": "admission.k8s.io/v1",
        "response": {"uid": "u", "allowed": True},
    }


def test_an_answer_with_everything() -> None:
    details = StatusDetails("n", "g", "K", (StatusCause("FieldValueInvalid", "m", "spec.a"),))
    status = Status("Failure", "no", "Invalid", details, 422)
    patch = patch_text([{"op": "add", "path": "/a", "value": {}}])
    raw = encode_review(AdmissionResponse("u", False, status, patch, "JSONPatch", ("careful",)))
    response = json.loads(raw)["response"]
    assert response["status"] == {
        "status": "Failure",
        "message": "no",
        "reason": "Invalid",
        "details": {
            "name": "n",
            "group": "g",
            "kind": "K",
            "causes": [{"reason": "FieldValueInvalid", "message": "m", "field": "spec.a"}],
        },
        "code": 422,
    }
    assert base64.b64decode(response["patch"]) == b'[{"op":"add","path":"/a","value":{}}]'
    assert (response["allowed"], response["patchType"], response["warnings"]) == (False, "JSONPatch", ["careful"])
