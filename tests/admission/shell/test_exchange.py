"""Bytes of reviews in, bytes of answers out (spec: admission:4.3.1 to 4.3.6, admission:12)."""

from __future__ import annotations

import base64
import json
from dataclasses import replace

import pytest

from admission.field_errors import Fault, invalid
from admission.patch_operation import PatchOperation
from admission.review import ReviewRequest, ReviewRules, SubmittedPod, Unreadable, VpaChange
from admission.shell.exchange import (
    Question,
    TextMemory,
    read_question,
    review_request,
    verdict_on,
    write_answer,
)
from admission.verdict import Denial, Outcome, Reason, Subject, Verdict
from admission.vpa_matching import ClusterView
from admission.vpa_validation import Gates
from autoscaling.behaviour import Behaviour, Profile
from autoscaling.targets import KnownControllers

GROUP = "autoscaling.evenkeel.dev"
RULES = ReviewRules(GROUP, Gates(), Behaviour())
EMPTY = ClusterView(True, {}, KnownControllers({}, {}), {})
POD_RESOURCE = {"group": "", "version": "v1", "resource": "pods"}
VPA_RESOURCE = {"group": GROUP, "version": "v1", "resource": "verticalpodautoscalers"}


def body(**request: object) -> bytes:
    whole = {"kind": "AdmissionReview", "apiVersion": "admission.k8s.io/v1", "request": {"uid": "u1", **request}}
    return json.dumps(whole).encode()


def pod_question(pod: object, **request: object) -> Question:
    fields: dict[str, object] = {"resource": POD_RESOURCE, "operation": "CREATE", "object": pod, **request}
    return read_question(body(**fields))


def vpa_question(**request: object) -> Question:
    kind = {"group": GROUP, "version": "v1", "kind": "VerticalPodAutoscaler"}
    fields: dict[str, object] = {"resource": VPA_RESOURCE, "operation": "CREATE", "requestKind": kind, **request}
    return read_question(body(**fields))


def request_of(question: Question) -> ReviewRequest:
    assert question.request is not None
    return review_request(question.request, RULES)


def submitted_pod(question: Question) -> SubmittedPod:
    submitted = request_of(question).object
    assert isinstance(submitted, SubmittedPod)
    return submitted


@pytest.mark.parametrize("raw", [b"", b"{", b"[]", b'"x"', b'{"request": 1}', b'{"request": {"uid": 1}}'])
def test_what_is_no_review_is_let_in_without_uid(raw: bytes) -> None:
    """Spec: admission:4.3.1, admission:12.2."""
    question = read_question(raw)
    verdict = verdict_on(question, EMPTY, RULES)
    assert (verdict.subject, verdict.outcome) == (Subject.UNKNOWN, Outcome.ERROR)
    assert verdict.reason is Reason.UNREADABLE_REVIEW
    answer = json.loads(write_answer(question.uid, verdict))
    assert answer["response"] == {"uid": "", "allowed": True}


PRESENCES: list[tuple[str, list[object], tuple[bool, ...]]] = [
    ("admission:7.2.2", [{"name": "c"}], (False,)),
    ("admission:7.2.2", [{"name": "c", "resources": None}], (False,)),
    ("admission:7.2.2", [{"name": "c", "resources": {}}], (True,)),
    ("admission:7.2.2", [{"name": "c", "resources": {"requests": {}}}], (True,)),
    ("admission:7.2.2", [{"name": "c", "resources": {"limits": {"cpu": "1"}}}, {"name": "d"}], (True, False)),
    ("admission:7.2.2", [{"name": "c", "resources": {"limits": {}}}, {"resources": {"requests": {}}}], (True, True)),
]


@pytest.mark.parametrize(("row", "containers", "present"), PRESENCES)
def test_a_resources_object_may_be_there_without_amounts(
    row: str, containers: list[object], present: tuple[bool, ...]
) -> None:
    submitted = submitted_pod(pod_question({"spec": {"containers": containers, "initContainers": containers}}))
    assert submitted.resources_present == present, row
    assert submitted.init_resources_present == present, row


def test_a_patch_is_put_into_words_once() -> None:
    """Spec: performance A-2."""
    patch = (PatchOperation("/metadata/annotations", {}),)
    verdict, texts = Verdict(Subject.POD, Outcome.APPLIED, Reason.PATCHED, patch=patch), TextMemory(4)
    answers = [write_answer("u", verdict, memory) for memory in (None, texts, texts)]
    assert answers[0] == answers[1] == answers[2]
    assert texts.recall((patch,)) == json.loads(answers[0])["response"]["patch"]


@pytest.mark.parametrize("raw", [b"{}", b"null", b'{"request": null}'])
def test_a_review_without_request_is_let_in(raw: bytes) -> None:
    """Spec: admission:4.3.2, admission:13.2, where upstream crashes."""
    question = read_question(raw)
    verdict = verdict_on(question, EMPTY, RULES)
    assert verdict.is_allowed
    assert verdict.reason in {Reason.NO_REQUEST, Reason.UNREADABLE_REVIEW}


@pytest.mark.parametrize("kind", ["AdmissionReview", "Pod", ""])
def test_another_kind_counts_where_only_reviews_are_answered(kind: str) -> None:
    """Spec: admission:4.3, where upstream looks at the request alone."""
    request = {"uid": "u1", "resource": POD_RESOURCE, "operation": "CREATE", "object": {}}
    question = read_question(
        json.dumps({"kind": kind, "apiVersion": "admission.k8s.io/v1", "request": request}).encode()
    )
    known, other = (verdict_on(question, EMPTY, replace(RULES, behaviour=Behaviour.of(each))) for each in Profile)
    assert (known.reason is Reason.UNREADABLE_REVIEW) is (kind != "AdmissionReview")
    assert other.reason is not Reason.UNREADABLE_REVIEW


def test_a_pod_without_a_name_lies_in_the_namespace_of_the_request() -> None:
    """Spec: admission:6.2."""
    nameless = submitted_pod(pod_question({"metadata": {"generateName": "p-"}}, namespace="shop"))
    assert (nameless.pod.name, nameless.pod.namespace) == ("p-%", "shop")
    bare = submitted_pod(pod_question({"metadata": {}}, namespace="shop"))
    assert bare.pod.namespace == "shop"
    named = submitted_pod(pod_question({"metadata": {"name": "p"}}, namespace="shop"))
    assert (named.pod.name, named.pod.namespace) == ("p", "")


def test_whether_containers_have_a_resources_object_is_told() -> None:
    """Spec: admission:13.5."""
    containers: list[object] = [
        {"name": "a"},
        {"name": "b", "resources": {}},
        {"name": "c", "resources": None},
        {"name": "d", "resources": {"claims": [{"name": "x"}]}},
    ]
    spec = {"containers": containers, "initContainers": containers[1:3]}
    pod = submitted_pod(pod_question({"metadata": {"name": "p"}, "spec": spec}))
    assert pod.resources_present == (False, True, False, True)
    assert pod.init_resources_present == (True, False), "beyond:B-16"


UNREADABLE: list[tuple[str, object, str]] = [
    ("admission:12.4", "text", "object"),
    ("admission:12.4", {"spec": {"containers": {}}}, "containers"),
    (
        "admission:12.4",
        {"spec": {"containers": [{"name": "c", "resources": {"requests": {"cpu": "much"}}}]}},
        "much",
    ),
]


@pytest.mark.parametrize(("row", "pod", "clue"), UNREADABLE)
def test_an_unreadable_pod_says_what_is_wrong(row: str, pod: object, clue: str) -> None:
    request = request_of(pod_question(pod))
    assert isinstance(request.object, Unreadable), row
    assert clue in request.object.problem, row


def test_a_pod_request_without_object_is_unreadable() -> None:
    request = request_of(read_question(body(resource=POD_RESOURCE, operation="CREATE")))
    assert isinstance(request.object, Unreadable)


def test_other_resources_are_not_decoded() -> None:
    odd = {"group": "apps", "version": "v1", "resource": "deployments"}
    request = request_of(read_question(body(resource=odd, object={"spec": 1})))
    assert request.object is None
    assert (request.group, request.resource, request.version) == ("apps", "deployments", "v1")


def test_the_old_object_counts_on_update_only() -> None:
    """Spec: admission:5.25."""
    new = {"spec": {"updatePolicy": {"updateMode": "Off"}}}
    old = {"spec": {"recommenders": [{"name": "a"}]}}
    for operation, count in (("CREATE", 0), ("UPDATE", 1)):
        question = vpa_question(object=new, oldObject=old, operation=operation, namespace="shop", name="v")
        request = request_of(question)
        assert isinstance(request.object, VpaChange)
        assert request.object.old.recommender_count == count
        assert (request.kind, request.namespace, request.name) == ("VerticalPodAutoscaler", "shop", "v")


@pytest.mark.parametrize(
    "request_",
    [
        {"object": {"spec": {"updatePolicy": 1}}},
        {"object": {"spec": {"startupBoost": {"cpu": {"type": "Factor", "factor": 1.5}}}}},
        {"object": {}, "oldObject": {"spec": []}, "operation": "UPDATE"},
        {"object": {}, "operation": "UPDATE"},
        {},
    ],
)
def test_an_undecodable_vpa_is_refused(request_: dict[str, object]) -> None:
    """Spec: admission:5.24, admission:12.6, api:7.2."""
    verdict = verdict_on(vpa_question(**request_), EMPTY, RULES)
    assert verdict.denial is not None
    assert [(error.path, error.fault) for error in verdict.denial.errors] == [(".", Fault.INTERNAL)]


def test_the_kind_is_taken_from_the_request_where_it_names_no_other() -> None:
    """Spec: admission:4.3.2, where upstream crashes without requestKind."""
    raw = body(resource=VPA_RESOURCE, kind={"kind": "VerticalPodAutoscaler"}, operation="CREATE", object={})
    request = request_of(read_question(raw))
    assert request.kind == "VerticalPodAutoscaler"


def test_an_answer_with_a_patch() -> None:
    """Spec: admission:4.3, admission:4.3.6."""
    patch = (PatchOperation("/metadata/annotations", {}), PatchOperation("/a", "1"))
    verdict = Verdict(Subject.POD, Outcome.APPLIED, Reason.PATCHED, patch=patch, warnings=("careful",))
    answer = json.loads(write_answer("u1", verdict))
    assert (answer["kind"], answer["apiVersion"]) == ("AdmissionReview", "admission.k8s.io/v1")
    response = answer["response"]
    assert (response["uid"], response["allowed"], response["patchType"]) == ("u1", True, "JSONPatch")
    assert response["warnings"] == ["careful"]
    assert json.loads(base64.b64decode(response["patch"])) == [
        {"op": "add", "path": "/metadata/annotations", "value": {}},
        {"op": "add", "path": "/a", "value": "1"},
    ]


def test_an_answer_without_a_patch_says_only_that_it_is_allowed() -> None:
    """Spec: admission:4.3.4, admission:4.3.6."""
    verdict = Verdict(Subject.POD, Outcome.SKIPPED, Reason.NO_MATCHING_VPA)
    assert json.loads(write_answer("u1", verdict))["response"] == {"uid": "u1", "allowed": True}


def test_a_refusal_carries_every_error_as_a_cause() -> None:
    """Spec: admission:4.3.5."""
    errors = (invalid("spec.a", 0, "it has to be more"), invalid("spec.b", 1, "it has to be less"))
    denial = Denial(GROUP, "VerticalPodAutoscaler", "v", errors)
    verdict = Verdict(Subject.VPA, Outcome.SKIPPED, Reason.INVALID_VPA, denial=denial)
    response = json.loads(write_answer("u1", verdict))["response"]
    assert response["allowed"] is False
    status = response["status"]
    assert (status["status"], status["reason"], status["code"]) == ("Failure", "Invalid", 422)
    assert status["details"] == {
        "name": "v",
        "group": GROUP,
        "kind": "VerticalPodAutoscaler",
        "causes": [
            {"reason": "FieldValueInvalid", "message": "0 is not valid: it has to be more", "field": "spec.a"},
            {"reason": "FieldValueInvalid", "message": "1 is not valid: it has to be less", "field": "spec.b"},
        ],
    }
    assert f'VerticalPodAutoscaler.{GROUP} "v"' in status["message"]
    assert "spec.a" in status["message"]
    assert "spec.b" in status["message"]
