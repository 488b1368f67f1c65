"""An admission request in, the verdict on it out (spec: admission:4, admission:12)."""

from __future__ import annotations

from dataclasses import dataclass, replace

from admission.boosting import NO_BOOSTS, BoostRules, with_boosts
from admission.field_errors import unreadable
from admission.odd_limits import LIMITS_ANNOTATION, odd_limits
from admission.patch_operation import PatchOperation
from admission.pod_patch import PodToPatch, leaves_room, new_resources, pod_patch
from admission.recollection import Recollection
from admission.submitted_vpa import SubmittedVpa
from admission.verdict import Denial, Outcome, Reason, Subject, Verdict
from admission.vpa_matching import ClusterView, match_vpa
from admission.vpa_validation import Gates, default_patch, validate
from autoscaling.acceptable_targets import acceptable_targets, limits_for_capping
from autoscaling.asked_resources import ASKED_ANNOTATION, asked_text
from autoscaling.behaviour import Behaviour
from autoscaling.errors import InvalidObjectError
from autoscaling.limitrange import NO_LIMITS, NamespaceLimits
from autoscaling.objectref import ObjectRef
from autoscaling.pod import Pod
from autoscaling.sidecars import with_sidecars
from autoscaling.vpa import Vpa

Patch = tuple[PatchOperation, ...]
"""A JSON patch."""


@dataclass(frozen=True, slots=True)
class NewPatch:
    """The patch of a pod.

    Args:
        held_back: What it leaves as it is, or sets to less than wanted, for the API server to take the pod.
    """

    operations: Patch
    held_back: str = ""


PatchMemory = Recollection[NewPatch]
"""Patches of pods of the same template, VPA and limits."""

PODS = ("", "pods")
VPA_RESOURCE = "verticalpodautoscalers"
_VPA_KIND = "VerticalPodAutoscaler"


@dataclass(frozen=True, slots=True)
class SubmittedPod:
    """A pod as submitted.

    Args:
        pod: The pod.
        resources_present: For each of ``pod.containers``, whether it has a ``resources`` object.
        init_resources_present: Likewise for each of ``pod.init_containers``.
    """

    pod: Pod
    resources_present: tuple[bool, ...]
    init_resources_present: tuple[bool, ...] = ()


@dataclass(frozen=True, slots=True)
class VpaChange:
    """A VPA as submitted, and as it was before; an empty one on creation."""

    new: SubmittedVpa
    old: SubmittedVpa


@dataclass(frozen=True, slots=True)
class Unreadable:
    """An object that could not be decoded, and what is wrong with it."""

    problem: str


@dataclass(frozen=True, slots=True)
class ReviewRequest:
    """The parts of an admission request that count.

    Args:
        group: API group of the resource, with ``version`` and ``resource`` as the webhook's rules name them.
        kind: Kind that the client asked for.
        name: Name of the object; empty where the API server will generate it.
        object: What was submitted, None for a resource that is not reviewed here.
    """

    group: str
    version: str
    resource: str
    kind: str
    namespace: str
    name: str
    object: SubmittedPod | VpaChange | Unreadable | None


@dataclass(frozen=True, slots=True)
class ReviewRules:
    """What a process is set to do.

    Args:
        vpa_group: API group of the VPAs it serves.
        gates: Feature gates that validation asks for.
        behaviour: Where to decide otherwise than upstream.
        boosts: What is told about start-up boosts; None where they are off.
    """

    vpa_group: str
    gates: Gates
    behaviour: Behaviour
    boosts: BoostRules | None = None


def review(request: ReviewRequest, view: ClusterView, rules: ReviewRules, memory: PatchMemory | None = None) -> Verdict:
    """Decide on one request.

    A pod is never refused, whatever goes wrong; a VPA is refused for what is wrong with it.

    Args:
        memory: Patches of earlier reviews by the same rules, to be added to; None has everything worked out anew.
    """
    resource = (request.group, request.resource)
    if resource == (rules.vpa_group, VPA_RESOURCE):
        return _review_vpa(request, rules)
    if resource == PODS:
        return _review_pod(request, view, rules, memory)
    detail = f"{request.resource}.{request.group}" if request.group else request.resource
    return Verdict(Subject.UNKNOWN, Outcome.ERROR, Reason.UNSUPPORTED_RESOURCE, detail)


def _review_vpa(request: ReviewRequest, rules: ReviewRules) -> Verdict:
    """Validate a VPA and fill in its default."""
    ref = ObjectRef(_VPA_KIND, request.namespace, request.name)
    denial = Denial(request.group, request.kind or _VPA_KIND, request.name, ())
    refused = Verdict(Subject.VPA, Outcome.SKIPPED, Reason.INVALID_VPA, object=ref, denial=denial)
    if not isinstance(request.object, VpaChange):
        problem = request.object.problem if isinstance(request.object, Unreadable) else "there is no object"
        errors = (unreadable(problem),)
        return replace(refused, detail=str(errors[0]), denial=replace(denial, errors=errors))
    outcome = validate(request.object.new, request.object.old, rules.gates)
    if outcome.errors:
        detail = "; ".join(str(error) for error in outcome.errors)
        return replace(refused, detail=detail, warnings=outcome.warnings, denial=replace(denial, errors=outcome.errors))
    # The API server itself refuses an object without a spec, and better than a patch that finds no place in it.
    is_placed = request.object.new.has_spec or not rules.behaviour.only_what_is_accepted
    patch = default_patch(request.object.new) if is_placed else ()
    accepted = Verdict(Subject.VPA, Outcome.SKIPPED, Reason.VALID_VPA, object=ref, warnings=outcome.warnings)
    return replace(accepted, outcome=Outcome.APPLIED, reason=Reason.DEFAULTED, patch=patch) if patch else accepted


def _review_pod(request: ReviewRequest, view: ClusterView, rules: ReviewRules, memory: PatchMemory | None) -> Verdict:
    """Find the VPA of a new pod and set its resources."""
    if request.version != "v1":
        detail = f"version {request.version!r}; only v1 is known"
        return _skipped(_pod_ref(request), Reason.UNSUPPORTED_POD_VERSION, detail)
    if not isinstance(request.object, SubmittedPod):
        problem = request.object.problem if isinstance(request.object, Unreadable) else "there is no object"
        return _skipped(_pod_ref(request), Reason.UNREADABLE_POD, problem)
    if not view.is_complete:
        return _skipped(request.object.pod.ref, Reason.CACHES_NOT_SYNCED)
    return _patched(request.object, view, rules, memory)


def _patched(submitted: SubmittedPod, view: ClusterView, rules: ReviewRules, memory: PatchMemory | None) -> Verdict:
    """Find the VPA of a pod that was understood, and set its resources."""
    ref = submitted.pod.ref
    match = match_vpa(submitted.pod, view)
    if match.vpa is None:
        skipped = _skipped(ref, match.reason, match.detail)
        return replace(skipped, to_look_up=match.to_look_up) if match.to_look_up else skipped
    limits = view.limits.get(submitted.pod.namespace, NO_LIMITS)
    try:
        patch = _patch(submitted, match.vpa, limits, rules, memory)
    except InvalidObjectError as error:
        return replace(_skipped(ref, Reason.CANNOT_BE_CAPPED, str(error)), vpa=match.vpa.name)
    annotations = submitted.pod.annotations
    if annotations and rules.behaviour.only_what_is_accepted and not leaves_room(annotations, patch.operations):
        return replace(_skipped(ref, Reason.ANNOTATIONS_FULL), vpa=match.vpa.name)
    reason = Reason.HELD_BACK if patch.held_back else Reason.PATCHED
    return Verdict(Subject.POD, Outcome.APPLIED, reason, patch.held_back, ref, match.vpa.name, patch.operations)


def _patch(
    submitted: SubmittedPod, vpa: Vpa, limits: NamespaceLimits, rules: ReviewRules, memory: PatchMemory | None
) -> NewPatch:
    """Return a pod's patch: that of an earlier pod of the same template, as long as VPA and limits are the same, too.

    Raises:
        InvalidObjectError: The pod cannot be fitted to its namespace's LimitRanges, or a boost cannot be reckoned.
    """
    pod = submitted.pod
    if memory is None or pod.statuses or pod.init_statuses:
        return _new_patch(submitted, vpa, limits, rules)
    objects = (pod.containers, pod.init_containers, pod.placement, vpa, limits)
    also = (pod.annotations is None, pod.counts_sidecars, submitted.resources_present, submitted.init_resources_present)
    known = memory.recall(objects, also)
    if known is not None:
        return known
    # Nothing of the pod beyond what it is remembered by is shown to what works the patch out.
    template = replace(submitted, pod=_template(pod))
    return memory.keep(_new_patch(template, vpa, limits, rules), objects, also)


def _template(pod: Pod) -> Pod:
    """Return what a pod without a status has in common with others of its template, and the name for errors."""
    return Pod(
        pod.namespace,
        pod.name,
        annotations=None if pod.annotations is None else {},
        containers=pod.containers,
        init_containers=pod.init_containers,
        counts_sidecars=pod.counts_sidecars,
        placement=pod.placement,
    )


def _new_patch(submitted: SubmittedPod, vpa: Vpa, limits: NamespaceLimits, rules: ReviewRules) -> NewPatch:
    """Work a pod's patch out; raises as ``_patch`` does."""
    given, behaviour = _pod_to_patch(submitted, rules.behaviour), rules.behaviour
    capping = limits_for_capping(given.pod, limits) if behaviour.only_what_is_accepted else limits
    spares_others = behaviour.limit_range_and_quota
    targets, boosts = new_resources(given.pod, vpa, capping, spares_others=spares_others), NO_BOOSTS
    if rules.boosts is not None:
        targets, boosts = with_boosts(given.pod, vpa, targets, rules.boosts)
    if behaviour.only_what_is_accepted:
        targets = acceptable_targets(given.pod, targets, limits)
    pairs = zip(given.pod.containers, targets, strict=True)
    held_back = "; ".join(f"{c.name}: {', '.join(t.held_back)}" for c, t in pairs if t.held_back)
    notes = {LIMITS_ANNOTATION: odd_limits(given.pod, vpa, targets) if behaviour.limits_explained else ""}
    if behaviour.only_what_is_accepted and any(t.requests or t.limits for t in targets):
        notes[ASKED_ANNOTATION] = asked_text(submitted.pod, limits)
    return NewPatch(pod_patch(given, vpa.name, targets, boosts, notes), held_back)


def _pod_ref(request: ReviewRequest) -> ObjectRef:
    """Name a pod as the request does."""
    return ObjectRef("Pod", request.namespace, request.name)


def _skipped(ref: ObjectRef, reason: Reason, detail: str = "") -> Verdict:
    """Let a pod in as it is."""
    return Verdict(Subject.POD, Outcome.SKIPPED, reason, detail, ref)


def _pod_to_patch(submitted: SubmittedPod, behaviour: Behaviour) -> PodToPatch:
    """Leave out of a submitted pod what does not count, and let its sidecars count as containers where they do.

    A status that somebody submits is dropped by the API server after the webhooks, so what it claims to be in force is
    not; upstream reads it all the same.
    """
    pod, present = submitted.pod, submitted.resources_present
    if (pod.statuses or pod.init_statuses) and behaviour.submitted_status_ignored:
        pod = replace(pod, statuses=(), init_statuses=())
    if behaviour.native_sidecars and pod.init_containers:
        pairs = zip(pod.init_containers, submitted.init_resources_present, strict=True)
        present += tuple(is_present for container, is_present in pairs if container.is_sidecar)
        pod = with_sidecars(pod)
    return PodToPatch(pod, present if behaviour.resource_claims_kept else None)
