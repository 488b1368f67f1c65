"""Bytes of an AdmissionReview to a request and back: the only place where both are known."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, replace

from admission.field_errors import FieldError
from admission.json_node import UnreadableFieldError
from admission.recollection import Recollection
from admission.review import (
    PODS,
    VPA_RESOURCE,
    Patch,
    PatchMemory,
    ReviewRequest,
    ReviewRules,
    SubmittedPod,
    Unreadable,
    VpaChange,
    review,
)
from admission.submitted_vpa import SubmittedVpa, submitted_vpa
from admission.verdict import Denial, Outcome, Reason, Subject, Verdict
from admission.verdict_memory import Notes, VerdictMemory
from admission.vpa_matching import ClusterView
from autoscaling.errors import InvalidObjectError
from autoscaling.pod import Container, Pod
from autoscaling.wire.pods import decode_submitted_pod, template_text
from autoscaling.wire.review import (
    AdmissionRequest,
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
from autoscaling.wire.unreadable import UNREADABLE_JSON

TextMemory = Recollection[str]
"""Texts of patches, by the patch."""

_UNPROCESSABLE = 422
_UPDATE = "UPDATE"
_GENERATED = "%"
"""Ends the name of a pod that the API server has yet to name; no real name can."""


@dataclass(frozen=True, slots=True)
class Memory:
    """What is remembered of earlier reviews by the same rules.

    Args:
        verdicts: On pods of the same text.
        patches: Of pods that differ in what no patch depends on, or whose owners have changed.
        texts: Of patches.
    """

    verdicts: VerdictMemory
    patches: PatchMemory
    texts: TextMemory

    @classmethod
    def of(cls, size: int) -> Memory:
        """Return an empty one for so many templates of pods."""
        return cls(VerdictMemory(size), PatchMemory(size), TextMemory(size))


@dataclass(frozen=True, slots=True)
class Question:
    """A review as it came in, its object not yet decoded.

    Args:
        uid: What the answer has to repeat; empty where it could not be read.
        request: None where there is nothing to review, and then ``problem`` says why.
        is_dry_run: Whether the API server only tries what it would do.
        is_of_known_kind: Whether it says that it is an AdmissionReview of the version that is known.
    """

    uid: str
    request: AdmissionRequest | None
    problem: Verdict | None = None
    is_dry_run: bool = False
    is_of_known_kind: bool = True


def read_question(body: bytes) -> Question:
    """Read an AdmissionReview (spec: admission:4.3).

    Whatever is wrong with it is part of what is returned.
    """
    try:
        read = decode_review(body)
    except UNREADABLE_JSON as error:
        verdict = Verdict(Subject.UNKNOWN, Outcome.ERROR, Reason.UNREADABLE_REVIEW, str(error))
        return Question("", None, verdict)
    if read.request is None:
        return Question("", None, Verdict(Subject.UNKNOWN, Outcome.ERROR, Reason.NO_REQUEST))
    is_dry_run = bool(read.request.dry_run)
    return Question(read.request.uid, read.request, is_dry_run=is_dry_run, is_of_known_kind=read.is_of_known_kind)


def verdict_on(question: Question, view: ClusterView, rules: ReviewRules, memory: Memory | None = None) -> Verdict:
    """Decide on a question that was read.

    Args:
        memory: Of earlier reviews by the same rules, to be added to; None has everything worked out anew.
    """
    if question.request is None:
        return question.problem or Verdict(Subject.UNKNOWN, Outcome.ERROR, Reason.NO_REQUEST)
    if rules.behaviour.only_reviews_are_answered and not question.is_of_known_kind:
        return Verdict(Subject.UNKNOWN, Outcome.ERROR, Reason.UNREADABLE_REVIEW, "its kind or apiVersion is another")
    if memory is None or not view.is_complete:
        verdict = review(review_request(question.request, rules), view, rules)
    else:
        verdict = _remembered_verdict(question.request, view, rules, memory)
    return replace(verdict, is_dry_run=True) if question.is_dry_run else verdict


def _remembered_verdict(wire: AdmissionRequest, view: ClusterView, rules: ReviewRules, memory: Memory) -> Verdict:
    """Return an earlier verdict that holds for this request, too; else decide, and remember that for the next."""
    text = _template_text(wire)
    if text is None:
        return review(review_request(wire, rules), view, rules, memory.patches)
    known = memory.verdicts.recall(text, view)
    if known is not None:
        return known
    notes = Notes(view)
    verdict = review(review_request(wire, rules), notes.noted_view, rules, memory.patches)
    if verdict.to_look_up is None:
        memory.verdicts.keep(text, verdict, notes)
    return verdict


def write_answer(uid: str, verdict: Verdict, texts: TextMemory | None = None) -> bytes:
    """Return the AdmissionReview that carries a verdict.

    Args:
        texts: Texts of the patches of earlier answers, to be added to; None has each put into words anew.
    """
    patch = _text(verdict.patch, texts) if verdict.patch else ""
    return encode_review(
        AdmissionResponse(
            uid=uid,
            allowed=verdict.is_allowed,
            status=_status(verdict.denial) if verdict.denial else None,
            patch=patch,
            patch_type="JSONPatch" if patch else "",
            warnings=verdict.warnings,
        )
    )


def _text(patch: Patch, texts: TextMemory | None) -> str:
    """Put a patch into words."""
    known = None if texts is None else texts.recall((patch,))
    if known is not None:
        return known
    text = patch_text([operation.as_json() for operation in patch])
    return text if texts is None else texts.keep(text, (patch,))


def review_request(wire: AdmissionRequest, rules: ReviewRules) -> ReviewRequest:
    """Decode the object of a request, if it is one that is reviewed here (spec: admission:6.2).

    Whatever is wrong with it is part of what is returned.
    """
    resource = (wire.resource.group, wire.resource.resource)
    submitted: SubmittedPod | VpaChange | Unreadable | None = None
    if resource == PODS:
        submitted = _pod(wire)
    elif resource == (rules.vpa_group, VPA_RESOURCE):
        submitted = _vpa_change(wire)
    return ReviewRequest(
        group=wire.resource.group,
        version=wire.resource.version,
        resource=wire.resource.resource,
        kind=(wire.request_kind or wire.kind).kind,
        namespace=wire.namespace,
        name=wire.name,
        object=submitted,
    )


def _template_text(wire: AdmissionRequest) -> Hashable:
    """Return the text of all that a verdict on a pod depends on; None for other objects and pods like no other."""
    if (wire.resource.group, wire.resource.resource) != PODS:
        return None
    text = template_text(wire.object)
    return None if text is None else (wire.namespace, wire.name, wire.resource.version, text)


def _pod(wire: AdmissionRequest) -> SubmittedPod | Unreadable:
    """Decode a pod; one without a name lies in the namespace of the request (spec: admission:6.2)."""
    raw = bytes(wire.object)
    try:
        pod = decode_submitted_pod(raw)
        is_nameless = not pod.name or pod.name.endswith(_GENERATED)
        if is_nameless and pod.namespace != wire.namespace:
            pod = replace(pod, namespace=wire.namespace)
        return SubmittedPod(pod, *_presence(pod, raw))
    except InvalidObjectError as error:
        return Unreadable(error.problem)


def _presence(pod: Pod, raw: bytes) -> tuple[tuple[bool, ...], tuple[bool, ...]]:
    """Say which containers and init containers have a ``resources`` object; only a bare one needs a second look."""
    if all(map(_has_amounts, pod.containers)) and all(map(_has_amounts, pod.init_containers)):
        return (True,) * len(pod.containers), (True,) * len(pod.init_containers)
    return containers_with_resources(raw)


def _has_amounts(container: Container) -> bool:
    """Say whether a container states requests or limits, be they empty."""
    return container.resources.requests is not None or container.resources.limits is not None


def _vpa_change(wire: AdmissionRequest) -> VpaChange | Unreadable:
    """Decode a VPA and what it was before."""
    try:
        old = submitted_vpa(decode_tree(bytes(wire.old_object))) if wire.operation == _UPDATE else SubmittedVpa()
        return VpaChange(submitted_vpa(decode_tree(bytes(wire.object))), old)
    except (UnreadableFieldError, *UNREADABLE_JSON) as error:
        return Unreadable(str(error))


def _status(denial: Denial) -> Status:
    """Return the Status of a refusal, with each error as a cause (spec: admission:4.3)."""
    kind = f"{denial.kind}.{denial.group}" if denial.group else denial.kind
    errors = "; ".join(str(error) for error in denial.errors)
    return Status(
        status="Failure",
        message=f'{kind} "{denial.name}" is refused: {errors}',
        reason="Invalid",
        details=StatusDetails(denial.name, denial.group, denial.kind, tuple(_cause(error) for error in denial.errors)),
        code=_UNPROCESSABLE,
    )


def _cause(error: FieldError) -> StatusCause:
    """Return one error as a cause."""
    return StatusCause(error.fault.value, error.explanation, error.path)
